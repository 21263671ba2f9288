//! A Chat Completions reply while it is read: chunks in, a reply out. Forgives what servers really do: calls by index
//! with gaps or all at 0, ids that come late or never, arguments as objects, usage in three places.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::draft::Draft;
use super::super::fault::Refusal;
use super::super::http::Progress;
use super::super::line::{Line, Reading};
use super::super::price::Told;
use super::super::sse::SseEvent;
use super::super::{Fault, ModelError, Reply, Stop};
use crate::message::Usage;

/// A reply that is being read.
pub(super) struct Chunks<'a> {
    line: &'a Line,
    draft: Draft<'a>,
    text: Option<usize>,
    thinking: Option<usize>,
    calls: Vec<Call>,
    refused: bool,
}

/// A call that is being assembled. It is told of as soon as its name is known.
#[derive(Default)]
struct Call {
    index: i64,
    id: String,
    slot: Option<usize>,
    /// Arguments that came before the name.
    early: String,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(default)]
    x_groq: Option<Groq>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Groq {
    #[serde(default)]
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default, alias = "message")]
    delta: Option<Piece>,
    #[serde(default)]
    finish_reason: Option<String>,
    #[serde(default)]
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Piece {
    #[serde(default)]
    content: Value,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    reasoning: Option<String>,
    #[serde(default)]
    reasoning_details: Option<Vec<Value>>,
    #[serde(default)]
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Deserialize)]
struct CallPiece {
    #[serde(default)]
    index: Option<i64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<Function>,
    /// Gemini's proof of the reasoning before a call.
    #[serde(default)]
    extra_content: Option<Value>,
}

