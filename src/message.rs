//! What is said: messages, their blocks, tool calls and results. Nothing here knows a provider, a file or a run.

mod approval;
mod budget;
mod hushed;
mod image;
mod money;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::approval::{Approval, NoApproval};
pub use self::budget::{Budget, BudgetError, Change};
pub use self::image::{Image, ImageKind, Unfit};
pub use self::money::{Bill, Spent, Tally, Usd};

/// Who speaks in a [`Message`]. The system prompt is no message; it travels beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A person, a note, a report, or the results of tools.
    User,
    /// The model.
    Assistant,
}

/// One entry of a conversation: a speaker and what it said, in order.
///
/// Several messages of the same role may follow one another; a wire format that needs alternation merges them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What was said, in the order in which it was said.
    pub blocks: Vec<Block>,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Plain text.
    Text {
        /// The text, UTF-8, not escaped.
        text: String,
    },
    /// The model's reasoning, replayed only to the model that produced it.
    Thinking(Thinking),
    /// A picture.
    Image(Image),
    /// A request of the model to run a tool.
    Call(ToolCall),
    /// What a tool answered.
    Result(ToolResult),
}

/// Reasoning as it was streamed, with what its provider needs to accept it back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Thinking {
    /// Readable text; empty when the provider sends reasoning only in sealed form.
    pub text: String,
    /// The provider's own proof, opaque to us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
}

/// Provider data that is stored and sent back unread, and only to the same provider and model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    /// The provider's name, as in a model id before the slash.
    pub provider: String,
    /// The model's id at that provider.
    pub model: String,
    /// Signature, encrypted content or whatever the provider wants to see again.
    pub data: Value,
}

/// Names one tool call within a conversation; chosen by the provider, made unique by us.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub String);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The arguments of a call exactly as the model wrote them; parsed at the tool and nowhere before.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawArgs(pub String);

/// A request of the model to run a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Answered by the [`ToolResult`] with the same id.
    pub id: CallId,
    /// The tool's name as the model wrote it; it may not exist.
    pub name: String,
    /// Exact text, perhaps not even JSON.
    pub args: RawArgs,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call that is answered.
    pub call: CallId,
    /// For the model.
    pub output: String,
    /// For people and programs; never part of a request.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
    /// The tool could not do what was asked; `output` then says what to do instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

impl ToolResult {
    /// The report that this answer brings: the task, as in `t_001`, and which attempt of it. `None` for all others.
    pub fn report(&self) -> Option<(&str, u32)> {
        let attempt = self.details.get("attempt")?.as_u64().and_then(|attempt| u32::try_from(attempt).ok())?;
        Some((self.details.get("report")?.as_str()?, attempt))
    }
}

/// A tool as a model sees it. Cheap to clone: every worker has a copy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Unique within a toolbox; `[a-zA-Z0-9_-]{1,64}`.
    pub name: String,
    /// What it does, when to use it, what it answers.
    pub description: Arc<str>,
    /// JSON Schema (draft 2020-12) of the arguments: advertised to the model and enforced before the call.
    pub schema: Arc<Value>,
    /// It changes nothing outside its own process.
    pub read_only: bool,
}

/// Tokens of one or more model calls, as the provider reports them.
///
/// The three input figures do not overlap: the context of a call is `input + cache_read + cache_write`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Input tokens that no cache served or stored.
    pub input: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// Input tokens served from the provider's cache.
    pub cache_read: u64,
    /// Input tokens written to the provider's cache.
    pub cache_write: u64,
    /// The part of `output` that was reasoning.
    pub reasoning: u64,
}

/// Names one [`Note`]: unique and rising within a session, shown as `#14`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NoteId(pub u64);

impl fmt::Display for NoteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// When a [`Note`] is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// After the running tools, before the next model call; clears queued follow-ups.
    Steer,
    /// After the run would have ended by itself.
    FollowUp,
    /// In a run of its own, when those before it have ended.
    Line,
    /// The answer to a question: as a steer, but it clears nothing.
    Answer,
}

impl fmt::Display for NoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            NoteKind::Steer => "steer",
            NoteKind::FollowUp => "follow-up",
            NoteKind::Line => "line",
            NoteKind::Answer => "answer",
        })
    }
}

/// Text sent into a run from outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Acknowledged to the sender.
    pub id: NoteId,
    /// When it is heard.
    pub kind: NoteKind,
    /// The words, unframed.
    pub text: String,
}

