//! The directory of one task: claimed by mkdir, described by task.md, followed in progress.md, closed by result.md.
//! Knows files only; the journal that these files are a projection of is kept by whoever runs the task.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;

use super::front::{ResultFront, TaskFront};
use super::progress::{append, append_line, read_tail};
use super::{Brief, TaskId, TaskReport, TaskStatus};
use crate::markdown::{self, MarkdownError};
use crate::message::BudgetError;
use crate::workspace::write_atomic;

/// The directory of one task, `.tasks/t_001`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskDir {
    id: TaskId,
    path: PathBuf,
    /// task.md and result.md are forced to the disk when they are written.
    durable: bool,
}

/// What task.md says.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Its directory.
    pub dir: TaskDir,
    /// Where it stands, as far as the file knows.
    pub status: TaskStatus,
    /// When it was dispatched.
    pub created: Timestamp,
    /// Which attempt at it this is or was, from 1.
    pub attempt: u32,
    /// What was asked.
    pub brief: Brief,
}

/// All tasks of a workspace, by number, and what could not be read.
#[derive(Debug, Default)]
pub struct Listing {
    /// The readable ones.
    pub tasks: Vec<Task>,
    /// Why the others are missing, one entry each.
    pub skipped: Vec<TaskError>,
}

/// Why a task's files could not be used.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// There is no such directory.
    #[error("there is no task {0}; `tillerman tasks list` shows those that exist")]
    NoSuchTask(TaskId),
    /// A file of it does not say what it must; the cause names path, line and column.
    #[error("task {id}: {source}")]
    Markdown {
        /// Which task.
        id: TaskId,
        /// Where and what.
        source: MarkdownError,
    },
    /// Its task.md names a budget that is none.
    #[error("task {id}: {source}, in task.md")]
    Budget {
        /// Which task.
        id: TaskId,
        /// What is written there.
        source: BudgetError,
    },
    /// The disk refused.
    #[error("cannot use {}: {source}", path.display())]
    Files {
        /// The file or directory.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// The tasks directory is a symbolic link or a file.
    #[error("{} is no directory of its own (a link or a file); move it away", .0.display())]
    NotADirectory(PathBuf),
}

/// The highest number taken in a tasks directory; 0 when there is none.
///
/// # Errors
/// [`TaskError::Files`] when the directory exists and cannot be read.
pub fn highest(tasks: &Path) -> Result<u32, TaskError> {
    Ok(directories(tasks)?.last().map_or(0, |dir| dir.id.0))
}

/// Reads every task.md below a tasks directory; broken ones are skipped and reported.
///
/// # Errors
/// [`TaskError::Files`] when the directory exists and cannot be read.
pub fn list(tasks: &Path) -> Result<Listing, TaskError> {
    let mut listing = Listing::default();
    for dir in directories(tasks)? {
        match dir.task() {
            Ok(task) => listing.tasks.push(task),
            Err(error) => listing.skipped.push(error),
        }
    }
    Ok(listing)
}

/// The task directories below a tasks directory, by number; an absent directory has none.
///
/// # Errors
/// [`TaskError::Files`] when the directory exists and cannot be read.
pub fn directories(tasks: &Path) -> Result<Vec<TaskDir>, TaskError> {
    let entries = match fs::read_dir(tasks) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|source| TaskError::Files { path: tasks.to_owned(), source })?,
    };
    let mut found: Vec<TaskDir> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let id: TaskId = name.to_str()?.parse().ok()?;
            let is_ours = id.to_string().as_str() == name && entry.file_type().ok()?.is_dir();
            is_ours.then(|| TaskDir { id, path: entry.path(), durable: true })
        })
        .collect();
    found.sort_by_key(|dir| dir.id);
    Ok(found)
}

