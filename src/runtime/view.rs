//! What front ends and library users read: ids, rows, details and the errors of the runtime's door. No behaviour.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::message::{Bill, Block, Budget, Image, Message, NoteId, Role, Spent, Tally, Usage};
use crate::model::provider::Effort;
use crate::model::{Fault, ModelId};
use crate::session::{Posted, SessionError, SessionId};
use crate::task::{Brief, Priority, Question, TaskError, TaskId, TaskReport, TaskStatus};
use crate::tools::jobs::JobRow;
use crate::workspace::{Owner, WorkspaceError};

/// Names one run of a main agent: from a line or report to its outcome. Rising within a program's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub u64);

/// Which conversation to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Open {
    /// A new one, kept on disk.
    New,
    /// The one that was used last; a new one when there is none.
    Latest,
    /// The one whose id begins so.
    Named(String),
    /// A new one that leaves no file.
    Ephemeral,
}

/// What a person says: words, and pictures to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The words.
    pub text: String,
    /// The pictures; a model that sees none refuses the whole.
    pub images: Vec<Image>,
}

impl From<String> for Said {
    fn from(text: String) -> Said {
        Said { text, images: Vec::new() }
    }
}

impl From<&str> for Said {
    fn from(text: &str) -> Said {
        Said::from(text.to_owned())
    }
}

impl From<Said> for Message {
    /// Pictures first: models then read the words with them in mind.
    fn from(said: Said) -> Message {
        let images = said.images.into_iter().map(Block::Image);
        Message { role: Role::User, blocks: images.chain([Block::text(said.text)]).collect() }
    }
}

/// What became of a line sent to a main agent that may or may not be busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "as", content = "number", rename_all = "snake_case")]
pub enum Steered {
    /// It is a note of the current run.
    Noted(NoteId),
    /// Nothing was running, or it was already at its end: it became a line of its own.
    Said(RunId),
}

/// How a main agent is doing.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// A run is going on.
    pub busy: bool,
    /// Lines and reports that wait for it to end.
    pub queued: usize,
    /// Notes of an earlier program that wait for the next line, oldest first.
    pub left: Vec<Posted>,
    /// Model calls since the session was opened.
    pub since_open: Tally,
    /// All model calls of the session, those of earlier programs too; its workers' are in their rows.
    pub bill: Bill,
    /// Tokens in the model's window after its last call; 0 before the first.
    pub context: u64,
    /// Tokens that the window holds.
    pub window: u64,
    /// The model that answers from the next run on.
    pub model: ModelId,
    /// How hard it thinks; `None` when that is left to its provider, or nobody knows how to ask for it.
    pub effort: Option<Effort>,
    /// The kind of fault that ended the last run; `None` when none did, or none of a model's.
    pub fault: Option<Fault>,
    /// The conversation's title, else the beginning of its first line; at most 60 characters of one line. `None` while
    /// nothing was said.
    pub name: Option<String>,
}

/// One line of the list of tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskRow {
    /// Which task.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// Which attempt at it, from 1.
    pub attempt: u32,
    /// The model call it is at; after the end, how many it made.
    pub turn: u32,
    /// What the worker is doing right now, a few words; empty when it is not running.
    pub doing: String,
    /// What the worker said last between its calls, a line; empty before that, and when it is not running.
    #[serde(default)]
    pub said: String,
    /// When it was started; `None` while it waits.
    pub started: Option<Timestamp>,
    /// How long it has been running, or ran.
    pub took: Duration,
    /// Tokens so far.
    pub usage: Usage,
    /// What they cost.
    pub spent: Spent,
    /// 1 is next; `None` unless it waits.
    pub place_in_queue: Option<usize>,
    /// The role that does it.
    pub agent: Option<String>,
    /// Tokens in the model's window after its last call; 0 before the first.
    pub context: u64,
    /// Tokens that the window holds; 0 while no worker is on it.
    pub window: u64,
    /// What it may use.
    pub budget: Budget,
    /// How much that is new the last turns brought, at most eight, the youngest last; each from 0 to 7.
    pub score: Vec<u8>,
    /// Turns in a row that brought nothing.
    pub flat: u32,
    /// Since anything was heard of its run, a byte of the model or of a tool; `None` when it has no run.
    pub quiet: Option<Duration>,
    /// Its open questions.
    pub questions: Vec<Question>,
    /// The tasks that it waits for.
    pub after: Vec<TaskId>,
    /// When it begins, compared with others that wait.
    pub priority: Priority,
    /// The commands that it has in the background, with the last of those that ended; none when it is not at work.
    #[serde(default)]
    pub jobs: Vec<JobRow>,
}

