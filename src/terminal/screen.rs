//! The feed as lines: what the main agent says and does, the news of workers, and one worker watched closely.
//! Where the lines go is the front end's affair.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::clean::{clean, one_line};
use super::wrap::{Stream, cut, wrapped};
use super::{Look, story};
use crate::event::{AgentEvent, Ending};
use crate::message::{CallId, Note, ToolCall};
use crate::runtime::{Envelope, News, Source};
use crate::task::TaskId;

/// A call that runs longer than this is told before it ends.
const PATIENCE: Duration = Duration::from_secs(3);
/// Lines of a tool's output that a watched worker shows per call.
const OUTPUT: usize = 20;
/// Columns that a streamed line leaves free.
const MARGIN: usize = 4;

/// Whether the main agent's words are among the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Texts {
    /// They are, as they stream.
    Shown,
    /// The answer goes elsewhere.
    Hidden,
}

/// Turns envelopes into lines.
pub struct Screen {
    look: Look,
    width: usize,
    root: PathBuf,
    texts: Texts,
    main: Voice,
    watched: Option<(TaskId, Voice)>,
    /// Lines of the watched worker say whose they are.
    named: bool,
}

/// One source that is shown closely.
#[derive(Default)]
struct Voice {
    text: Stream,
    thread: bool,
    streamed: bool,
    calls: HashMap<CallId, Call>,
    failed: bool,
    wait: Option<Wait>,
}

/// The wait for the next attempt of a model call.
struct Wait {
    until: Instant,
    attempt: u32,
    why: String,
}

struct Call {
    call: ToolCall,
    since: Instant,
    told: bool,
    output: Stream,
    lines: usize,
}

impl Screen {
    /// A screen that knows the workspace's root, to name files from it.
    pub fn new(look: Look, width: usize, root: PathBuf, texts: Texts) -> Screen {
        Screen { look, width: width.max(20), root, texts, main: Voice::default(), watched: None, named: true }
    }

    /// The same for one worker and nobody else.
    pub fn alone(look: Look, width: usize, root: PathBuf, task: TaskId) -> Screen {
        let mut screen = Screen { named: false, ..Screen::new(look, width, root, Texts::Hidden) };
        screen.watch(Some(task));
        screen
    }

    /// How it writes.
    pub fn look(&self) -> Look {
        self.look
    }

    /// The width may change at any time.
    pub fn set_width(&mut self, width: usize) {
        self.width = width.max(20);
    }

    /// Shows this worker closely, and no other; `None` shows none.
    pub fn watch(&mut self, task: Option<TaskId>) {
        self.watched = task.map(|task| (task, Voice::default()));
    }

    /// The worker that is shown closely.
    pub fn watched(&self) -> Option<TaskId> {
        self.watched.as_ref().map(|(task, _)| *task)
    }

    /// The lines that a piece of news is worth.
    pub fn show(&mut self, envelope: &Envelope) -> Vec<String> {
        match (&envelope.source, &envelope.news) {
            (Source::Main { .. }, News::Agent(AgentEvent::Text { .. } | AgentEvent::Replied { .. }))
                if self.texts == Texts::Hidden =>
            {
                vec![]
            }
            (Source::Main { .. }, News::Agent(event)) => self.main.tell(event, self.look, self.width),
            (Source::Task(task), News::Agent(event)) => self.worker(*task, event),
            (Source::Task(task), News::TaskQueued { title, ahead }) => {
                let title = one_line(title);
                vec![format!("{} {} queued · {title} · {ahead} ahead", self.look.dim("◌"), self.look.name(task))]
            }
            (Source::Task(task), News::Granted(grant)) => {
                vec![format!("{} {} {grant}", self.look.dim("◌"), self.look.name(task))]
            }
            (Source::Task(task), News::TaskHeld { title, after }) => {
                let after: Vec<String> = after.iter().map(TaskId::to_string).collect();
                let line = format!("waits for {} · {}", after.join(", "), one_line(title));
                vec![format!("{} {} {line}", self.look.dim("◌"), self.look.name(task))]
            }
            (Source::Task(task), News::TaskStarted { title }) => {
                vec![format!("{} {} {}", self.look.name("▶"), self.look.name(task), one_line(title))]
            }
            (Source::Task(task), News::TaskEnded(report)) => {
                if self.watched() == Some(*task) {
                    self.watched = None;
                }
                vec![story::ended(self.look, report, &self.root)]
            }
            (_, News::Asked(question)) => vec![story::asked(self.look, question, envelope.at)],
            (_, News::Permission(permission)) => vec![story::permission(self.look, permission)],
            (_, News::Walls { why }) => vec![format!("{} {}", self.look.warn("⚠"), one_line(why))],
            (_, News::Settled(question)) => story::settled(self.look, question).into_iter().collect(),
            // It is shown when the conversation is gone on with, and where its state is asked for.
            (_, News::Titled { .. }) => vec![],
            (
                Source::Main { .. },
                News::TaskQueued { .. }
                | News::TaskHeld { .. }
                | News::Granted(_)
                | News::TaskStarted { .. }
                | News::TaskEnded(_),
            ) => vec![],
        }
    }

