//! How full the model's window is: what the provider counted last, and an estimate of what came since.

use std::sync::Arc;

use super::Agent;
use crate::message::{Block, Message, Usage};

/// Bytes of a token, on the safe side: most text has more.
const BYTES: u64 = 3;

/// What a message costs besides its words, in bytes.
const FRAME: u64 = 24;

/// What a picture costs, in bytes.
const IMAGE: u64 = 1_600 * BYTES;

/// Estimates the tokens of the next request, looking at each message once.
pub(super) struct Gauge {
    /// Tokens of the system prompt and the tools.
    fixed: u64,
    /// Tokens of the request up to the counted messages.
    tokens: u64,
    counted: usize,
}

impl Gauge {
    pub(super) fn new(agent: &Agent) -> Gauge {
        let tools = agent.tools.specs().iter();
        let tools: usize = tools.map(|spec| spec.description.len() + spec.schema.to_string().len()).sum();
        let fixed = (agent.system.len() + tools) as u64 / BYTES;
        Gauge { fixed, tokens: fixed, counted: 0 }
    }

    /// Tokens of the next request.
    pub(super) fn measure(&mut self, context: &[Arc<Message>]) -> u64 {
        let new = context.get(self.counted..).unwrap_or_default();
        self.tokens += tokens(new);
        self.counted = context.len();
        self.tokens
    }

    /// Takes what the provider counted for everything up to and with its reply.
    pub(super) fn replied(&mut self, context: &[Arc<Message>], usage: Usage) {
        self.measure(context);
        // Some servers count nothing, or only what they wrote.
        if usage.prompt() > 0 {
            self.tokens = usage.context();
        }
    }

    /// Begins anew after the conversation was shortened.
    pub(super) fn shortened(&mut self, context: &[Arc<Message>]) -> u64 {
        self.tokens = self.fixed;
        self.counted = 0;
        self.measure(context)
    }

    /// Tokens of the system prompt and the tools.
    pub(super) fn fixed(&self) -> u64 {
        self.fixed
    }
}

/// Estimated tokens of messages.
pub(super) fn tokens(messages: &[Arc<Message>]) -> u64 {
    messages.iter().map(|message| size(message)).sum::<u64>() / BYTES
}

fn size(message: &Message) -> u64 {
    let blocks = message.blocks.iter().map(|block| match block {
        Block::Text { text } => text.len() as u64,
        Block::Thinking(thinking) => thinking.text.len() as u64,
        Block::Image(_) => IMAGE,
        Block::Call(call) => (call.name.len() + call.args.0.len()) as u64 + FRAME,
        Block::Result(result) => result.output.len() as u64 + FRAME,
    });
    FRAME + blocks.sum::<u64>()
}
