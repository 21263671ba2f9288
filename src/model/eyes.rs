//! Which models see pictures, and what stands for a picture where none is seen.

use std::borrow::Cow;

use super::ModelId;
use super::catalog::Models;
use crate::message::{Block, Message, ToolResult};

/// Most models that are offered instead of one that sees nothing.
const OFFERED: usize = 3;

impl Models {
    /// Whether the model sees pictures. One of which nobody knows is let try: its provider has the last word.
    pub fn takes_images(&self, id: &ModelId) -> bool {
        let provider = self.providers().find(|provider| provider.id == id.provider);
        let listed = provider.and_then(|provider| provider.model(&id.model)?.images);
        listed.unwrap_or(id.provider != "pilot")
    }

    /// A few models that see pictures and whose provider's key is at hand, in order of preference.
    pub fn with_eyes(&self) -> Vec<ModelId> {
        let keyed = self.providers().filter(|provider| self.key_variable(&provider.id).is_some());
        let seeing = keyed.filter_map(|provider| {
            let sees = |model: &&str| provider.model(model).is_some_and(|known| known.images == Some(true));
            let listed = provider.models.iter().map(|known| known.id.as_str());
            let model = provider.prefer.iter().map(String::as_str).chain(listed).find(sees)?;
            Some(ModelId { provider: provider.id.clone(), model: model.to_owned() })
        });
        seeing.take(OFFERED).collect()
    }
}

/// The message as a model reads it for which this text stands in place of every picture; `None` sees them. In place of
/// those that a tool showed it stands in the result.
pub(super) fn seen<'a>(message: &'a Message, instead: Option<&str>) -> Cow<'a, Message> {
    let Some(instead) = instead.filter(|_| has_images(&message.blocks)) else { return Cow::Borrowed(message) };
    let blocks = message.parts().map(|(block, own)| match block {
        Block::Image(_) => Block::text(instead),
        Block::Result(result) if !own.is_empty() => {
            Block::Result(ToolResult { output: format!("{}\n{instead}", result.output), ..result.clone() })
        }
        other => other.clone(),
    });
    Cow::Owned(Message { role: message.role, blocks: blocks.collect() })
}

/// The message for a format whose results hold only text: pictures that a tool showed stand behind all results, under a
/// line that names their call.
pub(super) fn beside_results(message: &Message) -> Cow<'_, Message> {
    if !has_images(&message.blocks) || message.results().next().is_none() {
        return Cow::Borrowed(message);
    }
    let mut blocks = Vec::with_capacity(message.blocks.len() + 1);
    for (block, own) in message.parts() {
        blocks.push(block.clone());
        if let (Block::Result(result), [_, ..]) = (block, own) {
            blocks.push(Block::text(format!("[shown by call {}]", result.call)));
            blocks.extend_from_slice(own);
        }
    }
    Cow::Owned(Message { role: message.role, blocks })
}

fn has_images(blocks: &[Block]) -> bool {
    blocks.iter().any(|block| matches!(block, Block::Image(_)))
}

/// What a model reads that sees nothing.
pub(super) fn left_out(id: &ModelId) -> String {
    format!("[image left out: {id} takes none]")
}
