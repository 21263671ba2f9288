//! One reply of a script: what is said, or the fault, and how fast it comes.

use std::time::Duration;

use serde_json::Value;

use super::fault;
use crate::message::{Block, CallId, Message, RawArgs, Role, Thinking, ToolCall, Usage, Usd};
use crate::model::{Delta, Fault, ModelError, ModelId, Reply, Stop};

/// Characters in a streamed piece when a step does not say otherwise.
pub(super) const CHUNK: usize = 20;

/// One reply of a script: what is said, or the fault, and how fast it comes.
#[derive(Debug, Clone)]
pub struct Step {
    pub(super) said: Said,
    /// The fault that comes after what is said.
    pub(super) fails: Option<ModelError>,
    pub(super) latency: Duration,
    pub(super) chunk: usize,
    pub(super) cut: Option<usize>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    pub(super) blocks: Vec<Block>,
    pub(super) usage: Usage,
    pub(super) stop: Option<Stop>,
    pub(super) cost: Option<Usd>,
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
        let said = Said { blocks, ..Said::default() };
        Step { said, fails: None, latency: Duration::ZERO, chunk: CHUNK, cut: None }
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

    /// Without any wait.
    pub(super) fn at_once(mut self) -> Step {
        self.latency = Duration::ZERO;
        if let Some(error) = &mut self.fails {
            error.retry_after = None;
        }
        self
    }

    fn edit(mut self, change: impl FnOnce(&mut Said)) -> Step {
        change(&mut self.said);
        self
    }

    pub(super) async fn play(
        self,
        model: ModelId,
        turn: usize,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Reply, ModelError> {
        let said = self.said.with_ids(turn);
        let deltas: Vec<Delta> = said.blocks.iter().flat_map(|block| deltas(block, self.chunk)).collect();
        for (sent, delta) in deltas.into_iter().enumerate() {
            if self.cut == Some(sent) {
                return Err(fault(Fault::Network, format!("the script cuts this reply after {sent} pieces")));
            }
            wait(self.latency).await;
            on_delta(delta);
        }
        if let Some(error) = self.fails {
            wait(self.latency).await;
            return Err(error);
        }
        let calls = said.blocks.iter().any(|block| matches!(block, Block::Call(_)));
        let stop = said.stop.unwrap_or(if calls { Stop::ToolUse } else { Stop::EndTurn });
        let message = Message { role: Role::Assistant, blocks: said.blocks };
        Ok(Reply { message, usage: said.usage, stop, model, cost: said.cost })
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
        Step { fails: Some(error), ..Step::blocks(Vec::new()) }
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
pub(in crate::model) fn pieces(text: &str, chunk: usize) -> impl Iterator<Item = String> {
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
