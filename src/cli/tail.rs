//! `tillerman tasks tail`: what one worker says and does, from its journal and, where somebody works, as it happens, until
//! its task ends. What has come by both ways is told once.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::mpsc::Receiver;
use tokio::time::{interval, sleep};

use super::tasks::{NotShown, Setup, line};
use super::{json, watch};
use crate::event::{AgentEvent, Ending};
use crate::message::{CallId, Message, ToolCall, ToolResult};
use crate::runtime::{Envelope, News, Source};
use crate::server::control::Client;
use crate::session::follow::{Follower, Written};
use crate::session::{End, Record};
use crate::task::{Asked, TaskDir, TaskReport, TaskStatus};
use crate::terminal::exit::{Exit, Signals};
use crate::terminal::screen::Screen;
use crate::terminal::story;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_millis(100);

/// How old an entry of the journal is before it is told although nobody has told of it. What is told as it happens comes
/// sooner, and with its pieces.
const LATE: SignedDuration = SignedDuration::from_secs(1);

/// Lines of a result of which nothing was seen while it came about.
const SHORT: usize = 3;

/// Columns where nobody says how many there are.
const WIDTH: usize = 120;

/// Tells of one task until it is over, a signal comes, or nobody works on it any more.
///
/// # Errors
/// [`NotShown::Left`] when it is not over and nobody works on it.
pub(super) async fn tail(dir: &TaskDir, setup: &Setup<'_>) -> Result<Exit, NotShown> {
    let mut signals = Signals::catch()?;
    let mut feed = Client::new(setup.workspace).feed().await.ok();
    let mut tail = Tail::of(dir, setup);
    tail.begin()?;
    let mut look = interval(LOOK);
    loop {
        let report = tokio::select! {
            exit = signals.next() => return Ok(exit),
            news = next(&mut feed) => match news {
                Some(news) => tail.hear(news)?,
                // The way there is gone, and so, mostly, is whoever told.
                None => { feed = None; None }
            },
            _ = look.tick() => {
                // The end is looked for first: whatever was written before it is then seen.
                let report = dir.result()?;
                tail.catch_up(feed.is_some() && report.is_none())?;
                report
            }
        };
        if let Some(report) = report {
            tail.catch_up(false)?;
            return tail.last(&report);
        }
        if feed.is_none() && setup.workspace.at_work().is_none() {
            // It may have ended just before.
            sleep(LOOK).await;
            tail.catch_up(false)?;
            return match dir.result()? {
                Some(report) => tail.last(&report),
                None => Err(left(dir, setup)?),
            };
        }
    }
}

async fn next(feed: &mut Option<Receiver<Envelope>>) -> Option<Envelope> {
    match feed {
        Some(feed) => feed.recv().await,
        None => std::future::pending().await,
    }
}

fn left(dir: &TaskDir, setup: &Setup) -> Result<NotShown, NotShown> {
    let (task, root) = (dir.task()?, setup.workspace.root().to_owned());
    Ok(NotShown::Left { task: dir.id(), status: task.status, root })
}

/// What was told, and how it is told.
struct Tail<'a> {
    dir: &'a TaskDir,
    setup: &'a Setup<'a>,
    journal: Follower,
    /// Entries that were written too lately to be told from there.
    fresh: Vec<Written>,
    screen: Screen,
    lines: json::Lines,
    seen: Seen,
    /// The pieces of the current reply are told as they come: it began while somebody was listening.
    streams: bool,
    /// Calls by their ids, as they were asked for; their tools may begin much later.
    calls: HashMap<CallId, ToolCall>,
    /// Those of which output was shown.
    output: BTreeSet<String>,
    /// Calls that have begun, and when.
    begun: HashMap<String, Timestamp>,
    questions: BTreeSet<(u32, bool)>,
}

/// What came by one way and is awaited by the other.
#[derive(Default)]
struct Seen(HashMap<String, i32>);

impl Seen {
    /// Whether this is news when it comes as it happens.
    fn hear(&mut self, key: String) -> bool {
        self.count(key, 1)
    }

    /// Whether it is when it is read.
    fn read(&mut self, key: String) -> bool {
        self.count(key, -1)
    }

    fn count(&mut self, key: String, by: i32) -> bool {
        let count = self.0.entry(key.clone()).or_default();
        let is_news = *count * by >= 0;
        *count += by;
        if *count == 0 {
            self.0.remove(&key);
        }
        is_news
    }
}

