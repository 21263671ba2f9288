//! `tillerman tasks`: looks at the files of tasks, and asks whoever runs them how far they are. It needs no lock, so it
//! works while another terminal runs them, and where none does.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::{json, tail, watch};
use crate::args::Tasks;
use crate::runtime::{Done, Order, TaskRow};
use crate::server::control::Client;
use crate::session::fate::{self, Fate, Sent};
use crate::session::{Posted, SessionError};
use crate::task::{NoTaskId, Task, TaskDir, TaskError, TaskId, TaskReport, TaskStatus, list};
use crate::terminal::clean::{clean, one_line};
use crate::terminal::exit::Exit;
use crate::terminal::{Look, crew, story};
use crate::workspace::Workspace;

/// Columns of a task that goes on: files and pipes have no width.
const WIDTH: usize = 140;

/// What the command needs to know.
pub struct Setup<'a> {
    /// Where the tasks are.
    pub workspace: &'a Workspace,
    /// Colours or not.
    pub look: Look,
    /// JSON lines instead of text.
    pub json: bool,
    /// What the program that works there says of those that go on; nothing where none does.
    pub live: HashMap<TaskId, TaskRow>,
}

/// Asks whoever works in a workspace about the tasks that go on.
pub async fn live(workspace: &Workspace) -> HashMap<TaskId, TaskRow> {
    let Ok(Done::Tasks { rows }) = Client::new(workspace).order(&Order::Tasks).await else { return HashMap::new() };
    rows.into_iter().filter(|row| !row.status.is_over()).map(|row| (row.id, row)).collect()
}

