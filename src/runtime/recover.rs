//! What a program that starts owes to one that ended: tasks that were running or waiting are closed as interrupted, and
//! reports that reached nobody are kept for their session. Runs under the workspace's lock; runs nothing again.

use std::path::Path;
use std::time::Duration;

use super::evidence::Evidence;
use super::{adopt, ask};
use crate::message::{Spent, Tally};
use crate::session::{End, Record, Session, SessionError, SessionId};
use crate::task::{self, Task, TaskDir, TaskError, TaskId, TaskReport, TaskStatus, now};
use crate::workspace::Workspace;

/// What was found.
#[derive(Default)]
pub(super) struct Legacy {
    /// The highest number that was ever given.
    pub(super) last: u32,
    /// Ended now, because they could not go on.
    pub(super) interrupted: Vec<TaskReport>,
    /// Reports that reached nobody yet, with the session that waits for each.
    pub(super) unheard: Vec<(SessionId, TaskReport)>,
    /// Tasks that wait for an answer, with the session that each belongs to.
    pub(super) parked: Vec<(TaskId, SessionId)>,
}

/// The highest number that a task ever had here; 0 when there was none.
///
/// # Errors
/// [`TaskError::Files`] when the directory of the tasks cannot be read.
pub fn last_task(workspace: &Workspace) -> Result<u32, TaskError> {
    let dirs = task::directories(&workspace.tasks())?;
    Ok(dirs.last().map_or(0, |dir| dir.id().0).max(highest_journal(&workspace.worker_sessions())))
}

/// Looks through the tasks. One that was relayed costs a look at its directory and no more.
pub(super) fn recover(workspace: &Workspace) -> Result<Legacy, TaskError> {
    let last = last_task(workspace)?;
    if !workspace.is_ephemeral() {
        // Nobody was told of a batch that was cut short.
        task::sweep(&workspace.tasks())?;
    }
    let dirs = task::directories(&workspace.tasks())?;
    let mut found = Legacy { last, ..Legacy::default() };
    if workspace.is_ephemeral() {
        // The journals that tell how they ended are elsewhere; whoever works there settles them.
        return Ok(found);
    }
    for dir in dirs.iter().filter(|dir| !dir.is_settled()) {
        // A task.md that a hand has broken is the list's to report; nothing can be concluded from it.
        let Ok(task) = dir.task() else { continue };
        if task.status.is_over() && dir.is_relayed(task.attempt) {
            continue;
        }
        if adopt::is_parked(workspace, dir, &task) {
            found.rests(dir, &task);
            continue;
        }
        match settle(workspace, dir, &task) {
            Ok(Some(Settled { report, was_open })) => {
                if was_open {
                    found.interrupted.push(report.clone());
                }
                found.owe(dir, &task, report)?;
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "a task of an earlier program could not be closed"),
        }
    }
    Ok(found)
}

impl Legacy {
    /// It goes on when its conversation is open and it has heard an answer.
    fn rests(&mut self, dir: &TaskDir, task: &Task) {
        if task.status != TaskStatus::Parked
            && let Err(error) = dir.set_status(TaskStatus::Parked)
        {
            tracing::warn!(%error, "task.md does not say that its task waits for an answer");
        }
        let session = task.brief.session.as_deref().unwrap_or_default();
        self.parked.push((dir.id(), SessionId::new(session)));
    }

    /// The report of the last attempt, behind those of earlier ones that nobody has heard.
    fn owe(&mut self, dir: &TaskDir, task: &Task, last: TaskReport) -> Result<(), TaskError> {
        let unheard = |report: &TaskReport| !dir.is_relayed(report.attempt);
        for report in dir.earlier(task.attempt).into_iter().chain([last]).filter(unheard) {
            match &task.brief.session {
                Some(session) => self.unheard.push((SessionId::new(session), report)),
                None => dir.mark_relayed(report.attempt)?,
            }
        }
        Ok(())
    }
}

struct Settled {
    report: TaskReport,
    /// It was running or waiting when the program ended.
    was_open: bool,
}

