//! One screen of all workers: state, turn, what each does now, its window, its cost, how it gets on, and the questions that
//! wait. Rows in, lines out; when it is drawn, and where, is the front ends' affair.

use std::time::Duration;

use jiff::Timestamp;

use super::clean::one_line;
use super::wrap::{columns, cut};
use super::{Look, story};
use crate::message::{Spent, Tally};
use crate::runtime::TaskRow;
use crate::task::{Question, TaskStatus};

/// Columns from which a task that goes on has all in one line.
const WIDE: usize = 120;
/// Columns of a task's facts in such a line.
const FACTS: usize = 66;
/// Tasks that have ended and are shown; the youngest.
const ENDED: usize = 8;
/// A worker that was not heard of for so long is called quiet.
const QUIET: Duration = Duration::from_secs(30);
/// Heights of the meter, from nothing new to much.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// All tasks: those that go on, by number, then those that ended last, the youngest first, and the sums.
pub fn crew(rows: &[TaskRow], now: Timestamp, look: Look, width: usize) -> Vec<String> {
    let width = width.max(20);
    let (over, live): (Vec<&TaskRow>, Vec<&TaskRow>) = rows.iter().partition(|row| row.status.is_over());
    let mut lines: Vec<String> = live.iter().flat_map(|row| task(row, now, look, width)).collect();
    lines.extend(over.iter().rev().take(ENDED).map(|row| ended(row, look, width)));
    if over.len() > ENDED {
        lines.push(
            look.dim(cut(&format!("… {} more ended; `tillerman tasks list` shows all", over.len() - ENDED), width)),
        );
    }
    lines.push(look.dim(cut(&sums(rows, over.len()), width)));
    lines
}

/// A task that goes on: one line where there is room, else two; and one for each question.
pub fn task(row: &TaskRow, now: Timestamp, look: Look, width: usize) -> Vec<String> {
    let (mark, id) = (story::mark(look, row.status), look.name(row.id));
    let taken = columns(&row.id.to_string()) + 3;
    let facts = facts(row);
    let mut lines = match width {
        WIDE.. => {
            let facts = joined(&facts, FACTS);
            let pad = " ".repeat(FACTS.saturating_sub(columns(&facts)));
            let what = doing(row, width.saturating_sub(taken + FACTS + 2));
            vec![format!("{mark} {id} {facts}{pad}  {what}")]
        }
        _ => {
            let facts = joined(&facts, width.saturating_sub(taken));
            vec![format!("{mark} {id} {facts}"), format!("  {}", doing(row, width.saturating_sub(2)))]
        }
    };
    let asks =
        row.questions.iter().map(|question| format!("  {}", asked(question, now, look, width.saturating_sub(2))));
    lines.extend(asks);
    lines
}

/// `? q_001 JWT or session cookie? [1] jwt* [2] cookie, default in 9m`; the default is marked, and named where it is no
/// option.
fn asked(question: &Question, now: Timestamp, look: Look, width: usize) -> String {
    let mut text = format!("{} {}", question.name(), one_line(&question.text));
    for (at, option) in question.options.iter().enumerate() {
        let star = if *option == question.default { "*" } else { "" };
        text.push_str(&format!(" [{}] {}{star}", at + 1, one_line(option)));
    }
    let named = if question.options.is_empty() { format!(" {}", one_line(&question.default)) } else { String::new() };
    let left = Duration::try_from(question.deadline.duration_since(now)).unwrap_or_default();
    let end = format!(", default{named} in {}", story::whole(left));
    let room = width.saturating_sub(columns(&end) + 2);
    let text = if room > 20 { format!("{}{end}", cut(&text, room)) } else { cut(&text, width.saturating_sub(2)) };
    format!("{} {text}", look.warn("?"))
}

/// What is known of it, most important first: later ones give way where there is no room.
fn facts(row: &TaskRow) -> Vec<String> {
    let turn = (row.turn > 0).then(|| format!("turn {}", row.turn));
    let took = row.started.map(|_| story::span(row.took));
    let window = (row.window > 0 && row.context > 0)
        .then(|| format!("{} {}", story::count(row.context), story::share(row.context, row.window)));
    let window = window.or_else(|| (row.context > 0).then(|| story::count(row.context)));
    let cost = (row.spent != Spent::default()).then(|| row.spent.to_string());
    let quiet = row.quiet.filter(|quiet| *quiet >= QUIET).map(|quiet| format!("quiet {}", story::span(quiet)));
    let jobs = match row.jobs.iter().filter(|job| job.ended.is_none()).count() {
        0 => None,
        1 => Some("1 job".to_owned()),
        many => Some(format!("{many} jobs")),
    };
    [Some(state(row)), turn, took, meter(row), window, cost, quiet, jobs].into_iter().flatten().collect()
}

