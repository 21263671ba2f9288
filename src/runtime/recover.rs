//! What a program that starts owes to one that ended: tasks that were running or waiting are closed as interrupted, and
//! reports that reached nobody are kept for their session. Runs under the workspace's lock; runs nothing again.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use crate::message::Role;
use crate::session::{End, Record, Session, SessionId};
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
}

/// Most bytes of a journal's end that are read to find its last entry.
const LAST: u64 = 1 << 20;

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
    let dirs = task::directories(&workspace.tasks())?;
    let last = last_task(workspace)?;
    let mut found = Legacy { last, ..Legacy::default() };
    for dir in dirs.iter().filter(|dir| !dir.is_settled()) {
        // A task.md that a hand has broken is the list's to report; nothing can be concluded from it.
        let Ok(task) = dir.task() else { continue };
        if task.status.is_over() && dir.is_relayed(task.attempt) {
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
            let report = rebuilt(dir, task, &path);
            dir.finish(&report)?;
            dir.progress(&format!("{}: the program ended before it could say so", report.status))?;
            Ok(Some(Settled { report, was_open: true }))
        }
    }
}

/// The report that the ended program owed: the journal's own ending if it has one, else that the task was interrupted.
fn rebuilt(dir: &TaskDir, task: &Task, journal: &Path) -> TaskReport {
    let session = Session::read(journal).ok();
    let answer = || session.as_ref().and_then(|session| session.context().last()).map(|message| message.text());
    let (status, answer) = match last_end(journal) {
        Some(End::Completed) => (TaskStatus::Done, answer().unwrap_or_default()),
        Some(End::TurnLimit) => (TaskStatus::LimitTurns, answer().unwrap_or_default()),
        Some(End::Failed { why }) => (TaskStatus::Failed, why),
        Some(End::Aborted) => (TaskStatus::Aborted, "Aborted before it was done.".to_owned()),
        None if dir.is_aborted(task.attempt) => (TaskStatus::Aborted, "Aborted before it was done.".to_owned()),
        Some(End::Interrupted) | None => (TaskStatus::Interrupted, interrupted(dir.id(), task.status)),
    };
    let calls = |session: &Session| session.context().iter().filter(|message| message.role == Role::Assistant).count();
    let total = session.as_ref().map(|session| session.bill().total()).unwrap_or_default();
    TaskReport {
        id: dir.id(),
        title: task.brief.title.clone(),
        attempt: task.attempt,
        status,
        answer,
        turns: session.as_ref().map_or(0, |session| u32::try_from(calls(session)).unwrap_or(u32::MAX)),
        usage: total.usage,
        spent: total.spent,
        started: None,
        ended: now(),
        took: Duration::ZERO,
        dir: dir.path().to_owned(),
    }
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

/// How the run of a journal ended, if its last entry says so.
fn last_end(journal: &Path) -> Option<End> {
    #[derive(Deserialize)]
    struct Last {
        #[serde(flatten)]
        record: Record,
    }
    let mut file = File::open(journal).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LAST))).ok()?;
    let mut bytes = Vec::new();
    file.take(LAST).read_to_end(&mut bytes).ok()?;
    let line = bytes.split(|byte| *byte == b'\n').rev().find(|line| !line.is_empty())?;
    match serde_json::from_slice::<Last>(line).ok()?.record {
        Record::Ended { end } => Some(end),
        _ => None,
    }
}

/// A number whose directory was deleted by hand is still taken by its journal.
fn highest_journal(sessions: &Path) -> u32 {
    let Ok(entries) = std::fs::read_dir(sessions) else { return 0 };
    let number = |name: &str| name.strip_suffix(".jsonl")?.parse::<TaskId>().ok().map(|id| id.0);
    entries.flatten().filter_map(|entry| number(entry.file_name().to_str()?)).max().unwrap_or(0)
}
