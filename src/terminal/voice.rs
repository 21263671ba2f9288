//! One source that is shown closely: what it says, thinks and calls, as lines that are final and lines that still change.

use std::time::{Duration, Instant};

use super::call::{Call, Done};
use super::clean::{clean, one_line};
use super::markdown::Markdown;
use super::thought::Thought;
use super::{Look, story};
use crate::event::{AgentEvent, Ending};
use crate::message::{CallId, Note, ToolResult};

/// Columns that a streamed line leaves free.
const MARGIN: usize = 4;

/// How it is shown.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    pub(super) look: Look,
    /// Columns.
    pub(super) width: usize,
    /// Thoughts are open or folded; `None` shows none.
    pub(super) thoughts: Option<bool>,
    /// With what calls changed, and what failed commands said.
    pub(super) close: bool,
}

impl Manner {
    /// Keys that open what is folded are there where thoughts are folded, too.
    fn hint(self) -> &'static str {
        if self.thoughts.is_some() { "; ctrl+o" } else { "" }
    }
}

/// One source that is shown closely.
#[derive(Default)]
pub(super) struct Voice {
    text: Markdown,
    thread: bool,
    streamed: bool,
    thought: Thought,
    /// The call that the model writes down.
    opened: Option<(String, Instant)>,
    /// In the order in which they began.
    calls: Vec<Call>,
    /// The call that ended last, for whoever takes it.
    pub(super) done: Option<Done>,
    failed: bool,
    pub(super) wait: Option<Wait>,
}

/// The wait for the next attempt of a model call.
pub(super) struct Wait {
    pub(super) until: Instant,
    pub(super) attempt: u32,
    pub(super) why: String,
}

pub(super) fn seen(look: Look, note: &Note, turn: u32) -> String {
    look.dim(format!("↳ {} {} seen at turn {turn}", note.kind, note.id))
}

impl Voice {
    /// The lines that an event makes final.
    pub(super) fn tell(&mut self, event: &AgentEvent, manner: Manner) -> Vec<String> {
        self.wait = None;
        let room = manner.width.saturating_sub(MARGIN);
        let mut lines = match event {
            AgentEvent::Thinking { text } => return self.think(text, manner),
            AgentEvent::Retrying { .. } => vec![],
            _ => self.thought_over(manner),
        };
        match event {
            AgentEvent::ToolFinished { result, took } => lines.extend(self.finished(result, *took, manner)),
            event => lines.extend(self.told(event, manner.look, room)),
        }
        lines
    }

