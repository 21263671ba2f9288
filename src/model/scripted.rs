//! A model that plays a script: replies in order, or a fixture file. Nothing here thinks, and nothing opens a socket.
//! The file format is in `fixture`, its placeholders in `template`.

pub(super) mod fixture;
pub(super) mod format;
mod play;
pub mod recorded;
mod step;
mod tape;
mod template;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;

use crate::message::{Message, Role};
use crate::model::{Delta, Fault, Model, ModelError, ModelId, Reply, Request};

use fixture::Fixtures;
pub use fixture::ScriptError;
pub use step::Step;
pub(super) use step::pieces;
pub use tape::Tape;

/// A [`Model`] without a mind: it says what its script says.
pub struct Scripted {
    id: ModelId,
    script: Script,
}

enum Script {
    Replies(Mutex<Replies>),
    File(Fixtures),
}

struct Replies {
    given: usize,
    left: VecDeque<Step>,
    asked: Vec<Asked>,
}

/// One request as a [`Scripted::replies`] model received it, for tests that ask what the model was shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The system prompt.
    pub system: String,
    /// The conversation.
    pub messages: Vec<Arc<Message>>,
    /// The names of the tools on offer, in their order.
    pub tools: Vec<String>,
}

impl Scripted {
    /// A model that gives these replies, one per call; a further call is refused with a clear error (S0-62).
    pub fn replies<S: Into<Step>>(steps: impl IntoIterator<Item = S>) -> Scripted {
        let left: VecDeque<Step> = steps.into_iter().map(Into::into).collect();
        let replies = Replies { given: left.len(), left, asked: Vec::new() };
        Scripted { id: id("replies"), script: Script::Replies(Mutex::new(replies)) }
    }

    /// A model that plays a fixture file, named `scripted/<path>`.
    ///
    /// The format is a subset of aimock's: `{"fixtures":[{"match":{…},"response":{…}}]}`. The first fixture whose
    /// `match` fits the request answers; an empty `match` fits always. Fields of `match`: `userMessage` (part of
    /// the latest user text), `systemMessage` (one part, or a list of parts), `hasToolResult` (results came since
    /// that text), `toolResultContains` (the conversation ends with such a result), `toolName` (such a tool is on
    /// offer), `turnIndex` (assistant messages so far), `sequenceIndex` (how often this `match` fitted before).
    /// Fields of `response`: `content`, `reasoning`, `reasoningSignature`, `toolCalls`, or `blocks` in order,
    /// `usage`, `finishReason`, or `error` with `status` and `retryAfter` (seconds). Beside them `latency`
    /// (milliseconds before each piece), `chunkSize` (characters) and `truncateAfterChunks`.
    ///
    /// Texts and arguments may hold `{{user}}`, `{{result}}` (the last tool result) and `{{result.N}}` (the N-th of
    /// the latest results, from 0), each with a pattern: `{{result.0 | /t_\d+/}}` is its first match or group.
    ///
    /// # Errors
    /// [`ScriptError`] when the file cannot be read, is over 64 MiB, or is not such a script.
    pub fn from_file(path: &Path) -> Result<Scripted, ScriptError> {
        let fixtures = Fixtures::read(path)?;
        Ok(Scripted { id: id(&path.display().to_string()), script: Script::File(fixtures) })
    }

    /// The same from a text that is at hand; `name` stands in the id and in errors.
    ///
    /// # Errors
    /// [`ScriptError`] when the text is not such a script.
    pub fn from_text(name: &str, text: &str) -> Result<Scripted, ScriptError> {
        let fixtures = Fixtures::parse(Path::new(name), text.as_bytes())?;
        Ok(Scripted { id: id(name), script: Script::File(fixtures) })
    }

    /// Every request so far. Kept for [`Scripted::replies`] only; a file may play for ever and keeps none.
    pub fn asked(&self) -> Vec<Asked> {
        match &self.script {
            Script::Replies(replies) => replies.lock().unwrap_or_else(PoisonError::into_inner).asked.clone(),
            Script::File(_) => Vec::new(),
        }
    }

    /// A recording, played as it was recorded: every reply ends when those that ended before it then have ended now,
    /// so that workers that run side by side come out the same. The tape tells how far it is. `fast` leaves out all
    /// waits.
    ///
    /// A recording is a fixture file with a head, `"tillerman":{"recording":1,…}`, and beside each `match` and
    /// `response` two fields of our own: `lines`, what people did since the exchange before, and `recorded`, what
    /// the other fields cannot say. One that was torn in its last exchange is played up to there.
    ///
    /// # Errors
    /// [`ScriptError`] as in [`Scripted::from_file`], and when it is a script but no recording.
    pub fn from_recording(path: &Path, fast: bool) -> Result<(Scripted, Arc<Tape>), ScriptError> {
        let (fixtures, tape) = Fixtures::read(path)?.in_order(fast)?;
        Ok((Scripted { id: id(&path.display().to_string()), script: Script::File(fixtures) }, tape))
    }
}

impl Model for Scripted {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn reply<'a>(
        &'a self,
        request: Request<'a>,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            match &self.script {
                Script::File(fixtures) => fixtures.reply(&self.id, request, on_delta).await,
                Script::Replies(replies) => {
                    let turn = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
                    let step = replies.lock().unwrap_or_else(PoisonError::into_inner).next(request)?;
                    step.play(self.id.clone(), turn, on_delta).await
                }
            }
        })
    }
}

impl Replies {
    fn next(&mut self, request: Request<'_>) -> Result<Step, ModelError> {
        self.asked.push(Asked {
            system: request.system.to_owned(),
            messages: request.messages.to_vec(),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
        });
        let (given, call) = (self.given, self.asked.len());
        self.left.pop_front().ok_or_else(|| {
            fault(Fault::BadRequest, format!("the script is over: it holds {given} replies and this is call {call}"))
        })
    }
}

fn id(model: &str) -> ModelId {
    ModelId { provider: "scripted".to_owned(), model: model.to_owned() }
}

fn fault(fault: Fault, message: String) -> ModelError {
    ModelError { fault, provider: "scripted".to_owned(), message, retry_after: None }
}
