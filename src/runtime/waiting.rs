//! Tasks that wait: a line in which the more urgent stand before the others, and beside it those that wait for other
//! tasks to be over. Plain data; whether a task is ready to begin, and what begins it, is the crew's business.

use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::task::{Priority, TaskId};

/// Where in the line a task stands; among equals whoever came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rank {
    Low,
    Normal,
    High,
    /// Work that is under way already: it goes on before anything new begins.
    Woken,
}

/// It.
#[derive(Default)]
pub(super) struct Waiting {
    /// By rank, the lowest first.
    line: [VecDeque<TaskId>; 4],
    /// What each of the others waits for; never nothing.
    held: HashMap<TaskId, BTreeSet<TaskId>>,
}

impl From<Priority> for Rank {
    fn from(priority: Priority) -> Rank {
        match priority {
            Priority::Low => Rank::Low,
            Priority::Normal => Rank::Normal,
            Priority::High => Rank::High,
        }
    }
}

impl Waiting {
    /// All that wait.
    pub(super) fn len(&self) -> usize {
        self.line.iter().map(VecDeque::len).sum::<usize>() + self.held.len()
    }

    /// To the end of its rank.
    pub(super) fn join(&mut self, id: TaskId, rank: Rank) {
        self.line[rank as usize].push_back(id);
    }

    /// Until all of `after` are over; with nothing to wait for it is not taken, and answers false.
    pub(super) fn hold(&mut self, id: TaskId, after: BTreeSet<TaskId>) -> bool {
        let waits = !after.is_empty();
        if waits {
            self.held.insert(id, after);
        }
        waits
    }

    /// Who stands first, so many of them.
    pub(super) fn first(&self, most: usize) -> Vec<TaskId> {
        self.in_order().take(most).collect()
    }

    pub(super) fn leave(&mut self, id: TaskId) {
        self.line.iter_mut().for_each(|rank| rank.retain(|waiting| *waiting != id));
        self.held.remove(&id);
    }

    /// A task is over: who waited for it, by number, and whether it was the last that each waited for. Those wait no
    /// more and stand in no line yet.
    pub(super) fn over(&mut self, id: TaskId) -> Vec<(TaskId, bool)> {
        let mut waited: Vec<(TaskId, bool)> = self
            .held
            .iter_mut()
            .filter_map(|(waiting, after)| after.remove(&id).then_some((*waiting, after.is_empty())))
            .collect();
        self.held.retain(|_, after| !after.is_empty());
        waited.sort_unstable();
        waited
    }

    /// The tasks that one waits for, by number.
    pub(super) fn after(&self, id: TaskId) -> Vec<TaskId> {
        self.held.get(&id).into_iter().flatten().copied().collect()
    }

    /// How many stand before it; `None` when it stands in no line.
    pub(super) fn ahead(&self, id: TaskId) -> Option<usize> {
        self.in_order().position(|waiting| waiting == id)
    }

    /// The place of everyone in the line, from 1.
    pub(super) fn places(&self) -> HashMap<TaskId, usize> {
        self.in_order().zip(1..).collect()
    }

    /// Everyone, those in the line first.
    pub(super) fn everyone(&self) -> Vec<TaskId> {
        let mut held: Vec<TaskId> = self.held.keys().copied().collect();
        held.sort_unstable();
        self.in_order().chain(held).collect()
    }

    fn in_order(&self) -> impl Iterator<Item = TaskId> {
        self.line.iter().rev().flatten().copied()
    }
}