/// All that is known of one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskDetail {
    /// The line of the list.
    pub row: TaskRow,
    /// What was asked.
    pub brief: Brief,
    /// The end of progress.md.
    pub progress: String,
    /// What result.md says, once it is there.
    pub result: Option<TaskReport>,
    /// The task's directory.
    pub dir: std::path::PathBuf,
}

/// Why the runtime could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another process has the workspace; the cause names it.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The tasks directory cannot be used.
    #[error(transparent)]
    Tasks(#[from] TaskError),
    /// The actor system refused.
    #[error("cannot start the crew: {0}")]
    Actors(String),
}

/// Why a conversation could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The cause names the file or the id.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The runtime is shutting down.
    #[error("the program is shutting down; start it again")]
    ShuttingDown,
    /// The actor system refused.
    #[error("cannot start the main agent: {0}")]
    Actors(String),
}

/// Why a main agent did not take a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionGone {
    /// It is not open, or no longer.
    #[error("session {0} is not open; open it first")]
    NotOpen(SessionId),
    /// It has as many waiting lines as it will keep.
    #[error("{0} lines are already waiting; let the agent catch up or abort the current run")]
    Full(usize),
    /// The runtime is shutting down.
    #[error("the program is shutting down; nothing more is started")]
    ShuttingDown,
    /// Another process has the workspace; here it is only looked at.
    #[error("{}", looking(.0))]
    Looking(Owner),
    /// The process that has the workspace did not do it, in its words; or it cannot be reached.
    #[error("{0}")]
    Elsewhere(String),
    /// The run that was to answer it could not begin; the words are not in the conversation.
    #[error("{0}")]
    NotBegun(String),
    /// The disk did not take it; nobody will hear it.
    #[error("it could not be written down, so it was not sent: {0}")]
    Unwritten(String),
    /// The main agent is alive but silent.
    #[error("the main agent did not answer within {0} s; it may still hear it")]
    NoAnswer(u64),
    /// The line has pictures, and the model sees none. Nothing was sent or kept.
    #[error("{model} takes no images; {}", seeing(others))]
    TakesNoImages {
        /// The model that would have answered.
        model: ModelId,
        /// A few that see and whose key is at hand.
        others: Vec<ModelId>,
    },
}

fn seeing(others: &[ModelId]) -> String {
    let others: Vec<String> = others.iter().map(|other| format!("-m {other}")).collect();
    match others.as_slice() {
        [] => "no model that does has a key here: set one, for example ANTHROPIC_API_KEY".to_owned(),
        others => format!("one that does answers with {}", others.join(" or ")),
    }
}

