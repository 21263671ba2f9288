//! What stands below the conversation: text that still grows, what waits for a word, the workers, what is pending, the
//! line being typed and one line of state. Decides who gets how many rows; draws nothing.

use unicode_width::UnicodeWidthChar;

use super::composer::View;
use super::painter::{Panel, Size};
use crate::terminal::Look;

/// Rows that the line being typed may take.
const INPUT: usize = 12;
/// Rows of the list of workers, with its heading.
const CREW: usize = 7;
/// Rows of what is pending.
const PENDING: usize = 4;
/// Rows of a call that waits for a word.
const CARD: usize = 12;

/// What is around the line being typed: rows that may have been made for another width.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scene {
    /// Text and calls that are not final yet; the last rows count most.
    pub live: Vec<String>,
    /// What waits for the person's word.
    pub card: Vec<String>,
    /// The workers.
    pub crew: Vec<String>,
    /// What was said and not read yet.
    pub pending: Vec<String>,
    /// The line at the bottom.
    pub status: String,
    /// A run goes on: what is typed is a steer.
    pub busy: bool,
    /// There is something that Esc stops.
    pub stops: bool,
    /// How the line is written.
    pub look: Look,
}

/// Rows that the line being typed may have at most.
pub fn input_rows(size: Size) -> usize {
    (size.height / 2).clamp(1, INPUT)
}

/// The rows, the most important ones where there is no room for all.
pub fn panel(scene: &Scene, view: &View, size: Size) -> Panel {
    let mut room = size.height.saturating_sub(1).max(1);
    let mut take = |rows: usize, most: usize| {
        let taken = rows.min(most).min(room);
        room -= taken;
        taken
    };
    let input = take(view.rows.len(), usize::MAX);
    let status = take(usize::from(!scene.status.is_empty()), 1);
    let card = take(scene.card.len(), CARD);
    let menu = take(view.menu.len(), usize::MAX);
    let pending = take(scene.pending.len(), PENDING);
    let crew = take(scene.crew.len(), CREW);
    let live = take(scene.live.len(), usize::MAX);
    let width = size.width.saturating_sub(1);
    let mut rows = Vec::new();
    let mut add = |from: &[String]| rows.extend(from.iter().map(|row| fit(row, width)));
    add(&scene.live[scene.live.len() - live..]);
    add(&scene.card[..card]);
    add(&scene.crew[..crew]);
    add(&scene.pending[..pending]);
    let above = live + card + crew + pending;
    add(&view.rows[..input]);
    add(&view.menu[..menu]);
    if status == 1 {
        add(std::slice::from_ref(&scene.status));
    }
    let cursor = (above + view.cursor.0.min(input.saturating_sub(1)), view.cursor.1.min(width));
    Panel { rows, cursor }
}

/// The row cut to a width; its SGR sequences take none and are kept whole.
pub fn fit(row: &str, width: usize) -> String {
    let mut kept = String::with_capacity(row.len());
    let (mut used, mut escape) = (0, false);
    for one in row.chars() {
        escape |= one == '\x1b';
        if escape {
            kept.push(one);
            escape = !one.is_ascii_alphabetic();
            continue;
        }
        used += one.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(one);
    }
    kept
}
