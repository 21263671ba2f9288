//! A reply while it is being written: its parts in order, the deltas told as they come, call ids made unique, and at
//! the end only what is whole. Every wire format writes into it.

use serde_json::{Map, Value};

use super::line::Line;
use super::{Delta, Reply, Request, Stop};
use crate::message::{Block, CallId, Message, Opaque, RawArgs, Role, Thinking, ToolCall, Usage, Usd};

/// Longest call id that is taken as it comes.
const MAX_ID: usize = 256;

/// Most bytes of a reply: text, reasoning, arguments and proofs together.
const MAX_REPLY: usize = 64 << 20;
/// Most blocks of a reply.
const MAX_PARTS: usize = 4096;

/// A reply that is being written.
pub(super) struct Draft<'a> {
    request: Request<'a>,
    on_delta: &'a mut (dyn FnMut(Delta) + Send),
    parts: Vec<Part>,
    size: usize,
    /// Tokens as far as they are known.
    pub(super) usage: Usage,
    /// Why it stopped; `None` while it has not.
    pub(super) stop: Option<Stop>,
    /// What it cost by the provider's own word.
    pub(super) cost: Option<Usd>,
}

enum Part {
    Text(String),
    Thinking { text: String, opaque: Option<Opaque> },
    Call { id: CallId, name: String, args: String, order: i64 },
}

impl<'a> Draft<'a> {
    pub(super) fn new(request: Request<'a>, on_delta: &'a mut (dyn FnMut(Delta) + Send)) -> Draft<'a> {
        Draft { request, on_delta, parts: Vec::new(), size: 0, usage: Usage::default(), stop: None, cost: None }
    }

    /// Opens a part of text and answers its slot.
    pub(super) fn open_text(&mut self) -> usize {
        self.open(Part::Text(String::new()))
    }

    /// Opens a part of reasoning and answers its slot.
    pub(super) fn open_thinking(&mut self) -> usize {
        self.open(Part::Thinking { text: String::new(), opaque: None })
    }

    /// Opens a call, tells of it and answers its slot. An id that is missing, used or unfit is replaced.
    pub(super) fn open_call(&mut self, id: &str, name: &str, order: i64) -> usize {
        let id = self.fresh(id);
        (self.on_delta)(Delta::CallOpened { id: id.clone(), name: name.to_owned() });
        self.open(Part::Call { id, name: name.to_owned(), args: String::new(), order })
    }

    /// Adds to the part in a slot: text, reasoning or arguments.
    pub(super) fn add(&mut self, slot: usize, piece: &str) {
        if piece.is_empty() {
            return;
        }
        self.size += piece.len();
        match self.parts.get_mut(slot) {
            Some(Part::Text(text)) => {
                text.push_str(piece);
                (self.on_delta)(Delta::Text(piece.to_owned()));
            }
            Some(Part::Thinking { text, .. }) => {
                text.push_str(piece);
                (self.on_delta)(Delta::Thinking(piece.to_owned()));
            }
            Some(Part::Call { args, .. }) => args.push_str(piece),
            None => {}
        }
    }

    /// Brings the part in a slot to what its provider finally says of it: the arguments of a call become that, text
    /// gets what its end still lacks. What was told is never taken back.
    pub(super) fn settle(&mut self, slot: usize, whole: &str) {
        match self.parts.get_mut(slot) {
            Some(Part::Text(told) | Part::Thinking { text: told, .. }) => {
                let rest = whole.strip_prefix(told.as_str()).unwrap_or_default();
                self.add(slot, rest);
            }
            Some(Part::Call { args, .. }) if !whole.is_empty() => {
                self.size += whole.len().saturating_sub(args.len());
                whole.clone_into(args);
            }
            Some(Part::Call { .. }) | None => {}
        }
    }

    /// Nothing was added to the part in a slot.
    pub(super) fn is_blank(&self, slot: usize) -> bool {
        self.parts.get(slot).is_none_or(|part| match part {
            Part::Text(text) | Part::Thinking { text, .. } => text.is_empty(),
            Part::Call { args, .. } => args.is_empty(),
        })
    }

    /// The provider's proof of the reasoning in a slot, made by the function if there is none yet, to which so many
    /// bytes are going to be added.
    pub(super) fn proof(&mut self, slot: usize, bytes: usize, new: impl FnOnce() -> Opaque) -> Option<&mut Value> {
        self.size += bytes;
        match self.parts.get_mut(slot) {
            Some(Part::Thinking { opaque, .. }) => Some(&mut opaque.get_or_insert_with(new).data),
            Some(Part::Text(_) | Part::Call { .. }) | None => None,
        }
    }

    /// The id under which the call in a slot is told.
    pub(super) fn call_id(&self, slot: usize) -> Option<&CallId> {
        match self.parts.get(slot) {
            Some(Part::Call { id, .. }) => Some(id),
            Some(Part::Text(_) | Part::Thinking { .. }) | None => None,
        }
    }

    /// Puts reasoning first, then text, then the calls in their own order, however they were interleaved.
    pub(super) fn sort(&mut self) {
        self.parts.sort_by_key(|part| match part {
            Part::Thinking { .. } => (0, 0),
            Part::Text(_) => (1, 0),
            Part::Call { order, .. } => (2, *order),
        });
    }

    /// Passes on what a model told that this draft is made from; a new attempt makes void what was written so far.
    pub(super) fn pass_on(&mut self, delta: Delta) {
        if matches!(delta, Delta::Retrying { .. }) {
            self.parts.clear();
            self.size = 0;
        }
        (self.on_delta)(delta);
    }

    /// Counts bytes that are kept elsewhere for now.
    pub(super) fn weigh(&mut self, bytes: usize) {
        self.size += bytes;
    }

    /// More was said than is kept of any reply.
    pub(super) fn is_too_long(&self) -> bool {
        self.size > MAX_REPLY || self.parts.len() > MAX_PARTS
    }

    /// Nothing was said.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The reply of the model on this line.
    pub(super) fn finish(self, line: &Line) -> Reply {
        let (usage, cost) = (self.usage, self.cost.or_else(|| line.cost(&self.usage)));
        let (message, stop) = self.close();
        Reply { message, usage, stop, model: line.id.clone(), cost }
    }

    /// What was said, and why it ended. A call that was cut by the token limit is left out.
    pub(super) fn close(self) -> (Message, Stop) {
        let stop = self.stop.unwrap_or(Stop::EndTurn);
        let blocks: Vec<Block> =
            self.parts.into_iter().filter_map(|part| part.close(stop == Stop::MaxTokens)).collect();
        let message = Message { role: Role::Assistant, blocks };
        let stop = match stop {
            Stop::EndTurn | Stop::ToolUse | Stop::Paused if message.calls().next().is_some() => Stop::ToolUse,
            Stop::EndTurn | Stop::ToolUse => Stop::EndTurn,
            Stop::MaxTokens | Stop::Refusal | Stop::Paused => stop,
        };
        (message, stop)
    }

    fn open(&mut self, part: Part) -> usize {
        self.parts.push(part);
        self.parts.len() - 1
    }

    fn fresh(&self, id: &str) -> CallId {
        let unfit = id.is_empty() || id.len() > MAX_ID || id.chars().any(char::is_control);
        let made = format!("call_{}_{}", self.request.messages.len(), self.parts.len());
        let first = if unfit { made } else { id.to_owned() };
        let mut fresh = CallId(first.clone());
        let mut count = 1;
        while self.is_used(&fresh) {
            count += 1;
            fresh = CallId(format!("{first}_{count}"));
        }
        fresh
    }

    fn is_used(&self, id: &CallId) -> bool {
        let here = self.parts.iter().any(|part| matches!(part, Part::Call { id: other, .. } if other == id));
        here || self.request.messages.iter().any(|message| message.calls().any(|call| call.id == *id))
    }
}