impl TaskDir {
    /// Claims the next free number above `above` by making its directory, which no two processes can do at once.
    ///
    /// Also makes the tasks directory, with a `.gitignore` that keeps all of it out of version control.
    ///
    /// # Errors
    /// [`TaskError::NotADirectory`] when a link or file stands in the way, [`TaskError::Files`] when the disk refuses.
    pub fn claim(tasks: &Path, above: u32) -> Result<TaskDir, TaskError> {
        prepare(tasks)?;
        let mut number = above;
        loop {
            number = number.saturating_add(1);
            let id = TaskId(number);
            let path = tasks.join(id.to_string());
            match fs::create_dir(&path) {
                Ok(()) => return Ok(TaskDir { id, path, durable: true }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < u32::MAX => {}
                Err(source) => return Err(TaskError::Files { path, source }),
            }
        }
    }

    /// Claims a number and describes the task: the two steps of a dispatch in one.
    ///
    /// # Errors
    /// As [`TaskDir::claim`] and [`TaskDir::describe`].
    pub fn create(tasks: &Path, brief: &Brief) -> Result<TaskDir, TaskError> {
        let dir = TaskDir::claim(tasks, highest(tasks)?)?;
        dir.describe(brief, TaskStatus::Queued)?;
        Ok(dir)
    }

    /// Finds the directory of a task that exists.
    ///
    /// # Errors
    /// [`TaskError::NoSuchTask`].
    pub fn open(tasks: &Path, id: TaskId) -> Result<TaskDir, TaskError> {
        let path = tasks.join(id.to_string());
        let is_dir = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir());
        if is_dir { Ok(TaskDir { id, path, durable: true }) } else { Err(TaskError::NoSuchTask(id)) }
    }

    /// The directory that a task will have; it is not made.
    pub fn planned(tasks: &Path, id: TaskId) -> TaskDir {
        TaskDir { id, path: tasks.join(id.to_string()), durable: true }
    }

    /// The same directory, with files that reach the disk when the system likes (`durability: off`).
    pub fn undurable(self) -> TaskDir {
        TaskDir { durable: false, ..self }
    }

    pub(super) fn is_durable(&self) -> bool {
        self.durable
    }

