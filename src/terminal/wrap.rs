//! Lines that fit: cutting to a width in columns, and a stream of text turned into whole lines.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::clean::clean;

/// Most bytes of an unfinished line that are kept back; a longer one is given out in parts.
const MAX_PARTIAL: usize = 8 * 1024;

/// Columns that the text takes.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// The text cut to a width in columns, with `…` where something is missing.
pub fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for one in text.chars() {
        used += one.width().unwrap_or(0);
        if used + 1 > width {
            break;
        }
        kept.push(one);
    }
    kept.push('…');
    kept
}

/// Text as it streams, given out as whole clean lines.
///
/// A line that grows past the width is broken at its last space, so that a long paragraph appears while it is written.
/// Lines that start with a space, a fence or a table bar are code or layout and are never broken by us.
#[derive(Debug, Default)]
pub struct Stream {
    partial: String,
}

impl Stream {
    /// Takes a piece and answers the lines that it completed.
    pub fn push(&mut self, piece: &str, width: usize) -> Vec<String> {
        self.partial.push_str(piece);
        let mut lines = Vec::new();
        while let Some(at) = self.partial.find('\n') {
            let line: String = self.partial.drain(..=at).collect();
            broken(clean(line.trim_end_matches(['\n', '\r'])), width, &mut lines);
        }
        // Only a clean partial line is broken early: an escape sequence may still be incomplete.
        let plain = !self.partial.contains(|one: char| one.is_control());
        while plain && columns(&self.partial) > width {
            let Some(at) = break_at(&self.partial, width) else { break };
            let rest = self.partial.split_off(at);
            let head = std::mem::replace(&mut self.partial, rest.trim_start().to_owned());
            lines.push(clean(head.trim_end()));
        }
        if self.partial.len() > MAX_PARTIAL {
            lines.extend(self.finish(width));
        }
        lines
    }

    /// What is left when the text is over.
    pub fn finish(&mut self, width: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let rest = std::mem::take(&mut self.partial);
        if !rest.trim().is_empty() {
            broken(clean(&rest), width, &mut lines);
        }
        lines
    }

    /// What was not given out yet, as it would look if it ended here; its last character may be half of something.
    pub fn pending(&self, width: usize) -> Vec<String> {
        if self.partial.trim().is_empty() { vec![] } else { wrapped(&self.partial, width) }
    }

    /// Forgets what was not given out yet.
    pub fn clear(&mut self) {
        self.partial.clear();
    }
}

/// Text as lines no wider than the width, where words allow it.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in clean(text).lines() {
        broken(line.to_owned(), width, &mut lines);
    }
    lines
}

fn broken(text: String, width: usize, lines: &mut Vec<String>) {
    for line in text.split('\n') {
        let mut line = line.to_owned();
        while columns(&line) > width {
            let Some(at) = break_at(&line, width) else { break };
            let rest = line.split_off(at).trim_start().to_owned();
            lines.push(line.trim_end().to_owned());
            line = rest;
        }
        lines.push(line);
    }
}

/// Where to break so that the first part fits; `None` leaves it to the terminal.
fn break_at(line: &str, width: usize) -> Option<usize> {
    if line.starts_with([' ', '|', '>']) || line.starts_with("```") {
        return None;
    }
    let mut used = 0;
    let mut last = None;
    for (at, one) in line.char_indices() {
        let wide = one.width().unwrap_or(0);
        if one == ' ' {
            last = Some(at);
        }
        if used + wide > width {
            return last.filter(|at| *at > 0);
        }
        used += wide;
        // Chinese, Japanese and Korean break between any two characters.
        if wide == 2 {
            last = Some(at + one.len_utf8());
        }
    }
    None
}
