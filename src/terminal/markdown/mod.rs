//! Markdown as it streams: blocks become lines when they are complete, the rest can be looked at meanwhile. How blocks
//! are told apart is in `blocks`, what stands within a line in `inline`.

mod blocks;
mod code;
mod inline;
mod list;
mod table;

use self::blocks::Blocks;
use super::Look;
use super::clean::clean;

/// Most bytes of a line; a longer one is taken in parts, wherever the pieces of the stream end.
const LINE: usize = 8 * 1024;

/// What lines are made for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    /// How they are written.
    pub(super) look: Look,
    /// Columns.
    pub(super) room: usize,
}

/// A text in Markdown that comes in pieces.
///
/// What it costs to take a piece does not grow with the text before it: what is final is gone, and a paragraph or a
/// table that never ends is made final in parts. The lines are the same however the text is cut into pieces.
#[derive(Default)]
pub struct Markdown {
    blocks: Blocks,
    /// The line that has begun.
    partial: String,
}

/// The lines of a whole text.
pub fn rendered(text: &str, look: Look, room: usize) -> Vec<String> {
    let mut markdown = Markdown::default();
    let mut lines = markdown.push(text, look, room);
    lines.extend(markdown.finish(look, room));
    lines
}

impl Markdown {
    /// Takes a piece and answers the lines that it made final, each without a control character and, where words allow
    /// it, no wider than `room` columns.
    pub fn push(&mut self, piece: &str, look: Look, room: usize) -> Vec<String> {
        let page = Page { look, room };
        let mut out = Vec::new();
        let mut rest = piece;
        while !rest.is_empty() {
            // What is too long is cut at the same byte in every case: only so much is looked at.
            let free = LINE.saturating_sub(self.partial.len());
            let end = rest.bytes().take(free + 1).position(|byte| byte == b'\n');
            let taken = end.unwrap_or_else(|| rest.floor_char_boundary(free.min(rest.len())));
            self.partial.push_str(&rest[..taken]);
            rest = &rest[taken..];
            if end.is_some() {
                rest = &rest[1..];
            } else if rest.is_empty() {
                break;
            }
            self.line(page, &mut out);
        }
        out
    }

    /// The text is over: the lines of what was not final yet.
    pub fn finish(&mut self, look: Look, room: usize) -> Vec<String> {
        let page = Page { look, room };
        let mut out = Vec::new();
        if !self.partial.is_empty() {
            self.line(page, &mut out);
        }
        std::mem::take(&mut self.blocks).finish(page, &mut out);
        out
    }

    /// What is not final yet as it would look if the text ended here: about the last `rows` lines of it.
    pub fn pending(&self, look: Look, room: usize, rows: usize) -> Vec<String> {
        let page = Page { look, room };
        let mut out = Vec::new();
        // A column takes two bytes at most, or nearly so; what is before these rows is not looked at.
        let most = rows.max(2) * room * 2;
        let mut ahead = self.blocks.glimpse(rows, most);
        for line in clean(tail(&self.partial, most)).split('\n').filter(|line| !line.is_empty()) {
            ahead.line(line, page, &mut out);
        }
        ahead.finish(page, &mut out);
        out
    }

    /// Forgets what is not final yet.
    pub fn clear(&mut self) {
        *self = Markdown::default();
    }

    /// Takes the line that is complete.
    fn line(&mut self, page: Page, out: &mut Vec<String>) {
        let line = std::mem::take(&mut self.partial);
        // A carriage return within makes lines of it, too.
        for line in clean(line.trim_end_matches('\r')).split('\n') {
            self.blocks.line(line, page, out);
        }
    }
}

/// The end of a text, about so many bytes of it.
fn tail(text: &str, most: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(most))..]
}