    /// The task's number.
    pub fn id(&self) -> TaskId {
        self.id
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where result.md is or will be.
    pub fn result_path(&self) -> PathBuf {
        self.path.join("result.md")
    }

    /// Where outputs go that were cut for the model.
    pub fn artifacts(&self) -> PathBuf {
        self.path.join("artifacts")
    }

    /// Writes task.md anew.
    ///
    /// # Errors
    /// [`TaskError::Files`] when the disk refuses.
    pub fn describe(&self, brief: &Brief, status: TaskStatus) -> Result<(), TaskError> {
        let front = TaskFront::of(self.id, brief, status);
        self.put("task.md", &front, &brief.body)
    }

    /// Reads task.md.
    ///
    /// # Errors
    /// [`TaskError::Markdown`] with line and column when a hand has broken it, or when it is missing.
    pub fn task(&self) -> Result<Task, TaskError> {
        let markdown::Document { front, body } = self.load::<TaskFront>("task.md")?;
        let (status, created, attempt) = (front.status, front.created, front.attempt);
        let brief = front.brief(body).map_err(|source| TaskError::Budget { id: self.id, source })?;
        Ok(Task { dir: self.clone(), status, created, attempt, brief })
    }

    /// Changes the status in task.md and nothing else in it.
    ///
    /// # Errors
    /// As [`TaskDir::task`], and [`TaskError::Files`] when the disk refuses.
    pub fn set_status(&self, status: TaskStatus) -> Result<(), TaskError> {
        self.edit(|front| front.status = status)
    }

    /// Appends one line to progress.md, stamped with the local time: `14:03 Found 5 extractable functions`.
    ///
    /// The line is made one line and written in one piece, so that a reader never sees half of it.
    ///
    /// # Errors
    /// [`TaskError::Files`] when the disk refuses, or when progress.md is no plain file.
    pub fn progress(&self, line: &str) -> Result<(), TaskError> {
        let path = self.path.join("progress.md");
        append_line(&path, line).map_err(|source| TaskError::Files { path, source })
    }

    /// Appends a line to progress.jsonl.
    ///
    /// # Errors
    /// [`TaskError::Files`] when the disk refuses, or when progress.jsonl is no plain file.
    pub(super) fn track(&self, line: &str) -> Result<(), TaskError> {
        let path = self.path.join("progress.jsonl");
        append(&path, "\n", &format!("{line}\n")).map_err(|source| TaskError::Files { path, source })
    }

    /// The end of progress.md, at most [`PROGRESS_SHOWN`](super::PROGRESS_SHOWN) bytes, from the start of a line; empty when there is none.
    pub fn progress_text(&self) -> String {
        read_tail(&self.path.join("progress.md")).unwrap_or_default()
    }

    /// Closes the task: result.md first, then the status in task.md.
    ///
    /// # Errors
    /// [`TaskError::Files`] when the disk refuses. A task.md that a hand has broken is left as it is.
    pub fn finish(&self, report: &TaskReport) -> Result<(), TaskError> {
        self.keep_foreign_result()?;
        self.put("result.md", &ResultFront::of(report), &format!("{}\n", report.answer.trim_end()))?;
        match self.set_status(report.status) {
            Ok(()) | Err(TaskError::Markdown { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Reads result.md; `None` while there is none.
    ///
    /// # Errors
    /// [`TaskError::Markdown`] when it exists and cannot be understood.
    pub fn result(&self) -> Result<Option<TaskReport>, TaskError> {
        if !self.result_path().exists() {
            return Ok(None);
        }
        let markdown::Document { front, body } = self.load::<ResultFront>("result.md")?;
        Ok(Some(front.report(self, body.trim_end().to_owned())))
    }

    /// A worker may have written a result.md of its own; it is moved beside ours instead of being lost.
    fn keep_foreign_result(&self) -> Result<(), TaskError> {
        let path = self.result_path();
        let is_foreign = fs::symlink_metadata(&path).is_ok() && self.result().is_err();
        if !is_foreign {
            return Ok(());
        }
        fs::rename(&path, self.path.join("result.by-worker.md")).map_err(|source| TaskError::Files { path, source })
    }

    pub(super) fn load<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<markdown::Document<T>, TaskError> {
        markdown::load(&self.path.join(name)).map_err(|source| TaskError::Markdown { id: self.id, source })
    }

    pub(super) fn put<T: Serialize>(&self, name: &str, front: &T, body: &str) -> Result<(), TaskError> {
        let text = markdown::render(front, body).map_err(|source| TaskError::Markdown { id: self.id, source })?;
        let path = self.path.join(name);
        let write = if self.durable { write_atomic } else { replace };
        write(&path, text.as_bytes()).map_err(|source| TaskError::Files { path, source })
    }
}

/// Now, to the second: finer stamps only make the files harder to read.
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// Makes the tasks directory and its `.gitignore`; refuses a link, which could lead anywhere.
pub(super) fn prepare(tasks: &Path) -> Result<(), TaskError> {
    let files = |source| TaskError::Files { path: tasks.to_owned(), source };
    match fs::symlink_metadata(tasks) {
        Ok(meta) if !meta.is_dir() => return Err(TaskError::NotADirectory(tasks.to_owned())),
        Ok(_) => {}
        // Not the folder above it: a workspace that was deleted is not made anew by a task.
        Err(_) => fs::create_dir(tasks).map_err(files)?,
    }
    match OpenOptions::new().write(true).create_new(true).open(tasks.join(".gitignore")) {
        Ok(mut file) => file.write_all(b"*\n").map_err(files),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(files(error)),
    }
}

/// As [`write_atomic`] for whoever reads, without the wait for the disk.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut temp = tempfile::Builder::new().prefix(".").suffix(".tmp").tempfile_in(folder)?;
    temp.write_all(bytes)?;
    temp.persist(path).map(drop).map_err(|failed| failed.error)
}