impl Message {
    /// A user message of one text block.
    pub fn user(text: impl Into<String>) -> Message {
        Message { role: Role::User, blocks: vec![Block::text(text)] }
    }

    /// An assistant message of one text block.
    pub fn assistant(text: impl Into<String>) -> Message {
        Message { role: Role::Assistant, blocks: vec![Block::text(text)] }
    }

    /// Gives back the memory that the growing of its texts and blocks left unused.
    pub fn shrink_to_fit(&mut self) {
        for block in &mut self.blocks {
            match block {
                Block::Text { text } => text.shrink_to_fit(),
                Block::Thinking(thinking) => thinking.text.shrink_to_fit(),
                Block::Image(image) => image.data.shrink_to_fit(),
                Block::Call(call) => call.args.0.shrink_to_fit(),
                Block::Result(result) => result.output.shrink_to_fit(),
            }
        }
        self.blocks.shrink_to_fit();
    }

    /// A user message that answers one call.
    pub fn result(result: ToolResult) -> Message {
        Message::showing(result, vec![])
    }

    /// A user message that answers one call and shows pictures: those right behind a result are its own.
    pub fn showing(result: ToolResult, images: Vec<Image>) -> Message {
        let images = images.into_iter().map(Block::Image);
        Message { role: Role::User, blocks: std::iter::once(Block::Result(result)).chain(images).collect() }
    }

    /// The blocks in order, each result with the pictures that are its own, and all others with none.
    pub fn parts(&self) -> impl Iterator<Item = (&Block, &[Block])> {
        let mut rest = &self.blocks[..];
        std::iter::from_fn(move || {
            let (block, behind) = rest.split_first()?;
            let is_image = |block: &&Block| matches!(block, Block::Image(_));
            let own = if matches!(block, Block::Result(_)) { behind.iter().take_while(is_image).count() } else { 0 };
            let own = behind.split_at(own);
            rest = own.1;
            Some((block, own.0))
        })
    }

    /// All text blocks, joined without a separator.
    pub fn text(&self) -> String {
        self.blocks.iter().filter_map(Block::as_text).collect()
    }

    /// The calls of this message, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            Block::Text { .. } | Block::Thinking(_) | Block::Image(_) | Block::Result(_) => None,
        })
    }

    /// The results of this message, in order.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Result(result) => Some(result),
            Block::Text { .. } | Block::Thinking(_) | Block::Image(_) | Block::Call(_) => None,
        })
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Message {
        Message::user(text)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Message {
        Message::user(text)
    }
}

impl Block {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Block {
        Block::Text { text: text.into() }
    }

    fn as_text(&self) -> Option<&str> {
        match self {
            Block::Text { text } => Some(text),
            Block::Thinking(_) | Block::Image(_) | Block::Call(_) | Block::Result(_) => None,
        }
    }
}

impl Usage {
    /// Tokens in the model's window after the call: everything that went in and came out.
    pub fn context(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }

    /// Tokens that went in, cached or not.
    pub fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Tokens in and out together (S0-12).
    pub fn total_tokens(&self) -> u64 {
        self.context()
    }

    /// Adds the tokens of another call.
    pub fn add(&mut self, other: Usage) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}

/// A conversation that a provider would refuse: a call without an answer, or an answer without a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Orphan {
    /// The assistant message with this call is followed by something that does not answer it.
    #[error("call {0} is not answered by the messages right after it")]
    Call(CallId),
    /// The result answers no call of the assistant message before it.
    #[error("result for {0} answers no call of the message before it")]
    Result(CallId),
}

/// Checks that every call is answered before the next assistant message, and that every result has its call.
///
/// # Errors
/// The first [`Orphan`] in order of the conversation.
pub fn check_answered<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Result<(), Orphan> {
    let mut calls: Vec<&CallId> = Vec::new();
    let mut open: HashSet<&CallId> = HashSet::new();
    for message in messages {
        match message.role {
            Role::Assistant => {
                if let Some(id) = calls.iter().find(|id| open.contains(*id)) {
                    return Err(Orphan::Call((*id).clone()));
                }
                calls = message.calls().map(|call| &call.id).collect();
                open = calls.iter().copied().collect();
            }
            Role::User => {
                for result in message.results() {
                    if !open.remove(&result.call) {
                        return Err(Orphan::Result(result.call.clone()));
                    }
                }
            }
        }
    }
    match calls.iter().find(|id| open.contains(*id)) {
        Some(id) => Err(Orphan::Call((*id).clone())),
        None => Ok(()),
    }
}
