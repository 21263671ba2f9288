//! Which task comes after which: what one waits for before it joins the line, and what becomes of it when that has no
//! result. The line itself is in `waiting`.

use std::collections::HashSet;
use std::path::Path;

use super::ControlError;
use super::ask::{self, Asking};
use super::crew::State;
use super::feed::{News, Source};
use super::mail::Ears;
use super::roster::Entry;
use super::waiting::Rank;
use crate::task::{Asker, Brief, GIVE_UP, TaskDir, TaskId, TaskStatus};

/// Tasks that are looked at for a circle.
const LOOKS: usize = 64;

/// Something that a task was to come after, and how it ended without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Missed {
    pub(super) id: TaskId,
    pub(super) how: &'static str,
}

/// A task whose files are there.
pub(super) struct Described {
    pub(super) ears: Ears,
    pub(super) missed: Vec<Missed>,
}

impl State {
    /// Puts a task into the line, or beside it while tasks that it comes after are not over. Answers which of them are.
    pub(super) fn line_up(&mut self, id: TaskId, brief: &Brief) -> Vec<TaskId> {
        let (waits, over): (Vec<TaskId>, Vec<TaskId>) =
            brief.after.iter().partition(|before| **before != id && self.tasks.contains_key(before));
        if !self.queue.hold(id, waits.into_iter().collect()) {
            self.queue.join(id, Rank::from(brief.priority));
        }
        over
    }

    /// A task with its files waits: says so, unless its turn is now.
    pub(super) fn waits(&mut self, id: TaskId) {
        let Some(entry) = self.tasks.get(&id) else { return };
        let (title, after) = (entry.brief.title.clone(), self.queue.after(id));
        if !after.is_empty() {
            return self.site.feed.tell(Source::Task(id), News::TaskHeld { title, after });
        }
        let ahead = self.queue.ahead(id).unwrap_or_default();
        if ahead + self.running >= self.site.config.crew.running {
            self.site.feed.tell(Source::Task(id), News::TaskQueued { title, ahead });
        }
    }

    /// A task is over: those that waited for nothing else join the line.
    pub(super) fn release(&mut self, id: TaskId, status: TaskStatus) {
        for (waiting, free) in self.queue.over(id) {
            let Some(entry) = self.tasks.get_mut(&waiting) else { continue };
            entry.missed.extend(Missed::of(id, status));
            if free {
                self.queue.join(waiting, Rank::from(entry.brief.priority));
            }
        }
    }

    /// A task that could not be taken on.
    pub(super) fn forget(&mut self, id: TaskId, status: TaskStatus) {
        self.queue.leave(id);
        self.tasks.remove(&id);
        self.site.ledger.close(&id.to_string());
        self.release(id, status);
    }
}

/// What is asked in the name of a task whose turn has come and which lacks a result; once.
pub(super) fn asking(entry: &mut Entry) -> Option<Asking> {
    let missed = std::mem::take(&mut entry.missed);
    let words: Vec<String> = missed.iter().map(|Missed { id, how }| format!("{id} {how}")).collect();
    (!words.is_empty()).then(|| Asking {
        text: format!("It comes after what has no result: {}. Go on without?", words.join(", ")),
        options: vec!["go on".to_owned(), GIVE_UP.to_owned()],
        default: GIVE_UP.to_owned(),
        patience: ask::PATIENCE,
        asker: Asker::Dependency,
    })
}

impl Missed {
    /// `None` when it has a result to go on with: also of a task that used up its turns or its budget.
    fn of(id: TaskId, status: TaskStatus) -> Option<Missed> {
        let how = match status {
            TaskStatus::Done | TaskStatus::LimitTurns | TaskStatus::Partial => return None,
            // Its end has come between two looks, and is read when the results are handed over.
            TaskStatus::Queued | TaskStatus::Running | TaskStatus::Parked => return None,
            TaskStatus::Failed => "failed",
            TaskStatus::Aborted => "was aborted",
            TaskStatus::Interrupted => "was interrupted",
        };
        Some(Missed { id, how })
    }
}

/// What a new task may come after: tasks that there are, none of which waits for itself. Waits for the disk.
///
/// # Errors
/// [`ControlError::NothingBefore`], [`ControlError::Circle`].
pub(super) fn check(tasks: &Path, after: &[TaskId]) -> Result<(), ControlError> {
    if let Some(none) = after.iter().find(|id| TaskDir::open(tasks, **id).is_err()) {
        return Err(ControlError::NothingBefore(*none));
    }
    let waits_for = |id: TaskId| {
        let task = TaskDir::open(tasks, id).and_then(|dir| dir.task());
        task.ok().filter(|task| !task.status.is_over()).map(|task| task.brief.after).unwrap_or_default()
    };
    circle(after, waits_for).map_or(Ok(()), |circle| Err(ControlError::Circle(circle)))
}

/// Tasks of which each waits for the next and the last for the first, if such can be reached: `t_003, t_004, t_003`.
/// Only a hand makes one, so a few looks find it.
fn circle(from: &[TaskId], waits_for: impl Fn(TaskId) -> Vec<TaskId>) -> Option<Vec<TaskId>> {
    let mut looks = 0;
    let mut seen = HashSet::new();
    let mut path: Vec<(TaskId, Vec<TaskId>)> = Vec::new();
    let mut left = from.to_vec();
    loop {
        match left.pop() {
            Some(next) => {
                if let Some(start) = path.iter().position(|(id, _)| *id == next) {
                    return Some(path[start..].iter().map(|(id, _)| *id).chain([next]).collect());
                }
                if looks < LOOKS && seen.insert(next) {
                    looks += 1;
                    path.push((next, std::mem::replace(&mut left, waits_for(next))));
                }
            }
            None => left = path.pop()?.1,
        }
    }
}

/// Which of the tasks that are over have no result, by their files. Waits for the disk.
pub(super) fn missed(tasks: &Path, over: &[TaskId]) -> Vec<Missed> {
    let look = |id: &TaskId| {
        let read = TaskDir::open(tasks, *id).and_then(|dir| Ok((dir.result()?, dir.task()?)));
        match read {
            Ok((result, task)) => Missed::of(*id, result.map_or(task.status, |report| report.status)),
            Err(_) => Some(Missed { id: *id, how: "cannot be read any more" }),
        }
    };
    over.iter().filter_map(look).collect()
}
