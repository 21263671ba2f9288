//! An OpenAI Responses reply while it is read: events in, a reply out. A finished item has the last word on itself; a
//! server that sends only pieces, only finished items or only the finished reply is understood too.

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

/// Most items of a reply.
const MAX_ITEMS: usize = 4096;

/// A reply that is being read.
pub(super) struct Items<'a> {
    line: &'a Line,
    draft: Draft<'a>,
    items: Vec<Item>,
    refused: bool,
}

/// An item of the reply, as far as it came.
struct Item {
    kind: Kind,
    index: i64,
    id: String,
    /// Where it is written; a call has no place before its name is known.
    slot: Option<usize>,
    /// Where the phase of a message is kept: right before its text.
    before: Option<usize>,
    /// Arguments that came before the name.
    early: String,
    /// The part of it that is being written.
    part: i64,
    /// It is finished.
    closed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Call,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Event {
    #[serde(rename = "response.output_item.added")]
    Added(Whole),
    #[serde(rename = "response.output_item.done")]
    Done(Whole),
    #[serde(rename = "response.output_text.delta")]
    Text(Piece),
    #[serde(rename = "response.refusal.delta")]
    Refusal(Piece),
    #[serde(rename = "response.reasoning_summary_text.delta", alias = "response.reasoning_text.delta")]
    Thinking(Piece),
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments(Piece),
    #[serde(rename = "response.function_call_arguments.done")]
    ArgumentsDone(Piece),
    #[serde(rename = "response.completed", alias = "response.done")]
    Completed(End),
    #[serde(rename = "response.incomplete")]
    Incomplete(End),
    #[serde(rename = "response.failed")]
    Failed(End),
    #[serde(rename = "error")]
    Error,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Whole {
    #[serde(default)]
    output_index: Option<i64>,
    item: Value,
}

#[derive(Deserialize)]
struct Piece {
    #[serde(default)]
    output_index: Option<i64>,
    #[serde(default)]
    item_id: Option<String>,
    #[serde(default)]
    summary_index: Option<i64>,
    #[serde(default)]
    content_index: Option<i64>,
    #[serde(default)]
    delta: String,
    #[serde(default)]
    arguments: String,
}

#[derive(Deserialize)]
struct End {
    #[serde(default)]
    response: Value,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<InputTokens>,
    output_tokens_details: Option<OutputTokens>,
    /// Of gateways, and of xAI.
    #[serde(flatten)]
    told: Told,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct InputTokens {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OutputTokens {
    reasoning_tokens: Option<u64>,
}

impl Reading for Items<'_> {
    fn event(&mut self, event: &SseEvent) -> Result<Progress, ModelError> {
        match event.data.trim() {
            "" => return Ok(Progress::More),
            "[DONE]" => return Ok(Progress::Done),
            _ => {}
        }
        let endpoint = &self.line.endpoint;
        match self.parse(&event.data)? {
            Event::Added(Whole { output_index, item }) => self.added(output_index, &item),
            Event::Done(Whole { output_index, item }) => self.done(output_index, &item),
            Event::Text(piece) => self.piece(Kind::Text, &piece),
            Event::Refusal(piece) => {
                self.refused = true;
                self.piece(Kind::Text, &piece);
            }
            Event::Thinking(piece) => self.piece(Kind::Thinking, &piece),
            Event::Arguments(piece) => self.piece(Kind::Call, &piece),
            Event::ArgumentsDone(piece) => self.arguments(&piece),
            Event::Completed(end) => return self.end(&end.response, "completed"),
            Event::Incomplete(end) => return self.end(&end.response, "incomplete"),
            Event::Failed(end) => return self.end(&end.response, "failed"),
            Event::Error => return Err(endpoint.refusal(&Refusal::read(None, &event.data))),
            Event::Other => {}
        }
        if self.draft.is_too_long() || self.items.len() > MAX_ITEMS {
            return Err(endpoint.too_long());
        }
        Ok(Progress::More)
    }

    /// A reply that came at once, from a server that does not stream.
    fn whole(&mut self, body: &str) -> Result<(), ModelError> {
        match serde_json::from_str::<Value>(body) {
            Ok(response) if response["output"].is_array() => self.end(&response, "completed").map(|_| ()),
            Ok(_) | Err(_) => Err(self.line.endpoint.refusal(&Refusal::read(None, body))),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Reply, ModelError> {
        let cut = self.draft.stop == Some(Stop::MaxTokens);
        if !cut && self.items.iter().any(|item| item.slot.is_none()) {
            return Err(self.line.endpoint.garbled("a tool call without a name"));
        }
        if self.refused {
            self.draft.stop = Some(Stop::Refusal);
        }
        Ok(self.draft.finish(self.line))
    }
}

impl<'a> Items<'a> {
    pub(super) fn new(line: &'a Line, draft: Draft<'a>) -> Items<'a> {
        Items { line, draft, items: Vec::new(), refused: false }
    }

    fn parse(&self, data: &str) -> Result<Event, ModelError> {
        let endpoint = &self.line.endpoint;
        serde_json::from_str(data).map_err(|e| match serde_json::from_str::<Value>(data) {
            // Gateways tell of what went wrong in a form of their own.
            Ok(value) if value["error"].is_object() => endpoint.refusal(&Refusal::read(None, data)),
            Ok(_) | Err(_) => endpoint.garbled(format!("an event that cannot be read: {e}")),
        })
    }

    fn added(&mut self, index: Option<i64>, item: &Value) {
        if let Some(kind) = Kind::of(item) {
            let at = self.open(kind, index, word(item, "id"));
            self.name(at, item);
        }
    }

    fn done(&mut self, index: Option<i64>, item: &Value) {
        let Some(kind) = Kind::of(item) else { return };
        let at = self.find(kind, index, word(item, "id"));
        self.name(at, item);
        self.items[at].closed = true;
        let Some(slot) = self.items[at].slot else { return };
        match kind {
            Kind::Text => {
                let parts = || item["content"].as_array().into_iter().flatten();
                self.refused |= parts().any(|part| part["type"] == "refusal");
                let said: String = parts().map(|part| [word(part, "text"), word(part, "refusal")].concat()).collect();
                self.draft.settle(slot, &said);
                if let (Some(before), phase @ Value::String(word)) = (self.items[at].before, &item["phase"]) {
                    self.draft.proof(before, word.len(), || self.line.opaque(json!({"phase": phase})));
                }
            }
            Kind::Thinking => {
                let texts = |list: &str| {
                    let parts = item[list].as_array().into_iter().flatten();
                    parts.map(|part| word(part, "text")).collect::<Vec<_>>().join("\n\n")
                };
                let readable = ["summary", "content"].map(texts).into_iter().find(|text| !text.is_empty());
                self.draft.settle(slot, &readable.unwrap_or_default());
                // What is not sealed could only be looked up, and nothing is stored.
                if item["encrypted_content"].is_string() {
                    self.draft.proof(slot, item.to_string().len(), || self.line.opaque(json!({"item": item})));
                }
            }
            Kind::Call => self.draft.settle(slot, &written(&item["arguments"])),
        }
    }

    fn piece(&mut self, kind: Kind, piece: &Piece) {
        let at = self.find(kind, piece.output_index, piece.item_id.as_deref().unwrap_or_default());
        let item = &mut self.items[at];
        let part = piece.summary_index.or(piece.content_index).unwrap_or(item.part);
        let next = part != item.part;
        item.part = part;
        match item.slot {
            Some(slot) => {
                if next && kind == Kind::Thinking && !self.draft.is_blank(slot) {
                    self.draft.add(slot, "\n\n");
                }
                self.draft.add(slot, &piece.delta);
            }
            None => {
                self.draft.weigh(piece.delta.len());
                item.early.push_str(&piece.delta);
            }
        }
    }

    fn arguments(&mut self, whole: &Piece) {
        let at = self.find(Kind::Call, whole.output_index, whole.item_id.as_deref().unwrap_or_default());
        match self.items[at].slot {
            Some(slot) => self.draft.settle(slot, &whole.arguments),
            None => {
                self.draft.weigh(whole.arguments.len());
                self.items[at].early.clone_from(&whole.arguments);
            }
        }
    }

    /// Opens a call as soon as its name is known.
    fn name(&mut self, at: usize, value: &Value) {
        let item = &mut self.items[at];
        let name = word(value, "name");
        if item.slot.is_none() && !name.is_empty() {
            let id = ["call_id", "id"].map(|key| word(value, key)).into_iter().find(|id| !id.is_empty());
            let slot = self.draft.open_call(id.unwrap_or_default(), name, 0);
            item.slot = Some(slot);
            self.draft.add(slot, &std::mem::take(&mut item.early));
        }
    }

    /// The item in progress that is meant. By its place first, for some gateways give it another id in every event;
    /// one that nobody announced begins here.
    fn find(&mut self, kind: Kind, index: Option<i64>, id: &str) -> usize {
        let find = |is: &dyn Fn(&Item) -> bool| {
            self.items.iter().rposition(|item| item.kind == kind && !item.closed && is(item))
        };
        let by_id = || find(&|item| !id.is_empty() && item.id == id);
        let found = match index {
            Some(index) => find(&|item| item.index == index).or_else(by_id),
            None => by_id().or_else(|| find(&|_| true)),
        };
        found.unwrap_or_else(|| self.open(kind, index, id))
    }

    fn open(&mut self, kind: Kind, index: Option<i64>, id: &str) -> usize {
        let taken = |index: &i64| self.items.iter().any(|item| item.index == *index);
        let next = || self.items.iter().map(|item| item.index).max().unwrap_or(-1).saturating_add(1);
        let index = index.filter(|index| !taken(index)).unwrap_or_else(next);
        let before = (kind == Kind::Text).then(|| self.draft.open_thinking());
        let slot = match kind {
            Kind::Text => Some(self.draft.open_text()),
            Kind::Thinking => Some(self.draft.open_thinking()),
            Kind::Call => None,
        };
        let item = Item { kind, index, id: id.to_owned(), slot, before, early: String::new(), part: 0, closed: false };
        self.items.push(item);
        self.items.len() - 1
    }

    /// Takes the finished reply: what of it never came as an item, what it cost and why it ended.
    fn end(&mut self, response: &Value, status: &str) -> Result<Progress, ModelError> {
        let endpoint = &self.line.endpoint;
        // An event's name says more than the copy of the reply in it, unless that tells of a worse end.
        let status = match response["status"].as_str() {
            Some(told @ ("incomplete" | "failed" | "cancelled")) => told,
            Some(_) | None => status,
        };
        for (index, item) in (0..).zip(response["output"].as_array().into_iter().flatten()) {
            let id = word(item, "id");
            let same = |known: &Item| known.index == index || (!id.is_empty() && known.id == id);
            if !self.items.iter().any(|known| known.closed && same(known)) {
                self.done(Some(index), item);
            }
        }
        if self.draft.is_too_long() {
            return Err(endpoint.too_long());
        }
        self.usage(&response["usage"]);
        self.draft.stop = Some(match status {
            "failed" => return Err(self.failed(&response["error"])),
            "cancelled" => return Err(endpoint.error(Fault::Unavailable, "the reply was cancelled")),
            "incomplete" if response["incomplete_details"]["reason"] == "content_filter" => Stop::Refusal,
            "incomplete" => Stop::MaxTokens,
            _ => Stop::EndTurn,
        });
        Ok(Progress::Done)
    }

    fn failed(&self, error: &Value) -> ModelError {
        let endpoint = &self.line.endpoint;
        match error {
            Value::Object(_) => endpoint.refusal(&Refusal::read(None, &error.to_string())),
            _ => endpoint.error(Fault::Unavailable, "the reply failed without a reason"),
        }
    }

    fn usage(&mut self, usage: &Value) {
        let Ok(tokens) = Tokens::deserialize(usage) else { return };
        let details = tokens.input_tokens_details.unwrap_or_default();
        let (cache_read, cache_write) = (details.cached_tokens.unwrap_or(0), details.cache_write_tokens.unwrap_or(0));
        self.draft.usage = Usage {
            input: tokens.input_tokens.unwrap_or(0).saturating_sub(cache_read).saturating_sub(cache_write),
            output: tokens.output_tokens.unwrap_or(0),
            cache_read,
            cache_write,
            reasoning: tokens.output_tokens_details.and_then(|details| details.reasoning_tokens).unwrap_or(0),
        };
        self.draft.cost = tokens.told.usd();
    }
}

impl Kind {
    /// `None` for an item that is neither said nor asked of us, for example a search that the provider made.
    fn of(item: &Value) -> Option<Kind> {
        match item["type"].as_str()? {
            "message" => Some(Kind::Text),
            "function_call" => Some(Kind::Call),
            "reasoning" => Some(Kind::Thinking),
            // Whatever is sealed wants to be seen again.
            _ => item["encrypted_content"].is_string().then_some(Kind::Thinking),
        }
    }
}

fn word<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// Arguments as text; some servers send them as an object.
fn written(arguments: &Value) -> String {
    match arguments {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
