//! A whole tree in rows, for people: what was said in order, branches beside the way that goes on, long stretches of
//! tool calls in one row. How rows are drawn is in `terminal`.

use std::sync::Arc;

use super::glance::{calls, words};
use super::record::{Kind, Record};
use super::shape::Shape;
use super::{EntryId, Session, SessionError};
use crate::message::Message;

/// Which part of a tree is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// At most so many rows.
    pub most: usize,
    /// The last of them is of this entry; without one, of the end of the tree, where the current branch ends.
    pub up_to: Option<EntryId>,
}

/// A part of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// A side branch stands between the entry that it follows and what follows that on the way.
    pub rows: Vec<Row>,
    /// Entries with messages before the first row.
    pub before: usize,
    /// And after the last.
    pub after: usize,
}

/// One row: an entry with a message, or a stretch of tool calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The entry; of a stretch the first.
    pub entry: EntryId,
    /// Its number, shown as `m37`.
    pub number: u64,
    /// The number of the last entry of a stretch; `number` when it is none.
    pub last: u64,
    /// What the entry is.
    pub kind: Kind,
    /// How many branches it is away from the way that goes on.
    pub depth: usize,
    /// It is part of the current branch.
    pub is_current: bool,
    /// What goes on goes on behind it.
    pub is_here: bool,
    /// Tool calls of a stretch; 0 when there is text.
    pub calls: usize,
    /// Its words, or the tools that are called, on one line of at most 200 characters.
    pub words: String,
}

/// A place in the order of rows.
#[derive(Clone, Copy)]
struct Spot {
    index: usize,
    depth: usize,
    /// The results that follow it and have no row of their own.
    last: usize,
}

/// A row in the making: `None` is one with words.
struct Stretch {
    row: Row,
    called: Option<Vec<Arc<Message>>>,
}

impl Session {
    /// The tree, or a part of it. Reads no more entries than there are rows asked for.
    ///
    /// # Errors
    /// [`SessionError::NoEntry`], or the file cannot be read.
    pub fn outline(&self, page: Page) -> Result<Outline, SessionError> {
        let shape = Shape::of(&self.tree);
        let spots = self.spots(&shape);
        let end = match page.up_to {
            None => spots.len(),
            Some(entry) => {
                let index = self.tree.find(entry).ok_or(SessionError::NoEntry(entry))?;
                let spoken = shape.spoken(index);
                let holds = |spot: &Spot| spoken.is_some_and(|spoken| (spot.index..=spot.last).contains(&spoken));
                spots.iter().rposition(holds).map_or(0, |at| at + 1)
            }
        };
        let begin = end.saturating_sub(page.most.max(1));
        let shown = spots.get(begin..end).unwrap_or_default();
        Ok(Outline { rows: self.rows(&shape, shown)?, before: begin, after: spots.len() - end })
    }

    /// All rows that there could be, in order: what hangs from an entry comes before what follows it on the way.
    fn spots(&self, shape: &Shape) -> Vec<Spot> {
        let on_way = |index: &usize| shape.way().binary_search(index).is_ok();
        let mut spots: Vec<Spot> = Vec::new();
        let mut open: Vec<(usize, usize)> = Vec::new();
        let follow = |of: Option<usize>, depth: usize, open: &mut Vec<(usize, usize)>| {
            let children = shape.children(of);
            let main = children.iter().find(|child| on_way(child)).or(children.last());
            // The last that is put there is the first that is taken.
            open.extend(main.map(|main| (*main, depth)));
            let sides = children.iter().rev().filter(|child| Some(*child) != main);
            open.extend(sides.map(|side| (*side, depth + 1)));
        };
        follow(None, 0, &mut open);
        while let Some((index, depth)) = open.pop() {
            let is_result = self.tree.node(index).is_some_and(|node| node.kind == Kind::ToolResult);
            let is_plain = shape.children(Some(index)).len() == 1 && shape.here() != Some(index);
            let before = shape.before(&self.tree, index);
            match spots.last_mut().filter(|last| Some(last.last) == before && last.depth == depth) {
                Some(last) if is_result && is_plain => last.last = index,
                _ => spots.push(Spot { index, depth, last: index }),
            }
            follow(Some(index), depth, &mut open);
        }
        spots
    }

    fn rows(&self, shape: &Shape, spots: &[Spot]) -> Result<Vec<Row>, SessionError> {
        let mut rows: Vec<Stretch> = Vec::new();
        for spot in spots {
            let Some(next) = self.row(shape, *spot)? else { continue };
            let follows = shape.before(&self.tree, spot.index);
            let last = rows.last_mut().filter(|last| {
                let before = follows.and_then(|before| self.tree.node(before)).map(|node| node.seq);
                let goes_on = Some(last.row.last) == before && last.row.depth == spot.depth;
                goes_on && !last.row.is_here && last.row.is_current == next.row.is_current
            });
            match (last, next) {
                (Some(Stretch { row, called: Some(called) }), Stretch { row: more, called: Some(further) }) => {
                    called.extend(further);
                    (row.last, row.is_here) = (more.last, more.is_here);
                }
                (_, next) => rows.push(next),
            }
        }
        Ok(rows.into_iter().map(Stretch::told).collect())
    }

    fn row(&self, shape: &Shape, spot: Spot) -> Result<Option<Stretch>, SessionError> {
        let Some(node) = self.tree.node(spot.index) else { return Ok(None) };
        let said = self.said(spot.index)?;
        let called = match &said {
            Some(Record::Assistant { message, .. }) if message.text().trim().is_empty() => {
                Some(vec![Arc::clone(message)]).filter(|_| message.calls().next().is_some())
            }
            _ => None,
        };
        let row = Row {
            entry: node.id,
            number: node.seq,
            last: self.tree.node(spot.last).map_or(node.seq, |last| last.seq),
            kind: node.kind,
            depth: spot.depth,
            is_current: shape.way().binary_search(&spot.index).is_ok(),
            is_here: shape.here() == Some(spot.index),
            calls: 0,
            words: said.as_ref().map(words).unwrap_or_default(),
        };
        Ok(Some(Stretch { row, called }))
    }
}

impl Stretch {
    fn told(self) -> Row {
        let Some(called) = self.called else { return self.row };
        let count = called.iter().map(|message| message.calls().count()).sum();
        Row { calls: count, words: calls(called.iter().map(|message| &**message)), ..self.row }
    }
}