impl Part {
    fn close(self, cut: bool) -> Option<Block> {
        match self {
            Part::Text(text) => (!text.is_empty()).then_some(Block::Text { text }),
            Part::Thinking { text, opaque } => {
                (!text.is_empty() || opaque.is_some()).then_some(Block::Thinking(Thinking { text, opaque }))
            }
            Part::Call { args, .. } if cut && object(&args).is_none() => None,
            Part::Call { id, name, args, .. } => {
                let args = if args.trim().is_empty() { "{}".to_owned() } else { args };
                Some(Block::Call(ToolCall { id, name, args: RawArgs(args) }))
            }
        }
    }
}

/// Reads arguments as the JSON object they should be.
pub(super) fn object(args: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(args).ok()
}

/// Arguments as a JSON object that any provider takes back: as written, or what was written as its only field.
pub(super) fn sendable(args: &RawArgs) -> String {
    let text = args.0.trim();
    if text.is_empty() {
        "{}".to_owned()
    } else if object(text).is_some() {
        text.to_owned()
    } else {
        serde_json::json!({ "malformed_arguments": text }).to_string()
    }
}

/// A call id in 1 to 64 letters, digits, `_` and `-`; the same for the same id, different for different ones.
pub(super) fn plain_id(id: &CallId) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=64).contains(&id.0.len()) && id.0.chars().all(fits) {
        return id.0.clone();
    }
    let plain: String = id.0.chars().map(|c| if fits(c) { c } else { '_' }).take(55).collect();
    format!("{plain}_{:08x}", crc32fast::hash(id.0.as_bytes()))
}

/// A tool's name in 1 to 64 letters, digits, `_` and `-`: models make up others, and no provider takes them back.
pub(super) fn plain_name(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let plain: String = name.chars().map(fits).take(64).collect();
    if plain.is_empty() { "_".to_owned() } else { plain }
}

/// A call id in nine letters and digits; the same for the same id.
pub(super) fn short_id(id: &CallId) -> String {
    if id.0.len() == 9 && id.0.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return id.0.clone();
    }
    format!("c{:08x}", crc32fast::hash(id.0.as_bytes()))
}
