//! An Anthropic Messages reply while it is read: events in, a reply out.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::draft::Draft;
use super::super::fault::Refusal;
use super::super::http::Progress;
use super::super::line::{Line, Reading};
use super::super::sse::SseEvent;
use super::super::{ModelError, Reply, Stop};

/// A reply that is being read.
pub(super) struct Events<'a> {
    line: &'a Line,
    draft: Draft<'a>,
    /// The slot of each content block that is understood.
    slots: Vec<(u64, usize)>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        #[serde(default)]
        index: u64,
        content_block: Value,
    },
    ContentBlockDelta {
        #[serde(default)]
        index: u64,
        delta: Piece,
    },
    MessageDelta {
        delta: End,
        #[serde(default)]
        usage: Option<Tokens>,
    },
    MessageStop,
    Error,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Start {
    #[serde(default)]
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Whole {
    content: Vec<Value>,
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece {
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct End {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens_details: Option<OutputTokens>,
}

#[derive(Deserialize)]
struct OutputTokens {
    thinking_tokens: Option<u64>,
}

impl Reading for Events<'_> {
    fn event(&mut self, event: &SseEvent) -> Result<Progress, ModelError> {
        match event.data.trim() {
            "" => return Ok(Progress::More),
            "[DONE]" => return Ok(Progress::Done),
            _ => {}
        }
        match self.parse(&event.data)? {
            Event::MessageStart { message } => self.usage(message.usage),
            Event::ContentBlockStart { index, content_block } => self.start(index, &content_block),
            Event::ContentBlockDelta { index, delta } => self.piece(index, &delta),
            Event::MessageDelta { delta, usage } => {
                self.usage(usage);
                self.stop(delta.stop_reason.as_deref());
            }
            Event::MessageStop => return Ok(Progress::Done),
            Event::Error => return Err(self.line.endpoint.refusal(&Refusal::read(None, &event.data))),
            Event::Other => {}
        }
        if self.draft.is_too_long() {
            return Err(self.line.endpoint.too_long());
        }
        Ok(if self.draft.stop.is_some() { Progress::Ending } else { Progress::More })
    }

    /// A reply that came at once, from a server that does not stream.
    fn whole(&mut self, body: &str) -> Result<(), ModelError> {
        let Ok(whole) = serde_json::from_str::<Whole>(body) else {
            return Err(self.line.endpoint.refusal(&Refusal::read(None, body)));
        };
        for (index, block) in (0..).zip(&whole.content) {
            self.start(index, block);
        }
        self.usage(whole.usage);
        self.stop(whole.stop_reason.as_deref());
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Reply, ModelError> {
        Ok(self.draft.finish(self.line))
    }
}

impl<'a> Events<'a> {
    pub(super) fn new(line: &'a Line, draft: Draft<'a>) -> Events<'a> {
        Events { line, draft, slots: Vec::new() }
    }

    fn parse<'d, T: Deserialize<'d>>(&self, data: &'d str) -> Result<T, ModelError> {
        let garbled = |e| self.line.endpoint.garbled(format!("an event that cannot be read: {e}"));
        serde_json::from_str(data).map_err(garbled)
    }

    /// A block begins; some servers put all of it here.
    fn start(&mut self, index: u64, block: &Value) {
        let text = |key: &str| block[key].as_str().unwrap_or_default();
        let slot = match text("type") {
            "text" => {
                let slot = self.draft.open_text();
                self.draft.add(slot, text("text"));
                slot
            }
            "thinking" => {
                let slot = self.draft.open_thinking();
                self.draft.add(slot, text("thinking"));
                self.sign(slot, text("signature"));
                slot
            }
            "redacted_thinking" => {
                let slot = self.draft.open_thinking();
                let redacted = json!({"redacted": text("data")});
                self.draft.proof(slot, text("data").len(), || self.line.opaque(redacted));
                slot
            }
            "tool_use" => {
                let slot = self.draft.open_call(text("id"), text("name"), 0);
                let input = block["input"].as_object().filter(|input| !input.is_empty());
                self.draft.add(slot, &input.map_or_else(String::new, |_| block["input"].to_string()));
                slot
            }
            _ => return,
        };
        self.slots.push((index, slot));
    }

    fn piece(&mut self, index: u64, piece: &Piece) {
        let Some((_, slot)) = self.slots.iter().rfind(|(at, _)| *at == index).copied() else { return };
        match piece {
            Piece::TextDelta { text } => self.draft.add(slot, text),
            Piece::ThinkingDelta { thinking } => self.draft.add(slot, thinking),
            Piece::InputJsonDelta { partial_json } => self.draft.add(slot, partial_json),
            Piece::SignatureDelta { signature } => self.sign(slot, signature),
            Piece::Other => {}
        }
    }

    fn sign(&mut self, slot: usize, signature: &str) {
        if signature.is_empty() {
            return;
        }
        let proof = self.draft.proof(slot, signature.len(), || self.line.opaque(json!({"signature": ""})));
        if let Some(Value::String(whole)) = proof.and_then(|data| data.get_mut("signature")) {
            whole.push_str(signature);
        }
    }

    fn usage(&mut self, tokens: Option<Tokens>) {
        let Some(tokens) = tokens else { return };
        let usage = &mut self.draft.usage;
        let set = |figure: &mut u64, told: Option<u64>| *figure = told.unwrap_or(*figure);
        // Every report is of the whole reply so far, never an increment.
        set(&mut usage.input, tokens.input_tokens);
        set(&mut usage.output, tokens.output_tokens);
        set(&mut usage.cache_read, tokens.cache_read_input_tokens);
        set(&mut usage.cache_write, tokens.cache_creation_input_tokens);
        set(&mut usage.reasoning, tokens.output_tokens_details.and_then(|details| details.thinking_tokens));
    }

    fn stop(&mut self, reason: Option<&str>) {
        self.draft.stop = match reason {
            None => return,
            Some("max_tokens" | "model_context_window_exceeded") => Some(Stop::MaxTokens),
            Some("refusal") => Some(Stop::Refusal),
            Some("tool_use") => Some(Stop::ToolUse),
            Some("pause_turn") => Some(Stop::Paused),
            Some(_) => Some(Stop::EndTurn),
        };
    }
}
