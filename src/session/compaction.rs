//! What a compaction says: the shorter beginning, and the receipt of what stayed, what went and what is pinned. How it
//! comes about is the agent's business.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::EntryId;
use super::record::Kind;
use super::tree::Origin;
use crate::message::{Message, Usage, Usd};

/// A shorter beginning of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Compaction {
    /// The messages that stand at the beginning from here on.
    pub head: Vec<Arc<Message>>,
    /// The oldest entry that stays as it was said, behind the head; nothing stays when absent.
    pub kept_from: Option<EntryId>,
    /// What the next compaction must know of what was replaced.
    pub carried: Carried,
    /// Estimated tokens before.
    pub before: u64,
    /// Estimated tokens after.
    pub after: u64,
    /// Tokens that the summary took.
    pub usage: Usage,
    /// What it cost; `None` when nobody knew the price.
    #[serde(default)]
    pub cost: Option<Usd>,
    /// Who wrote the summary, `provider/model`; `None` when there is none, or an early version did not write it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why it came about, a few words; empty in early versions, as are the lists.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Entries that stay as they were said, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Item>,
    /// Entries that a summary stands in for, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<Item>,
    /// Entries that every compaction keeps: what a person restored, and the lines with wishes that are quoted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned: Vec<Item>,
    /// The file with a copy of what was replaced, from the session's folder; `None` when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
}

/// A line of the receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The entry.
    pub entry: EntryId,
    /// What it is.
    pub kind: Kind,
    /// Estimated tokens.
    pub tokens: u64,
    /// Its place in the head, counted from 0, when it stands there as it was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<usize>,
}

/// Facts taken from replaced messages by the program, not by a model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Carried {
    /// What people said, word for word, oldest first.
    pub said: Vec<String>,
    /// Files that were read, in order of the first time.
    pub read: Vec<String>,
    /// Files that were written or edited, in order of the first time.
    pub written: Vec<String>,
    /// What people said must or must not be, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wishes: Vec<Wish>,
}

/// A sentence of a person that says what must or must not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// Where it was said.
    pub entry: EntryId,
    /// Word for word.
    pub text: String,
}

impl Compaction {
    /// Where the messages of the head come from: their own entry, or this one.
    pub(super) fn origins(&self, id: EntryId) -> Vec<Origin> {
        let own = Origin { entry: id, kind: Kind::Compaction, headed: true };
        let mut origins = vec![own; self.head.len()];
        for item in self.kept.iter().chain(&self.pinned) {
            if let Some(origin) = item.head.and_then(|place| origins.get_mut(place)) {
                *origin = Origin { entry: item.entry, kind: item.kind, headed: true };
            }
        }
        origins
    }
}
