//! What an entry of a session can say. How it is written is in `log`, how entries hang together in `tree`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::EntryId;
use super::compaction::Compaction;
use crate::message::{CallId, Message, Note, Usage, Usd};

/// Stands for the model of a summary that an early version wrote down without it.
pub(super) const UNNAMED: &str = "unknown";

/// What one entry says. In the file it is the `type` and the `data` of a line.
///
/// Messages are shared: the record, the file's line and the context speak of the same `Arc`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum Record {
    /// The first line of a file.
    Session {
        /// The program that made it, with its version.
        program: String,
    },
    /// A person's line, a brief or a report.
    User {
        /// The message.
        message: Arc<Message>,
    },
    /// A reply of the model, with its calls. Written before any of them starts.
    Assistant {
        /// The message.
        message: Arc<Message>,
        /// Tokens of the model call.
        usage: Usage,
        /// Who spoke, `provider/model`.
        model: String,
        /// What it cost; `None` when nobody knew the price.
        #[serde(default)]
        cost: Option<Usd>,
    },
    /// A reply that is not part of the conversation, for example an empty one; its tokens were spent all the same.
    Discarded {
        /// Tokens of the model call.
        usage: Usage,
        /// Who spoke, `provider/model`.
        model: String,
        /// What it cost; `None` when nobody knew the price.
        #[serde(default)]
        cost: Option<Usd>,
        /// Why it does not count.
        why: String,
    },
    /// A tool is about to start; a call without this entry had no effect.
    ToolStarted {
        /// The call.
        call: CallId,
    },
    /// What a tool answered.
    ToolResult {
        /// A message with one result block.
        message: Arc<Message>,
    },
    /// A note was heard: it is a user message from here on.
    Note {
        /// The note.
        note: Note,
    },
    /// Words of the runtime to the model, for example that the turns are used up. No person said them.
    Reminder {
        /// The message.
        message: Arc<Message>,
    },
    /// Everything older was replaced by a shorter beginning.
    Compaction(Compaction),
    /// The leaf moved; what was said after `to` is on another branch now.
    Branch {
        /// The entry that the next one follows.
        to: EntryId,
    },
    /// The session got a name.
    Title {
        /// One line.
        title: String,
    },
    /// A run ended.
    Ended {
        /// How.
        end: End,
    },
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum End {
    /// The model answered.
    Completed,
    /// Somebody stopped it.
    Aborted,
    /// The turns were used up.
    TurnLimit,
    /// A fault.
    Failed {
        /// One line.
        why: String,
    },
}

/// What an entry is, as far as the tree and the context care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// [`Record::Session`].
    Session,
    /// [`Record::User`].
    User,
    /// [`Record::Assistant`].
    Assistant,
    /// [`Record::Discarded`].
    Discarded,
    /// [`Record::ToolStarted`].
    ToolStarted,
    /// [`Record::ToolResult`].
    ToolResult,
    /// [`Record::Note`].
    Note,
    /// [`Record::Reminder`].
    Reminder,
    /// [`Record::Compaction`], and in a context a message of its head.
    Compaction,
    /// [`Record::Branch`].
    Branch,
    /// [`Record::Title`].
    Title,
    /// [`Record::Ended`].
    Ended,
    /// A type that this version does not know; it is kept and passed over.
    #[serde(other)]
    Unknown,
}

impl Record {
    /// A person's line.
    pub fn user(said: impl Into<Message>) -> Record {
        Record::User { message: Arc::new(said.into()) }
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        match self {
            Record::Session { .. } => Kind::Session,
            Record::User { .. } => Kind::User,
            Record::Assistant { .. } => Kind::Assistant,
            Record::Discarded { .. } => Kind::Discarded,
            Record::ToolStarted { .. } => Kind::ToolStarted,
            Record::ToolResult { .. } => Kind::ToolResult,
            Record::Note { .. } => Kind::Note,
            Record::Reminder { .. } => Kind::Reminder,
            Record::Compaction(_) => Kind::Compaction,
            Record::Branch { .. } => Kind::Branch,
            Record::Title { .. } => Kind::Title,
            Record::Ended { .. } => Kind::Ended,
        }
    }

    /// The model call that it took, if it took one: who answered, the tokens, the cost.
    pub(super) fn call(&self) -> Option<(&str, Usage, Option<Usd>)> {
        match self {
            Record::Assistant { usage, model, cost, .. } | Record::Discarded { usage, model, cost, .. } => {
                Some((model, *usage, *cost))
            }
            Record::Compaction(compaction) => {
                let model = compaction.model.as_deref();
                let model = model.or_else(|| (compaction.usage.context() > 0).then_some(UNNAMED))?;
                Some((model, compaction.usage, compaction.cost))
            }
            Record::Session { .. }
            | Record::User { .. }
            | Record::ToolStarted { .. }
            | Record::ToolResult { .. }
            | Record::Note { .. }
            | Record::Reminder { .. }
            | Record::Branch { .. }
            | Record::Title { .. }
            | Record::Ended { .. } => None,
        }
    }
}

impl Kind {
    /// Reads the `type` of a line.
    pub(super) fn parse(name: &str) -> Kind {
        match name {
            "session" => Kind::Session,
            "user" => Kind::User,
            "assistant" => Kind::Assistant,
            "discarded" => Kind::Discarded,
            "tool_started" => Kind::ToolStarted,
            "tool_result" => Kind::ToolResult,
            "note" => Kind::Note,
            "reminder" => Kind::Reminder,
            "compaction" => Kind::Compaction,
            "branch" => Kind::Branch,
            "title" => Kind::Title,
            "ended" => Kind::Ended,
            _ => Kind::Unknown,
        }
    }
}