#[derive(Deserialize)]
struct Function {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tokens {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    total_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptTokens>,
    completion_tokens_details: Option<CompletionTokens>,
    prompt_cache_hit_tokens: Option<u64>,
    #[serde(flatten)]
    told: Told,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PromptTokens {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CompletionTokens {
    reasoning_tokens: Option<u64>,
}

impl Reading for Chunks<'_> {
    fn event(&mut self, event: &SseEvent) -> Result<Progress, ModelError> {
        match event.data.trim() {
            "" => return Ok(Progress::More),
            "[DONE]" => return Ok(Progress::Done),
            _ => {}
        }
        if event.event == "error" {
            return Err(self.line.endpoint.refusal(&Refusal::read(None, &event.data)));
        }
        self.chunk(&event.data)?;
        if self.draft.is_too_long() {
            return Err(self.line.endpoint.too_long());
        }
        Ok(if self.draft.stop.is_some() { Progress::Ending } else { Progress::More })
    }

    /// A reply that came at once, from a server that does not stream.
    fn whole(&mut self, body: &str) -> Result<(), ModelError> {
        match serde_json::from_str::<Value>(body) {
            Ok(value) if value["choices"].is_array() => self.chunk(body),
            Ok(_) | Err(_) => Err(self.line.endpoint.refusal(&Refusal::read(None, body))),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Reply, ModelError> {
        let cut = self.draft.stop == Some(Stop::MaxTokens);
        if !cut && self.calls.iter().any(|call| call.slot.is_none()) {
            return Err(self.line.endpoint.garbled("a tool call without a name"));
        }
        if self.refused {
            self.draft.stop = Some(Stop::Refusal);
        }
        self.draft.sort();
        Ok(self.draft.finish(self.line))
    }
}

impl<'a> Chunks<'a> {
    pub(super) fn new(line: &'a Line, draft: Draft<'a>) -> Chunks<'a> {
        Chunks { line, draft, text: None, thinking: None, calls: Vec::new(), refused: false }
    }

    fn chunk(&mut self, data: &str) -> Result<(), ModelError> {
        let endpoint = &self.line.endpoint;
        let chunk: Chunk =
            serde_json::from_str(data).map_err(|e| endpoint.garbled(format!("an event that cannot be read: {e}")))?;
        if chunk.error.is_some_and(|error| !error.is_null()) {
            return Err(endpoint.refusal(&Refusal::read(None, data)));
        }
        self.usage(chunk.usage.or(chunk.x_groq.and_then(|groq| groq.usage)));
        // We ask for one choice; a server that sends more gets its first one read.
        let Some(choice) = chunk.choices.into_iter().flatten().next() else { return Ok(()) };
        self.usage(choice.usage);
        if let Some(piece) = choice.delta {
            self.piece(piece);
        }
        self.stop(choice.finish_reason.as_deref())
    }

    fn piece(&mut self, piece: Piece) {
        let thoughts = [piece.reasoning_content, piece.reasoning];
        if let Some(thought) = thoughts.into_iter().flatten().find(|thought| !thought.is_empty()) {
            self.think(&thought);
        }
        if let Some(details) = piece.reasoning_details.filter(|details| !details.is_empty()) {
            let bytes = details.iter().map(|detail| detail.to_string().len()).sum();
            let kept = self.proof(bytes).map(|data| &mut data["details"]);
            if let Some(kept) = kept {
                details.into_iter().for_each(|detail| merge(kept, detail));
            }
        }
        match piece.content {
            Value::String(text) => self.say(&text),
            // Mistral: parts, of which some are reasoning.
            Value::Array(parts) => {
                for part in &parts {
                    let thoughts = part["thinking"].as_array().into_iter().flatten();
                    thoughts.filter_map(|part| part["text"].as_str()).for_each(|thought| self.think(thought));
                    self.say(part["text"].as_str().unwrap_or_default());
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
        if let Some(refusal) = piece.refusal.filter(|refusal| !refusal.is_empty()) {
            self.say(&refusal);
            self.refused = true;
        }
        for call in piece.tool_calls.into_iter().flatten() {
            self.call(call);
        }
    }

    fn say(&mut self, text: &str) {
        if !text.is_empty() {
            let slot = *self.text.get_or_insert_with(|| self.draft.open_text());
            self.draft.add(slot, text);
        }
    }

    fn think(&mut self, thought: &str) {
        self.proof(0);
        let slot = *self.thinking.get_or_insert_with(|| self.draft.open_thinking());
        self.draft.add(slot, thought);
    }

    fn proof(&mut self, bytes: usize) -> Option<&mut Value> {
        let slot = *self.thinking.get_or_insert_with(|| self.draft.open_thinking());
        self.draft.proof(slot, bytes, || self.line.opaque(json!({})))
    }

    fn call(&mut self, piece: CallPiece) {
        let id = piece.id.unwrap_or_default();
        let (name, arguments) =
            piece.function.map_or((None, Value::Null), |function| (function.name, function.arguments));
        let at = self.find(piece.index, &id);
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id = id;
        }
        let arguments = match arguments {
            Value::String(text) => text,
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let name = name.filter(|name| !name.is_empty());
        if let (None, Some(name)) = (call.slot, name) {
            let slot = self.draft.open_call(&call.id, &name, call.index);
            call.slot = Some(slot);
            self.draft.add(slot, &std::mem::take(&mut call.early));
        }
        match call.slot {
            Some(slot) => self.draft.add(slot, &arguments),
            None => {
                self.draft.weigh(arguments.len());
                call.early.push_str(&arguments);
            }
        }
        if let (Some(slot), Some(extra)) = (call.slot, piece.extra_content) {
            let id = self.draft.call_id(slot).map(ToString::to_string).unwrap_or_default();
            if let Some(data) = self.proof(extra.to_string().len()) {
                data["calls"][id] = extra;
            }
        }
    }

    /// The call that a piece belongs to. Without an index it is the last one; a new id at a taken index is a new call.
    fn find(&mut self, index: Option<i64>, id: &str) -> usize {
        let fits = |call: &Call| id.is_empty() || call.id.is_empty() || call.id == id;
        let found = match index {
            Some(index) => self.calls.iter().rposition(|call| call.index == index),
            None => self.calls.len().checked_sub(1),
        };
        if let Some(at) = found.filter(|at| fits(&self.calls[*at])) {
            return at;
        }
        let next = self.calls.iter().map(|call| call.index + 1).max().unwrap_or(0);
        let index = index.filter(|_| found.is_none()).unwrap_or(next);
        self.calls.push(Call { index, id: id.to_owned(), ..Call::default() });
        self.calls.len() - 1
    }

    fn usage(&mut self, tokens: Option<Tokens>) {
        let Some(tokens) = tokens else { return };
        self.draft.cost = tokens.told.usd().or(self.draft.cost);
        let prompt = tokens.prompt_tokens.unwrap_or(0);
        let details = tokens.prompt_tokens_details.unwrap_or_default();
        let cache_read = details.cached_tokens.or(tokens.prompt_cache_hit_tokens).unwrap_or(0);
        let cache_write = details.cache_write_tokens.unwrap_or(0);
        // Some do not count reasoning as output, but all count it in the total.
        let rest = tokens.total_tokens.map_or(0, |total| total.saturating_sub(prompt));
        self.draft.usage = Usage {
            input: prompt.saturating_sub(cache_read).saturating_sub(cache_write),
            output: tokens.completion_tokens.unwrap_or(0).max(rest),
            cache_read,
            cache_write,
            reasoning: tokens.completion_tokens_details.and_then(|details| details.reasoning_tokens).unwrap_or(0),
        };
    }

    fn stop(&mut self, reason: Option<&str>) -> Result<(), ModelError> {
        let stop = match reason {
            None | Some("") => return Ok(()),
            Some("length" | "max_tokens" | "model_length" | "model_context_window_exceeded") => Stop::MaxTokens,
            Some("content_filter" | "refusal" | "sensitive") => Stop::Refusal,
            Some("tool_calls" | "function_call") => Stop::ToolUse,
            Some(reason @ ("error" | "network_error" | "insufficient_system_resource")) => {
                let text = format!("the reply was given up with {reason}");
                return Err(self.line.endpoint.error(Fault::Unavailable, text));
            }
            Some(_) => Stop::EndTurn,
        };
        self.draft.stop.get_or_insert(stop);
        Ok(())
    }
}

/// Adds a piece of OpenRouter's reasoning details: to the last one when it continues it, else as a new one.
fn merge(kept: &mut Value, piece: Value) {
    if !kept.is_array() {
        *kept = json!([]);
    }
    let Some(kept) = kept.as_array_mut() else { return };
    let last = kept.last_mut().filter(|last| last["type"] == piece["type"] && last["index"] == piece["index"]);
    let (Some(Value::Object(last)), Value::Object(fields)) = (last, &piece) else {
        kept.push(piece);
        return;
    };
    for (name, value) in fields {
        match (last.get_mut(name), value) {
            (_, Value::Null) => {}
            (Some(Value::String(text)), Value::String(more))
                if ["text", "summary", "data"].contains(&name.as_str()) =>
            {
                text.push_str(more);
            }
            (_, value) => {
                last.insert(name.clone(), value.clone());
            }
        }
    }
}
