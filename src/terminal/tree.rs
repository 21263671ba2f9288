//! The tree of a conversation on a terminal: rows with their branches beside them, lists of branches and of lines to go
//! back to. What there is to show is gathered in `session`.

use jiff::Timestamp;

use super::Look;
use super::clean::one_line;
use super::story::span;
use super::wrap::{columns, cut};
use crate::runtime::{Branch, Kind, Outline, Row, Turn};

/// Branches beside branches that are drawn; what is further away is drawn as far.
const DEEPEST: usize = 8;

/// A part of a tree. `how` says how the rest is reached.
pub fn tree(outline: &Outline, how: &str, look: Look, width: usize) -> Vec<String> {
    if outline.rows.is_empty() && outline.before + outline.after == 0 {
        return vec!["nothing was said yet".to_owned()];
    }
    let rest = |count: usize, side: &str| (count > 0).then(|| look.dim(format!("… {count} {side}; {how}")));
    let names = outline.rows.iter().map(|row| columns(&name(row))).max().unwrap_or(0);
    let rows = outline.rows.iter().map(|row| drawn(row, names, look, width));
    rest(outline.before, "before").into_iter().chain(rows).chain(rest(outline.after, "after")).collect()
}

/// All branches, the youngest last.
pub fn branches(branches: &[Branch], now: Timestamp, look: Look, width: usize) -> Vec<String> {
    if branches.is_empty() {
        return vec!["nothing was said yet".to_owned()];
    }
    let names = branches.iter().map(|branch| columns(&format!("m{}", branch.number))).max().unwrap_or(0);
    branches.iter().map(|branch| listed(branch, names, now, look, width)).collect()
}

/// Lines to go back to: each with the name of the place before it.
pub fn turns(turns: &[Turn], now: Timestamp, look: Look, width: usize) -> Vec<String> {
    let names = turns.iter().map(|turn| columns(&format!("m{}", turn.before))).max().unwrap_or(0);
    let line = |turn: &Turn| {
        let age = age(turn.at, now);
        let room = width.saturating_sub(names + columns(&age) + 8);
        let words = cut(&one_line(&turn.words), room);
        let name = look.name(format!("{:<names$}", format!("m{}", turn.before)));
        format!("  {name}  {words}  {}", look.dim(age))
    };
    turns.iter().map(line).collect()
}

fn listed(branch: &Branch, names: usize, now: Timestamp, look: Look, width: usize) -> String {
    let mark = if branch.is_current { look.good("●") } else { " ".to_owned() };
    let parts = branch.parts_at.map(|at| format!(", parts at m{at}")).unwrap_or_default();
    let plural = if branch.messages == 1 { "" } else { "s" };
    let facts = format!("{} message{plural}{parts}, {}", branch.messages, age(branch.at, now));
    let room = width.saturating_sub(names + columns(&facts) + 10);
    let words = cut(&one_line(&branch.words), room);
    let name = look.name(format!("{:<names$}", format!("m{}", branch.number)));
    format!("{mark} {name}  {} {words}  {}", who(branch.kind, 0), look.dim(facts))
}

fn drawn(row: &Row, names: usize, look: Look, width: usize) -> String {
    let mark = if row.is_here { look.good("●") } else { " ".to_owned() };
    let beside = match row.depth {
        0 => String::new(),
        depth => "┊ ".repeat(depth.min(DEEPEST).min(width / 10)),
    };
    let what = match row.calls {
        0 => one_line(&row.words),
        1 => format!("1 call: {}", one_line(&row.words)),
        calls => format!("{calls} calls: {}", one_line(&row.words)),
    };
    let room = width.saturating_sub(names + columns(&beside) + 7);
    let line = format!("{} {}", who(row.kind, row.calls), cut(&what, room));
    let name = look.name(format!("{:<names$}", name(row)));
    let line = if row.is_current && row.calls == 0 { line } else { look.dim(line) };
    format!("{mark} {name}  {}{line}", look.dim(beside))
}

fn name(row: &Row) -> String {
    match row.last {
        last if last == row.number || row.calls == 0 => format!("m{}", row.number),
        last => format!("m{}–m{last}", row.number),
    }
}

/// One column that says who speaks.
fn who(kind: Kind, calls: usize) -> &'static str {
    match kind {
        Kind::User => ">",
        Kind::Note => "↳",
        Kind::Assistant if calls > 0 => "├",
        Kind::Assistant => "◆",
        Kind::ToolResult => "└",
        Kind::Report => "▶",
        Kind::Reminder => "!",
        Kind::Compaction | Kind::Restored => "≈",
        Kind::Session
        | Kind::Discarded
        | Kind::ToolStarted
        | Kind::Dropped
        | Kind::Posted
        | Kind::Attempt
        | Kind::Branch
        | Kind::Title
        | Kind::Ended
        | Kind::Unknown => "·",
    }
}

/// How long ago, in words.
pub fn age(at: Option<Timestamp>, now: Timestamp) -> String {
    let Some(at) = at else { return "at an unknown time".to_owned() };
    // A clock that was set back makes nothing older than now.
    let passed = std::time::Duration::try_from(now.duration_since(at)).unwrap_or_default();
    match passed.as_secs() {
        0..60 => "just now".to_owned(),
        _ => format!("{} ago", span(passed)),
    }
}