/// As many as fit, in their order.
fn joined(facts: &[String], room: usize) -> String {
    let mut text = String::new();
    for fact in facts {
        let gap = if text.is_empty() { "" } else { "  " };
        if columns(&text) + gap.len() + columns(fact) <= room {
            text.push_str(gap);
            text.push_str(fact);
        }
    }
    text
}

/// Its state in words.
pub fn state(row: &TaskRow) -> String {
    let again = if row.attempt > 1 { format!(" again ({})", row.attempt) } else { String::new() };
    match (row.status, row.place_in_queue) {
        (TaskStatus::Queued, Some(place)) => format!("queued {place}"),
        (TaskStatus::Queued, None) if !row.after.is_empty() => "waits".to_owned(),
        (TaskStatus::LimitTurns, _) => "out of turns".to_owned(),
        (TaskStatus::Running, _) => format!("running{again}"),
        (status, _) => status.to_string(),
    }
}

/// How much that is new the last turns brought: `▁▃▅▁▁ flat 4`.
fn meter(row: &TaskRow) -> Option<String> {
    let bars: String = row.score.iter().map(|score| BARS[usize::from(*score).min(BARS.len() - 1)]).collect();
    let flat = if row.flat > 0 { format!(" flat {}", row.flat) } else { String::new() };
    (!bars.is_empty()).then(|| format!("{bars}{flat}"))
}

/// Its title, who does it, and what is done now or waited for; a long title gives way to what is done.
fn doing(row: &TaskRow, room: usize) -> String {
    let after: Vec<String> = row.after.iter().map(ToString::to_string).collect();
    let parts = [
        row.agent.as_deref().map(one_line).unwrap_or_default(),
        one_line(&row.doing),
        if after.is_empty() { String::new() } else { format!("after {}", after.join(" ")) },
    ];
    let rest: String = parts.iter().filter(|part| !part.is_empty()).map(|part| format!(" · {part}")).collect();
    let title = cut(&one_line(&row.title), room.saturating_sub(columns(&rest)).max(room / 2));
    cut(&format!("{title}{rest}"), room)
}

/// A task that is over, in one line.
pub fn ended(row: &TaskRow, look: Look, width: usize) -> String {
    let took = row.started.map(|_| story::span(row.took));
    let cost = (row.spent != Spent::default()).then(|| row.spent.to_string());
    let taken = columns(&row.id.to_string()) + 3;
    let facts: Vec<String> = [Some(state(row)), took, cost].into_iter().flatten().collect();
    let facts = joined(&facts, width.saturating_sub(taken));
    let room = width.saturating_sub(taken + columns(&facts) + 2);
    let what = if room > 4 { format!("  {}", look.dim(doing(row, room))) } else { String::new() };
    format!("{} {} {facts}{what}", story::mark(look, row.status), look.name(row.id))
}

/// `2 running · 1 parked · 3 queued · 14 ended · $0.12 · 1 question waits`.
fn sums(rows: &[TaskRow], ended: usize) -> String {
    let count = |wanted: TaskStatus| rows.iter().filter(|row| row.status == wanted).count();
    let states = [(TaskStatus::Running, "running"), (TaskStatus::Parked, "parked"), (TaskStatus::Queued, "queued")];
    let counted = states.map(|(status, word)| (count(status), word)).into_iter().chain([(ended, "ended")]);
    let mut parts: Vec<String> =
        counted.filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    let mut tally = Tally::default();
    rows.iter().for_each(|row| tally.add(Tally { calls: row.turn, usage: row.usage, spent: row.spent }));
    if tally.spent != Spent::default() {
        parts.push(tally.spent.to_string());
    }
    match rows.iter().map(|row| row.questions.len()).sum() {
        0_usize => {}
        1 => parts.push("1 question waits".to_owned()),
        many => parts.push(format!("{many} questions wait")),
    }
    if parts.is_empty() { "no tasks yet".to_owned() } else { parts.join(" · ") }
}
