//! `tillerman tasks`: looks at the files of tasks, and asks whoever runs them how far they are. It needs no lock, so it
//! works while another terminal runs them, and where none does.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{json, watch};
use crate::args::Tasks;
use crate::runtime::{Done, Order, TaskRow};
use crate::server::control::Client;
use crate::session::fate::{self, Fate, Sent};
use crate::session::{Posted, SessionError};
use crate::task::{NoTaskId, PROGRESS_SHOWN, Task, TaskDir, TaskError, TaskId, TaskReport, TaskStatus, list};
use crate::terminal::clean::{clean, one_line};
use crate::terminal::exit::{Exit, Signals};
use crate::terminal::{Look, crew, story};
use crate::workspace::Workspace;

/// How often a growing file is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Columns of a task that goes on: files and pipes have no width.
const WIDTH: usize = 140;

/// What the command needs to know.
pub struct Setup<'a> {
    /// The workspace's `.tasks` folder.
    pub tasks: &'a Path,
    /// Where the journals of its workers are.
    pub journals: &'a Path,
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
        Tasks::Tail { id } => tail(&open(setup, id)?, setup).await,
        // Orders are told in `orders`.
        _ => Ok(Exit::Usage),
    }
}

fn open(setup: &Setup, id: &str) -> Result<TaskDir, NotShown> {
    Ok(TaskDir::open(setup.tasks, id.parse::<TaskId>()?)?)
}

fn all(setup: &Setup) -> Result<Exit, NotShown> {
    let listing = list(setup.tasks)?;
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

fn line(task: &Task, report: Option<&TaskReport>, setup: &Setup) -> String {
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
    let notes = fate::sent(&setup.journals.join(format!("{}.jsonl", dir.id())))?;
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
    let parts = [("asked", task.brief.body), ("notes", sent), ("progress", dir.progress_text())];
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

/// Prints what is there and what comes, until the task is over or a signal comes.
async fn tail(dir: &TaskDir, setup: &Setup<'_>) -> Result<Exit, NotShown> {
    let mut signals = Signals::catch()?;
    let mut growing = Growing::new(dir.path().join("progress.md"));
    loop {
        // The end is looked for first: whatever was written before it is then seen.
        let report = dir.result()?;
        let fresh = growing.fresh()?;
        print(&fresh, dir.id(), setup)?;
        match report {
            Some(report) if fresh.is_empty() => return last(&report, setup),
            Some(_) => continue,
            None => {}
        }
        tokio::select! {
            exit = signals.next() => return Ok(exit),
            () = sleep(LOOK) => {}
        }
    }
}

/// A file that only grows, read as whole lines.
struct Growing {
    path: PathBuf,
    at: u64,
    begun: bool,
}

impl Growing {
    fn new(path: PathBuf) -> Growing {
        Growing { path, at: 0, begun: false }
    }

    /// The next whole lines, at most [`PROGRESS_SHOWN`] bytes at once; of a long file first only its end.
    fn fresh(&mut self) -> io::Result<String> {
        let Ok(meta) = fs::symlink_metadata(&self.path) else { return Ok(String::new()) };
        if !meta.is_file() {
            return Err(io::Error::other(format!("{} is not a regular file", self.path.display())));
        }
        let skipped = if self.begun { 0 } else { meta.len().saturating_sub(PROGRESS_SHOWN) };
        self.begun = true;
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.at.max(skipped)))?;
        let mut bytes = Vec::new();
        file.take(PROGRESS_SHOWN).read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.at = self.at.max(skipped) + whole as u64;
        let cut = if skipped > 0 { bytes.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1) } else { 0 };
        Ok(String::from_utf8_lossy(&bytes[cut.min(whole)..whole]).into_owned())
    }
}

fn print(lines: &str, id: TaskId, setup: &Setup) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in lines.lines() {
        match setup.json {
            true => {
                writeln!(out, "{}", json!({"v": json::VERSION, "type": "worker.progress", "agent": id, "text": line}))?
            }
            false => writeln!(out, "{}", clean(line))?,
        }
    }
    out.flush()
}

fn last(report: &TaskReport, setup: &Setup) -> Result<Exit, NotShown> {
    let mut out = io::stdout().lock();
    if setup.json {
        let mut end = json!({"v": json::VERSION, "type": "worker.end", "agent": report.id});
        if let (Value::Object(end), Value::Object(fields)) = (&mut end, json::ended(report)) {
            end.extend(fields);
        }
        writeln!(out, "{end}")?;
    } else {
        writeln!(out, "{}", story::ended(setup.look, report, setup.tasks.parent().unwrap_or(setup.tasks)))?;
    }
    Ok(match report.status {
        TaskStatus::Done => Exit::Done,
        status if status.is_limited() => Exit::Limit,
        _ => Exit::Failed,
    })
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
            NotShown::Task(_) | NotShown::Notes(_) | NotShown::Io(_) => Exit::Failed,
        }
    }
}
