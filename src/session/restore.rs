//! Entries that a compaction left out: which compactions there were, what an entry said, and how it is said again. What
//! a compaction says is in `compaction`.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;

use super::record::{Kind, Record};
use super::{Compaction, EntryId, Session, SessionError};
use crate::message::{Block, Message};

/// Most bytes of an entry that are said again, and most entries at a time: what is restored stays through every later
/// compaction.
const LONG: usize = 6_000;
const MOST: usize = 12;

/// An entry with all that is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its id.
    pub id: EntryId,
    /// Its number in the file, shown as `m37`.
    pub number: u64,
    /// When it was written.
    pub at: Timestamp,
    /// What it says.
    pub record: Record,
}

#[derive(Deserialize)]
struct Head {
    id: EntryId,
    seq: u64,
    at: Timestamp,
}

impl Entry {
    /// Reads a line of a session's file.
    ///
    /// # Errors
    /// It is no entry, or one of a type that we do not know.
    pub(super) fn read(line: &[u8]) -> Result<Entry, serde_json::Error> {
        let Head { id, seq: number, at } = serde_json::from_slice(line)?;
        Ok(Entry { id, number, at, record: serde_json::from_slice(line)? })
    }

    /// What it is, in a word or two for people.
    pub fn what(&self) -> &'static str {
        self.record.kind().word()
    }

    /// When it was written, as `14:03` here.
    pub fn time(&self) -> String {
        self.at.to_zoned(TimeZone::system()).strftime("%H:%M").to_string()
    }

    /// Its words; `None` when it says nothing in a conversation.
    pub fn words(&self) -> Option<String> {
        match &self.record {
            Record::User { message, .. }
            | Record::Report { message, .. }
            | Record::Assistant { message, .. }
            | Record::ToolResult { message }
            | Record::Reminder { message }
            | Record::Restored { message, .. } => Some(words(message)),
            Record::Note { note, .. } => Some(note.text.clone()),
            Record::Compaction(compaction) => {
                Some(compaction.head.iter().map(|message| words(message)).collect::<Vec<_>>().join("\n\n"))
            }
            Record::Session { .. }
            | Record::Discarded { .. }
            | Record::ToolStarted { .. }
            | Record::Dropped { .. }
            | Record::Posted(_)
            | Record::Attempt { .. }
            | Record::Branch { .. }
            | Record::Title { .. }
            | Record::Ended { .. } => None,
        }
    }
}

impl Kind {
    /// A word or two for people.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Session => "beginning",
            Kind::User => "line of a person",
            Kind::Report => "report",
            Kind::Assistant => "reply",
            Kind::Discarded => "discarded reply",
            Kind::ToolStarted => "start of a tool",
            Kind::ToolResult => "tool result",
            Kind::Note => "note",
            Kind::Dropped => "dropped notes",
            Kind::Posted => "posted note",
            Kind::Reminder => "reminder",
            Kind::Compaction => "summary",
            Kind::Restored => "restored entry",
            Kind::Attempt => "attempt",
            Kind::Branch => "branch",
            Kind::Title => "title",
            Kind::Ended => "end of a run",
            Kind::Unknown => "unknown entry",
        }
    }
}

impl Session {
    /// An entry with all that is known of it.
    ///
    /// # Errors
    /// [`SessionError::NoEntry`], or its line cannot be read.
    pub fn look(&self, entry: EntryId) -> Result<Entry, SessionError> {
        let none = SessionError::NoEntry(entry);
        let Some(node) = self.tree.find(entry).and_then(|at| self.tree.node(at)) else { return Err(none) };
        let line = self.log.read(node.span());
        let line = line.map_err(|source| SessionError::io("read", self.path().unwrap_or(Path::new("")), source))?;
        Entry::read(&line).map_err(|_| none)
    }

    /// The compactions on the way to the leaf, oldest first.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn compactions(&self) -> Result<Vec<(Entry, Compaction)>, SessionError> {
        let path = self.tree.path();
        let nodes = path.into_iter().filter_map(|at| self.tree.node(at));
        let ids: Vec<EntryId> = nodes.filter(|node| node.kind == Kind::Compaction).map(|node| node.id).collect();
        let mut found = Vec::new();
        for id in ids {
            let entry = self.look(id)?;
            if let Record::Compaction(compaction) = &entry.record {
                let compaction = Compaction::clone(compaction);
                found.push((entry, compaction));
            }
        }
        Ok(found)
    }

    /// Says an entry again that a compaction left out, as words of a person's role that name it; the middle of a long
    /// one is left out. It stays through later compactions.
    ///
    /// # Errors
    /// [`SessionError::NotRestored`] says why it cannot be; a call is open; or the file cannot be written.
    pub fn restore(&mut self, entry: EntryId) -> Result<EntryId, SessionError> {
        let seen = self.look(entry)?;
        let name = self.name(entry);
        let refused = |why: String| SessionError::NotRestored { name: name.clone(), why };
        if self.origins().iter().any(|origin| origin.entry == entry) {
            return Err(refused("it is in the conversation as it was said".to_owned()));
        }
        let restored: Vec<EntryId> =
            self.origins().iter().filter(|origin| origin.kind == Kind::Restored).map(|origin| origin.entry).collect();
        for id in &restored {
            if matches!(self.look(*id)?.record, Record::Restored { entry: of, .. } if of == entry) {
                return Err(refused(format!("it is restored already, as {}", self.name(*id))));
            }
        }
        if restored.len() >= MOST {
            return Err(refused(format!("{MOST} entries are restored already, which is the most at a time")));
        }
        let words = match seen.record.kind() {
            Kind::Compaction | Kind::Restored => None,
            _ => seen.words(),
        };
        let Some(words) = words.filter(|words| !words.trim().is_empty()) else {
            return Err(refused(format!("it is a {}, which has no words of its own", seen.what())));
        };
        let text = format!("[Restored: {} of {}, {name}]\n{}", seen.what(), seen.time(), excerpt(&words, LONG));
        self.append(Record::Restored { entry, message: Arc::new(Message::user(text)) })
    }
}

/// All that a message says, calls and results too.
fn words(message: &Message) -> String {
    let block = |block: &Block| match block {
        Block::Text { text } => Some(text.clone()),
        Block::Call(call) => Some(format!("[calls {} {}]", call.name, call.args.0)),
        Block::Result(result) => Some(result.output.clone()),
        Block::Image(image) => Some(format!("[a picture, {}]", image.media_type)),
        Block::Thinking(_) => None,
    };
    message.blocks.iter().filter_map(block).collect::<Vec<_>>().join("\n")
}

/// At most about so many bytes of a text: its beginning and its end, with a count of what is left out.
pub(super) fn excerpt(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(most / 2), text.ceil_char_boundary(text.len() - most / 2));
    format!("{}\n[… {} bytes left out …]\n{}", &text[..head], tail - head, &text[tail..])
}