/// Makes the files agree with what happened.
fn settle(workspace: &Workspace, dir: &TaskDir, task: &Task) -> Result<Option<Settled>, TaskError> {
    dir.keep_earlier(task.attempt)?;
    // One that cannot be understood was written by the worker itself and says nothing about the end.
    let result = dir.result().ok().flatten();
    match result {
        Some(report) => {
            if task.status != report.status {
                dir.set_status(report.status)?;
            }
            Ok(Some(Settled { report, was_open: false }))
        }
        None if task.status.is_over() => Ok(None),
        None => {
            let path = workspace.worker_sessions().join(format!("{}.jsonl", dir.id()));
            let mut report = rebuilt(workspace.root(), dir, task, &path);
            report.assumptions = dir.close_questions(&ask::moot(report.status));
            report.total = dir.total(&report);
            dir.finish(&report)?;
            dir.progress(&format!("{}: the program ended before it could say so", report.status))?;
            Ok(Some(Settled { report, was_open: true }))
        }
    }
}

/// The report that the ended program owed: the journal's own ending if it has one, else that the task was interrupted,
/// which the journal is told first.
fn rebuilt(root: &Path, dir: &TaskDir, task: &Task, journal: &Path) -> TaskReport {
    let session = journal.exists().then(|| closed(dir, task, journal)).flatten();
    let began = |session: &&Session| session.attempt().max(1) == task.attempt;
    let answer = || session.as_ref().and_then(|session| session.context().last()).map(|message| message.text());
    let (status, answer) = match session.as_ref().filter(began).and_then(Session::end) {
        Some(End::Completed) => (TaskStatus::Done, answer().unwrap_or_default()),
        Some(End::TurnLimit) => (TaskStatus::LimitTurns, answer().unwrap_or_default()),
        Some(End::BudgetSpent { .. }) => (TaskStatus::Partial, answer().unwrap_or_default()),
        Some(End::Stuck { evidence }) => (TaskStatus::Failed, evidence.clone()),
        Some(End::Failed { why }) => (TaskStatus::Failed, why.clone()),
        Some(End::Aborted) => (TaskStatus::Aborted, "Aborted before it was done.".to_owned()),
        None if dir.is_aborted(task.attempt) => (TaskStatus::Aborted, "Aborted before it was done.".to_owned()),
        Some(End::Interrupted | End::Parked) | None => (TaskStatus::Interrupted, interrupted(dir.id(), task.status)),
    };
    let mut before = Tally::default();
    dir.earlier(task.attempt).iter().for_each(|report| before.add(report.tally()));
    let paid = session.as_ref().map(|session| session.bill().total().since(before));
    let Tally { calls, usage, spent } = paid.unwrap_or_default();
    let mut report = TaskReport {
        id: dir.id(),
        title: task.brief.title.clone(),
        attempt: task.attempt,
        status,
        answer,
        turns: calls,
        usage,
        spent,
        started: None,
        ended: now(),
        took: Duration::ZERO,
        dir: dir.path().to_owned(),
        verified: Vec::new(),
        files: Vec::new(),
        changed: Vec::new(),
        assumptions: Vec::new(),
        total: Spent::default(),
    };
    let seen = session.and_then(|session| Evidence::in_journal(root, dir.path(), session.context()));
    seen.iter().for_each(|seen| seen.fill(&mut report));
    report
}

/// The journal of a task that is over, with its end written down. Calls that were open are answered on the way.
fn closed(dir: &TaskDir, task: &Task, journal: &Path) -> Option<Session> {
    let write = || {
        let mut session = Session::open(journal)?;
        if session.attempt() < task.attempt && session.attempt() > 0 {
            session.append(Record::Attempt { number: task.attempt })?;
        }
        if session.end().is_none() {
            let end = if dir.is_aborted(task.attempt) { End::Aborted } else { End::Interrupted };
            session.append(Record::Ended { end })?;
        }
        Ok::<_, SessionError>(session)
    };
    // A run of this program that was dropped may still hold it: then its end is not known to it.
    write().or_else(|_| Session::read(journal)).ok()
}

fn interrupted(id: TaskId, status: TaskStatus) -> String {
    match status {
        TaskStatus::Queued => "The program ended before the task was started; nothing was done.".to_owned(),
        _ => format!(
            "The program ended while the task was running. What it did until then is in .tasks/{id}/progress.md; the \
             effects of its last step are unknown. Nothing was run again."
        ),
    }
}

/// A number whose directory was deleted by hand is still taken by its journal.
fn highest_journal(sessions: &Path) -> u32 {
    let Ok(entries) = std::fs::read_dir(sessions) else { return 0 };
    // A task that never began has no journal, but may have been sent notes.
    let number = |name: &str| name.split_once('.')?.0.parse::<TaskId>().ok().map(|id| id.0);
    entries.flatten().filter_map(|entry| number(entry.file_name().to_str()?)).max().unwrap_or(0)
}
