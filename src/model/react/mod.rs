//! Tools for models that take none: a model that describes them to another model in words, and reads calls from what
//! it writes, as `Thought:`, `Action:`, `Action Input:`, `Observation:` and `Final Answer:` (ReAct, arXiv 2210.03629).
//! Who asks sees calls and results as ever.

mod input;
mod mark;
mod reading;
mod rewrite;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::draft::Draft;
use super::kept::Kept;
use super::{Delta, Fault, Model, ModelError, ModelId, Reply, Request};
use crate::message::{Block, Message};
use reading::{Expected, Flaw, Reading};
use rewrite::{Told, is_cut, thought};

/// Most times that the model is asked for one reply; after that its words count as they are.
const ASKS: u32 = 2;

/// How models are given tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// As the wire format has it, whatever the model makes of it.
    Native,
    /// In words, also where the model takes tools.
    React,
    /// As the wire format has it, and in words where the catalogue or the server says that the model takes none.
    #[default]
    Auto,
}

/// Decorates a model with tools in words.
pub struct React {
    inner: Arc<dyn Model>,
    /// The model is asked in words; until then it gets its tools as they are.
    in_words: AtomicBool,
    told: Kept<Told>,
}

impl React {
    /// Never gives tools to `inner`, but tells it of them.
    pub fn new(inner: Arc<dyn Model>) -> React {
        React { inner, in_words: AtomicBool::new(true), told: Kept::default() }
    }

    /// Gives tools to `inner` until it, or its server, takes none ([`Fault::NoTools`]); from then on it is told of them.
    pub fn when_refused(inner: Arc<dyn Model>) -> React {
        React { in_words: AtomicBool::new(false), ..React::new(inner) }
    }

    async fn ask(&self, request: Request<'_>, on_delta: &mut (dyn FnMut(Delta) + Send)) -> Result<Reply, ModelError> {
        if request.tools.is_empty() && !request.messages.iter().any(|message| message.calls().next().is_some()) {
            return self.inner.reply(request, on_delta).await;
        }
        let (system, mut messages) = self.told.build(&request, Told::append, |told| {
            (told.system(request.system, request.tools), Arc::clone(&told.messages))
        });
        // What the inner model keeps of this conversation under its own key may have tools.
        let cache_key = format!("{}-words", request.cache_key);
        let goes_on = is_cut(request.messages);
        let mut asked = 1;
        loop {
            let in_words =
                Request { system: &system, messages: &messages, tools: &[], cache_key: &cache_key, ..request };
            let expected = match asked {
                1 if goes_on => Expected::Rest,
                1 if !request.tools.is_empty() => Expected::Form,
                _ => Expected::Answer,
            };
            let mut reading = Reading::new(request, Draft::new(request, &mut *on_delta), expected);
            let said = self.inner.reply(in_words, &mut |delta| reading.take(delta)).await?;
            let (mut message, stop, flaw) = reading.finish(&said);
            let (why, reminder) = match flaw {
                Some(Flaw::Formless) if asked < ASKS => FORMLESS,
                Some(Flaw::Forbidden) if asked < ASKS => FORBIDDEN,
                Some(Flaw::Formless | Flaw::Unmarked) => {
                    count_as_said(&mut message, on_delta);
                    return Ok(Reply { message, stop, ..said });
                }
                Some(Flaw::Forbidden) | None => return Ok(Reply { message, stop, ..said }),
            };
            asked += 1;
            let Reply { message: words, usage, model, cost, .. } = said;
            on_delta(Delta::Discarded { usage, cost, model, why: why.to_owned() });
            on_delta(Delta::Retrying { attempt: asked, wait: Duration::ZERO, why: why.to_owned() });
            Arc::make_mut(&mut messages).extend([words, Message::user(reminder)].map(Arc::new));
        }
    }
}

/// Why a reply is not taken, for people, and what the model is told.
type Reminder = (&'static str, &'static str);

const FORMLESS: Reminder = (
    "the model neither called a tool nor answered; it is reminded of the form",
    "Nobody read your last reply, because it holds neither an Action nor a Final Answer. Write it again in one of the \
     two forms: `Thought:`, `Action:` and `Action Input:` to call a tool, or `Thought:` and `Final Answer:` to answer.",
);

const FORBIDDEN: Reminder = (
    "the model called a tool where it may not; it is asked to answer",
    "No tool can be called any more, so nothing was done. Reply with `Final Answer:` and what you know.",
);

impl Model for React {
    fn id(&self) -> &ModelId {
        self.inner.id()
    }

    fn reply<'a>(
        &'a self,
        request: Request<'a>,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            if !self.in_words.load(Ordering::Relaxed) {
                match self.inner.reply(request, on_delta).await {
                    Err(error) if error.fault == Fault::NoTools => {
                        self.in_words.store(true, Ordering::Relaxed);
                        let why = format!("{error}, which is done from now on");
                        on_delta(Delta::Retrying { attempt: 2, wait: Duration::ZERO, why });
                    }
                    other => return other,
                }
            }
            self.ask(request, on_delta).await
        })
    }
}

/// Takes reasoning for what it seems to be, an answer without a mark.
fn count_as_said(message: &mut Message, on_delta: &mut (dyn FnMut(Delta) + Send)) {
    for block in &mut message.blocks {
        if let Some(text) = thought(block) {
            on_delta(Delta::Text(text.to_owned()));
            *block = Block::text(text.to_owned());
        }
    }
}
