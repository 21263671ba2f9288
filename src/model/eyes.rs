//! Which models see pictures, and what stands for a picture where none is seen.

use std::borrow::Cow;

use super::ModelId;
use super::catalog::Models;
use crate::message::{Block, Message};

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

/// The message as a model reads it for which this text stands in place of every picture; `None` sees them.
pub(super) fn seen<'a>(message: &'a Message, instead: Option<&str>) -> Cow<'a, Message> {
    let has_images = message.blocks.iter().any(|block| matches!(block, Block::Image(_)));
    let Some(instead) = instead.filter(|_| has_images) else { return Cow::Borrowed(message) };
    let block = |block: &Block| match block {
        Block::Image(_) => Block::text(instead),
        other => other.clone(),
    };
    Cow::Owned(Message { role: message.role, blocks: message.blocks.iter().map(block).collect() })
}

/// What a model reads that sees nothing.
pub(super) fn left_out(id: &ModelId) -> String {
    format!("[image left out: {id} takes none]")
}
