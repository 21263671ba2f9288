//! A model that plays a script: replies in order, or a fixture file. Nothing here thinks, and nothing opens a socket.
//! The file format is in `fixture`, its placeholders in `template`.

mod fixture;
mod format;
mod template;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::message::{Block, CallId, Message, RawArgs, Role, Thinking, ToolCall, Usage};
use crate::model::{Delta, Fault, Model, ModelError, ModelId, Reply, Request, Stop};

use fixture::Fixtures;
pub use fixture::ScriptError;

/// Characters in a streamed piece when a step does not say otherwise.
const CHUNK: usize = 20;

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

/// One reply of a script: what is said, or the fault, and how fast it comes.
#[derive(Debug, Clone)]
pub struct Step {
    said: Result<Said, ModelError>,
    latency: Duration,
    chunk: usize,
    cut: Option<usize>,
}

#[derive(Debug, Clone, Default)]
struct Said {
    blocks: Vec<Block>,
    usage: Usage,
    stop: Option<Stop>,
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
    /// [`ScriptError`] when the file cannot be read, is over 10 MiB, or is not such a script.
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

    fn next(&self, request: Request<'_>) -> Result<Step, ModelError> {
        match &self.script {
            Script::Replies(replies) => replies.lock().unwrap_or_else(PoisonError::into_inner).next(request),
            Script::File(fixtures) => fixtures.next(&self.id, request),
        }
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
            let turn = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
            self.next(request)?.play(self.id.clone(), turn, on_delta).await
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

impl Step {
    /// Says a text.
    pub fn says(text: impl Into<String>) -> Step {
        Step::blocks(vec![Block::text(text)])
    }

    /// Calls a tool.
    pub fn calls(name: &str, args: Value) -> Step {
        Step::blocks(Vec::new()).and_calls(name, args)
    }

    /// Says these blocks. A call with an empty id gets one of its own.
    pub fn blocks(blocks: Vec<Block>) -> Step {
        Step { said: Ok(Said { blocks, ..Said::default() }), latency: Duration::ZERO, chunk: CHUNK, cut: None }
    }

    /// Fails.
    pub fn fails(fault_kind: Fault, message: &str) -> Step {
        Step::from(fault(fault_kind, message.to_owned()))
    }

    /// Thinks first.
    #[must_use]
    pub fn after_thinking(self, text: &str) -> Step {
        self.edit(|said| said.blocks.insert(0, Block::Thinking(Thinking { text: text.to_owned(), opaque: None })))
    }

    /// Calls one more tool; its arguments are written as JSON.
    #[must_use]
    pub fn and_calls(self, name: &str, args: Value) -> Step {
        self.and_calls_raw(name, &args.to_string())
    }

    /// Calls one more tool with arguments that may be anything.
    #[must_use]
    pub fn and_calls_raw(self, name: &str, args: &str) -> Step {
        let call = ToolCall { id: CallId(String::new()), name: name.to_owned(), args: RawArgs(args.to_owned()) };
        self.edit(|said| said.blocks.push(Block::Call(call)))
    }

    /// Reports this usage; without it none is reported.
    #[must_use]
    pub fn with_usage(self, usage: Usage) -> Step {
        self.edit(|said| said.usage = usage)
    }

    /// Stops for this reason; without it, `ToolUse` after a call and `EndTurn` otherwise.
    #[must_use]
    pub fn and_stops(self, stop: Stop) -> Step {
        self.edit(|said| said.stop = Some(stop))
    }

    /// Waits this long before each piece, and before failing.
    #[must_use]
    pub fn paced(self, latency: Duration) -> Step {
        Step { latency, ..self }
    }

    /// Streams pieces of this many characters; at least 1.
    #[must_use]
    pub fn in_chunks(self, characters: usize) -> Step {
        Step { chunk: characters.max(1), ..self }
    }

    /// Loses its connection after this many pieces, if it has more.
    #[must_use]
    pub fn cut_after(self, pieces: usize) -> Step {
        Step { cut: Some(pieces), ..self }
    }

    fn edit(mut self, change: impl FnOnce(&mut Said)) -> Step {
        if let Ok(said) = &mut self.said {
            change(said);
        }
        self
    }

    async fn play(
        self,
        model: ModelId,
        turn: usize,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Reply, ModelError> {
        let said = match self.said {
            Ok(said) => said.with_ids(turn),
            Err(error) => {
                wait(self.latency).await;
                return Err(error);
            }
        };
        let deltas: Vec<Delta> = said.blocks.iter().flat_map(|block| deltas(block, self.chunk)).collect();
        for (sent, delta) in deltas.into_iter().enumerate() {
            if self.cut == Some(sent) {
                return Err(fault(Fault::Network, format!("the script cuts this reply after {sent} pieces")));
            }
            wait(self.latency).await;
            on_delta(delta);
        }
        let calls = said.blocks.iter().any(|block| matches!(block, Block::Call(_)));
        let stop = said.stop.unwrap_or(if calls { Stop::ToolUse } else { Stop::EndTurn });
        let message = Message { role: Role::Assistant, blocks: said.blocks };
        Ok(Reply { message, usage: said.usage, stop, model, cost: None })
    }
}

impl From<&str> for Step {
    fn from(text: &str) -> Step {
        Step::says(text)
    }
}

impl From<String> for Step {
    fn from(text: String) -> Step {
        Step::says(text)
    }
}

impl From<ModelError> for Step {
    fn from(error: ModelError) -> Step {
        Step { said: Err(error), ..Step::blocks(Vec::new()) }
    }
}

impl Said {
    /// Calls without an id get one that is unique in the conversation: the turn and the place in the reply.
    fn with_ids(mut self, turn: usize) -> Said {
        for (at, block) in self.blocks.iter_mut().enumerate() {
            if let Block::Call(call) = block
                && call.id.0.is_empty()
            {
                call.id = CallId(format!("call_{turn}_{at}"));
            }
        }
        self
    }
}

/// What of a block streams.
fn deltas(block: &Block, chunk: usize) -> Vec<Delta> {
    match block {
        Block::Text { text } => pieces(text, chunk).map(Delta::Text).collect(),
        Block::Thinking(thinking) => pieces(&thinking.text, chunk).map(Delta::Thinking).collect(),
        Block::Call(call) => vec![Delta::CallOpened { id: call.id.clone(), name: call.name.clone() }],
        Block::Image(_) | Block::Result(_) => Vec::new(),
    }
}

/// Cuts a text into pieces of `chunk` characters; joined they are the text again.
pub(super) fn pieces(text: &str, chunk: usize) -> impl Iterator<Item = String> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(chunk).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then(|| piece.to_owned())
    })
}

async fn wait(latency: Duration) {
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
}

fn id(model: &str) -> ModelId {
    ModelId { provider: "scripted".to_owned(), model: model.to_owned() }
}

fn fault(fault: Fault, message: String) -> ModelError {
    ModelError { fault, provider: "scripted".to_owned(), message, retry_after: None }
}
