//! How entries hang together: each knows the one before it, a leaf is where the next one goes, and the way from the
//! root to the leaf makes the conversation. Knows nothing of files.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use super::EntryId;
use super::compaction::Compaction;
use super::log::Span;
use super::record::{Kind, Record};
use crate::message::{CallId, Message, Usage};

/// All entries, in the order in which they were written. Under 50 bytes each: a history of a million entries is no
/// burden to a program that works on its last hundred.
#[derive(Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    leaf: Option<usize>,
}

/// An entry without what it says.
pub(super) struct Node {
    pub(super) id: EntryId,
    /// Its number in the file; people see it as `m37`.
    pub(super) seq: u64,
    offset: u64,
    /// Of its line; no line is longer than that.
    len: u32,
    parent: Option<NonZeroU32>,
    pub(super) kind: Kind,
}

impl Node {
    /// An entry whose line lies there, for now without one before it.
    pub(super) fn new(id: EntryId, seq: u64, kind: Kind, span: Span) -> Node {
        let len = u32::try_from(span.len).unwrap_or(u32::MAX);
        Node { id, seq, offset: span.offset, len, parent: None, kind }
    }

    /// The same behind the entry at that place.
    pub(super) fn behind(mut self, parent: Option<usize>) -> Node {
        self.parent = parent.and_then(|parent| u32::try_from(parent + 1).ok()).and_then(NonZeroU32::new);
        self
    }

    pub(super) fn span(&self) -> Span {
        Span { offset: self.offset, len: self.len as usize }
    }

    /// The place of the entry before it.
    pub(super) fn parent(&self) -> Option<usize> {
        self.parent.map(|after| after.get() as usize - 1)
    }
}

impl Tree {
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn node(&self, index: usize) -> Option<&Node> {
        self.nodes.get(index)
    }

    /// Where an entry is. Looks from the end: what is asked for is young more often than not.
    pub(super) fn find(&self, id: EntryId) -> Option<usize> {
        self.nodes.iter().rposition(|node| node.id == id)
    }

    /// All entries with their places.
    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(super) fn leaf(&self) -> Option<&Node> {
        self.leaf.and_then(|leaf| self.nodes.get(leaf))
    }

    /// Adds an entry and makes it the leaf.
    pub(super) fn grow(&mut self, node: Node) {
        self.leaf = Some(self.nodes.len());
        self.nodes.push(node);
    }

    /// Where the leaf is.
    pub(super) fn leaf_at(&self) -> Option<usize> {
        self.leaf
    }

    /// Moves the leaf.
    pub(super) fn turn_to(&mut self, index: usize) {
        self.leaf = Some(index);
    }

    /// The way from the root to the leaf.
    pub(super) fn path(&self) -> Vec<usize> {
        self.path_to(self.leaf)
    }

    /// The way from the root to an entry.
    pub(super) fn path_to(&self, entry: Option<usize>) -> Vec<usize> {
        let mut path = Vec::new();
        let mut next = entry;
        while let Some(index) = next {
            path.push(index);
            // A parent always lies before its child, so the way ends.
            next = self.nodes.get(index).and_then(Node::parent).filter(|parent| *parent < index);
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
    /// Where each call of the last reply stands in it.
    places: HashMap<CallId, usize>,
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
    /// It stands in the beginning that a compaction made.
    pub headed: bool,
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
    pub(super) fn push(&mut self, id: EntryId, record: &Record) {
        let kind = record.kind();
        match record {
            Record::User { message, .. }
            | Record::Report { message, .. }
            | Record::Reminder { message }
            | Record::Restored { message, .. } => self.add(id, kind, Arc::clone(message)),
            Record::Note { note, .. } => self.add(id, kind, Arc::new(Message::user(note.text.clone()))),
            Record::Assistant { message, usage, model, .. } => {
                self.open = message.calls().map(|call| call.id.clone()).collect();
                self.places = self.open.iter().cloned().zip(0..).collect();
                self.add(id, kind, Arc::clone(message));
                self.reported = Some(Reported { model: model.clone(), usage: *usage, messages: self.messages.len() });
            }
            Record::ToolResult { message } => self.answer(id, message),
            Record::Compaction(compaction) => self.shorten(id, compaction),
            Record::Session { .. }
            | Record::Discarded { .. }
            | Record::ToolStarted { .. }
            | Record::Dropped { .. }
            | Record::Posted(_)
            | Record::Attempt { .. }
            | Record::Branch { .. }
            | Record::Title { .. }
            | Record::Ended { .. } => {}
        }
    }

    fn add(&mut self, id: EntryId, kind: Kind, message: Arc<Message>) {
        self.messages.push(message);
        self.origins.push(Origin { entry: id, kind, headed: false });
    }

    /// Results are written as tools end and stand in the order of their calls. None of them was sent yet when another
    /// comes, so moving one takes nothing from what a model has seen.
    fn answer(&mut self, id: EntryId, message: &Arc<Message>) {
        let results: Vec<CallId> = message.results().map(|result| result.call.clone()).collect();
        self.open.retain(|call| !results.contains(call));
        let after = self.origins.iter().rposition(|origin| origin.kind != Kind::ToolResult);
        let first = after.map_or(0, |reply| reply + 1);
        let place = |message: &Message| {
            let call = message.results().next().map(|result| &result.call);
            call.and_then(|call| self.places.get(call)).copied().unwrap_or(usize::MAX)
        };
        let mine = place(message);
        // From the end, where it mostly belongs: a reply may hold thousands of calls.
        let behind = self.messages.iter().skip(first).rev().take_while(|other| place(other) > mine).count();
        let at = self.messages.len() - behind;
        self.messages.insert(at, Arc::clone(message));
        self.origins.insert(at, Origin { entry: id, kind: Kind::ToolResult, headed: false });
    }

    fn shorten(&mut self, id: EntryId, compaction: &Compaction) {
        let kept = compaction.kept_from;
        let from = kept.and_then(|kept| self.origins.iter().position(|origin| origin.entry == kept));
        let from = from.unwrap_or(self.messages.len());
        let head = compaction.head.iter().cloned();
        self.messages.splice(..from, head);
        self.origins.splice(..from, compaction.origins(id));
        self.carried = Some(Arc::new(compaction.clone()));
        self.reported = None;
    }
}
