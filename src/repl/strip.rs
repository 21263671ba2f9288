//! The workers in one line each, as they stand above the line being typed. The full story is `/tasks` and the board.

use std::time::Duration;

use jiff::Timestamp;

use super::panel::fit;
use crate::message::Spent;
use crate::runtime::TaskRow;
use crate::task::TaskStatus;
use crate::terminal::clean::one_line;
use crate::terminal::wrap::{columns, cut};
use crate::terminal::{Look, story};

/// Workers that are shown.
const SHOWN: usize = 5;
/// Columns of what a worker is called.
const NAME: usize = 10;

/// A heading and a row for each worker that goes on, those with a question first; nothing when none does.
pub(super) fn strip(rows: &[TaskRow], look: Look, width: usize) -> Vec<String> {
    let mut alive: Vec<&TaskRow> = rows.iter().filter(|row| !row.status.is_over()).collect();
    if alive.is_empty() {
        return Vec::new();
    }
    alive.sort_by_key(|row| (rank(row.status), row.id));
    let width = width.saturating_sub(1);
    let mut lines = vec![heading("workers", look, width)];
    lines.extend(alive.iter().take(SHOWN).map(|row| worker(row, look, width)));
    if alive.len() > SHOWN {
        let more = format!("  … {} more; ← shows all", alive.len() - SHOWN);
        lines.push(look.dim(cut(&more, width)));
    }
    lines
}

/// `─ workers ─────`.
pub(super) fn heading(name: &str, look: Look, width: usize) -> String {
    let rest = width.saturating_sub(columns(name) + 4);
    look.dim(cut(&format!("─ {name} {}", "─".repeat(rest)), width))
}

fn rank(status: TaskStatus) -> u8 {
    match status {
        TaskStatus::Parked => 0,
        TaskStatus::Running => 1,
        _ => 2,
    }
}

/// `  t_003 ▶ coder      02:14  cargo bench  ctx 31%  $0.08`.
fn worker(row: &TaskRow, look: Look, width: usize) -> String {
    let agent = row.agent.as_deref().unwrap_or("worker");
    let agent = cut(&one_line(agent), NAME);
    let pad = " ".repeat(NAME.saturating_sub(columns(&agent)));
    let head = format!(" {} {} {agent}{pad} ", look.name(row.id), story::mark(look, row.status));
    let taken = columns(&row.id.to_string()) + NAME + 5;
    let clock = row.started.map(|_| clock(row.took)).unwrap_or_default();
    let window = (row.window > 0 && row.context > 0).then(|| format!("ctx {}", story::share(row.context, row.window)));
    let spent = (row.spent != Spent::default()).then(|| row.spent.to_string());
    let facts: Vec<String> = window.into_iter().chain(spent).collect();
    let facts = facts.join("  ");
    let room = width.saturating_sub(taken + 7 + columns(&facts) + 2);
    let what = cut(&what(row), room);
    let gap = " ".repeat(room.saturating_sub(columns(&what)));
    fit(&format!("{head}{clock:>6} {what}{gap}  {}", look.dim(facts)), width)
}

fn what(row: &TaskRow) -> String {
    if let Some(question) = row.questions.first() {
        let left = Duration::try_from(question.deadline.duration_since(Timestamp::now())).unwrap_or_default();
        let (text, left) = (one_line(&question.text), story::whole(left));
        return format!("asks: {text} (/answer {} …, {left} left)", row.id);
    }
    match (row.status, row.place_in_queue) {
        (TaskStatus::Queued, Some(place)) => format!("queued {place} · {}", one_line(&row.title)),
        (TaskStatus::Queued, None) if !row.after.is_empty() => {
            let after: Vec<String> = row.after.iter().map(ToString::to_string).collect();
            format!("waits for {} · {}", after.join(", "), one_line(&row.title))
        }
        _ if row.doing.is_empty() => one_line(&row.title),
        _ => format!("{} · {}", one_line(&row.doing), one_line(&row.title)),
    }
}

/// Minutes and seconds: `02:14`.
fn clock(took: Duration) -> String {
    let seconds = took.as_secs();
    match seconds {
        0..3_600 => format!("{:02}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
    }
}
