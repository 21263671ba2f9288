//! The text being typed and its cursor: moves, deletions that can be taken back, and what was cut. Knows no keys.

use std::ops::Range;

use reedline::LineBuffer;
use unicode_segmentation::UnicodeSegmentation;

/// States that undo goes back through.
const STATES: usize = 200;
/// Cut pieces that are kept.
const CUTS: usize = 20;

/// A text with a cursor.
#[derive(Default)]
pub(super) struct Draft {
    line: LineBuffer,
    before: Vec<(String, usize)>,
    undone: Vec<(String, usize)>,
    cuts: Vec<String>,
    /// Where the last yank stands and which cut it was.
    yanked: Option<(Range<usize>, usize)>,
    /// The last change was typing, which undo takes back a word at a time.
    typing: bool,
}

/// Which way, and how far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    SignBefore,
    SignAfter,
    WordBefore,
    WordAfter,
    /// Up to white space.
    BlankBefore,
    LineStart,
    LineEnd,
    Start,
    End,
}

impl Draft {
    pub(super) fn text(&self) -> &str {
        self.line.get_buffer()
    }

    /// In bytes.
    pub(super) fn cursor(&self) -> usize {
        self.line.insertion_point()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// Without its text and what undo knows of it; what was cut is kept.
    pub(super) fn emptied(self) -> Draft {
        Draft { cuts: self.cuts, ..Draft::default() }
    }

    /// Another text, with the cursor at its end; undo brings the one before back.
    pub(super) fn set(&mut self, text: String) {
        self.remember(false);
        self.put(text, usize::MAX);
    }

    pub(super) fn insert(&mut self, text: &str) {
        let typing = text.chars().count() == 1 && !text.starts_with(char::is_whitespace);
        self.remember(typing);
        self.line.insert_str(text);
    }

    /// Puts other text where a range was; the cursor stands behind it.
    pub(super) fn replace(&mut self, range: Range<usize>, text: &str) {
        self.remember(false);
        self.line.replace_range(range.clone(), text);
        self.line.set_insertion_point(range.start + text.len());
    }

    pub(super) fn go(&mut self, reach: Reach) {
        self.jump(self.target(reach));
    }

    /// To a place in bytes, which must lie between two signs.
    pub(super) fn jump(&mut self, to: usize) {
        self.yanked = None;
        self.typing = false;
        self.line.set_insertion_point(to.min(self.text().len()));
    }

    pub(super) fn delete(&mut self, reach: Reach) {
        let range = self.range(reach);
        if !range.is_empty() {
            self.remember(false);
            self.remove(range);
        }
    }

    pub(super) fn cut(&mut self, reach: Reach) {
        let range = self.range(reach);
        if range.is_empty() {
            return;
        }
        self.remember(false);
        self.cuts.push(self.text()[range.clone()].to_owned());
        if self.cuts.len() > CUTS {
            self.cuts.remove(0);
        }
        self.remove(range);
    }

    /// Puts the last cut in.
    pub(super) fn yank(&mut self) {
        let Some(text) = self.cuts.last().cloned() else { return };
        let start = self.cursor();
        self.insert(&text);
        self.yanked = Some((start..start + text.len(), self.cuts.len() - 1));
    }

    /// Puts the cut before it in the place of the one just yanked.
    pub(super) fn yank_before(&mut self) {
        let Some((range, which)) = self.yanked.take() else { return };
        let which = which.checked_sub(1).unwrap_or(self.cuts.len() - 1);
        let text = self.cuts[which].clone();
        self.replace(range.clone(), &text);
        self.yanked = Some((range.start..range.start + text.len(), which));
    }

    pub(super) fn undo(&mut self) {
        if let Some((text, at)) = self.before.pop() {
            self.undone.push((self.text().to_owned(), self.cursor()));
            self.put(text, at);
        }
        self.typing = false;
    }

    pub(super) fn redo(&mut self) {
        if let Some((text, at)) = self.undone.pop() {
            self.before.push((self.text().to_owned(), self.cursor()));
            self.put(text, at);
        }
    }

    /// Swaps the signs around the cursor.
    pub(super) fn swap(&mut self) {
        self.remember(false);
        self.line.swap_graphemes();
    }

    fn put(&mut self, text: String, at: usize) {
        let at = at.min(text.len());
        self.line.set_buffer(text);
        self.line.set_insertion_point(at);
    }

    fn remove(&mut self, range: Range<usize>) {
        self.line.set_insertion_point(range.start);
        self.line.replace_range(range, "");
    }

    fn remember(&mut self, typing: bool) {
        self.yanked = None;
        self.undone.clear();
        if typing && self.typing {
            return;
        }
        self.typing = typing;
        self.before.push((self.text().to_owned(), self.cursor()));
        if self.before.len() > STATES {
            self.before.remove(0);
        }
    }

    fn range(&self, reach: Reach) -> Range<usize> {
        let (at, to) = (self.cursor(), self.target(reach));
        at.min(to)..at.max(to)
    }

    fn target(&self, reach: Reach) -> usize {
        let (text, at) = (self.text(), self.cursor());
        let (before, after) = text.split_at(at);
        let is_word = |(_, word): &(usize, &str)| word.chars().any(char::is_alphanumeric);
        match reach {
            Reach::SignBefore => self.line.grapheme_left_index(),
            Reach::SignAfter => self.line.grapheme_right_index(),
            Reach::WordBefore => before.split_word_bound_indices().rfind(is_word).map_or(0, |(at, _)| at),
            Reach::WordAfter => {
                let word = after.split_word_bound_indices().find(is_word);
                word.map_or(text.len(), |(from, word)| at + from + word.len())
            }
            Reach::BlankBefore => {
                let words = before.trim_end();
                words
                    .rfind(char::is_whitespace)
                    .map_or(0, |space| space + words[space..].chars().next().map_or(1, char::len_utf8))
            }
            Reach::LineStart => before.rfind('\n').map_or(0, |newline| newline + 1),
            Reach::LineEnd => after.find('\n').map_or(text.len(), |newline| at + newline),
            Reach::Start => 0,
            Reach::End => text.len(),
        }
    }
}
