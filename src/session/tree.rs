//! How entries hang together: each knows the one before it, a leaf is where the next one goes, and the way from the
//! root to the leaf makes the conversation. Knows nothing of files.

use std::collections::HashMap;
use std::sync::Arc;

use super::EntryId;
use super::log::Span;
use super::record::{Compaction, Kind, Record};
use crate::message::{CallId, Message, Usage};

/// All entries, in the order in which they were written.
#[derive(Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    by_id: HashMap<EntryId, usize>,
    leaf: Option<usize>,
}

/// An entry without what it says.
pub(super) struct Node {
    pub(super) id: EntryId,
    pub(super) parent: Option<usize>,
    pub(super) kind: Kind,
    pub(super) span: Span,
}

impl Tree {
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn node(&self, index: usize) -> Option<&Node> {
        self.nodes.get(index)
    }

    pub(super) fn find(&self, id: &EntryId) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    pub(super) fn leaf(&self) -> Option<&EntryId> {
        self.leaf.and_then(|leaf| self.nodes.get(leaf)).map(|node| &node.id)
    }

    /// Adds an entry behind `parent` and makes it the leaf.
    pub(super) fn grow(&mut self, id: EntryId, parent: Option<usize>, kind: Kind, span: Span) {
        let index = self.nodes.len();
        self.by_id.insert(id.clone(), index);
        self.nodes.push(Node { id, parent, kind, span });
        self.leaf = Some(index);
    }

    /// Moves the leaf.
    pub(super) fn turn_to(&mut self, index: usize) {
        self.leaf = Some(index);
    }

    /// The way from the root to the leaf.
    pub(super) fn path(&self) -> Vec<usize> {
        let mut path = Vec::new();
        let mut next = self.leaf;
        while let Some(index) = next {
            path.push(index);
            // A parent always lies before its child, so the way ends.
            next = self.nodes.get(index).and_then(|node| node.parent).filter(|parent| *parent < index);
        }
        path.reverse();
        path
    }
}

/// The messages from the root to the leaf, and where each comes from.
#[derive(Default)]
pub(super) struct Context {
    messages: Vec<Arc<Message>>,
    origins: Vec<Origin>,
    /// Calls of the last reply that have no result yet, in order.
    open: Vec<CallId>,
    carried: Option<Arc<Compaction>>,
    reported: Option<Reported>,
}

/// What a model reported with its reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    /// Who, `provider/model`.
    pub model: String,
    /// Of the messages up to and with the reply; they are the first so many of the context.
    pub usage: Usage,
    /// How many.
    pub messages: usize,
}

/// Where a message of a context comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The entry that says it.
    pub entry: EntryId,
    /// What that entry is.
    pub kind: Kind,
}

impl Context {
    pub(super) fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    pub(super) fn origins(&self) -> &[Origin] {
        &self.origins
    }

    pub(super) fn open_calls(&self) -> &[CallId] {
        &self.open
    }

    /// The compaction that the context begins with.
    pub(super) fn compaction(&self) -> Option<&Compaction> {
        self.carried.as_deref()
    }

    /// What the model reported with the last reply, unless the context was shortened since.
    pub(super) fn reported(&self) -> Option<&Reported> {
        self.reported.as_ref()
    }

    /// Takes one more entry of the way to the leaf; entries that say nothing to the model change nothing.
    pub(super) fn push(&mut self, id: &EntryId, record: &Record) {
        let kind = record.kind();
        match record {
            Record::User { message } | Record::Reminder { message } => self.add(id, kind, Arc::clone(message)),
            Record::Note { note } => self.add(id, kind, Arc::new(Message::user(note.text.clone()))),
            Record::Assistant { message, usage, model, .. } => {
                self.open = message.calls().map(|call| call.id.clone()).collect();
                self.add(id, kind, Arc::clone(message));
                self.reported = Some(Reported { model: model.clone(), usage: *usage, messages: self.messages.len() });
            }
            Record::ToolResult { message } => self.answer(id, message),
            Record::Compaction(compaction) => self.shorten(id, compaction),
            Record::Session { .. }
            | Record::Discarded { .. }
            | Record::ToolStarted { .. }
            | Record::Branch { .. }
            | Record::Title { .. }
            | Record::Ended { .. } => {}
        }
    }

    fn add(&mut self, id: &EntryId, kind: Kind, message: Arc<Message>) {
        self.messages.push(message);
        self.origins.push(Origin { entry: id.clone(), kind });
    }

    /// Results are written as tools end and stand in the order of their calls. None of them was sent yet when another
    /// comes, so moving one takes nothing from what a model has seen.
    fn answer(&mut self, id: &EntryId, message: &Arc<Message>) {
        let results: Vec<CallId> = message.results().map(|result| result.call.clone()).collect();
        self.open.retain(|call| !results.contains(call));
        let after = self.origins.iter().rposition(|origin| origin.kind != Kind::ToolResult);
        let first = after.map_or(0, |reply| reply + 1);
        let calls: Vec<&CallId> = match after.and_then(|reply| self.messages.get(reply)) {
            Some(reply) => reply.calls().map(|call| &call.id).collect(),
            None => Vec::new(),
        };
        let place = |message: &Message| {
            let call = message.results().next().map(|result| &result.call);
            calls.iter().position(|id| Some(*id) == call).unwrap_or(usize::MAX)
        };
        let mine = place(message);
        let before = self.messages.iter().skip(first).take_while(|other| place(other) <= mine).count();
        self.messages.insert(first + before, Arc::clone(message));
        self.origins.insert(first + before, Origin { entry: id.clone(), kind: Kind::ToolResult });
    }

    fn shorten(&mut self, id: &EntryId, compaction: &Compaction) {
        let kept = compaction.kept_from.as_ref();
        let from = kept.and_then(|kept| self.origins.iter().position(|origin| origin.entry == *kept));
        let from = from.unwrap_or(self.messages.len());
        let head = compaction.head.iter().cloned();
        self.messages.splice(..from, head);
        let origin = Origin { entry: id.clone(), kind: Kind::Compaction };
        self.origins.splice(..from, std::iter::repeat_n(origin, compaction.head.len()));
        self.carried = Some(Arc::new(compaction.clone()));
        self.reported = None;
    }
}
