//! The pilot: a deterministic stand-in for a language model, built in, without network. It understands a few fixed
//! lines and drives the real loop, tools and workers with them; it says so, and says what it cannot do.

mod account;
mod answer;
mod arithmetic;
mod asking;
mod command;
mod intent;
mod main_agent;
mod runbook;
mod talk;
mod worker;

use futures_util::future::BoxFuture;
use serde_json::Value;

use self::talk::Talk;
use super::scripted::pieces;
use super::{Delta, Fault, Model, ModelError, ModelId, Reply, Request, Stop};
use crate::message::{Block, CallId, Message, RawArgs, Role, ToolCall, Usage, Usd};

/// Characters in a streamed piece.
const PIECE: usize = 24;

/// The built-in [`Model`] `pilot/pilot`: no language model.
///
/// As main agent it turns a small table of lines (`help` shows it) into tool calls and results into sentences. As
/// worker, which it is when the conversation opens with `Task t_001: …`, it executes the runbook of the brief, a
/// command per turn, and obeys `skip`, `also run CMD` and `stop`. It keeps nothing between calls: the same
/// conversation always gets the same reply.
pub struct Pilot {
    id: ModelId,
}

impl Pilot {
    /// The pilot.
    pub fn new() -> Pilot {
        Pilot { id: ModelId { provider: "pilot".to_owned(), model: "pilot".to_owned() } }
    }

    /// Whoever makes room in a conversation leaves messages out instead.
    fn cannot_sum_up(&self) -> ModelError {
        let message = "no language model, so it cannot sum up a conversation".to_owned();
        ModelError { fault: Fault::BadRequest, provider: self.id.provider.clone(), message, retry_after: None }
    }
}

impl Default for Pilot {
    fn default() -> Pilot {
        Pilot::new()
    }
}

impl Model for Pilot {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn reply<'a>(
        &'a self,
        request: Request<'a>,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let talk = Talk::of(request.messages);
            let spoken = talk.spoken;
            if request.tools.is_empty() && talk.lines.iter().any(|line| line.starts_with("<transcript>")) {
                return Err(self.cannot_sum_up());
            }
            let speech = match worker::is_worker(request.messages) {
                true => worker::reply(request.messages, request.tools),
                false => main_agent::reply(&talk, request.tools),
            };
            let reply = speech.reply(self.id.clone(), spoken);
            for block in &reply.message.blocks {
                stream(block, on_delta);
            }
            Ok(reply)
        })
    }
}

/// What the pilot says and calls in one reply.
#[derive(Default)]
struct Speech {
    paragraphs: Vec<String>,
    calls: Vec<(&'static str, Value)>,
}

impl Speech {
    fn of(paragraph: &str) -> Speech {
        Speech { paragraphs: vec![paragraph.to_owned()], calls: Vec::new() }
    }

    fn say(&mut self, paragraph: &str) {
        self.paragraphs.push(paragraph.to_owned());
    }

    fn call(&mut self, name: &'static str, args: Value) {
        self.calls.push((name, args));
    }

    fn is_empty(&self) -> bool {
        self.paragraphs.is_empty() && self.calls.is_empty()
    }

    /// The reply; `spoken` makes the ids of its calls unique in the conversation.
    fn reply(self, model: ModelId, spoken: usize) -> Reply {
        let stop = if self.calls.is_empty() { Stop::EndTurn } else { Stop::ToolUse };
        let text = self.paragraphs.join("\n\n");
        let text = (!text.is_empty()).then(|| Block::text(text));
        let calls = self.calls.into_iter().enumerate().map(|(at, (name, args))| {
            let id = CallId(format!("pilot_{spoken}_{at}"));
            Block::Call(ToolCall { id, name: name.to_owned(), args: RawArgs(args.to_string()) })
        });
        let blocks = text.into_iter().chain(calls).collect();
        let message = Message { role: Role::Assistant, blocks };
        Reply { message, usage: Usage::default(), stop, model, cost: Some(Usd(0)) }
    }
}

fn stream(block: &Block, on_delta: &mut (dyn FnMut(Delta) + Send)) {
    match block {
        Block::Text { text } => pieces(text, PIECE).for_each(|piece| on_delta(Delta::Text(piece))),
        Block::Call(call) => on_delta(Delta::CallOpened { id: call.id.clone(), name: call.name.clone() }),
        Block::Thinking(_) | Block::Image(_) | Block::Result(_) => {}
    }
}
