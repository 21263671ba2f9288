//! The pilot: a deterministic stand-in for a language model, built in, without network. It understands a few fixed
//! lines and drives the real loop, tools and workers with them; it says so, and says what it cannot do.

use futures_util::future::BoxFuture;

use super::scripted::pieces;
use super::{Delta, Model, ModelError, ModelId, Reply, Request, Stop};
use crate::message::{Message, Usage};

/// Characters in a streamed piece.
const PIECE: usize = 24;

/// The built-in [`Model`] `pilot/pilot`: no language model.
pub struct Pilot {
    id: ModelId,
}

impl Pilot {
    /// The pilot.
    pub fn new() -> Pilot {
        Pilot { id: ModelId { provider: "pilot".to_owned(), model: "pilot".to_owned() } }
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
        _request: Request<'a>,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let text = "I am the pilot, no language model, and do not understand free text.\n\
                Add one with `export ANTHROPIC_API_KEY=…` or `tillerman -m PROVIDER/MODEL`.";
            pieces(text, PIECE).for_each(|piece| on_delta(Delta::Text(piece)));
            Ok(Reply { message: Message::assistant(text), usage: Usage::default(), stop: Stop::EndTurn })
        })
    }
}
