//! Ways back and across: the branches that a conversation has, the lines that one may go back to, and the step from one
//! branch to another. What a whole tree looks like is in `outline`.

use jiff::Timestamp;

use super::record::Kind;
use super::shape::Shape;
use super::{EntryId, Session, SessionError};

/// A branch, named by where it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Its last message. At the very beginning of a conversation, where nothing is said, the entry before all messages.
    pub entry: EntryId,
    /// The number of that entry, shown as `m37`.
    pub number: u64,
    /// What goes on goes on here.
    pub is_current: bool,
    /// Messages from the beginning to here, without those of tools.
    pub messages: usize,
    /// The number of the last entry that it has together with the current branch; `None` for the current one, and where
    /// the two have nothing together.
    pub parts_at: Option<u64>,
    /// What the last message is.
    pub kind: Kind,
    /// Its words on one line, at most 200 characters.
    pub words: String,
    /// When it was written; `None` when the file does not say.
    pub at: Option<Timestamp>,
}

/// A line of a person on the current branch, and where to go to say it anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The line's number.
    pub number: u64,
    /// The number of the entry before it: who branches there is asked again.
    pub before: u64,
    /// Its words on one line, at most 200 characters.
    pub words: String,
    /// When it was said; `None` when the file does not say.
    pub at: Option<Timestamp>,
}

impl Session {
    /// All branches, the youngest last. The one where the conversation stands is among them, also in the midst of
    /// another.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn branches(&self) -> Result<Vec<Branch>, SessionError> {
        let shape = Shape::of(&self.tree);
        let mut tips = shape.tips();
        if let Some(here) = shape.here().filter(|here| !tips.contains(here)) {
            tips.push(here);
            tips.sort_unstable();
        }
        let mut branches: Vec<Branch> = Vec::with_capacity(tips.len() + 1);
        if shape.here().is_none() && !tips.is_empty() {
            branches.extend(self.bare());
        }
        for tip in tips {
            branches.extend(self.branch_to(&shape, tip)?);
        }
        Ok(branches)
    }

    /// Goes to the end of the branch that an entry lies on; where it parts further on, of the part that was written last.
    /// Answers where that is. Nothing is written when the conversation stands there already.
    ///
    /// # Errors
    /// As [`Session::branch`].
    pub fn switch(&mut self, to: EntryId) -> Result<EntryId, SessionError> {
        let index = self.tree.find(to).ok_or(SessionError::NoEntry(to))?;
        let shape = Shape::of(&self.tree);
        let tip = shape.spoken(index).map(|index| shape.tip_after(index));
        let end = tip.map_or(index, |tip| shape.end_of(tip));
        let entry = |at: usize| self.tree.node(at).map_or(to, |node| node.id);
        let (tip_id, end_id) = (entry(tip.unwrap_or(index)), entry(end));
        if tip.is_none() || tip != shape.here() {
            self.branch(end_id)?;
        }
        Ok(tip_id)
    }

    /// The last `most` lines of a person on the current branch, oldest first: what was said and what was called into a
    /// run, also what a compaction has replaced.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn turns(&self, most: usize) -> Result<Vec<Turn>, SessionError> {
        let shape = Shape::of(&self.tree);
        let first = self.tree.nodes().first().map_or(0, |node| node.seq);
        let mut turns = Vec::new();
        for (position, index) in shape.way().iter().enumerate().rev() {
            let Some(node) = self.tree.node(*index).filter(|node| matches!(node.kind, Kind::User | Kind::Note)) else {
                continue;
            };
            if turns.len() == most {
                break;
            }
            let before = position.checked_sub(1).and_then(|before| self.tree.node(shape.way()[before]));
            let (words, at) = self.glance(*index)?;
            turns.push(Turn { number: node.seq, before: before.map_or(first, |node| node.seq), words, at });
        }
        turns.reverse();
        Ok(turns)
    }

    fn branch_to(&self, shape: &Shape, tip: usize) -> Result<Option<Branch>, SessionError> {
        let Some(node) = self.tree.node(tip) else { return Ok(None) };
        let way = shape.way_to(&self.tree, tip);
        let is_current = shape.here() == Some(tip);
        let shared = way.iter().zip(shape.way()).take_while(|(one, other)| one == other).last();
        let parts_at = shared.filter(|_| !is_current).and_then(|(index, _)| self.tree.node(*index));
        let is_said = |index: &&usize| {
            let kind = self.tree.node(**index).map(|node| node.kind);
            !matches!(kind, Some(Kind::ToolResult | Kind::Compaction) | None)
        };
        let (words, at) = self.glance(tip)?;
        Ok(Some(Branch {
            entry: node.id,
            number: node.seq,
            is_current,
            messages: way.iter().filter(is_said).count(),
            parts_at: parts_at.map(|node| node.seq),
            kind: node.kind,
            words,
            at,
        }))
    }

    /// The branch of a conversation that begins anew.
    fn bare(&self) -> Option<Branch> {
        let leaf = self.tree.leaf()?;
        Some(Branch {
            entry: leaf.id,
            number: leaf.seq,
            is_current: true,
            messages: 0,
            parts_at: None,
            kind: leaf.kind,
            words: String::new(),
            at: None,
        })
    }
}