    /// The lines that time is worth: calls that run long. Call it about once a second.
    pub fn tick(&mut self) -> Vec<String> {
        let (look, width) = (self.look, self.width);
        let mut lines = self.main.overdue(look, width);
        if let Some((task, voice)) = &mut self.watched {
            let named = self.named.then_some(*task);
            lines.extend(voice.overdue(look, width).iter().map(|line| aside(look, named, line)));
        }
        lines
    }

    /// How long the main agent still waits before its model is asked again; `None` when it does not wait.
    pub fn wait(&self) -> Option<Duration> {
        let wait = self.main.wait.as_ref()?;
        Some(wait.until.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }

    /// The line of that wait with so much of it left, in one row; with nothing left it stands as what has been.
    pub fn waiting(&self, left: Duration) -> Option<String> {
        let wait = self.main.wait.as_ref()?;
        Some(story::waiting(self.look, wait.attempt, left, &wait.why, self.width))
    }

    fn worker(&mut self, task: TaskId, event: &AgentEvent) -> Vec<String> {
        let look = self.look;
        if let AgentEvent::Noted { note, turn } = event {
            return vec![format!("{} {}", look.name(task), seen(look, note, *turn))];
        }
        match &mut self.watched {
            Some((watched, voice)) if *watched == task => {
                let room = self.width.saturating_sub(8);
                let mut lines = voice.tell(event, look, room);
                if let AgentEvent::ToolProgress { call, chunk } = event {
                    lines.extend(voice.output(call, chunk, look, room));
                }
                let named = self.named.then_some(task);
                lines.iter().map(|line| aside(look, named, line)).collect()
            }
            Some(_) | None => vec![],
        }
    }
}

/// A line of a worker that is watched, with its name where it is one of several.
fn aside(look: Look, task: Option<TaskId>, line: &str) -> String {
    task.map_or_else(|| line.to_owned(), |task| format!("{} {line}", look.dim(format!("{task} │"))))
}

fn seen(look: Look, note: &Note, turn: u32) -> String {
    look.dim(format!("↳ {} {} seen at turn {turn}", note.kind, note.id))
}

impl Voice {
    fn tell(&mut self, event: &AgentEvent, look: Look, width: usize) -> Vec<String> {
        self.wait = None;
        let room = width.saturating_sub(MARGIN);
        match event {
            AgentEvent::RunStarted => {
                *self = Voice::default();
                vec![]
            }
            AgentEvent::TurnStarted { .. } => {
                (self.thread, self.streamed) = (false, false);
                vec![]
            }
            AgentEvent::Text { text } => {
                self.streamed = true;
                let lines = self.text.push(text, room);
                self.spoken(lines, look)
            }
            AgentEvent::Replied { message, .. } => {
                let lines = if self.streamed { self.text.finish(room) } else { wrapped(message.text().trim(), room) };
                self.spoken(lines, look)
            }
            AgentEvent::ToolStarted { call } => {
                self.calls.insert(call.id.clone(), Call::new(call.clone()));
                vec![]
            }
            AgentEvent::ToolFinished { result, took } => {
                let call = self.calls.remove(&result.call);
                call.map(|ran| story::outcome(look, &ran.call, result, *took, room)).into_iter().collect()
            }
            AgentEvent::Retrying { attempt, wait, why } => {
                self.text.clear();
                let anew = if std::mem::take(&mut self.thread) { " · the answer begins anew" } else { "" };
                let (until, told) = (Instant::now() + *wait, format!("{why}{anew}"));
                self.wait = Some(Wait { until, attempt: *attempt, why: told });
                vec![format!("{}{}", story::retry(look, *attempt, *wait, why), look.dim(anew))]
            }
            AgentEvent::Noted { note, turn } => vec![format!("  {}", seen(look, note, *turn))],
            AgentEvent::Compacted { before, after, .. } => vec![story::compacted(look, *before, *after)],
            AgentEvent::Failed { why } => self.failure(why, look),
            AgentEvent::RunEnded { ending } => self.end(ending, look, room),
            AgentEvent::Thinking { .. }
            | AgentEvent::CallOpened { .. }
            | AgentEvent::ToolProgress { .. }
            | AgentEvent::Progressed { .. }
            | AgentEvent::TurnEnded { .. } => vec![],
        }
    }

