//! An Ollama reply while it is read: lines of JSON in, a reply out.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::draft::Draft;
use super::super::fault::Refusal;
use super::super::http::Progress;
use super::super::line::{Line, Reading};
use super::super::sse::SseEvent;
use super::super::{ModelError, Reply, Stop};
use crate::message::Usage;

/// A reply that is being read.
pub(super) struct Lines<'a> {
    line: &'a Line,
    draft: Draft<'a>,
    /// The part that the next piece of its kind goes to.
    open: Option<(Kind, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
}

#[derive(Deserialize)]
struct Told {
    message: Option<Piece>,
    #[serde(default)]
    done: bool,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Piece {
    content: Option<String>,
    thinking: Option<String>,
    /// The word that other servers with this door have for it.
    reasoning_content: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Deserialize)]
struct CallPiece {
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    #[serde(default)]
    name: String,
    #[serde(default)]
    arguments: Value,
}

impl Reading for Lines<'_> {
    fn event(&mut self, event: &SseEvent) -> Result<Progress, ModelError> {
        let garbled = |e| self.line.endpoint.garbled(format!("a line that cannot be read: {e}"));
        let told: Told = serde_json::from_str(&event.data).map_err(garbled)?;
        self.told(told, &event.data)?;
        if self.draft.is_too_long() {
            return Err(self.line.endpoint.too_long());
        }
        Ok(if self.draft.stop.is_some() { Progress::Done } else { Progress::More })
    }

    /// A reply that came at once, or all lines of a stream whose kind was not named.
    fn whole(&mut self, body: &str) -> Result<(), ModelError> {
        let garbled = |e| self.line.endpoint.garbled(format!("a reply that cannot be read: {e}"));
        for value in serde_json::Deserializer::from_str(body).into_iter::<Value>() {
            let value = value.map_err(garbled)?;
            let data = value.to_string();
            self.told(serde_json::from_value(value).map_err(garbled)?, &data)?;
        }
        if self.draft.stop.is_none() {
            return Err(self.line.endpoint.garbled("a reply without its end"));
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Reply, ModelError> {
        Ok(self.draft.finish(self.line))
    }
}

impl<'a> Lines<'a> {
    pub(super) fn new(line: &'a Line, draft: Draft<'a>) -> Lines<'a> {
        Lines { line, draft, open: None }
    }

    fn told(&mut self, told: Told, data: &str) -> Result<(), ModelError> {
        if told.error.is_some() {
            return Err(self.line.endpoint.refusal(&Refusal::read(None, data)));
        }
        if let Some(piece) = told.message {
            self.piece(piece)?;
        }
        let usage = &mut self.draft.usage;
        *usage = Usage {
            input: told.prompt_eval_count.unwrap_or(usage.input),
            output: told.eval_count.unwrap_or(usage.output),
            ..Usage::default()
        };
        if !told.done {
            return Ok(());
        }
        self.draft.stop = Some(match told.done_reason.as_deref() {
            Some("length") => Stop::MaxTokens,
            Some(reason @ ("load" | "unload")) if self.draft.is_empty() => {
                return Err(self.line.endpoint.garbled(format!("{reason} and nothing else")));
            }
            Some(_) | None => Stop::EndTurn,
        });
        Ok(())
    }

    fn piece(&mut self, piece: Piece) -> Result<(), ModelError> {
        let thoughts = [piece.thinking, piece.reasoning_content];
        if let Some(thought) = thoughts.into_iter().flatten().find(|thought| !thought.is_empty()) {
            self.add(Kind::Thinking, &thought);
        }
        self.add(Kind::Text, &piece.content.unwrap_or_default());
        for call in piece.tool_calls.into_iter().flatten() {
            if call.function.name.is_empty() {
                return Err(self.line.endpoint.garbled("a tool call without a name"));
            }
            self.open = None;
            let slot = self.draft.open_call(&call.id.unwrap_or_default(), &call.function.name, 0);
            let arguments = match call.function.arguments {
                Value::String(text) => text,
                Value::Null => String::new(),
                other => other.to_string(),
            };
            self.draft.add(slot, &arguments);
        }
        Ok(())
    }

    fn add(&mut self, kind: Kind, text: &str) {
        if text.is_empty() {
            return;
        }
        let slot = match self.open {
            Some((open, slot)) if open == kind => slot,
            Some(_) | None => self.open(kind),
        };
        self.open = Some((kind, slot));
        self.draft.add(slot, text);
    }

    fn open(&mut self, kind: Kind) -> usize {
        match kind {
            Kind::Text => self.draft.open_text(),
            Kind::Thinking => {
                let slot = self.draft.open_thinking();
                // Nothing to prove, but it says whose reasoning it is: only its own goes back to a model.
                self.draft.proof(slot, 0, || self.line.opaque(json!({})));
                slot
            }
        }
    }
}