    fn told(&mut self, event: &AgentEvent, look: Look, room: usize) -> Vec<String> {
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
                let lines = self.text.push(text, look, room);
                self.spoken(lines, look)
            }
            AgentEvent::Replied { message, .. } => {
                self.opened = None;
                let mut lines = match self.streamed {
                    true => vec![],
                    false => self.text.push(message.text().trim(), look, room),
                };
                lines.extend(self.text.finish(look, room));
                self.spoken(lines, look)
            }
            AgentEvent::CallOpened { name, .. } => {
                self.opened = Some((one_line(name), Instant::now()));
                vec![]
            }
            AgentEvent::ToolStarted { call } => {
                self.calls.push(Call::new(call.clone()));
                vec![]
            }
            AgentEvent::ToolProgress { call, chunk } => {
                self.calls.iter_mut().filter(|ran| ran.is(call)).for_each(|ran| ran.hear(chunk));
                vec![]
            }
            AgentEvent::Retrying { attempt, wait, why } => self.again(*attempt, *wait, why, look),
            AgentEvent::Noted { note, turn } => vec![format!("  {}", seen(look, note, *turn))],
            AgentEvent::Compacted { before, after, .. } => vec![story::compacted(look, *before, *after)],
            AgentEvent::Failed { why } => self.failure(why, look),
            AgentEvent::RunEnded { ending } => self.end(ending, look, room),
            AgentEvent::Thinking { .. }
            | AgentEvent::ToolFinished { .. }
            | AgentEvent::Progressed { .. }
            | AgentEvent::TurnEnded { .. } => vec![],
        }
    }

    fn finished(&mut self, result: &ToolResult, took: Duration, manner: Manner) -> Vec<String> {
        let Some(at) = self.calls.iter().position(|ran| ran.is(&result.call)) else { return vec![] };
        let ran = self.calls.remove(at);
        let told = ran.has_told();
        let done = Done { call: ran.call, result: result.clone(), took };
        let room = manner.width.saturating_sub(MARGIN);
        let mut lines = vec![done.line(manner.look, room)];
        if manner.close {
            lines.extend(done.changes(manner.look, room, manner.hint()));
            lines.extend(done.failure(manner.look, room, manner.hint()).into_iter().filter(|_| !told));
        }
        self.done = Some(done);
        lines
    }

    fn think(&mut self, text: &str, manner: Manner) -> Vec<String> {
        let Some(open) = manner.thoughts else { return vec![] };
        self.thought.push(text, open, manner.look, manner.width.saturating_sub(MARGIN))
    }

    fn thought_over(&mut self, manner: Manner) -> Vec<String> {
        self.thought.end(manner.thoughts == Some(true), manner.look, manner.width.saturating_sub(MARGIN))
    }

    /// The last thought, after it was folded.
    pub(super) fn unfold(&mut self, manner: Manner) -> Vec<String> {
        self.thought.unfold(manner.look, manner.width.saturating_sub(MARGIN))
    }

    fn again(&mut self, attempt: u32, wait: Duration, why: &str, look: Look) -> Vec<String> {
        self.text.clear();
        self.thought.forget();
        self.opened = None;
        let anew = if std::mem::take(&mut self.thread) { " · the answer begins anew" } else { "" };
        let (until, told) = (Instant::now() + wait, format!("{why}{anew}"));
        self.wait = Some(Wait { until, attempt, why: told });
        vec![format!("{}{}", story::retry(look, attempt, wait, why), look.dim(anew))]
    }

    /// Lines of an answer: the first with a bullet, the others below it.
    fn spoken(&mut self, lines: Vec<String>, look: Look) -> Vec<String> {
        let mut shown = Vec::new();
        for line in lines {
            if !self.thread && line.trim().is_empty() {
                continue;
            }
            let begun = std::mem::replace(&mut self.thread, true);
            shown.push(below(&line, begun, look));
        }
        shown
    }

    fn failure(&mut self, why: &str, look: Look) -> Vec<String> {
        self.failed = true;
        clean(why).lines().map(|line| format!("{} {line}", look.bad("✗"))).collect()
    }

    fn end(&mut self, ending: &Ending, look: Look, room: usize) -> Vec<String> {
        let rest = self.text.finish(look, room);
        let mut lines = self.spoken(rest, look);
        self.calls.clear();
        self.opened = None;
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

    /// Calls that run long, each once.
    pub(super) fn overdue(&mut self, look: Look, width: usize) -> Vec<String> {
        self.calls.iter_mut().filter_map(|ran| ran.overdue(look, width)).collect()
    }

    /// The lines of a call's output that a piece of it completes.
    pub(super) fn output(&mut self, call: &CallId, chunk: &str, manner: Manner) -> Vec<String> {
        let ran = self.calls.iter_mut().find(|ran| ran.is(call));
        ran.map(|ran| ran.said(chunk, manner.look, manner.width)).unwrap_or_default()
    }

    /// What it thinks and says and is not final yet.
    pub(super) fn pending(&self, manner: Manner, rows: usize) -> Vec<String> {
        let Manner { look, width, thoughts, .. } = manner;
        let room = width.saturating_sub(MARGIN);
        let mut lines = thoughts.map(|open| self.thought.pending(open, look, room)).unwrap_or_default();
        let text = self.text.pending(look, room, rows).into_iter().enumerate();
        lines.extend(text.map(|(at, line)| below(&line, self.thread || at > 0, look)));
        lines
    }

    /// The calls that run, and the one that is being written.
    pub(super) fn running(&self, manner: Manner) -> Vec<String> {
        let calls = self.calls.iter().flat_map(|ran| ran.now(manner.look, manner.width));
        let opened = self.opened.as_ref().and_then(|(name, since)| story::writing(manner.look, name, since.elapsed()));
        calls.chain(opened).collect()
    }
}

/// A line of an answer: the first one has a bullet.
fn below(line: &str, begun: bool, look: Look) -> String {
    let line = if begun { format!("  {line}") } else { format!("{} {line}", look.name("●")) };
    line.trim_end().to_owned()
}
