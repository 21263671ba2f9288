//! The tree without its small print: entries that carry a message, how they hang together, and where their branches
//! end. Made from the tree when somebody looks at it, and gone with the look.

use std::collections::HashMap;

use super::record::Kind;
use super::tree::{Node, Tree};

/// Entries by their place in the tree; those that carry a message are called spoken.
pub(super) struct Shape {
    /// For each entry the spoken one that it is or that lies nearest before it.
    spoken: Vec<Option<usize>>,
    /// For each spoken entry, and for the beginning (`None`), the spoken ones that follow it, the oldest first.
    children: HashMap<Option<usize>, Vec<usize>>,
    /// For each spoken entry the youngest entry that follows it without a message of its own.
    ends: HashMap<usize, usize>,
    /// The spoken entries before and at the leaf, oldest first.
    way: Vec<usize>,
}

impl Shape {
    pub(super) fn of(tree: &Tree) -> Shape {
        let mut spoken: Vec<Option<usize>> = Vec::with_capacity(tree.len());
        let mut children: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
        let mut ends = HashMap::new();
        for (index, node) in tree.nodes().iter().enumerate() {
            let before = node.parent().filter(|parent| *parent < index).and_then(|parent| spoken[parent]);
            if is_spoken(node.kind) {
                children.entry(before).or_default().push(index);
            } else if let Some(before) = before.filter(|_| node.kind != Kind::Branch) {
                ends.insert(before, index);
            }
            spoken.push(if is_spoken(node.kind) { Some(index) } else { before });
        }
        let way = tree.path().into_iter().filter(|index| tree.node(*index).is_some_and(|node| is_spoken(node.kind)));
        Shape { way: way.collect(), spoken, children, ends }
    }

    /// The spoken entry that an entry is or follows; `None` at the beginning.
    pub(super) fn spoken(&self, index: usize) -> Option<usize> {
        self.spoken.get(index).copied().flatten()
    }

    /// The spoken entry before a spoken one.
    pub(super) fn before(&self, tree: &Tree, index: usize) -> Option<usize> {
        tree.node(index).and_then(Node::parent).and_then(|parent| self.spoken(parent))
    }

    /// What follows a spoken entry, or the beginning.
    pub(super) fn children(&self, of: Option<usize>) -> &[usize] {
        self.children.get(&of).map_or(&[], Vec::as_slice)
    }

    /// The spoken entries up to the leaf, oldest first.
    pub(super) fn way(&self) -> &[usize] {
        &self.way
    }

    /// Where the conversation stands; `None` at the beginning.
    pub(super) fn here(&self) -> Option<usize> {
        self.way.last().copied()
    }

    /// The spoken entries that nothing spoken follows, oldest first.
    pub(super) fn tips(&self) -> Vec<usize> {
        let mut tips: Vec<usize> = self.children.values().flatten().copied().collect();
        tips.retain(|index| self.children(Some(*index)).is_empty());
        tips.sort_unstable();
        tips
    }

    /// The tip that was written last of those that follow a spoken entry.
    pub(super) fn tip_after(&self, index: usize) -> usize {
        let mut open = vec![index];
        let mut last = index;
        while let Some(next) = open.pop() {
            last = last.max(next);
            open.extend(self.children(Some(next)));
        }
        last
    }

    /// The entry to stand at for whoever stands at a spoken one: what belongs to it without a message comes along.
    pub(super) fn end_of(&self, index: usize) -> usize {
        self.ends.get(&index).copied().unwrap_or(index)
    }

    /// The spoken entries from the beginning to one of them.
    pub(super) fn way_to(&self, tree: &Tree, index: usize) -> Vec<usize> {
        let mut way = Vec::new();
        let mut next = Some(index);
        while let Some(index) = next {
            way.push(index);
            next = self.before(tree, index);
        }
        way.reverse();
        way
    }
}

fn is_spoken(kind: Kind) -> bool {
    match kind {
        Kind::User
        | Kind::Report
        | Kind::Assistant
        | Kind::ToolResult
        | Kind::Note
        | Kind::Reminder
        | Kind::Restored
        | Kind::Compaction => true,
        Kind::Session
        | Kind::Discarded
        | Kind::ToolStarted
        | Kind::Dropped
        | Kind::Posted
        | Kind::Attempt
        | Kind::Branch
        | Kind::Title
        | Kind::Ended
        | Kind::Unknown => false,
    }
}
