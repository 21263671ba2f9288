//! The board as one screen of lines that fit it exactly.

use jiff::Timestamp;

use super::fit::{columns, cut, end, fit};
use super::list::{facts, list};
use super::{Board, Mode, View, What};
use crate::task::TaskStatus;
use crate::terminal::clean::one_line;
use crate::terminal::story;
use crate::terminal::wrap::wrapped;

/// Below so many columns there is one column at a time.
const NARROW: usize = 60;
/// Columns of the list: at least, and at most.
const LIST: (usize, usize) = (26, 40);
/// Lines that still change.
const LIVE: usize = 6;
/// Lines of a question's text.
const ASKED: usize = 3;

/// The keys, most important first.
const KEYS: [&str; 12] = [
    "s steer",
    "a abort",
    "↵ answer",
    "esc back",
    "d diff",
    "o result",
    "r retry",
    "f follow",
    "jk scroll",
    "tab next",
    "1-9 choose",
    "g/G ends",
];

impl Board {
    /// As many lines as the screen has rows, none wider than it, and where the cursor stands (column, row) when a line is
    /// typed.
    pub fn draw(&self, now: Timestamp) -> (Vec<String>, Option<(u16, u16)>) {
        let (width, height) = self.size;
        let (last, cursor) = self.last();
        let mut lines = vec![self.head()];
        let room = height.saturating_sub(2);
        let (left, right) = self.columns();
        let fill = |mut lines: Vec<String>, width: usize| {
            lines.truncate(room);
            lines.resize(room, String::new());
            lines.into_iter().map(move |line| fit(&line, width))
        };
        let workers = || list(&self.rows, self.chosen, self.look, left, room);
        match (left, right) {
            (_, 0) => lines.extend(fill(workers(), left)),
            (0, _) => lines.extend(fill(self.chosen_one(right, room, now), right)),
            _ => {
                let bar = self.look.dim("│ ");
                let pairs = fill(workers(), left).zip(fill(self.chosen_one(right, room, now), right));
                lines.extend(pairs.map(|(left, right)| format!("{left}{bar}{right}")));
            }
        }
        lines.push(last);
        lines.truncate(height);
        let lines = lines.iter().map(|line| cut(line, width)).collect();
        let row = u16::try_from(height.saturating_sub(1)).unwrap_or(u16::MAX);
        (lines, cursor.filter(|_| height > 1).map(|column| (u16::try_from(column).unwrap_or(u16::MAX), row)))
    }

    pub(super) fn is_narrow(&self) -> bool {
        self.size.0 < NARROW
    }

    /// Columns of the list and of what is beside it; none of what is not seen.
    fn columns(&self) -> (usize, usize) {
        let width = self.size.0;
        match (self.is_narrow(), self.on_list) {
            (true, true) => (width, 0),
            (true, false) => (0, width),
            (false, _) => {
                let left = (width / 4).clamp(LIST.0, LIST.1);
                (left, width - left - 2)
            }
        }
    }

    pub(super) fn log_width(&self) -> usize {
        if self.is_narrow() { self.size.0 } else { self.columns().1 }
    }

    fn head(&self) -> String {
        let count = |wanted: &dyn Fn(TaskStatus) -> bool| self.rows.iter().filter(|row| wanted(row.status)).count();
        let counts = [
            (count(&|status| status == TaskStatus::Running), "▶"),
            (count(&|status| matches!(status, TaskStatus::Queued)), "◌"),
            (count(&|status| status == TaskStatus::Parked), "?"),
            (count(&TaskStatus::is_over), "■"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, sign)| format!(" {count}{sign}"));
        let view = match (&self.view, self.chosen) {
            (_, None) => String::new(),
            (View::Log, Some(_)) if self.top.is_some() => "  log, f follows".to_owned(),
            (View::Log, Some(_)) => String::new(),
            (View::Edits, Some(id)) => format!("  changes of {id}, esc log"),
            (View::Result(_), Some(id)) => format!("  result of {id}, esc log"),
        };
        format!("{}{}{}", self.look.bold("workers"), counts.collect::<String>(), self.look.dim(view))
    }

