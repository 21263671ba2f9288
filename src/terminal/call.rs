//! Calls of tools while they run and when they are done: how long, the last line that they said, all of it when asked.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::clean::{clean, one_line};
use super::wrap::{Stream, cut};
use super::{Look, diff, ink, story};
use crate::message::{CallId, ToolCall, ToolResult};

/// A call that runs longer than this is told once before it ends, where nothing is drawn anew.
const PATIENCE: Duration = Duration::from_secs(3);
/// A call that runs longer than this is shown while it runs.
const SOON: Duration = Duration::from_millis(300);
/// Lines of a tool's output that a watched worker shows per call.
const OUTPUT: usize = 20;
/// Most bytes of the line that is being said.
const LINE: usize = 4096;
/// Lines of a call that is shown in full.
const FULL: usize = 500;
/// Lines of what a call changed.
const CHANGES: usize = 12;
/// Lines of what a failed call said.
const SAID: usize = 5;

/// A call that runs.
pub(super) struct Call {
    pub(super) call: ToolCall,
    since: Instant,
    told: bool,
    output: Stream,
    lines: usize,
    last: Last,
}

/// The last line of an output, as it is said.
#[derive(Default)]
struct Last {
    whole: String,
    begun: String,
}

/// A call that has ended.
pub(super) struct Done {
    pub(super) call: ToolCall,
    pub(super) result: ToolResult,
    pub(super) took: Duration,
}

impl Call {
    pub(super) fn new(call: ToolCall) -> Call {
        let (output, last) = (Stream::default(), Last::default());
        Call { call, since: Instant::now(), told: false, output, lines: 0, last }
    }

    pub(super) fn is(&self, id: &CallId) -> bool {
        self.call.id == *id
    }

    /// Lines of its output stand on the screen.
    pub(super) fn has_told(&self) -> bool {
        self.lines > 0
    }

    /// Takes a piece of its output.
    pub(super) fn hear(&mut self, chunk: &str) {
        self.last.push(chunk);
    }

    /// The lines of its output that a piece completes, as many as are shown of one call.
    pub(super) fn said(&mut self, chunk: &str, look: Look, room: usize) -> Vec<String> {
        let mut lines = self.output.push(chunk, usize::MAX);
        lines.truncate(OUTPUT.saturating_sub(self.lines));
        self.lines += lines.len();
        if self.lines == OUTPUT && !lines.is_empty() {
            lines.push("…".to_owned());
        }
        lines.iter().map(|line| look.dim(format!("│ {}", cut(line, room.saturating_sub(2))))).collect()
    }

    /// The line that says that it runs long; once.
    pub(super) fn overdue(&mut self, look: Look, width: usize) -> Option<String> {
        let late = !self.told && self.since.elapsed() >= PATIENCE;
        late.then(|| {
            self.told = true;
            story::running(look, &self.call, self.since.elapsed(), width)
        })
    }

    /// What it does now, once it runs long enough to be shown.
    pub(super) fn now(&self, look: Look, width: usize) -> Vec<String> {
        let so_far = self.since.elapsed();
        if so_far < SOON {
            return vec![];
        }
        let mut lines = vec![story::running(look, &self.call, so_far, width)];
        let said = clean(self.last.line());
        lines
            .extend(said.lines().next_back().map(|line| look.dim(format!("│ {}", cut(line, width.saturating_sub(2))))));
        lines
    }
}

impl Last {
    fn push(&mut self, chunk: &str) {
        for (at, piece) in chunk.split('\n').enumerate() {
            if at > 0 {
                if !self.begun.trim().is_empty() {
                    std::mem::swap(&mut self.whole, &mut self.begun);
                }
                self.begun.clear();
            }
            self.add(piece);
        }
    }

    fn add(&mut self, piece: &str) {
        // A bar of progress is one line that grows for ever; its end tells.
        if self.begun.len() + piece.len() > LINE {
            self.begun.clear();
        }
        self.begun.push_str(tail(piece));
    }

    fn line(&self) -> &str {
        if self.begun.trim().is_empty() { &self.whole } else { &self.begun }
    }
}

/// The end of a piece, as much as is kept of a line.
fn tail(piece: &str) -> &str {
    let mut from = piece.len().saturating_sub(LINE);
    while !piece.is_char_boundary(from) {
        from += 1;
    }
    &piece[from..]
}

impl Done {
    /// The line that tells it.
    pub(super) fn line(&self, look: Look, width: usize) -> String {
        story::outcome(look, &self.call, &self.result, self.took, width)
    }

    /// What it changed in a file, the first lines of it; `hint` says how the others are seen.
    pub(super) fn changes(&self, look: Look, width: usize, hint: &str) -> Vec<String> {
        let Some(diff) = self.result.details["diff"].as_str() else { return vec![] };
        capped(diff::lines(diff, look, width), CHANGES, look, hint)
    }

    /// What a call that did not end well said first, beside what its line tells.
    pub(super) fn failure(&self, look: Look, width: usize, hint: &str) -> Vec<String> {
        let Some(told) = story::fault(&self.result) else { return vec![] };
        let output = clean(&self.result.output);
        let said = output.lines().filter(|line| !line.trim().is_empty() && one_line(line) != told);
        let shown = |line: &str| look.dim(format!("│ {}", cut(line.trim_end(), width.saturating_sub(2))));
        capped(said.map(shown).collect(), SAID, look, hint)
    }

    /// The call in full: what was asked, what was answered.
    pub(super) fn full(&self, look: Look, width: usize) -> Vec<String> {
        let room = width.saturating_sub(2);
        let fitted =
            |text: &str| -> Vec<String> { clean(text).lines().flat_map(|line| ink::fitted(line, room, 0)).collect() };
        let mut lines = vec![self.line(look, width)];
        lines.extend(self.asked().iter().flat_map(|text| fitted(text)).map(|line| format!("  {}", look.dim(line))));
        if let Some(diff) = self.result.details["diff"].as_str() {
            lines.extend(diff::lines(diff, look, width));
        }
        let output = self.result.output.trim_end();
        if output.is_empty() {
            lines.push(look.dim("  (no output)"));
        }
        lines.extend(fitted(output).into_iter().map(|line| format!("  {line}")));
        capped(lines, FULL, look, "")
    }

    /// The arguments, one text for each: `timeout: 5`; as they were written where they are no JSON.
    fn asked(&self) -> Vec<String> {
        let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(&self.call.args.0) else {
            return vec![self.call.args.0.clone()];
        };
        let said = |(name, value): (&String, &Value)| match value {
            Value::String(text) => format!("{name}: {text}"),
            other => format!("{name}: {other}"),
        };
        fields.iter().map(said).collect()
    }
}

/// No more than so many lines, and how many there are beside them.
fn capped(mut lines: Vec<String>, most: usize, look: Look, hint: &str) -> Vec<String> {
    let more = lines.len().saturating_sub(most);
    if more > 0 {
        lines.truncate(most);
        let plural = if more == 1 { "" } else { "s" };
        lines.push(look.dim(format!("  … {more} more line{plural}{hint}")));
    }
    lines
}
