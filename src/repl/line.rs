//! The line being typed, as others may see it, and whether something can be printed above it right now.
//!
//! The line editor moves up by its own estimate of the rows that the line takes before it prints above it. The estimate
//! counts bytes and takes the cursor to be at the end; where that is wrong it would overwrite the row above the prompt.
//! So what is to be printed waits while the estimate is wrong: a long line in Chinese, a wrapped line edited in its
//! middle, a line of several rows.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reedline::{Highlighter, StyledText};
use unicode_width::UnicodeWidthChar;

/// Columns of the prompt; the editor's estimate is right for this width only.
pub(super) const PROMPT: usize = 3;

/// What stands in the prompt. Cheap to clone; all clones see the same line.
#[derive(Clone, Default)]
pub(super) struct Line {
    shared: Arc<(Mutex<Typed>, Condvar)>,
}

#[derive(Default)]
struct Typed {
    text: String,
    cursor: usize,
    /// The editor is gone: nothing stands in the way any more.
    over: bool,
}

impl Line {
    /// Waits until printing above the line is safe, or the time is over; answers whether it is.
    pub(super) fn wait_until_safe(&self, width: usize, most: Duration) -> bool {
        let wrong = |typed: &mut Typed| !typed.over && !is_safe(&typed.text, typed.cursor, width);
        let (_, changed) = &*self.shared;
        let waited = changed.wait_timeout_while(self.lock(), most, wrong);
        !waited.map_or_else(|poisoned| poisoned.into_inner().1, |waited| waited.1).timed_out()
    }

    /// Whether the line is one row that leaves room for a few words at its right end.
    pub(super) fn leaves_room_for(&self, words: &str, width: usize) -> bool {
        let typed = self.lock();
        !typed.text.contains('\n') && typed.text.len() + words.len() + PROMPT + 1 < width
    }

    /// From now on everything can be printed.
    pub(super) fn close(&self) {
        self.lock().over = true;
        self.shared.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Typed> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The editor calls it with every change of the line; it changes no colours.
impl Highlighter for Line {
    fn highlight(&self, text: &str, cursor: usize) -> StyledText {
        let mut typed = self.lock();
        text.clone_into(&mut typed.text);
        typed.cursor = cursor;
        drop(typed);
        self.shared.1.notify_all();
        let mut plain = StyledText::new();
        plain.push((Default::default(), text.to_owned()));
        plain
    }
}

/// Whether the editor's estimate of the cursor's row is right.
pub fn is_safe(text: &str, cursor: usize, width: usize) -> bool {
    let width = width.max(1);
    let rows = |(at, line): (usize, &str)| (line.len() + if at == 0 { PROMPT } else { 0 }) / width + 1;
    let estimate = text.lines().enumerate().map(rows).sum::<usize>().saturating_sub(1);
    let (row, column) = position(&text[..cursor.min(text.len())], width);
    // At the very edge terminals differ in when they wrap.
    estimate == row && (1..width).contains(&column)
}

/// The cursor's row below the prompt's first, and its column.
fn position(before: &str, width: usize) -> (usize, usize) {
    let (mut row, mut column) = (0, PROMPT);
    for one in before.chars() {
        let wide = one.width().unwrap_or(0);
        if one == '\n' {
            (row, column) = (row + 1, PROMPT);
        } else if column + wide > width {
            (row, column) = (row + 1, wide);
        } else {
            column += wide;
        }
    }
    (row, column)
}
