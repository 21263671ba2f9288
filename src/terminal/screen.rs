//! The feed as lines: what the main agent says and does, the news of workers, and one worker watched closely. How one
//! of them is shown is in `voice`; where the lines go is the front end's affair.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::call::Done;
use super::clean::one_line;
use super::ink::fitted;
use super::voice::{Manner, Voice, seen};
use super::{Look, story};
use crate::event::AgentEvent;
use crate::runtime::{Envelope, News, Source};
use crate::task::TaskId;

/// Columns that the name of a watched worker takes.
const ASIDE: usize = 8;

/// Columns by which a line that is broken hangs.
const HANG: usize = 2;

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
    /// Whether thoughts are shown open or folded; not at all until that is said.
    thoughts: Option<bool>,
    main: Voice,
    watched: Option<(TaskId, Voice)>,
    /// Lines of the watched worker say whose they are.
    named: bool,
    /// The call that ended last.
    done: Option<Done>,
}

impl Screen {
    /// A screen that knows the workspace's root, to name files from it.
    pub fn new(look: Look, width: usize, root: PathBuf, texts: Texts) -> Screen {
        let (thoughts, main, watched, done) = (None, Voice::default(), None, None);
        Screen { look, width: width.max(20), root, texts, thoughts, main, watched, named: true, done }
    }

    /// The same for one worker and nobody else.
    pub fn alone(look: Look, width: usize, root: PathBuf, task: TaskId) -> Screen {
        let mut screen = Screen { named: false, ..Screen::new(look, width, root, Texts::Hidden) };
        screen.watch(Some(task));
        screen
    }

    /// From here on it writes like this.
    pub fn set_look(&mut self, look: Look) {
        self.look = look;
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

    /// The lines that a piece of news is worth, no wider than the screen where the main agent's words are shown.
    pub fn show(&mut self, envelope: &Envelope) -> Vec<String> {
        let lines = self.told(envelope);
        match self.texts {
            Texts::Shown => lines.iter().flat_map(|line| fitted(line, self.width, HANG)).collect(),
            Texts::Hidden => lines,
        }
    }

    fn told(&mut self, envelope: &Envelope) -> Vec<String> {
        match (&envelope.source, &envelope.news) {
            (Source::Main { .. }, News::Agent(AgentEvent::Text { .. } | AgentEvent::Replied { .. }))
                if self.texts == Texts::Hidden =>
            {
                vec![]
            }
            (Source::Main { .. }, News::Agent(event)) => {
                let lines = self.main.tell(event, self.manner(self.width, self.texts == Texts::Shown));
                self.done = self.main.done.take().or(self.done.take());
                lines
            }
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

    /// What still changes, at most `rows` lines, the most important last: a thought, the text of the main agent, or of a
    /// worker that is shown alone, that streams and is not final yet, and the calls that run, with their time and the last
    /// line of their output.
    pub fn live(&self, rows: usize) -> Vec<String> {
        let mut lines = match self.texts {
            Texts::Shown => self.main.pending(self.manner(self.width, true), rows),
            Texts::Hidden => vec![],
        };
        let mut calls = self.main.running(self.manner(self.width, true));
        if let Some((task, voice)) = &self.watched {
            let named = self.named.then_some(*task);
            if !self.named {
                lines.extend(voice.pending(self.manner(self.width, true), rows));
            }
            let running = voice.running(self.manner(self.width.saturating_sub(ASIDE), true));
            calls.extend(running.iter().map(|line| aside(self.look, named, line)));
        }
        lines.extend(calls);
        let mut lines: Vec<String> = lines.iter().flat_map(|line| fitted(line, self.width, HANG)).collect();
        lines.split_off(lines.len().saturating_sub(rows))
    }

    /// From now on thoughts are shown open, dimmed, or folded into a line that says how long they took; before the first
    /// call of this they are not shown at all. Answers the last thought, when it was folded and now is opened.
    pub fn set_thoughts(&mut self, open: bool) -> Vec<String> {
        let before = self.thoughts.replace(open);
        match (before, open) {
            (Some(false), true) => self.main.unfold(self.manner(self.width, true)),
            _ => vec![],
        }
    }

    /// The call that ended last, in full: its arguments and its output, both within a cap; a sentence when there is none.
    pub fn expand(&self) -> Vec<String> {
        match &self.done {
            Some(done) => done.full(self.look, self.width),
            None => vec![self.look.dim("no call has ended yet")],
        }
    }

    fn manner(&self, width: usize, close: bool) -> Manner {
        Manner { look: self.look, width, thoughts: self.thoughts, close }
    }

    /// The lines that time is worth where nothing is drawn anew: calls that run long, once. Call it about once a second.
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
        let manner = self.manner(self.width.saturating_sub(ASIDE), true);
        match &mut self.watched {
            Some((watched, voice)) if *watched == task => {
                let mut lines = voice.tell(event, manner);
                if let AgentEvent::ToolProgress { call, chunk } = event {
                    lines.extend(voice.output(call, chunk, manner));
                }
                self.done = voice.done.take().or(self.done.take());
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
