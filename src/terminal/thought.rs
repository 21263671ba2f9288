//! What a model thinks before it speaks: folded into a line that says how long, or open and dimmed.

use std::time::{Duration, Instant};

use super::wrap::{Stream, cut, wrapped};
use super::{Look, story};

/// Most bytes of a thought that are kept to be shown later.
const KEPT: usize = 64 * 1024;

/// A thought: of now, or the last one.
#[derive(Default)]
pub(super) struct Thought {
    since: Option<Instant>,
    text: String,
    stream: Stream,
    /// Lines of it stand on the screen.
    shown: bool,
}

impl Thought {
    /// Takes a piece and answers the lines that it completed, where thoughts are shown open.
    pub(super) fn push(&mut self, piece: &str, open: bool, look: Look, room: usize) -> Vec<String> {
        if self.since.is_none() {
            *self = Thought { since: Some(Instant::now()), ..Thought::default() };
        }
        if self.text.len() + piece.len() <= KEPT {
            self.text.push_str(piece);
        }
        let lines = self.stream.push(piece, room);
        if open { self.said(lines, look, room) } else { vec![] }
    }

    /// It is over: its last lines, or the line that stands for it.
    pub(super) fn end(&mut self, open: bool, look: Look, room: usize) -> Vec<String> {
        let Some(since) = self.since.take() else { return vec![] };
        let rest = self.stream.finish(room);
        match open || self.shown {
            true => self.said(rest, look, room),
            false => {
                vec![look.dim(cut(&format!("✻ thought for {} (ctrl+t shows)", so_far(since.elapsed())), room + 2))]
            }
        }
    }

    /// It leads nowhere: what it led to begins anew.
    pub(super) fn forget(&mut self) {
        *self = Thought::default();
    }

    /// All of it, after it was folded.
    pub(super) fn unfold(&mut self, look: Look, room: usize) -> Vec<String> {
        let lines = if self.shown { vec![] } else { wrapped(self.text.trim(), room) };
        self.said(lines, look, room)
    }

    /// What is seen of it while it goes on.
    pub(super) fn pending(&self, open: bool, look: Look, room: usize) -> Vec<String> {
        let Some(since) = self.since else { return vec![] };
        match open {
            true => self.stream.pending(room).iter().map(|line| look.dim(format!("  {}", cut(line, room)))).collect(),
            false => vec![look.dim(cut(&format!("✻ thinking {} …", so_far(since.elapsed())), room + 2))],
        }
    }

    fn said(&mut self, lines: Vec<String>, look: Look, room: usize) -> Vec<String> {
        let mut said = Vec::new();
        for line in lines {
            if !self.shown && line.trim().is_empty() {
                continue;
            }
            let mark = if std::mem::replace(&mut self.shown, true) { " " } else { "✻" };
            said.push(look.dim(format!("{mark} {}", cut(&line, room)).trim_end()));
        }
        said
    }
}

/// Whole seconds: `3s`.
fn so_far(span: Duration) -> String {
    if span.as_secs() < 10 { format!("{}s", span.as_secs()) } else { story::span(span) }
}