    /// The chosen worker: who it is, what it does, and at the end what it asks.
    fn chosen_one(&self, width: usize, height: usize, now: Timestamp) -> Vec<String> {
        let Some(row) = self.row() else { return vec![] };
        let doing = if row.doing.is_empty() { String::new() } else { format!(" · {}", one_line(&row.doing)) };
        let title = format!("{}{}", one_line(&row.title), self.look.dim(doing));
        let mut lines = vec![facts(row, self.look, width), cut(&title, width)];
        let asked = self.asked(width, height, now);
        let (_, seen) = self.extent();
        let (view, edits) = (self.view_lines(), matches!(self.view, View::Edits));
        if view.is_empty() && edits {
            lines.push(self.look.dim("no file was changed yet"));
        } else if view.is_empty() && row.status == TaskStatus::Queued {
            lines.push(self.look.dim("it has not begun"));
        }
        let first = self.top.unwrap_or(usize::MAX).min(view.len().saturating_sub(seen));
        lines.extend(view.into_iter().skip(first).take(seen));
        lines.resize(height.saturating_sub(asked.len()), String::new());
        lines.extend(asked);
        lines
    }

    /// How many lines the view has, and how many are seen.
    pub(super) fn extent(&self) -> (usize, usize) {
        let height = self.size.1.saturating_sub(2);
        let asked = self.asked(self.log_width(), height, Timestamp::UNIX_EPOCH).len();
        (self.view_lines().len(), height.saturating_sub(2 + asked))
    }

    fn view_lines(&self) -> Vec<String> {
        let log = self.chosen.and_then(|id| self.logs.get(&id));
        let lines = |edits, live| log.map(|log| log.lines(edits, live)).unwrap_or_default();
        match &self.view {
            View::Log => lines(false, LIVE),
            View::Edits => lines(true, 0),
            View::Result(lines) => lines.clone(),
        }
    }

    /// The open question, in at most half of the height.
    fn asked(&self, width: usize, height: usize, now: Timestamp) -> Vec<String> {
        let Some(question) = self.question() else { return vec![] };
        let text =
            wrapped(&format!("{} {}", question.name(), one_line(&question.text)), width.saturating_sub(2).max(1));
        let mut lines: Vec<String> = text.iter().take(ASKED).map(|line| format!("  {line}")).collect();
        if let Some(first) = lines.first_mut() {
            *first = format!("{} {}", self.look.warn("?"), text[0]);
        }
        let options = question.options.iter().enumerate();
        lines.extend(options.map(|(at, option)| format!("  {} {}", self.look.bold(at + 1), one_line(option))));
        let left = std::time::Duration::try_from(question.deadline.duration_since(now)).unwrap_or_default();
        let default = format!("  else {} in {}", one_line(&question.default), story::whole(left));
        lines.push(self.look.dim(default));
        lines.truncate(height / 2);
        lines
    }

    /// The last line, and the column of the cursor in it.
    fn last(&self) -> (String, Option<usize>) {
        let width = self.size.0;
        match &self.mode {
            Mode::Type(task, what, line) => {
                let ask = match what {
                    What::Steer => format!("steer {task}"),
                    What::Answer(number) => format!("answer {task} q_{number:03}"),
                    What::Continue => format!("continue {task} with"),
                };
                let ask = cut(&format!("{ask} › "), width / 2);
                let room = width.saturating_sub(columns(&ask) + 1);
                let (before, after) = line.get_buffer().split_at(line.insertion_point());
                let shown = end(before, room);
                let column = columns(&ask) + columns(shown);
                (format!("{}{shown}{after}", self.look.name(ask)), Some(column.min(width.saturating_sub(1))))
            }
            Mode::Sure(task) => {
                (format!("{} {}", self.look.warn(format!("end {task}?")), "y ends it, any other key leaves it"), None)
            }
            Mode::Watch => match &self.notice {
                Some(notice) => (notice.clone(), None),
                None => (self.look.dim(keys(width)), None),
            },
        }
    }
}

/// As many of the keys as fit.
fn keys(width: usize) -> String {
    let mut line = String::new();
    for key in KEYS {
        let gap = if line.is_empty() { "" } else { "  " };
        if columns(&line) + gap.len() + columns(key) <= width {
            line.push_str(gap);
            line.push_str(key);
        }
    }
    line
}
