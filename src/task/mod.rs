//! A unit of dispatched work as files: brief, directory, progress, report. Who runs it and when is decided in `runtime`.

mod attempt;
mod batch;
mod dir;
mod edit;
mod front;
mod progress;
mod question;
mod rows;
mod track;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub use batch::{Making, sweep};
pub use dir::{Listing, Task, TaskDir, TaskError, directories, highest, list, now};
pub use progress::{PROGRESS_SHOWN, Progress, describe, one_line, remark, short};
pub use question::{ALLOW, Asked, Asker, DENY, GIVE_UP, NoChoice, Question};
pub use rows::{MAX_ROWS, MAX_TABLE, Rows, RowsError};
pub use track::Track;

use crate::message::{Approval, Budget, Spent, Tally, Usage};

/// Names one task of a workspace, written `t_001`; beyond 999 the number simply grows.
///
/// Counts from 1 and is never used twice, also after a directory was deleted by hand while the program ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(pub u32);

/// What a task was asked: the body of task.md and the part of its frontmatter that shapes the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Brief {
    /// One line for people; made from the body when it is empty.
    pub title: String,
    /// The work, in Markdown, complete in itself: a worker sees nothing of the conversation it came from.
    pub body: String,
    /// The role from agents/ that does it; `None` is the plain worker.
    pub agent: Option<String>,
    /// `provider/model`; `None` leaves the choice to the role, then to the configuration.
    pub model: Option<String>,
    /// Paths below the workspace root that the worker may write besides its own directory.
    pub touches: Vec<String>,
    /// Model calls it may make; `None` leaves it to the role, then to the configuration.
    pub max_turns: Option<u32>,
    /// What it may use besides; what is absent is left to the role, then to the configuration.
    pub budget: Budget,
    /// Tasks that must be over before it begins, whose results it is handed.
    pub after: Vec<TaskId>,
    /// Before or behind which others it waits for a place.
    pub priority: Priority,
    /// What becomes of calls that a person must allow; `None` leaves it to the role, then to the configuration.
    pub approval: Option<Approval>,
    /// The session whose main agent gets the report; set by the runtime.
    pub session: Option<String>,
    /// How many dispatches lie above it: 1 for a task of the main agent; set by the runtime.
    pub depth: u32,
    /// The task that asked for it, if one did; set by the runtime.
    pub parent: Option<TaskId>,
}

/// Which tasks begin first when several wait; among equals the order of the dispatches decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// When no other waits.
    Low,
    /// As usual.
    #[default]
    Normal,
    /// Before the others.
    High,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Waiting for a place in the crew.
    Queued,
    /// A worker is on it.
    Running,
    /// The worker answered.
    Done,
    /// A fault ended it.
    Failed,
    /// Somebody stopped it.
    Aborted,
    /// It used up its turns; the answer is the wrap-up written in the last one.
    LimitTurns,
    /// It used up another part of its budget; the answer tells how far it came.
    Partial,
    /// It rests until a question is answered.
    Parked,
    /// The program ended before the task did.
    Interrupted,
}

/// What a worker's end tells whoever dispatched it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskReport {
    /// Which task.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// Which attempt at it, from 1; a task that was resumed has had several.
    pub attempt: u32,
    /// How it ended; never [`TaskStatus::Queued`] or [`TaskStatus::Running`].
    pub status: TaskStatus,
    /// The worker's last words, or what went wrong.
    pub answer: String,
    /// Model calls made.
    pub turns: u32,
    /// Tokens of all of them.
    pub usage: Usage,
    /// What they cost.
    pub spent: Spent,
    /// When the run began; `None` when it never did.
    pub started: Option<Timestamp>,
    /// When it was over.
    pub ended: Timestamp,
    /// From start to end, on a clock that nobody sets; zero when it never started.
    pub took: Duration,
    /// The task's directory, with result.md in it.
    pub dir: PathBuf,
    /// What was checked after the last change, by the facts: `cargo test: exit 0`.
    pub verified: Vec<String>,
    /// Files that its tools changed, relative to the workspace where they are in it.
    pub files: Vec<String>,
    /// Other files below the workspace that changed while its commands ran, by it or by whoever worked there meanwhile.
    pub changed: Vec<String>,
    /// Questions that nobody answered, and the default that was taken.
    pub assumptions: Vec<String>,
    /// What all attempts so far cost, this one included.
    pub total: Spent,
}

/// Text that is no priority.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no priority; it is low, normal or high")]
pub struct NoPriority(String);

/// Text that names no task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no task id; write it like t_001")]
pub struct NoTaskId(String);

impl TaskStatus {
    /// Nothing more will happen to the task.
    pub fn is_over(self) -> bool {
        match self {
            TaskStatus::Queued | TaskStatus::Running | TaskStatus::Parked => false,
            TaskStatus::Done
            | TaskStatus::Failed
            | TaskStatus::Aborted
            | TaskStatus::LimitTurns
            | TaskStatus::Partial
            | TaskStatus::Interrupted => true,
        }
    }

    /// It ended at a limit, of turns or of its budget, with a summing up; more of that and it goes on.
    pub fn is_limited(self) -> bool {
        matches!(self, TaskStatus::LimitTurns | TaskStatus::Partial)
    }

    /// The word used in files and on the wire: `limit_turns`.
    pub fn word(self) -> &'static str {
        match self {
            TaskStatus::Queued => "queued",
            TaskStatus::Running => "running",
            TaskStatus::Done => "done",
            TaskStatus::Failed => "failed",
            TaskStatus::Aborted => "aborted",
            TaskStatus::LimitTurns => "limit_turns",
            TaskStatus::Partial => "partial",
            TaskStatus::Parked => "parked",
            TaskStatus::Interrupted => "interrupted",
        }
    }
}

impl FromStr for Priority {
    type Err = NoPriority;

    /// Reads `low`, `normal` or `high`.
    fn from_str(text: &str) -> Result<Priority, NoPriority> {
        match text.trim().to_lowercase().as_str() {
            "low" => Ok(Priority::Low),
            "normal" => Ok(Priority::Normal),
            "high" => Ok(Priority::High),
            _ => Err(NoPriority(text.chars().take(40).collect())),
        }
    }
}

impl TaskReport {
    /// Its model calls.
    pub fn tally(&self) -> Tally {
        Tally { calls: self.turns, usage: self.usage, spent: self.spent }
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t_{:03}", self.0)
    }
}

impl FromStr for TaskId {
    type Err = NoTaskId;

    /// Reads `t_001`; leading zeros are not needed.
    fn from_str(text: &str) -> Result<TaskId, NoTaskId> {
        let digits = text.strip_prefix("t_").filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let number = digits.and_then(|digits| digits.parse().ok()).filter(|number| *number > 0);
        number.map(TaskId).ok_or_else(|| NoTaskId(text.chars().take(40).collect()))
    }
}

impl Serialize for TaskId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TaskId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<TaskId, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}