    /// Lines of an answer: the first with a bullet, the others below it.
    fn spoken(&mut self, lines: Vec<String>, look: Look) -> Vec<String> {
        let mut shown = Vec::new();
        for line in lines {
            if !self.thread && line.trim().is_empty() {
                continue;
            }
            let begun = std::mem::replace(&mut self.thread, true);
            let line = if begun { format!("  {line}") } else { format!("{} {line}", look.name("●")) };
            shown.push(line.trim_end().to_owned());
        }
        shown
    }

    fn failure(&mut self, why: &str, look: Look) -> Vec<String> {
        self.failed = true;
        clean(why).lines().map(|line| format!("{} {line}", look.bad("✗"))).collect()
    }

    fn end(&mut self, ending: &Ending, look: Look, room: usize) -> Vec<String> {
        let rest = self.text.finish(room);
        let mut lines = self.spoken(rest, look);
        self.calls.clear();
        match ending {
            Ending::Completed { .. } => {}
            Ending::Aborted => lines.push(format!("{} stopped", look.warn("■"))),
            Ending::TurnLimit { .. } => lines.push(format!("{} out of turns", look.warn("■"))),
            Ending::BudgetSpent { what, .. } => lines.push(format!("{} spent: {}", look.warn("■"), clean(what))),
            Ending::Parked => lines.push(format!("{} waits for an answer", look.warn("?"))),
            Ending::Stuck { evidence } => lines.push(format!("{} stuck: {}", look.warn("■"), clean(evidence))),
            Ending::Failed { why } if !self.failed => lines.extend(self.failure(why, look)),
            Ending::Failed { .. } => {}
        }
        lines
    }

    fn overdue(&mut self, look: Look, width: usize) -> Vec<String> {
        let late = self.calls.values_mut().filter(|ran| !ran.told && ran.since.elapsed() >= PATIENCE);
        let mut lines = Vec::new();
        for ran in late {
            ran.told = true;
            lines.push(story::running(look, &ran.call, ran.since.elapsed(), width));
        }
        lines
    }

    fn output(&mut self, call: &CallId, chunk: &str, look: Look, room: usize) -> Vec<String> {
        let Some(ran) = self.calls.get_mut(call) else { return vec![] };
        let mut lines = ran.output.push(chunk, usize::MAX);
        lines.truncate(OUTPUT.saturating_sub(ran.lines));
        ran.lines += lines.len();
        if ran.lines == OUTPUT && !lines.is_empty() {
            lines.push("…".to_owned());
        }
        lines.iter().map(|line| look.dim(format!("│ {}", cut(line, room)))).collect()
    }
}

impl Call {
    fn new(call: ToolCall) -> Call {
        Call { call, since: Instant::now(), told: false, output: Stream::default(), lines: 0 }
    }
}
