//! What an entry of a session can say. How it is written is in `log`, how entries hang together in `tree`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::compaction::Compaction;
use super::{EntryId, SessionId};
use crate::message::{CallId, Image, Message, Note, NoteId, Usage, Usd};

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
        /// Where it was forked from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<Forked>,
    },
    /// A person's line or a brief.
    User {
        /// The message.
        message: Arc<Message>,
        /// As what it waited, if it had to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        posted: Option<NoteId>,
    },
    /// A worker's report to its main agent. With it an attempt of a task counts as told.
    Report {
        /// The task, as in `t_001`.
        task: String,
        /// Which attempt of it, from 1.
        attempt: u32,
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
    /// What a tool answered. Where that is a worker's report, the attempt counts as told with it.
    ToolResult {
        /// A message with one result block.
        message: Arc<Message>,
    },
    /// A note was heard: it is a user message from here on.
    Note {
        /// The note.
        note: Note,
        /// The model call before which it was heard, from 1; 0 where an early version did not write it down.
        #[serde(default)]
        turn: u32,
    },
    /// Notes that nobody will hear any more; in an inbox those that their sender took back.
    Dropped {
        /// Which.
        notes: Vec<NoteId>,
        /// Why not.
        why: String,
    },
    /// A note on its way; only in an inbox, never in a conversation.
    Posted(Posted),
    /// Words of the runtime to the model, for example that the turns are used up. No person said them.
    Reminder {
        /// The message.
        message: Arc<Message>,
    },
    /// Everything older was replaced by a shorter beginning.
    Compaction(Box<Compaction>),
    /// An entry that a compaction had left out is said again.
    Restored {
        /// Which.
        entry: EntryId,
        /// Its words, as a message that says where they come from.
        message: Arc<Message>,
    },
    /// A worker begins with its task, or goes on with it after an end.
    Attempt {
        /// Which attempt, from 1.
        number: u32,
    },
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

/// The place in another session at which a session begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forked {
    /// That session.
    pub session: SessionId,
    /// The last entry that both have.
    pub entry: EntryId,
    /// The number of that entry here; what has no higher one was paid for there.
    pub number: u64,
}

/// A note on its way, on the disk before its sender is told that it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posted {
    /// The note.
    pub note: Note,
    /// Who sent it: `person`, `main` or a task as in `t_003`.
    pub from: String,
    /// Pictures that belong to a line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum End {
    /// The model answered.
    Completed,
    /// Somebody stopped it.
    Aborted,
    /// The program ended.
    Interrupted,
    /// The turns were used up.
    TurnLimit,
    /// Another limit was reached; the text says which.
    BudgetSpent {
        /// As in `$0.50 of $0.50`.
        what: String,
    },
    /// It rests until a question is answered.
    Parked,
    /// It went round in circles.
    Stuck {
        /// The facts that say so.
        evidence: String,
    },
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
    /// [`Record::Report`].
    Report,
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
    /// [`Record::Dropped`].
    Dropped,
    /// [`Record::Posted`].
    Posted,
    /// [`Record::Reminder`].
    Reminder,
    /// [`Record::Compaction`], and in a context a message of its head.
    Compaction,
    /// [`Record::Restored`].
    Restored,
    /// [`Record::Attempt`].
    Attempt,
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
        Record::User { message: Arc::new(said.into()), posted: None }
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        match self {
            Record::Session { .. } => Kind::Session,
            Record::User { .. } => Kind::User,
            Record::Report { .. } => Kind::Report,
            Record::Assistant { .. } => Kind::Assistant,
            Record::Discarded { .. } => Kind::Discarded,
            Record::ToolStarted { .. } => Kind::ToolStarted,
            Record::ToolResult { .. } => Kind::ToolResult,
            Record::Note { .. } => Kind::Note,
            Record::Dropped { .. } => Kind::Dropped,
            Record::Posted(_) => Kind::Posted,
            Record::Reminder { .. } => Kind::Reminder,
            Record::Compaction(_) => Kind::Compaction,
            Record::Restored { .. } => Kind::Restored,
            Record::Attempt { .. } => Kind::Attempt,
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
            | Record::Report { .. }
            | Record::ToolStarted { .. }
            | Record::ToolResult { .. }
            | Record::Note { .. }
            | Record::Dropped { .. }
            | Record::Posted(_)
            | Record::Reminder { .. }
            | Record::Restored { .. }
            | Record::Attempt { .. }
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
            "report" => Kind::Report,
            "assistant" => Kind::Assistant,
            "discarded" => Kind::Discarded,
            "tool_started" => Kind::ToolStarted,
            "tool_result" => Kind::ToolResult,
            "note" => Kind::Note,
            "dropped" => Kind::Dropped,
            "posted" => Kind::Posted,
            "reminder" => Kind::Reminder,
            "compaction" => Kind::Compaction,
            "restored" => Kind::Restored,
            "attempt" => Kind::Attempt,
            "branch" => Kind::Branch,
            "title" => Kind::Title,
            "ended" => Kind::Ended,
            _ => Kind::Unknown,
        }
    }
}
