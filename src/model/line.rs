//! What the models of all wire formats share: who answers, where it is asked, what its requests add, and the course of
//! a call: encode, send, read. What the bytes mean is the format's; trying again is for `retry`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::draft::Draft;
use super::encoded::{Encoded, field};
use super::http::{Answer, Endpoint, Progress};
use super::price::Price;
use super::provider::Quirks;
use super::sse::SseEvent;
use super::{Delta, Fault, Model, ModelError, ModelId, Reply, Request, Stop};
use crate::message::{Opaque, Usage, Usd};

/// Broken streams in a row after which the next reply is asked for whole.
const BREAKS: u8 = 2;
/// Stands for a server that said that it does not stream.
const NEVER: u8 = u8::MAX;

/// One model at the end of a line to its provider.
pub(super) struct Line {
    pub(super) id: ModelId,
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) quirks: Quirks,
    pub(super) figures: Figures,
    /// Fields of every request, settings included.
    pub(super) body: Map<String, Value>,
    /// `None` leaves it to the provider.
    pub(super) temperature: Option<f64>,
    pub(super) encoded: Encoded,
    pub(super) breaks: Breaks,
}

/// What is known of the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figures {
    /// Context window in tokens; a careful guess for a model that is not listed.
    pub(super) window: u64,
    /// Most output tokens, where known.
    pub(super) max_out: Option<u64>,
    /// What it costs, where known.
    pub(super) price: Option<Price>,
    /// It sees pictures, or nobody knows.
    pub(super) images: bool,
}

/// A wire format: how a request is written, and who reads the reply.
pub(super) trait Format: Send + Sync {
    fn line(&self) -> &Line;

    /// The request's body; `streamed` asks for a stream of pieces.
    fn encode(&self, request: &Request<'_>, streamed: bool) -> Vec<u8>;

    fn reading<'a>(&'a self, draft: Draft<'a>) -> Box<dyn Reading + Send + 'a>;

    /// Writes a refused conversation in another way from now on, where there is one; then it is asked once more.
    fn reword(&self, _: &Request<'_>, _: &ModelError) -> bool {
        false
    }
}

/// A reply while it is read.
pub(super) trait Reading {
    /// Takes the next event of a stream.
    fn event(&mut self, event: &SseEvent) -> Result<Progress, ModelError>;

    /// Takes a reply that comes at once.
    fn whole(&mut self, body: &str) -> Result<(), ModelError>;

    /// The reply, when nothing more comes.
    fn finish(self: Box<Self>) -> Result<Reply, ModelError>;
}

/// A model that speaks a format.
pub(super) struct Spoken<F>(pub(super) F);

/// How many streams of this line broke one after the other.
#[derive(Debug, Default)]
pub(super) struct Breaks(AtomicU8);

impl<F: Format> Model for Spoken<F> {
    fn id(&self) -> &ModelId {
        &self.0.line().id
    }

    fn reply<'a>(
        &'a self,
        request: Request<'a>,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let breaks = &self.0.line().breaks;
            let mut streamed = breaks.0.load(Ordering::Relaxed) < BREAKS;
            let mut reworded = false;
            // A call may be refused for one reason and then for the other; for each it is asked once more.
            loop {
                match self.call(request, on_delta, streamed).await {
                    Err(error) if streamed && refuses_streams(&error) => {
                        tracing::info!(%error, "whole replies from here on");
                        breaks.0.store(NEVER, Ordering::Relaxed);
                        streamed = false;
                    }
                    Err(error) if !reworded && self.0.reword(&request, &error) => {
                        tracing::info!(%error, "asked again in other words");
                        on_delta(Delta::Retrying { attempt: 2, wait: Duration::ZERO, why: error.to_string() });
                        reworded = true;
                    }
                    other => return other,
                }
            }
        })
    }
}

impl<F: Format> Spoken<F> {
    async fn call(
        &self,
        request: Request<'_>,
        on_delta: &mut (dyn FnMut(Delta) + Send),
        streamed: bool,
    ) -> Result<Reply, ModelError> {
        let line = self.0.line();
        let body = self.0.encode(&request, streamed);
        let mut reading = self.0.reading(Draft::new(request, on_delta));
        match line.endpoint.post(body, streamed).await? {
            Answer::Stream(stream) => {
                let read = stream.read(|event| reading.event(event)).await;
                line.breaks.note(read.as_ref().err());
                read?;
            }
            Answer::Whole(body) => {
                reading.whole(&body)?;
                line.breaks.forgive();
            }
        }
        let reply = reading.finish()?;
        match line.overflow(&reply) {
            Some(error) => Err(error),
            None => Ok(reply),
        }
    }
}

