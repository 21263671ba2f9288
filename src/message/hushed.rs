//! Messages without secrets: what people and models said is freed from known values, what tools answered also from what
//! looks like a key.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Block, Message, ToolResult};
use crate::secret::Secrets;

impl Message {
    /// The same message where there is nothing to hide. Reasoning that had something to hide loses its provider's proof,
    /// which would not fit it any more.
    pub fn hushed(self: Arc<Message>, secrets: &Secrets) -> Arc<Message> {
        if self.blocks.iter().all(|block| block.is_clean(secrets)) {
            return self;
        }
        let mut message = Arc::unwrap_or_clone(self);
        message.blocks.iter_mut().for_each(|block| block.hush(secrets));
        Arc::new(message)
    }
}

impl Block {
    fn is_clean(&self, secrets: &Secrets) -> bool {
        let is_known_clean = |text: &str| matches!(secrets.hide_known(text), Cow::Borrowed(_));
        match self {
            Block::Text { text } => is_known_clean(text),
            Block::Thinking(thinking) => is_known_clean(&thinking.text),
            Block::Image(_) => true,
            Block::Call(call) => is_known_clean(&call.args.0),
            // The details are not looked through twice.
            Block::Result(result) => {
                result.details.is_null() && matches!(secrets.hide(&result.output), Cow::Borrowed(_))
            }
        }
    }

    fn hush(&mut self, secrets: &Secrets) {
        match self {
            Block::Text { text } => secrets.hide_known_in(text),
            Block::Thinking(thinking) => {
                if let Cow::Owned(hidden) = secrets.hide_known(&thinking.text) {
                    thinking.text = hidden;
                    thinking.opaque = None;
                }
            }
            Block::Image(_) => {}
            Block::Call(call) => secrets.hide_known_in(&mut call.args.0),
            Block::Result(result) => result.hush(secrets),
        }
    }
}

impl ToolResult {
    /// Hides secrets in output and details.
    pub fn hush(&mut self, secrets: &Secrets) {
        secrets.hide_in(&mut self.output);
        secrets.hide_in_value(&mut self.details);
    }
}
