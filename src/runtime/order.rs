//! Which task comes after which: what one waits for before it joins the line, and what its files say of that when its turn
//! comes. The line itself is in `waiting`; what is done about what the files say, in `turns`.

use std::collections::HashSet;
use std::path::Path;

use super::ControlError;
use super::crew::State;
use super::feed::{News, Source};
use super::roster::Stage;
use super::waiting::Rank;
use crate::task::{Brief, TaskDir, TaskError, TaskId, TaskStatus, one_line};

/// Tasks that are looked at for a circle.
const LOOKS: usize = 1_024;

/// Most characters of the reason why a task.md makes no sense.
const WHY: usize = 600;

/// What the files say of a task that waits.
#[derive(Default)]
pub(super) struct Looked {
    /// As task.md has it now; `None` when a hand has made nonsense of it.
    pub(super) brief: Option<Brief>,
    /// What it comes after and is not over, by their files.
    pub(super) open: Vec<TaskId>,
    /// Tasks that would wait for each other for ever.
    pub(super) circle: Vec<TaskId>,
    /// What somebody must decide, in words that are the same as long as the files are.
    pub(super) doubts: Vec<String>,
    /// The same of results that it lacks: only when it waits for nothing else.
    pub(super) missed: Option<String>,
}

impl State {
    /// Puts a task into the line, or beside it while tasks that it comes after are not over.
    pub(super) fn line_up(&mut self, id: TaskId, brief: &Brief) {
        let waits = brief.after.iter().filter(|before| **before != id && self.tasks.contains_key(before));
        if !self.queue.hold(id, waits.copied().collect()) {
            self.queue.join(id, Rank::from(brief.priority));
        }
    }

    /// A task with its files waits: says so, unless its turn is now.
    pub(super) fn waits(&mut self, id: TaskId) {
        let Some(entry) = self.tasks.get(&id).filter(|entry| matches!(entry.stage, Stage::Queued)) else { return };
        let (title, after) = (entry.brief.title.clone(), self.queue.after(id));
        if !after.is_empty() {
            return self.site.feed.tell(Source::Task(id), News::TaskHeld { title, after });
        }
        let ahead = self.queue.ahead(id).unwrap_or_default();
        if ahead + self.running >= self.site.config.crew.running {
            self.site.feed.tell(Source::Task(id), News::TaskQueued { title, ahead });
        }
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
    circle(after, |id| waits_for(tasks, id)).map_or(Ok(()), |circle| Err(ControlError::Circle(circle)))
}

/// Reads task.md again: a hand may have changed it since the task was dispatched. `known` is what it said then. Waits for
/// the disk.
pub(super) fn look(tasks: &Path, id: TaskId, known: &Brief) -> Looked {
    let read = TaskDir::open(tasks, id).and_then(|dir| dir.task());
    let mut doubts: Vec<String> = read.as_ref().err().map(nonsense).into_iter().collect();
    let brief = read.ok().map(|task| task.brief);
    let mut after = brief.as_ref().unwrap_or(known).after.clone();
    after.sort_unstable();
    after.dedup();
    let (there, none): (Vec<TaskId>, Vec<TaskId>) =
        after.iter().partition(|before| TaskDir::open(tasks, **before).is_ok());
    doubts.extend(none.iter().map(|none| format!("{}. Go on without?", ControlError::NothingBefore(*none))));
    let own = after.clone();
    // Its own file may be broken, or say that it rests: it waits all the same.
    let circle = circle(&there, |it| if it == id { own.clone() } else { waits_for(tasks, it) }).unwrap_or_default();
    if !circle.is_empty() {
        doubts.push(format!("{}. Go on without?", ControlError::Circle(circle.clone())));
    }
    let standing = |before: &TaskId| (*before, standing(tasks, *before));
    let standings: Vec<(TaskId, Standing)> = there.iter().filter(|it| **it != id).map(standing).collect();
    let open = standings.iter().filter(|(_, standing)| *standing == Standing::Open).map(|(id, _)| *id).collect();
    let missed: Vec<String> = standings.iter().filter_map(|(id, standing)| standing.missed(*id)).collect();
    let missed = (!missed.is_empty())
        .then(|| format!("It comes after what has no result: {}. Go on without?", missed.join(", ")));
    Looked { brief, open, circle, doubts, missed }
}

/// How a task stands for one that comes after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It has a result to go on with: also one that used up its turns or its budget.
    Fine,
    /// It is not over.
    Open,
    /// It has none, and why.
    Missed(&'static str),
}

impl Standing {
    fn missed(self, id: TaskId) -> Option<String> {
        if let Standing::Missed(how) = self { Some(format!("{id} {how}")) } else { None }
    }
}

fn standing(tasks: &Path, id: TaskId) -> Standing {
    let read = TaskDir::open(tasks, id).and_then(|dir| Ok((dir.task()?, dir.result()?)));
    let Ok((task, result)) = read else { return Standing::Missed("cannot be read any more") };
    // The truth is in the report once there is one of this attempt.
    let result = result.filter(|report| report.attempt >= task.attempt);
    match result.map_or(task.status, |report| report.status) {
        TaskStatus::Done | TaskStatus::LimitTurns | TaskStatus::Partial => Standing::Fine,
        TaskStatus::Queued | TaskStatus::Running | TaskStatus::Parked => Standing::Open,
        TaskStatus::Failed => Standing::Missed("failed"),
        TaskStatus::Aborted => Standing::Missed("was aborted"),
        TaskStatus::Interrupted => Standing::Missed("was interrupted"),
    }
}

fn nonsense(error: &TaskError) -> String {
    let why = one_line(&error.to_string(), WHY);
    format!("Its task.md makes no sense: {why}. Mend it, then go on; or go on as it was asked at first?")
}

/// What a task waits for by its file: one that is at work or over waits for none.
fn waits_for(tasks: &Path, id: TaskId) -> Vec<TaskId> {
    let waits = |status: TaskStatus| !status.is_over() && status != TaskStatus::Running;
    let task = TaskDir::open(tasks, id).and_then(|dir| dir.task());
    task.ok().filter(|task| waits(task.status)).map(|task| task.brief.after).unwrap_or_default()
}

/// Tasks of which each waits for the next and the last for the first, if such can be reached: `t_003, t_004, t_003`.
/// Only a hand makes one.
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