impl Line {
    /// Most tokens that the request may ask for.
    pub(super) fn max_tokens(&self, request: &Request<'_>) -> u64 {
        self.figures.max_out.map_or(request.max_tokens, |max| max.min(request.max_tokens))
    }

    /// Appends the fields that settings and catalogue add to a request, to an object that has a field already.
    pub(super) fn add_body(&self, out: &mut Vec<u8>) {
        self.add_fields(out, &self.body);
    }

    /// The same with other fields than the line's own.
    pub(super) fn add_fields(&self, out: &mut Vec<u8>, fields: &Map<String, Value>) {
        if let Some(temperature) = self.temperature {
            field(out, "temperature", &temperature);
        }
        for (name, value) in fields {
            field(out, name, value);
        }
    }

    /// The fault of a reply that nobody gave to all of the conversation: the server cut it without a word. It shows in a
    /// full window with no room left to say anything, and where that is known of a server, in a prompt above the window.
    fn overflow(&self, reply: &Reply) -> Option<ModelError> {
        let (prompt, window) = (reply.usage.prompt(), self.figures.window);
        let is_full = prompt.saturating_mul(100) >= window.saturating_mul(99);
        let is_mute = reply.stop == Stop::MaxTokens && reply.message.blocks.is_empty();
        let is_cut = self.quirks.silent_overflow && prompt > window;
        ((is_full && is_mute) || is_cut).then(|| {
            let text = format!("the conversation fills the window: {prompt} of {window} tokens");
            self.endpoint.error(Fault::Overflow, text)
        })
    }

    /// The object of a request in which a format has its settings: the limits, and what settings and catalogue add.
    pub(super) fn options(&self, name: &str, mut limits: Map<String, Value>) -> Map<String, Value> {
        if let Some(temperature) = self.temperature {
            limits.insert("temperature".to_owned(), temperature.into());
        }
        let own = self.body.get(name).and_then(Value::as_object).into_iter().flatten();
        limits.extend(own.map(|(name, value)| (name.clone(), value.clone())));
        limits
    }

    /// Appends the fields that settings and catalogue add beside these.
    pub(super) fn add_body_without(&self, out: &mut Vec<u8>, others: &[&str]) {
        for (name, value) in self.body.iter().filter(|(name, _)| !others.contains(&name.as_str())) {
            field(out, name, value);
        }
    }

    /// A proof of this very model.
    pub(super) fn opaque(&self, data: Value) -> Opaque {
        Opaque { provider: self.id.provider.clone(), model: self.id.model.clone(), data }
    }

    /// The proof comes from this very model.
    pub(super) fn wrote(&self, opaque: &Opaque) -> bool {
        opaque.provider == self.id.provider && opaque.model == self.id.model
    }

    /// What a call costs; `None` when nobody knows the price, or the server counted nothing.
    pub(super) fn cost(&self, usage: &Usage) -> Option<Usd> {
        self.figures.price.as_ref()?.of(usage)
    }
}

impl Breaks {
    /// A stream that nobody can read is not tried a second time; one that was cut is, for connections do break.
    fn note(&self, error: Option<&ModelError>) {
        self.change(|breaks| match error.map(|error| error.fault) {
            None => 0,
            Some(Fault::Garbled) => BREAKS,
            Some(Fault::Network) => (breaks + 1).min(BREAKS),
            Some(_) => breaks,
        });
    }

    /// A whole reply came, so the next one is tried as a stream again; if that breaks, once is enough.
    fn forgive(&self) {
        self.change(|breaks| breaks.min(BREAKS - 1));
    }

    fn change(&self, to: impl Fn(u8) -> u8) {
        // A line that never streams stays so.
        let change = |breaks: u8| (breaks != NEVER).then(|| to(breaks));
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
    }
}

/// Some gateways and accounts may not stream; the refusal names the field or the word.
fn refuses_streams(error: &ModelError) -> bool {
    let text = error.message.to_lowercase();
    // llama.cpp of old calls it a fault of its own.
    error.fault == Fault::BadRequest && text.contains("stream") || text.contains("cannot use tools with stream")
}