/// Why nothing can be shown.
#[derive(Debug, thiserror::Error)]
pub enum NotShown {
    /// The id is none.
    #[error(transparent)]
    Id(#[from] NoTaskId),
    /// There is no such task, or its files are broken.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// Its notes cannot be read.
    #[error(transparent)]
    Notes(#[from] SessionError),
    /// It is not over, and nobody works on it.
    #[error(
        "no tillerman works in {}; {task} is {status} by its files, and `tillerman tasks resume {task}` goes on with it",
        root.display()
    )]
    Left {
        /// The task.
        task: TaskId,
        /// Where its files say it stands.
        status: TaskStatus,
        /// The workspace.
        root: PathBuf,
    },
    /// Nobody reads any more, or the disk refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Lists, shows or follows tasks on stdout.
///
/// # Errors
/// [`NotShown`] names the id or file.
pub async fn tasks(command: &Tasks, setup: &Setup<'_>) -> Result<Exit, NotShown> {
    match command {
        Tasks::List => all(setup),
        Tasks::Show { id } => show(&open(setup, id)?, setup),
        Tasks::Tail { id } => tail::tail(&open(setup, id)?, setup).await,
        // Orders are told in `orders`.
        _ => Ok(Exit::Usage),
    }
}

fn open(setup: &Setup, id: &str) -> Result<TaskDir, NotShown> {
    Ok(TaskDir::open(&setup.workspace.tasks(), id.parse::<TaskId>()?)?)
}

fn all(setup: &Setup) -> Result<Exit, NotShown> {
    let listing = list(&setup.workspace.tasks())?;
    let mut out = io::stdout().lock();
    if listing.tasks.is_empty() && !setup.json {
        writeln!(out, "no tasks yet")?;
    }
    for task in &listing.tasks {
        let report = task.dir.result().ok().flatten();
        match setup.json {
            true => writeln!(out, "{}", row(task, report.as_ref(), setup))?,
            false => writeln!(out, "{}", line(task, report.as_ref(), setup))?,
        }
    }
    for skipped in &listing.skipped {
        writeln!(io::stderr().lock(), "{} {skipped}", setup.look.warn("⚠"))?;
    }
    Ok(Exit::Done)
}

/// The truth is in the report once there is one.
fn status(task: &Task, report: Option<&TaskReport>) -> TaskStatus {
    report.map_or(task.status, |report| report.status)
}

pub(super) fn line(task: &Task, report: Option<&TaskReport>, setup: &Setup) -> String {
    let look = setup.look;
    if let Some(live) = setup.live.get(&task.dir.id()) {
        return crew::task(live, Timestamp::now(), look, WIDTH).join("\n");
    }
    let status = status(task, report);
    let took = report.map_or_else(|| "-".to_owned(), |report| story::span(report.took));
    let id = look.name(task.dir.id());
    format!("{} {id} {status:<12} {took:>6}  {}", story::mark(look, status), one_line(&task.brief.title))
}

fn row(task: &Task, report: Option<&TaskReport>, setup: &Setup) -> Value {
    let mut row = json!({
        "v": json::VERSION, "id": task.dir.id(), "status": status(task, report), "title": task.brief.title,
        "agent": task.brief.agent, "model": task.brief.model, "created": task.created, "dir": task.dir.path(),
    });
    if let Some(live) = setup.live.get(&task.dir.id()) {
        row["status"] = live.status.word().into();
        row["live"] = watch::live(live);
    }
    if let Some(report) = report {
        row["result"] = json::ended(report);
    }
    row
}

fn show(dir: &TaskDir, setup: &Setup) -> Result<Exit, NotShown> {
    let (task, report) = (dir.task()?, dir.result()?);
    let notes = fate::sent(&setup.workspace.worker_sessions().join(format!("{}.jsonl", dir.id())))?;
    let mut out = io::stdout().lock();
    if setup.json {
        let mut row = row(&task, report.as_ref(), setup);
        row["brief"] = task.brief.body.into();
        row["progress"] = dir.progress_text().into();
        row["notes"] = notes.iter().map(told).collect();
        writeln!(out, "{row}")?;
        return Ok(Exit::Done);
    }
    let look = setup.look;
    writeln!(out, "{}", line(&task, report.as_ref(), setup))?;
    writeln!(out, "{}", look.dim(dir.path().display()))?;
    let sent = notes.iter().map(note).collect::<Vec<String>>().join("\n");
    // They end with the run, so only who runs it knows of any.
    let jobs = setup.live.get(&dir.id()).into_iter().flat_map(|row| &row.jobs).map(|job| one_line(&job.to_string()));
    let jobs = jobs.collect::<Vec<String>>().join("\n");
    let parts = [("asked", task.brief.body), ("notes", sent), ("jobs", jobs), ("progress", dir.progress_text())];
    let answer = report.map(|report| ("result", report.answer));
    for (name, text) in parts.into_iter().chain(answer) {
        let text = clean(text.trim());
        if !text.is_empty() {
            writeln!(out, "\n{}\n{text}", look.bold(name))?;
        }
    }
    Ok(Exit::Done)
}

/// A note and what became of it: `#14 steer from person 14:03 · seen at turn 9`, and its words.
fn note(sent: &Sent) -> String {
    let Posted { note, from, .. } = &sent.posted;
    let fate = match &sent.fate {
        Fate::Waits => "waits".to_owned(),
        Fate::Seen { turn: 0 } => "seen".to_owned(),
        Fate::Seen { turn } => format!("seen at turn {turn}"),
        Fate::Dropped { why } => format!("dropped: {why}"),
    };
    let at = sent.at.to_zoned(TimeZone::system()).strftime("%H:%M");
    format!("{} {} from {from} {at} · {fate} · {}", note.id, note.kind, one_line(&note.text))
}

fn told(sent: &Sent) -> Value {
    let Posted { note, from, .. } = &sent.posted;
    let mut told = json!({"note": note.id, "kind": note.kind, "from": from, "at": sent.at, "text": note.text});
    match &sent.fate {
        Fate::Waits => told["fate"] = "waits".into(),
        Fate::Seen { turn } => (told["fate"], told["turn"]) = ("seen".into(), (*turn).into()),
        Fate::Dropped { why } => (told["fate"], told["why"]) = ("dropped".into(), why.as_str().into()),
    }
    told
}

impl NotShown {
    /// The reader of stdout has gone, which is no fault.
    pub fn nobody_reads(&self) -> bool {
        matches!(self, NotShown::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// What the program ends with.
    pub fn exit(&self) -> Exit {
        match self {
            NotShown::Id(_) => Exit::Usage,
            NotShown::Task(_) | NotShown::Notes(_) | NotShown::Left { .. } | NotShown::Io(_) => Exit::Failed,
        }
    }
}