impl<'a> Tail<'a> {
    fn of(dir: &'a TaskDir, setup: &'a Setup<'a>) -> Tail<'a> {
        let journal = setup.workspace.worker_sessions().join(format!("{}.jsonl", dir.id()));
        let columns = io::stdout().is_terminal().then(|| crossterm::terminal::size().ok()).flatten();
        let width = columns.map_or(WIDTH, |(columns, _)| columns.into());
        let root = setup.workspace.root().to_owned();
        Tail {
            dir,
            setup,
            journal: Follower::of(&journal),
            fresh: Vec::new(),
            screen: Screen::alone(setup.look, width, root, dir.id()),
            lines: json::Lines::new(dir.task().ok().and_then(|task| task.brief.session).unwrap_or_default()),
            seen: Seen::default(),
            streams: false,
            calls: HashMap::new(),
            output: BTreeSet::new(),
            begun: HashMap::new(),
            questions: BTreeSet::new(),
        }
    }

    /// The task's line, and what its journal holds.
    fn begin(&mut self) -> Result<(), NotShown> {
        let (task, report) = (self.dir.task()?, self.dir.result()?);
        let live = self.setup.live.get(&self.dir.id());
        let first = match (self.setup.json, live) {
            (true, Some(live)) => Some(watch::line(live).to_string()),
            (true, None) => None,
            (false, _) => Some(line(&task, report.as_ref(), self.setup)),
        };
        self.write(first)?;
        self.catch_up(false)
    }

    /// Tells what came as it happened; answers how the task ended, if it did.
    fn hear(&mut self, envelope: Envelope) -> Result<Option<TaskReport>, NotShown> {
        if envelope.source != Source::Task(self.dir.id()) {
            return Ok(None);
        }
        let is_news = match &envelope.news {
            News::TaskEnded(report) => return Ok(Some(report.clone())),
            News::Agent(event) => self.is_heard(event, envelope.at),
            News::Asked(question) => self.questions.insert((question.number, true)),
            News::Settled(question) => self.questions.insert((question.number, false)),
            _ => true,
        };
        if is_news {
            self.tell(&envelope)?;
        }
        Ok(None)
    }

    fn is_heard(&mut self, event: &AgentEvent, at: Timestamp) -> bool {
        match event {
            AgentEvent::TurnStarted { .. } => {
                self.streams = true;
                true
            }
            AgentEvent::Text { .. } | AgentEvent::Thinking { .. } => self.streams,
            AgentEvent::Replied { message, .. } => {
                self.asked_for(message);
                self.seen.hear(said(message))
            }
            AgentEvent::ToolStarted { call } => {
                self.seen.hear(format!("started {}", call.id)) && self.begins(&call.id, at)
            }
            AgentEvent::ToolProgress { call, .. } => {
                let begun = self.begun.contains_key(&call.0);
                if begun {
                    self.output.insert(call.0.clone());
                }
                begun
            }
            // One whose beginning was missed is told from the journal, with its beginning.
            AgentEvent::ToolFinished { result, .. } => {
                self.begun.contains_key(&result.call.0) && self.seen.hear(format!("ended {}", result.call))
            }
            AgentEvent::Noted { note, .. } => self.seen.hear(format!("note {}", note.id)),
            AgentEvent::Compacted { before, after, .. } => self.seen.hear(format!("shorter {before} {after}")),
            AgentEvent::RunEnded { .. } => self.seen.hear("run".to_owned()),
            _ => true,
        }
    }

    fn asked_for(&mut self, message: &Message) {
        self.calls.extend(message.calls().map(|call| (call.id.clone(), call.clone())));
    }

    fn begins(&mut self, call: &CallId, at: Timestamp) -> bool {
        self.begun.insert(call.0.clone(), at).is_none()
    }

    /// Tells what the files hold and nobody told; of what is written just now it is `patient`.
    fn catch_up(&mut self, patient: bool) -> Result<(), NotShown> {
        loop {
            let read = self.journal.fresh()?;
            if read.is_empty() {
                break;
            }
            self.fresh.extend(read);
        }
        let now = Timestamp::now();
        let is_due = |written: &Written| !patient || now.duration_since(written.at) >= LATE;
        let due = self.fresh.iter().take_while(|written| is_due(written)).count();
        for written in self.fresh.drain(..due).collect::<Vec<_>>() {
            for event in self.read(written.record, written.at) {
                self.tell(&self.envelope(written.at, News::Agent(event)))?;
            }
        }
        for question in self.dir.questions().into_iter().flatten() {
            let (number, at) = (question.number, Timestamp::now());
            if self.questions.insert((number, true)) {
                self.tell(&self.envelope(at, News::Asked(question.clone())))?;
            }
            if question.state != Asked::Open && self.questions.insert((number, false)) {
                self.tell(&self.envelope(at, News::Settled(question)))?;
            }
        }
        let overdue = if self.setup.json { Vec::new() } else { self.screen.tick() };
        Ok(self.write(overdue)?)
    }

    /// The events that an entry stands for, as far as nobody told of them.
    fn read(&mut self, record: Record, at: Timestamp) -> Vec<AgentEvent> {
        match record {
            Record::Assistant { message, usage, model, cost } => {
                self.asked_for(&message);
                let message = Message::clone(&message);
                let news = self.seen.read(said(&message));
                let event = AgentEvent::Replied { message, usage, took: Duration::ZERO, model, cost };
                news.then_some(event).into_iter().collect()
            }
            Record::ToolStarted { call } => self.read_start(&call, at).into_iter().collect(),
            Record::ToolResult { message } => {
                let ended: Vec<ToolResult> = message.results().cloned().collect();
                ended.into_iter().flat_map(|result| self.read_end(result, at)).collect()
            }
            Record::Note { note, turn } if self.seen.read(format!("note {}", note.id)) => {
                vec![AgentEvent::Noted { note, turn }]
            }
            Record::Compaction(made) if self.seen.read(format!("shorter {} {}", made.before, made.after)) => {
                let (before, after, usage, cost) = (made.before, made.after, made.usage, made.cost);
                vec![AgentEvent::Compacted { before, after, model: made.model, usage, cost }]
            }
            Record::Ended { end } if self.seen.read("run".to_owned()) => {
                vec![AgentEvent::RunEnded { ending: ending(end) }]
            }
            _ => vec![],
        }
    }

    fn read_start(&mut self, call: &CallId, at: Timestamp) -> Option<AgentEvent> {
        let is_news = self.seen.read(format!("started {call}")) && self.begins(call, at);
        self.calls.get(call).filter(|_| is_news).map(|call| AgentEvent::ToolStarted { call: call.clone() })
    }

    fn read_end(&mut self, result: ToolResult, at: Timestamp) -> Vec<AgentEvent> {
        if !self.seen.read(format!("ended {}", result.call)) {
            return vec![];
        }
        let since = self.begun.get(&result.call.0).copied().unwrap_or(at);
        let took = Duration::try_from(at.duration_since(since)).unwrap_or_default();
        // One that was refused never began.
        let begun = self.begins(&result.call, at).then(|| self.calls.get(&result.call).cloned()).flatten();
        let begun = begun.map(|call| AgentEvent::ToolStarted { call });
        begun.into_iter().chain([AgentEvent::ToolFinished { result, took }]).collect()
    }

    fn envelope(&self, at: Timestamp, news: News) -> Envelope {
        Envelope { seq: 0, at, source: Source::Task(self.dir.id()), news }
    }

    fn tell(&mut self, envelope: &Envelope) -> io::Result<()> {
        if self.setup.json {
            let lines = self.lines.news(envelope);
            return self.write(lines);
        }
        let mut lines = Vec::new();
        match &envelope.news {
            // What was said before stays above.
            News::Agent(AgentEvent::Replied { .. }) if !self.streams => {
                lines.extend(
                    self.screen.show(&self.envelope(envelope.at, News::Agent(AgentEvent::TurnStarted { turn: 0 }))),
                );
            }
            News::Agent(AgentEvent::ToolFinished { result, .. }) if !self.output.remove(&result.call.0) => {
                let (call, chunk) = (result.call.clone(), short(&result.output));
                let output = AgentEvent::ToolProgress { call, chunk };
                lines.extend(self.screen.show(&self.envelope(envelope.at, News::Agent(output))));
            }
            _ => {}
        }
        lines.extend(self.screen.show(envelope));
        self.write(lines)
    }

    fn write(&self, lines: impl IntoIterator<Item = String>) -> io::Result<()> {
        let mut out = io::stdout().lock();
        lines.into_iter().try_for_each(|line| writeln!(out, "{line}"))?;
        out.flush()
    }

    /// The end of the task, and the code that tells it.
    fn last(&mut self, report: &TaskReport) -> Result<Exit, NotShown> {
        let lines = match self.setup.json {
            true => self.lines.news(&self.envelope(report.ended, News::TaskEnded(report.clone()))),
            false => vec![story::ended(self.setup.look, report, self.setup.workspace.root())],
        };
        self.write(lines)?;
        Ok(match report.status {
            TaskStatus::Done => Exit::Done,
            TaskStatus::LimitTurns | TaskStatus::Partial => Exit::Limit,
            _ => Exit::Failed,
        })
    }
}

/// What a reply is known by, whichever way it comes.
fn said(message: &Message) -> String {
    format!("said {}", serde_json::to_string(message).unwrap_or_default())
}

fn ending(end: End) -> Ending {
    let answer = String::new();
    match end {
        End::Completed => Ending::Completed { answer },
        End::Aborted | End::Interrupted => Ending::Aborted,
        End::TurnLimit => Ending::TurnLimit { answer },
        End::BudgetSpent { what } => Ending::BudgetSpent { what, answer },
        End::Parked => Ending::Parked,
        End::Stuck { evidence } => Ending::Stuck { evidence },
        End::Failed { why } => Ending::Failed { why },
    }
}

/// The beginning of a result.
fn short(output: &str) -> String {
    let mut lines = output.lines().filter(|line| !line.trim().is_empty());
    let mut shown: String = lines.by_ref().take(SHORT).map(|line| format!("{line}\n")).collect();
    match lines.count() {
        0 => {}
        more => shown.push_str(&format!("… {more} more lines\n")),
    }
    shown
}