/// Why the crew did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// There is no such task.
    #[error("no task {0}; the list of tasks shows those that exist")]
    NoSuchTask(TaskId),
    /// It is over; nothing can reach it any more.
    #[error("task {0} has already ended; its answer is in result.md")]
    AlreadyEnded(TaskId),
    /// It did what it was asked, so there is nothing to go on with.
    #[error("task {0} is done; say what it should do now to continue it")]
    IsDone(TaskId),
    /// Its budget is used up, so it would end again at once.
    #[error("task {task} has used {what}; give it more first, for example /budget {task} +0.25")]
    Spent {
        /// Which task.
        task: TaskId,
        /// As in `$0.46 of $0.50`.
        what: String,
    },
    /// It has not ended.
    #[error("task {0} goes on already; steer it instead")]
    GoesOn(TaskId),
    /// It waits for an answer.
    #[error("task {0} waits for an answer; /answer {0} WORDS gives one, and then it goes on")]
    Rests(TaskId),
    /// It has asked nothing.
    #[error("task {0} has no question; steer it instead")]
    NoQuestion(TaskId),
    /// The question is answered, or nobody needs an answer any more.
    #[error("{question} of {task} is closed: {how}; steer {task} to change its course")]
    Closed {
        /// Whose.
        task: TaskId,
        /// As in `q_001`.
        question: String,
        /// What became of it.
        how: String,
    },
    /// What it asks is a person's to say.
    #[error(
        "{question} of {task} asks for a person's leave, and nobody else may answer; a person answers with /answer {task}"
    )]
    ForPerson {
        /// Whose.
        task: TaskId,
        /// As in `q_001`.
        question: String,
    },
    /// It asks too much at a time.
    #[error("task {0} has too many open questions; wait for an answer to some")]
    TooManyQuestions(TaskId),
    /// Too many tasks wait already.
    #[error("{0} tasks are already waiting; wait for some to end before dispatching more")]
    QueueFull(usize),
    /// A table has more rows than there are places for tasks that wait.
    #[error(
        "the table has {rows} rows, and {free} more tasks may wait now (setting `queue`: {queue}); wait for some to end, \
         cut the table, or raise `queue`"
    )]
    NoPlaces {
        /// How many it has.
        rows: usize,
        /// For how many there are places.
        free: usize,
        /// How many may wait at all.
        queue: usize,
    },
    /// A row of a table cannot become a task, so none does.
    #[error("row {row}: {why}; no task is dispatched")]
    Row {
        /// From 1, without the header.
        row: usize,
        /// What is wrong with it.
        why: Box<ControlError>,
    },
    /// It ended while the note was being written down.
    #[error("task {task} ended before it could hear {note}; the note waits, and is heard if the task is resumed")]
    TooLate {
        /// Which task.
        task: TaskId,
        /// The note.
        note: NoteId,
    },
    /// The worker has as many unheard notes as it will keep.
    #[error("task {0} has too many unheard notes; wait until it has read them")]
    NotesFull(TaskId),
    /// Dispatches nest only so deep.
    #[error("a task at depth {depth} may not dispatch; the limit is {limit}: do the work yourself")]
    TooDeep {
        /// How deep the new task would be.
        depth: u32,
        /// The deepest allowed.
        limit: u32,
    },
    /// The brief asks for nothing.
    #[error("the task is empty; say what is to be done")]
    EmptyBrief,
    /// It is to come after a task that there is not.
    #[error("after names {0}, and there is no such task; dispatch that one first")]
    NothingBefore(TaskId),
    /// It is to come after tasks that wait for each other; a hand has written that.
    #[error("{} would never begin: each waits for the next; mend `after` in their task.md", arrows(.0))]
    Circle(Vec<TaskId>),
    /// A table of tasks makes none; the text says which line or column is at fault.
    #[error("{0}")]
    Table(String),
    /// A path in `touches` leads out of the workspace.
    #[error("touches names {0}; name paths below the workspace, relative to it")]
    Outside(String),
    /// The role or the model that is asked for does not exist; the text names those that do.
    #[error("{0}")]
    Unfit(String),
    /// The session that asked is not open.
    #[error("session {0} is not open; open it first")]
    NotOpen(SessionId),
    /// A file of the task could not be read or written; the text names it.
    #[error("{0}")]
    Files(String),
    /// The crew is alive but silent.
    #[error("the crew did not answer within {0} s; try again")]
    NoAnswer(u64),
    /// Another process has the workspace; here it is only looked at.
    #[error("{}", looking(.0))]
    Looking(Owner),
    /// The process that has the workspace did not do it, in its words; or it cannot be reached.
    #[error("{0}")]
    Elsewhere(String),
    /// The runtime is shutting down.
    #[error("the program is shutting down; nothing more is started")]
    ShuttingDown,
}

fn arrows(tasks: &[TaskId]) -> String {
    tasks.iter().map(TaskId::to_string).collect::<Vec<_>>().join(" → ")
}

fn looking(owner: &Owner) -> String {
    format!("another tillerman works here ({owner}) and this one only looks; say it there, or end that one first")
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {}", self.0)
    }
}
