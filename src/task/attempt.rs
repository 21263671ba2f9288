//! Attempts at one task: what is kept of those before the current one, and the marks of what was ordered and told.
//! Whether another attempt may be made is decided in `runtime`.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::PathBuf;

use super::front::ResultFront;
use super::{TaskDir, TaskError, TaskReport, TaskStatus};
use crate::markdown;
use crate::message::Spent;

/// There was more than one attempt.
const RESUMED: &str = ".resumed";
/// A person ended the attempt.
const ABORTED: &str = ".aborted";
/// The report of the attempt has reached the conversation that asked for it.
const RELAYED: &str = ".relayed";

impl TaskDir {
    /// Begins another attempt: the task waits again, its report goes to `session`, and what the last attempt came to is
    /// kept as `result-1.md`.
    ///
    /// Stopped between two of its steps it has either not happened, or [`TaskDir::keep_earlier`] finishes it.
    ///
    /// # Errors
    /// As [`TaskDir::set_status`].
    pub fn begin_attempt(&self, attempt: u32, session: &str) -> Result<(), TaskError> {
        // First: from here on a mark of the first attempt says nothing about the task as a whole.
        mark(self.path().join(RESUMED))?;
        self.edit(|front| {
            (front.status, front.attempt) = (TaskStatus::Queued, attempt);
            front.session = Some(session.to_owned());
        })?;
        self.keep_earlier(attempt)
    }

    /// Moves a result.md of an attempt before this one to its own name, as `result-1.md`.
    ///
    /// # Errors
    /// [`TaskError::Files`] when the disk refuses.
    pub fn keep_earlier(&self, attempt: u32) -> Result<(), TaskError> {
        // One that cannot be read was written by the worker and is moved aside when the attempt ends.
        let earlier = self.result().ok().flatten().filter(|report| report.attempt < attempt);
        let Some(earlier) = earlier else { return Ok(()) };
        let path = self.result_path();
        fs::rename(&path, self.earlier_path(earlier.attempt)).map_err(|source| TaskError::Files { path, source })
    }

    /// What the attempts before this one came to, oldest first, as far as their files are there.
    pub fn earlier(&self, attempt: u32) -> Vec<TaskReport> {
        let read = |number| {
            let document = markdown::load::<ResultFront>(&self.earlier_path(number)).ok()?;
            Some(document.front.report(self, document.body.trim_end().to_owned()))
        };
        (1..attempt).filter_map(read).collect()
    }

    /// What the attempts before this report's cost and it itself, as far as their files are there.
    pub fn total(&self, report: &TaskReport) -> Spent {
        let mut total = report.spent;
        self.earlier(report.attempt).iter().for_each(|earlier| total.add(earlier.spent));
        total
    }

    /// Remembers that a person ended the attempt, whatever becomes of the program before the attempt is over.
    ///
    /// # Errors
    /// [`TaskError::Files`] when the disk refuses.
    pub fn mark_aborted(&self, attempt: u32) -> Result<(), TaskError> {
        mark(self.of(ABORTED, attempt))
    }

    /// Whether a person ended the attempt.
    pub fn is_aborted(&self, attempt: u32) -> bool {
        self.of(ABORTED, attempt).exists()
    }

    /// Remembers that the report of the attempt has reached the conversation that asked for it. Losing this mark in a
    /// crash costs a second look, never a second report.
    ///
    /// # Errors
    /// [`TaskError::Files`] when the disk refuses.
    pub fn mark_relayed(&self, attempt: u32) -> Result<(), TaskError> {
        mark(self.of(RELAYED, attempt))
    }

    /// Whether it has.
    pub fn is_relayed(&self, attempt: u32) -> bool {
        self.of(RELAYED, attempt).exists()
    }

    /// Its only attempt was told of: nothing is left to be done about it. Reads no file.
    pub fn is_settled(&self) -> bool {
        self.is_relayed(1) && !self.path().join(RESUMED).exists()
    }

    fn earlier_path(&self, attempt: u32) -> PathBuf {
        self.path().join(format!("result-{attempt}.md"))
    }

    /// The mark of an attempt. The first one's has no number: tasks of early versions have had one only.
    fn of(&self, mark: &str, attempt: u32) -> PathBuf {
        match attempt {
            0 | 1 => self.path().join(mark),
            _ => self.path().join(format!("{mark}-{attempt}")),
        }
    }
}

fn mark(path: PathBuf) -> Result<(), TaskError> {
    match OpenOptions::new().write(true).create_new(true).open(&path) {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => Err(TaskError::Files { path, source }),
        Ok(_) | Err(_) => Ok(()),
    }
}
