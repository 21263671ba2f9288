//! Reads a trace back: from lines to the tree of spans they describe.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use super::line::{Event, Line, Link};
use crate::message::{CallId, Usage};

/// What a trace file tells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tree {
    /// The runs, in the order in which they started.
    pub runs: Vec<Span>,
    /// Lines that were never written, because writing fell behind.
    pub dropped: u64,
    /// Lines that cannot be read, such as one that a crash cut short.
    pub damaged: usize,
}

/// One span with what happened in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// 16 hexadecimal digits.
    pub id: String,
    /// What it covers.
    pub kind: Kind,
    /// When it began; missing if its first line is.
    pub start: Option<Timestamp>,
    /// How long it took; missing while it is open, or if it was cut off.
    pub took: Option<Duration>,
    /// Tokens, of a run in all and of a model call.
    pub usage: Option<Usage>,
    /// The fault, if it ended with one.
    pub error: Option<String>,
    /// What happened within, in order: `note`, `retry`, `compaction`, `error`, each with its line of text.
    pub moments: Vec<(String, String)>,
    /// The spans within, in order of their start.
    pub children: Vec<Span>,
}

/// What a span covers.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A run.
    Run {
        /// `main` or the task.
        agent: String,
        /// As in `completed`, empty while it goes on.
        reason: String,
        /// The call in another trace from which it grew.
        link: Option<Link>,
    },
    /// A turn of it, counted from 1.
    Turn(u32),
    /// A model call.
    Model {
        /// The model as `provider/model`.
        model: String,
        /// From the request to the first piece of its answer.
        first: Option<Duration>,
    },
    /// A tool call.
    Tool {
        /// The tool's name.
        tool: String,
        /// Which call.
        call: CallId,
    },
    /// A span whose first line is missing or cannot be read.
    Unknown,
}

/// Reads the file and builds the tree.
///
/// A line that cannot be read is counted and passed over; a span without its parent becomes a run of its own.
///
/// # Errors
/// When the file cannot be read.
pub fn read(path: &Path) -> io::Result<Tree> {
    let bytes = std::fs::read(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut tree = Tree::default();
    let mut flat: Vec<(Span, Option<String>)> = Vec::new();
    let mut index: HashMap<String, usize> = HashMap::new();
    for line in text.lines() {
        let Ok(line) = serde_json::from_str::<Line>(line) else {
            tree.damaged += 1;
            continue;
        };
        if let Event::Dropped { lines } = line.event {
            tree.dropped += lines;
            continue;
        }
        let at = *index.entry(line.span.clone()).or_insert_with(|| {
            flat.push((Span::unknown(line.span.clone()), line.parent.clone()));
            flat.len() - 1
        });
        flat[at].0.take(line);
    }
    tree.runs = nest(flat, &index);
    Ok(tree)
}

/// Puts each span into its parent; from the last to the first, because parents come before their children.
fn nest(mut flat: Vec<(Span, Option<String>)>, index: &HashMap<String, usize>) -> Vec<Span> {
    let mut runs = Vec::new();
    while let Some((span, parent)) = flat.pop() {
        match parent.and_then(|parent| index.get(&parent).copied()).filter(|at| *at < flat.len()) {
            Some(at) => flat[at].0.children.insert(0, span),
            None => runs.insert(0, span),
        }
    }
    runs
}

impl Span {
    fn unknown(id: String) -> Span {
        let (moments, children) = (Vec::new(), Vec::new());
        Span { id, kind: Kind::Unknown, start: None, took: None, usage: None, error: None, moments, children }
    }

    /// Learns from one more of its lines.
    fn take(&mut self, line: Line) {
        let at = line.at.parse().ok();
        match line.event {
            Event::RunStart { agent, link, .. } => self.began(at, Kind::Run { agent, reason: String::new(), link }),
            Event::TurnStart { turn } => self.began(at, Kind::Turn(turn)),
            Event::ModelStart { model } => self.began(at, Kind::Model { model, first: None }),
            Event::ToolStart { tool, call, .. } => self.began(at, Kind::Tool { tool, call }),
            Event::RunEnd { reason: why, ms, usage, error, .. } => {
                self.ended(ms, Some(usage), error);
                if let Kind::Run { reason, .. } = &mut self.kind {
                    *reason = why;
                }
            }
            Event::TurnEnd { ms, error, .. } => self.ended(ms, None, error),
            Event::ModelEnd { ms, first_ms, usage, error, .. } => {
                self.ended(ms, Some(usage), error);
                if let Kind::Model { first, .. } = &mut self.kind {
                    *first = first_ms.and_then(duration);
                }
            }
            Event::ToolEnd { tool, call, ms, error, .. } => {
                self.ended(ms, None, error);
                if self.kind == Kind::Unknown {
                    self.kind = Kind::Tool { tool, call };
                }
            }
            Event::Note { text, .. } => self.moment("note", text),
            Event::Retry { attempt, why, .. } => self.moment("retry", format!("attempt {attempt}: {why}")),
            Event::Compaction { before, after, .. } => self.moment("compaction", format!("{before} → {after} tokens")),
            Event::Error { why } => self.moment("error", why),
            Event::Dropped { .. } => {}
        }
    }

    fn began(&mut self, at: Option<Timestamp>, kind: Kind) {
        self.start = at;
        self.kind = kind;
    }

    fn ended(&mut self, ms: f64, usage: Option<Usage>, error: Option<String>) {
        self.took = duration(ms);
        self.usage = usage;
        self.error = error;
    }

    fn moment(&mut self, name: &str, text: String) {
        self.moments.push((name.to_owned(), text));
    }
}

fn duration(ms: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(ms / 1e3).ok()
}
