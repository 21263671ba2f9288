//! The bottom of the terminal: rows that are redrawn in place below lines that stay for ever, or one full screen. Turns
//! what is to be seen into bytes; what the rows say, and who writes the bytes, is decided elsewhere.

use std::io::Write;

use crate::terminal::wrap::columns;

/// From here on the terminal shows nothing until [`END`], where it knows how to.
const BEGIN: &[u8] = b"\x1b[?2026h\x1b[?25l";
const END: &[u8] = b"\x1b[?25h\x1b[?2026l";

/// Rows at the bottom, each narrower than the terminal, with SGR sequences at most; and where the cursor stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Panel {
    /// From top to bottom; never more than the terminal has, less one.
    pub rows: Vec<String>,
    /// Row and column in the panel, from 0.
    pub cursor: (usize, usize),
}

/// A whole screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// From top to bottom; what lies below the terminal's last row is not drawn.
    pub rows: Vec<String>,
    /// Row and column, from 0; hidden when there is none.
    pub cursor: Option<(usize, usize)>,
}

/// Columns and rows of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns, at least 1.
    pub width: usize,
    /// Rows, at least 1.
    pub height: usize,
}

/// Remembers what stands at the bottom, so that only what differs is written.
#[derive(Debug)]
pub struct Painter {
    panel: Panel,
    width: usize,
    /// A row that became too wide goes on in the next, as nearly all terminals do when they get narrower.
    reflows: bool,
    frame: Option<Frame>,
}

impl Painter {
    /// For a terminal whose cursor stands at the beginning of an empty row.
    pub fn new(reflows: bool) -> Painter {
        Painter { panel: Panel::default(), width: 0, reflows, frame: None }
    }

    /// Writes the lines above the panel and draws the panel below them. Lines may be wider than the terminal.
    ///
    /// Where a full screen is shown, it is left first.
    pub fn paint(&mut self, lines: &[String], panel: &Panel, size: Size, out: &mut Vec<u8>) {
        let same_width = self.width == size.width;
        if lines.is_empty() && same_width && self.panel == *panel && self.frame.is_none() {
            return;
        }
        out.extend_from_slice(BEGIN);
        if self.frame.take().is_some() {
            out.extend_from_slice(b"\x1b[?1049l");
        }
        up(self.above(size.width), out);
        out.push(b'\r');
        let keep = lines.is_empty() && same_width;
        if !keep {
            out.extend_from_slice(b"\x1b[J");
        }
        for line in lines {
            put(line, out);
            out.extend_from_slice(b"\r\n");
        }
        for (at, row) in panel.rows.iter().enumerate() {
            if at > 0 {
                out.extend_from_slice(b"\r\n");
            }
            if !keep || self.panel.rows.get(at) != Some(row) {
                put(row, out);
                out.extend_from_slice(b"\x1b[K");
            }
        }
        let last = panel.rows.len().saturating_sub(1);
        if keep && self.panel.rows.len() > panel.rows.len() {
            // A row that was kept has not moved the cursor to its end.
            column(columns_of(panel.rows.last()), out);
            out.extend_from_slice(b"\x1b[J");
        }
        up(last.saturating_sub(panel.cursor.0), out);
        column(panel.cursor.1, out);
        out.extend_from_slice(END);
        self.panel.clone_from(panel);
        self.width = size.width;
    }

    /// Draws a whole screen on the terminal's other page; [`Painter::paint`] comes back.
    pub fn fill(&mut self, frame: &Frame, size: Size, out: &mut Vec<u8>) {
        if self.frame.as_ref() == Some(frame) {
            return;
        }
        out.extend_from_slice(BEGIN);
        let drawn = self.frame.take().unwrap_or_else(|| {
            out.extend_from_slice(b"\x1b[?1049h\x1b[2J");
            Frame::default()
        });
        let rows = frame.rows.len().min(size.height);
        for (at, row) in frame.rows[..rows].iter().enumerate() {
            if drawn.rows.get(at) != Some(row) {
                place(at, 0, out);
                out.extend_from_slice(b"\x1b[2K");
                put(row, out);
            }
        }
        for at in rows..drawn.rows.len().min(size.height) {
            place(at, 0, out);
            out.extend_from_slice(b"\x1b[2K");
        }
        out.extend_from_slice(b"\x1b[?2026l");
        if let Some((row, column)) = frame.cursor {
            place(row, column, out);
            out.extend_from_slice(b"\x1b[?25h");
        }
        self.frame = Some(frame.clone());
    }

    /// The terminal has another size, or somebody else has drawn on it: the next full screen is drawn whole.
    pub fn forget_frame(&mut self, out: &mut Vec<u8>) {
        if let Some(frame) = &mut self.frame {
            frame.rows.clear();
            out.extend_from_slice(b"\x1b[2J");
        }
    }

    /// Takes the panel away; the cursor stands where its first row began, and everything drawn later begins there.
    pub fn lift(&mut self, size: Size, out: &mut Vec<u8>) {
        if self.frame.take().is_some() {
            out.extend_from_slice(b"\x1b[?1049l");
        }
        up(self.above(size.width), out);
        out.extend_from_slice(b"\r\x1b[J\x1b[?25h");
        self.panel = Panel::default();
    }

    /// Empties the screen; what was above is in the terminal's history.
    pub fn clear(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b[2J\x1b[H");
        self.panel = Panel::default();
    }

    /// Rows of the terminal between the panel's first and the cursor, also after the terminal got another width.
    fn above(&self, width: usize) -> usize {
        let (row, column) = self.panel.cursor;
        if !self.reflows || width >= self.width {
            return row;
        }
        let width = width.max(1);
        let rows = self.panel.rows.iter().take(row).map(|row| columns_of(Some(row)).div_ceil(width).max(1));
        rows.sum::<usize>() + column / width
    }
}

/// Columns that a row takes; its SGR sequences take none.
fn columns_of(row: Option<&String>) -> usize {
    row.map_or(0, |row| columns(&unpainted(row)))
}

/// The row without its SGR sequences.
pub(super) fn unpainted(row: &str) -> String {
    let mut plain = String::with_capacity(row.len());
    let mut rest = row;
    while let Some(at) = rest.find("\x1b[") {
        plain.push_str(&rest[..at]);
        rest = rest[at..].split_once('m').map_or("", |(_, rest)| rest);
    }
    plain.push_str(rest);
    plain
}

/// A text, with whatever colour it left on taken off.
fn put(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    if text.contains('\x1b') {
        out.extend_from_slice(b"\x1b[0m");
    }
}

fn up(rows: usize, out: &mut Vec<u8>) {
    if rows > 0 {
        let _ = write!(out, "\x1b[{rows}A");
    }
}

/// To a column of this row.
fn column(at: usize, out: &mut Vec<u8>) {
    out.push(b'\r');
    if at > 0 {
        let _ = write!(out, "\x1b[{at}C");
    }
}

/// To a place on the screen.
fn place(row: usize, column: usize, out: &mut Vec<u8>) {
    let _ = write!(out, "\x1b[{};{}H", row + 1, column + 1);
}
