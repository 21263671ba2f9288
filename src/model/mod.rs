//! A language model behind one trait: a request goes in, deltas come out while it talks, a whole reply at the end.
//! The wire formats, the transport and the decorators live in the files of this room; the loop knows only this one.

mod anthropic;
pub mod catalog;
mod chat;
pub mod choice;
pub mod confirmed;
mod door;
mod draft;
pub mod encoded;
mod entry;
mod eyes;
pub mod fallback;
mod fault;
mod gemini;
pub mod governor;
pub mod http;
mod kept;
mod line;
pub mod listing;
pub mod local;
mod ollama;
pub mod pilot;
pub mod price;
pub mod provider;
pub mod react;
pub mod recording;
mod responses;
pub mod retry;
pub mod scripted;
pub mod shelf;
pub mod sse;
pub mod tokens;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::message::{CallId, Message, ToolSpec, Usage, Usd};

/// Something that answers a conversation.
///
/// Contract: `on_delta` is called in order while the reply streams; the returned [`Reply`] is complete and repeats
/// all text that was streamed since the last [`Delta::Retrying`]. Dropping the future cancels the call and closes
/// its connection. An implementation never panics and always ends: it has its own deadlines.
pub trait Model: Send + Sync {
    /// Which model answers.
    fn id(&self) -> &ModelId;

    /// Answers the request.
    fn reply<'a>(
        &'a self,
        request: Request<'a>,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>>;
}

/// A provider and its model, written `provider/model`, for example `anthropic/claude-sonnet-5-5`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelId {
    /// A key of the catalogue, or `scripted` or `pilot`.
    pub provider: String,
    /// The provider's own id; may contain slashes.
    pub model: String,
}

/// What a model is asked.
///
/// Messages are shared and never change once sent, so that an implementation may keep what it encoded of them:
/// the same `Arc`s come again, in the same order, with new ones behind.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The system prompt; the same text for a whole run.
    pub system: &'a str,
    /// The conversation. Every call in it is answered (see [`crate::message::check_answered`]).
    pub messages: &'a [Arc<Message>],
    /// What it may call, sorted by name; empty forbids tools.
    pub tools: &'a [ToolSpec],
    /// Most tokens it may write, reasoning included; at least 1.
    pub max_tokens: u64,
    /// Names the conversation to providers that route by it for their caches; stable for a session.
    pub cache_key: &'a str,
}

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// Text of the answer.
    Text(String),
    /// Text of the reasoning.
    Thinking(String),
    /// A tool call began.
    CallOpened {
        /// Its id, the same as in the reply.
        id: CallId,
        /// The tool's name.
        name: String,
    },
    /// A whole reply was not taken, and the model is asked again: [`Delta::Retrying`] follows. What it cost is not in
    /// the reply that comes.
    Discarded {
        /// Its tokens.
        usage: Usage,
        /// What it cost; `None` when nobody knows.
        cost: Option<Usd>,
        /// Who gave it.
        model: ModelId,
        /// Why it was not taken, one line.
        why: String,
    },
    /// The attempt failed or may not begin yet; what was streamed is void, and after the wait it begins anew.
    Retrying {
        /// The attempt that comes next: 2 for the first retry, 1 when the call waits with others before it is sent.
        attempt: u32,
        /// How long until then.
        wait: Duration,
        /// The fault, one line.
        why: String,
    },
}

/// A whole reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// What it said: role assistant, blocks in order. Calls have ids unique within the message.
    pub message: Message,
    /// What it cost in tokens.
    pub usage: Usage,
    /// Why it stopped.
    pub stop: Stop,
    /// Who answered: the model that was asked, or one that stood in for it.
    pub model: ModelId,
    /// What it cost in money; `None` when nobody knows the price.
    pub cost: Option<Usd>,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It was done.
    EndTurn,
    /// It wants results of its calls.
    ToolUse,
    /// It rests in the middle and goes on when it is asked again with what it has said.
    Paused,
    /// `max_tokens` was reached; a call at the end may be cut.
    MaxTokens,
    /// It refused, or a filter did.
    Refusal,
}

/// A model call that failed, with whether trying again makes sense.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{provider}: {message}")]
pub struct ModelError {
    /// What kind of fault.
    pub fault: Fault,
    /// The provider's name.
    pub provider: String,
    /// One line for a person: what happened and what to do. Never holds a key.
    pub message: String,
    /// The provider's own word on when to try again; [`Duration::MAX`] when it says that this never helps.
    pub retry_after: Option<Duration>,
}

/// The kinds of model faults, by what one does about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Wrong or missing key, or no permission: a person must act (exit code 3).
    Auth,
    /// The account has no credit or quota left: a person must act.
    Billing,
    /// The provider does not know the model.
    NoSuchModel,
    /// The request was refused for another reason.
    BadRequest,
    /// The model, or the server in front of it, takes no tools: describe them in words.
    NoTools,
    /// The conversation does not fit the model's window: make room and try once more.
    Overflow,
    /// Too many requests: wait and try again.
    RateLimited,
    /// The provider has a problem: wait and try again.
    Unavailable,
    /// Connection refused, reset, cut or silent: try again.
    Network,
    /// The answer is not what the format allows, or ends before its end: try again.
    Garbled,
}

impl Fault {
    /// Trying the same request again may help.
    pub fn is_transient(self) -> bool {
        match self {
            Fault::RateLimited | Fault::Unavailable | Fault::Network | Fault::Garbled => true,
            Fault::Auth | Fault::Billing | Fault::NoSuchModel => false,
            Fault::BadRequest | Fault::NoTools | Fault::Overflow => false,
        }
    }
}

impl ModelId {
    /// Reads `provider/model`; everything after the first slash is the model.
    ///
    /// Answers `None` when there is no slash or a side is empty.
    pub fn parse(text: &str) -> Option<ModelId> {
        let (provider, model) = text.split_once('/')?;
        let named = !provider.is_empty() && !model.is_empty();
        named.then(|| ModelId { provider: provider.to_owned(), model: model.to_owned() })
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}
