//! Tables: cells of one line, columns as wide as they need to be and as there is room for.

use super::Page;
use super::inline::inline;
use crate::terminal::ink::{Ink, Line, flow, piece, width};

/// Columns between two cells: ` │ `.
const BETWEEN: usize = 3;
/// A column is never narrower; where that has no room, a row becomes a list.
const NARROWEST: usize = 4;

/// Where the words of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Middle,
    Right,
}

/// A table as far as it was written.
#[derive(Debug, Clone)]
pub(super) struct Table {
    head: Vec<String>,
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
    /// Bytes of the rows.
    pub(super) size: usize,
    /// Its head was shown.
    headed: bool,
}

/// The cells of a row; a bar with a backslash before it, or within code, is none.
pub(super) fn cells(line: &str) -> Vec<String> {
    let bare = line.trim();
    let bare = bare.strip_prefix('|').unwrap_or(bare);
    let mut cells = vec![String::new()];
    let (mut escaped, mut in_code) = (false, false);
    for one in bare.chars() {
        let Some(cell) = cells.last_mut() else { break };
        match one {
            '|' if escaped => {
                cell.pop();
                cell.push('|');
            }
            '|' if !in_code => cells.push(String::new()),
            one => cell.push(one),
        }
        in_code ^= one == '`' && !escaped;
        escaped = one == '\\' && !escaped;
    }
    if cells.len() > 1 && cells.last().is_some_and(|last| last.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// The line below the head: `|---|:-:|`.
pub(super) fn aligns(line: &str) -> Option<Vec<Align>> {
    if !line.contains('-') || !line.chars().all(|one| matches!(one, '|' | '-' | ':' | ' ')) {
        return None;
    }
    let align = |cell: &String| {
        let bare = cell.trim_matches(':');
        let fits = !bare.is_empty() && bare.chars().all(|one| one == '-');
        fits.then(|| match (cell.starts_with(':'), cell.ends_with(':')) {
            (true, true) => Align::Middle,
            (false, true) => Align::Right,
            (_, false) => Align::Left,
        })
    };
    cells(line).iter().map(align).collect()
}

impl Table {
    /// A table with this head; `None` when the line below it belongs to no such head.
    pub(super) fn begin(head: &str, below: &str) -> Option<Table> {
        let (aligns, bars) = (aligns(below)?, head.contains('|') && (below.contains('|') || below.contains("---")));
        let head = cells(head);
        let fits = bars && head.len() == aligns.len();
        fits.then_some(Table { head, aligns, rows: Vec::new(), size: 0, headed: false })
    }

    pub(super) fn push(&mut self, line: &str) {
        self.size += line.len();
        self.rows.push(cells(line));
    }

    /// The same with its last rows only.
    pub(super) fn glimpse(&self, rows: usize) -> Table {
        let from = self.rows.len().saturating_sub(rows);
        Table { head: self.head.clone(), aligns: self.aligns.clone(), rows: self.rows[from..].to_vec(), ..*self }
    }

    /// Its lines so far; what comes is told without its head.
    pub(super) fn take(&mut self, page: Page) -> Vec<Line> {
        let bold = |text: &String| inline(text, Ink::BOLD, page.look);
        let head: Vec<Vec<Line>> = self.head.iter().map(bold).collect();
        let plain = |row: &Vec<String>| row.iter().map(|text| inline(text, Ink::PLAIN, page.look)).collect();
        let rows: Vec<Vec<Vec<Line>>> = self.rows.iter().map(plain).collect();
        let shown = std::mem::replace(&mut self.headed, true);
        (self.size, self.rows) = (0, Vec::new());
        let count = rows.iter().map(Vec::len).chain([head.len()]).max().unwrap_or(0);
        if count * (NARROWEST + BETWEEN) > page.room + BETWEEN {
            return listed(&head, &rows, shown);
        }
        let widths = self.widths(&head, &rows, count, page.room);
        let is_tall = |row: &Vec<Vec<Line>>| row.iter().zip(&widths).any(|(cell, room)| height(cell, *room) > 1);
        let rule =
            || vec![piece(widths.iter().map(|room| "─".repeat(*room)).collect::<Vec<_>>().join("─┼─"), Ink::DIM)];
        let mut lines = if shown { vec![] } else { self.row(&head, &widths) };
        let tall = rows.iter().any(is_tall);
        for (at, row) in rows.iter().enumerate() {
            // Rows of several lines need something between them.
            if (at == 0 && !shown) || tall {
                lines.push(rule());
            }
            lines.extend(self.row(row, &widths));
        }
        if rows.is_empty() && !shown {
            lines.push(rule());
        }
        lines
    }

    /// As wide as the widest cell; where that is too much, the widest columns give way first.
    fn widths(&self, head: &[Vec<Line>], rows: &[Vec<Vec<Line>>], count: usize, room: usize) -> Vec<usize> {
        let mut widths = vec![1; count];
        for row in rows.iter().map(Vec::as_slice).chain([head]) {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = cell.iter().map(|line| width(line)).max().unwrap_or(0).max(*widest);
            }
        }
        let free = room.saturating_sub(BETWEEN * count.saturating_sub(1));
        // The largest limit that all columns together can keep.
        let total = |limit: usize| widths.iter().map(|wide| (*wide).min(limit)).sum::<usize>();
        let (mut low, mut high) = (NARROWEST, widths.iter().copied().max().unwrap_or(NARROWEST).max(NARROWEST));
        while low < high {
            let middle = (low + high).div_ceil(2);
            if total(middle) <= free { low = middle } else { high = middle - 1 }
        }
        widths.iter().map(|wide| (*wide).min(low)).collect()
    }

    fn row(&self, row: &[Vec<Line>], widths: &[usize]) -> Vec<Line> {
        let cells: Vec<Vec<Line>> = row.iter().zip(widths).map(|(cell, room)| flowed(cell, *room)).collect();
        let tall = cells.iter().map(Vec::len).max().unwrap_or(1);
        (0..tall).map(|at| self.line(&cells, widths, at)).collect()
    }

    /// One line of a row.
    fn line(&self, cells: &[Vec<Line>], widths: &[usize], at: usize) -> Line {
        let mut line = Vec::new();
        for (column, room) in widths.iter().enumerate() {
            let words = cells.get(column).and_then(|cell| cell.get(at)).cloned().unwrap_or_default();
            let free = room.saturating_sub(width(&words));
            let left = match self.aligns.get(column) {
                Some(Align::Right) => free,
                Some(Align::Middle) => free / 2,
                Some(Align::Left) | None => 0,
            };
            if column > 0 {
                line.push(piece(" │ ", Ink::DIM));
            }
            line.push(piece(" ".repeat(left), Ink::PLAIN));
            line.extend(words);
            line.push(piece(" ".repeat(free - left), Ink::PLAIN));
        }
        line
    }
}

fn flowed(cell: &[Line], room: usize) -> Vec<Line> {
    cell.iter().flat_map(|line| flow(line, room)).collect()
}

fn height(cell: &[Line], room: usize) -> usize {
    cell.iter().map(|line| if width(line) <= room { 1 } else { flow(line, room).len() }).sum()
}

/// Each row as a list of its cells, each with the name of its column.
fn listed(head: &[Vec<Line>], rows: &[Vec<Vec<Line>>], shown: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    if rows.is_empty() && !shown {
        lines.extend(head.iter().flatten().cloned());
    }
    for (at, row) in rows.iter().enumerate() {
        if at > 0 || shown {
            lines.push(vec![piece("──", Ink::DIM)]);
        }
        for (column, cell) in row.iter().enumerate() {
            let name = head.get(column).and_then(|name| name.first()).cloned().unwrap_or_default();
            let mut cell = cell.iter().cloned();
            let first = cell.next().unwrap_or_default();
            let colon = if name.is_empty() { vec![] } else { vec![piece(": ", Ink::BOLD)] };
            lines.push(name.into_iter().chain(colon).chain(first).collect());
            lines.extend(cell);
        }
    }
    lines
}
