//! What the entries of a file say besides the conversation: costs, the title, which notes and reports were heard, how
//! far the runs came. It holds on all branches. Taken from whole records and from lines that are only looked over.

use std::collections::BTreeSet;

use super::record::{End, Kind, Record, UNNAMED};
use crate::message::{Bill, NoteId, ToolResult, Usage, Usd};

/// Which notes were consumed: put into the conversation, or set aside for good.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    notes: BTreeSet<NoteId>,
}

impl Heard {
    /// Whether that note was.
    pub fn contains(&self, note: NoteId) -> bool {
        self.notes.contains(&note)
    }

    /// How many were.
    pub fn len(&self) -> usize {
        self.notes.len()
    }

    /// None was.
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }
}

/// All of it.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) bill: Bill,
    pub(super) title: Option<String>,
    pub(super) next_note: NoteId,
    pub(super) heard: Heard,
    told: BTreeSet<(String, u32)>,
    pub(super) attempt: u32,
    /// `None` while a run goes on, or when it was never ended.
    pub(super) end: Option<End>,
}

impl Facts {
    /// The same; the first note of all is #1.
    pub(super) fn with_first_note(mut self) -> Facts {
        self.next_note = self.next_note.max(NoteId(1));
        self
    }

    /// Takes an entry that is written now.
    pub(super) fn take(&mut self, record: &Record) {
        self.went(record.kind());
        if let Some((model, usage, cost)) = record.call() {
            self.bill.call(model, usage, cost);
        }
        match record {
            Record::Note { note, .. } => self.hear(note.id),
            Record::User { posted: Some(note), .. } => self.hear(*note),
            Record::Dropped { notes, .. } => notes.iter().for_each(|note| self.hear(*note)),
            Record::Posted(posted) => self.given(posted.note.id),
            Record::Report { task, attempt, .. } => self.tell(task, *attempt),
            Record::ToolResult { message } => {
                message.results().filter_map(ToolResult::report).for_each(|(task, attempt)| self.tell(task, attempt));
            }
            Record::Attempt { number } => self.attempt = *number,
            Record::Title { title } => self.title = Some(title.clone()),
            Record::Ended { end } => self.end = Some(end.clone()),
            Record::Session { .. }
            | Record::User { posted: None, .. }
            | Record::Assistant { .. }
            | Record::Discarded { .. }
            | Record::ToolStarted { .. }
            | Record::Reminder { .. }
            | Record::Restored { .. }
            | Record::Compaction(_)
            | Record::Branch { .. } => {}
        }
    }

    /// Takes an entry of that kind: what a run does means that it goes on.
    pub(super) fn went(&mut self, kind: Kind) {
        match kind {
            Kind::User
            | Kind::Report
            | Kind::Note
            | Kind::Reminder
            | Kind::Attempt
            | Kind::Assistant
            | Kind::ToolStarted
            | Kind::ToolResult => self.end = None,
            Kind::Session
            | Kind::Discarded
            | Kind::Restored
            | Kind::Compaction
            | Kind::Branch
            | Kind::Title
            | Kind::Ended
            | Kind::Dropped
            | Kind::Posted
            | Kind::Unknown => {}
        }
    }

    /// Takes the cost of a model call. Without a model it is a summary of an early version, or none at all.
    pub(super) fn paid(&mut self, model: Option<&str>, usage: Usage, cost: Option<Usd>) {
        if let Some(model) = model.or((usage.context() > 0).then_some(UNNAMED)) {
            self.bill.call(model, usage, cost);
        }
    }

    /// A note was consumed.
    pub(super) fn hear(&mut self, note: NoteId) {
        self.heard.notes.insert(note);
        self.given(note);
    }

    /// The id was given to a note.
    pub(super) fn given(&mut self, note: NoteId) {
        self.next_note = self.next_note.max(NoteId(note.0.saturating_add(1)));
    }

    /// The report of an attempt was put into the conversation.
    pub(super) fn tell(&mut self, task: &str, attempt: u32) {
        self.told.insert((task.to_owned(), attempt));
    }

    /// Whether it was.
    pub(super) fn is_told(&self, task: &str, attempt: u32) -> bool {
        self.told.contains(&(task.to_owned(), attempt))
    }
}
