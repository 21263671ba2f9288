//! The typed text as rows of a terminal, and where its cursor stands. Nothing is changed or drawn here.

use unicode_segmentation::UnicodeSegmentation;

use crate::terminal::wrap::columns;

/// Columns before the text of every row.
pub(super) const MARGIN: usize = 3;
/// Columns of a tab.
const TAB: &str = "    ";

/// Rows of a text and the cursor among them, in columns of the text alone.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) rows: Vec<String>,
    /// Row and column.
    pub(super) cursor: (usize, usize),
}

impl Layout {
    /// Breaks the text after so many columns; the cursor is a place in bytes.
    pub(super) fn of(text: &str, cursor: usize, width: usize) -> Layout {
        let (rows, places) = laid(text, width);
        let place = places.iter().find(|(at, ..)| *at >= cursor).or(places.last());
        Layout { rows, cursor: place.map_or((0, 0), |(_, row, column)| (*row, *column)) }
    }

    /// At most so many rows, those around the cursor.
    pub(super) fn window(mut self, most: usize) -> Layout {
        let most = most.max(1);
        if self.rows.len() > most {
            let first = (self.cursor.0 + 1).saturating_sub(most.div_ceil(2)).min(self.rows.len() - most);
            self.rows.drain(..first);
            self.rows.truncate(most);
            self.cursor.0 -= first;
        }
        self
    }
}

/// The place one row above or below the cursor, in bytes; `None` outside the text.
pub(super) fn beside(text: &str, cursor: usize, width: usize, down: bool) -> Option<usize> {
    let (_, places) = laid(text, width);
    let (_, row, column) = *places.iter().find(|(at, ..)| *at >= cursor)?;
    let row = if down { row + 1 } else { row.checked_sub(1)? };
    let mut near = places.iter().filter(|(_, other, beside)| *other == row && *beside <= column);
    near.next_back().map(|(at, ..)| *at)
}

/// The rows, and row and column of each place in bytes.
fn laid(text: &str, width: usize) -> (Vec<String>, Vec<(usize, usize, usize)>) {
    let width = width.max(2);
    let (mut rows, mut row, mut used, mut places) = (Vec::new(), String::new(), 0, Vec::new());
    for (at, sign) in text.grapheme_indices(true) {
        if sign == "\n" || sign == "\r\n" {
            places.push((at, rows.len(), used));
            rows.push(std::mem::take(&mut row));
            used = 0;
            continue;
        }
        let shown = if sign == "\t" { TAB } else { sign };
        let wide = columns(shown);
        if used + wide > width {
            rows.push(std::mem::take(&mut row));
            used = 0;
        }
        places.push((at, rows.len(), used));
        row.push_str(shown);
        used += wide;
    }
    // A cursor behind a full row stands at the beginning of the next.
    if used >= width {
        rows.push(std::mem::take(&mut row));
        used = 0;
    }
    places.push((text.len(), rows.len(), used));
    rows.push(row);
    (rows, places)
}
