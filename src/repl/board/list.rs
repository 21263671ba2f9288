//! The list of workers on the board: two lines each, the chosen one always among them.

use super::fit::{columns, cut, fit};
use crate::message::Spent;
use crate::runtime::TaskRow;
use crate::task::TaskId;
use crate::terminal::Look;
use crate::terminal::clean::one_line;
use crate::terminal::story;

/// Lines of a worker.
const EACH: usize = 2;

/// As many workers as fit into so many lines.
pub(super) fn list(rows: &[TaskRow], chosen: Option<TaskId>, look: Look, width: usize, height: usize) -> Vec<String> {
    if rows.is_empty() {
        return vec![fit(&look.dim("no workers yet"), width)];
    }
    let room = (height / EACH).max(1);
    let at = rows.iter().position(|row| Some(row.id) == chosen).unwrap_or(0);
    let first = (at + 1).saturating_sub(room);
    let shown = rows.iter().enumerate().skip(first).take(room);
    let mut lines: Vec<String> =
        shown.flat_map(|(at, row)| worker(at, row, Some(row.id) == chosen, look, width)).collect();
    lines.truncate(height);
    lines
}

/// `›1▶ t_003 coder    2m14s`, and below what fills its window, what it cost, and its title.
fn worker(at: usize, row: &TaskRow, chosen: bool, look: Look, width: usize) -> [String; EACH] {
    let pointer = if chosen { look.bold("›") } else { " ".to_owned() };
    let number = if at < 9 { (at + 1).to_string() } else { " ".to_owned() };
    let id = row.id.to_string();
    let id = if chosen { look.bold(look.name(id)) } else { look.name(id) };
    let head = format!("{pointer}{}{} {id} {}", look.dim(number), sign(row, look), role(row));
    let took = row.started.map(|_| story::span(row.took)).unwrap_or_default();
    let room = width.saturating_sub(columns(&took) + 1);
    let head = if took.is_empty() { fit(&head, width) } else { format!("{} {}", fit(&head, room), look.dim(took)) };
    let below: Vec<String> = [share(row), cost(row), Some(one_line(&row.title))].into_iter().flatten().collect();
    [fit(&head, width), fit(&format!("    {}", look.dim(below.join(" "))), width)]
}

/// The facts of a worker in one line, as many as fit: `▶ t_003 coder · running · 2m14s · ctx 31% · $0.08 · turn 7`.
pub(super) fn facts(row: &TaskRow, look: Look, width: usize) -> String {
    let turn = (row.turn > 0).then(|| format!("turn {}", row.turn));
    let took = row.started.map(|_| story::span(row.took));
    let window = share(row).map(|share| format!("ctx {share}"));
    let facts = [Some(crate::terminal::crew::state(row)), took, window, cost(row), turn];
    let mut line = format!("{} {} {}", sign(row, look), look.bold(look.name(row.id)), role(row));
    for fact in facts.into_iter().flatten() {
        if columns(&line) + columns(&fact) + 3 <= width {
            line.push_str(&format!(" {} {fact}", look.dim("·")));
        }
    }
    cut(&line, width)
}

fn sign(row: &TaskRow, look: Look) -> String {
    if row.questions.is_empty() { story::mark(look, row.status) } else { look.warn("?") }
}

fn role(row: &TaskRow) -> String {
    row.agent.as_deref().map_or_else(|| "worker".to_owned(), one_line)
}

fn share(row: &TaskRow) -> Option<String> {
    (row.window > 0 && row.context > 0).then(|| story::share(row.context, row.window))
}

fn cost(row: &TaskRow) -> Option<String> {
    (row.spent != Spent::default()).then(|| row.spent.to_string())
}
