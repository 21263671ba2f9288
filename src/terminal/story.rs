//! What happens, told in one line each: a tool call with its outcome, a retry, a task's end.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::Look;
use super::clean::one_line;
use super::wrap::{columns, cut};
use crate::message::{RawArgs, Spent, Tally, ToolCall, ToolResult};
use crate::runtime::Permission;
use crate::task::{Asked, Question, TaskId, TaskReport, TaskStatus};

/// Arguments that tell most about a call, best first.
const TELLING: [&str; 12] =
    ["command", "path", "pattern", "title", "task", "id", "name", "query", "url", "file", "text", "dir"];

/// Columns of a call's argument that are worth a line of their own; the outcome follows it.
const ARGUMENT: usize = 60;

/// The argument that tells most about a call, on one line; empty when there is none.
pub fn argument(args: &RawArgs) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(&args.0) else {
        return one_line(&args.0);
    };
    let word = |value: &Value| match value {
        Value::String(text) => Some(one_line(text)),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let telling = TELLING.iter().filter_map(|key| fields.get(*key)).find_map(word);
    telling.or_else(|| fields.values().find_map(word)).unwrap_or_default()
}

/// `shell cargo test`, cut to the width.
pub fn call(call: &ToolCall, width: usize) -> String {
    let argument = argument(&call.args);
    let name = one_line(&call.name);
    cut(if argument.is_empty() { name } else { format!("{name} {argument}") }.as_str(), width)
}

/// `├ shell cargo test ✓ 1.2s`, `├ edit_file src/a.rs ✓ 0.1s +2 −1`; a failure also says what [`fault`] does.
pub fn outcome(look: Look, asked: &ToolCall, result: &ToolResult, took: Duration, width: usize) -> String {
    let took = span(took);
    let changed = changed(look, result);
    let taken = took.len() + 8 + if changed.is_empty() { 0 } else { 12 };
    let line = dispatched(asked, result).unwrap_or_else(|| call(asked, ARGUMENT));
    let line = cut(&line, width.saturating_sub(taken).min(ARGUMENT));
    let Some(said) = fault(result) else {
        return format!("{} {line} {} {}{changed}", look.dim("├"), look.good("✓"), look.dim(took));
    };
    let room = width.saturating_sub(columns(&line) + took.len() + 8);
    let said = if room > 12 { format!(" · {}", cut(&said, room)) } else { String::new() };
    format!("{} {line} {} {}{}", look.dim("├"), look.bad("✗"), look.dim(took), look.dim(said))
}

/// What tells that a call did not go well: the first line of what the model was told, or the last one of a command that did
/// not end well, which says how it ended. `None` when it went well.
pub(super) fn fault(result: &ToolResult) -> Option<String> {
    let mut told = result.output.lines().map(one_line).filter(|line| !line.is_empty());
    let said = match (result.is_error, ended_well(result)) {
        (false, true) => return None,
        (false, false) => told.next_back(),
        (true, _) => told.next(),
    };
    Some(said.unwrap_or_default())
}

/// `dispatch t_003 “speed up the parser”`.
fn dispatched(asked: &ToolCall, result: &ToolResult) -> Option<String> {
    let task: TaskId = result.output.split_whitespace().next()?.parse().ok()?;
    let fields: Value = serde_json::from_str(&asked.args.0).ok()?;
    let title =
        ["title", "task"].iter().find_map(|key| fields[*key].as_str().filter(|text| !text.trim().is_empty()))?;
    let line = title.lines().find(|line| !line.trim().is_empty())?;
    (asked.name == "dispatch" && !result.is_error).then(|| format!("dispatch {task} “{}”", one_line(line)))
}

/// ` +2 −1`: lines that came and went; empty where that is not known.
fn changed(look: Look, result: &ToolResult) -> String {
    let count = |key: &str| result.details[key].as_u64();
    match (count("added"), count("removed")) {
        (Some(added), Some(removed)) => {
            format!(" {} {}", look.good(format!("+{added}")), look.bad(format!("−{removed}")))
        }
        _ => String::new(),
    }
}

/// As far as the details of a result know; those of most tools say nothing of it.
fn ended_well(result: &ToolResult) -> bool {
    let is = |key: &str| result.details[key].as_bool().unwrap_or_default();
    let code = &result.details["exit_code"];
    let signal = &result.details["signal"];
    code.as_i64().unwrap_or_default() == 0 && signal.is_null() && !is("aborted") && !is("timed_out")
}

/// `├ shell cargo test … running 5s`: a call that takes its time.
pub fn running(look: Look, asked: &ToolCall, so_far: Duration, width: usize) -> String {
    let line = call(asked, width.saturating_sub(20).min(ARGUMENT));
    format!("{} {line} {}", look.dim("├"), look.dim(format!("… running {}", span(so_far))))
}

/// `├ write_file … being written 5s`: a call whose arguments are still coming, once that takes its time.
pub fn writing(look: Look, name: &str, so_far: Duration) -> Option<String> {
    let name = cut(name, ARGUMENT);
    let told = || format!("{} {name} {}", look.dim("├"), look.dim(format!("… being written {}", span(so_far))));
    (so_far >= Duration::from_secs(1)).then(told)
}

/// `⟳ attempt 2 in 1.5s · anthropic: overloaded`.
pub fn retry(look: Look, attempt: u32, wait: Duration, why: &str) -> String {
    if wait.is_zero() {
        return format!("{} {}", look.warn("⟳"), one_line(why));
    }
    format!("{} attempt {attempt} in {} · {}", look.warn("⟳"), span(wait), one_line(why))
}

/// [`retry`] in one row, to be written over itself: `⟳ attempt 2 in 12s · anthropic: overloaded`; without a number once
/// nothing is left.
pub fn waiting(look: Look, attempt: u32, left: Duration, why: &str, width: usize) -> String {
    let left = if left.is_zero() { String::new() } else { format!(" in {}", whole(left)) };
    let told = cut(&format!("attempt {attempt}{left} · {}", one_line(why)), width.saturating_sub(3));
    format!("{} {told}", look.warn("⟳"))
}

/// A wait in whole seconds, begun ones counted: `12s`, `2m14s`.
pub fn whole(left: Duration) -> String {
    let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
    if seconds < 10 { format!("{seconds}s") } else { span(Duration::from_secs(seconds)) }
}

/// `≈ conversation shortened: 180k → 22k tokens`.
pub fn compacted(look: Look, before: u64, after: u64) -> String {
    look.dim(format!("≈ conversation shortened: {} → {} tokens", count(before), count(after)))
}

/// `✓ t_004 done 41s · title · .tasks/t_004/result.md`.
pub fn ended(look: Look, report: &TaskReport, root: &Path) -> String {
    let file = report.dir.join("result.md");
    let file = file.strip_prefix(root).unwrap_or(&file).display().to_string();
    let mark = mark(look, report.status);
    let status = match report.status {
        TaskStatus::LimitTurns => "out of turns".to_owned(),
        other => other.to_string(),
    };
    let title = cut(&one_line(&report.title), ARGUMENT);
    let cost = match report.spent {
        spent if spent == Spent::default() => String::new(),
        spent => format!(" · {spent}"),
    };
    let (id, took) = (look.name(report.id), span(report.took));
    format!("{mark} {id} {status} {took}{cost} · {title} · {}", look.dim(file))
}

/// `? t_004 JWT or session cookie? [1] jwt* [2] cookie, default in 9m`; the star is at what is taken when nobody answers.
pub fn asked(look: Look, question: &Question, now: Timestamp) -> String {
    let option = |(at, option): (usize, &String)| {
        let star = if *option == question.default { "*" } else { "" };
        format!(" [{}] {}{star}", at + 1, one_line(option))
    };
    let options: String = question.options.iter().enumerate().map(option).collect();
    let left = Duration::try_from(question.deadline.duration_since(now)).unwrap_or_default();
    let default = match question.options.contains(&question.default) {
        true => "default".to_owned(),
        false => format!("default {}", one_line(&question.default)),
    };
    let (mark, task, text) = (look.warn("?"), look.name(question.task), one_line(&question.text));
    let separator = if options.is_empty() { ";" } else { "," };
    format!("{mark} {task} {text}{options}{separator} {default} in {}", about(left))
}

/// A call that waits for a person's word, or what became of it.
pub fn permission(look: Look, permission: &Permission) -> String {
    let Permission { id, tool, shown, why, escalated, settled } = permission;
    let (what, why) = (one_line(&format!("{tool} {shown}")), one_line(why));
    let how = format!("y, n, /approve {id} or /deny {id} WHY");
    match (settled, escalated) {
        (None, false) => format!("{} may it? {what} · {why} · {how}", look.warn("?")),
        (None, true) => {
            format!("{} {} {what} · it says: {why} · {how}", look.warn("?"), look.bad("may it, outside the walls?"))
        }
        (Some(settled), false) => format!("{} {what} · {}", look.dim("·"), one_line(settled)),
        (Some(settled), true) => format!("{} outside the walls: {what} · {}", look.dim("·"), one_line(settled)),
    }
}

/// A time to come in whole minutes, or in seconds when less than two are left: `9m`, `45s`.
fn about(left: Duration) -> String {
    match (left.as_secs() + 30) / 60 {
        0 | 1 => whole(left),
        minutes @ 2..120 => format!("{minutes}m"),
        minutes => format!("{}h", (minutes + 30) / 60),
    }
}

/// What became of a question; `None` while it is open.
pub fn settled(look: Look, question: &Question) -> Option<String> {
    let (name, task) = (question.name(), look.name(question.task));
    Some(match &question.state {
        Asked::Open => return None,
        Asked::Answered { text, from, .. } => format!("  {task} {name} answered by {from}: {}", one_line(text)),
        Asked::Defaulted { .. } => {
            format!("  {task} {name}: nobody answered in time, so it is {}", one_line(&question.default))
        }
        Asked::Moot { why } => look.dim(format!("  {task} {name} needs no answer: {why}")),
    })
}

/// `Σ 3 model calls · 12.3k tokens in (80% cached), 1.2k out · $0.0123`.
pub fn tally(tally: &Tally) -> String {
    let Tally { calls, usage, spent } = tally;
    let cached = match usage.cache_read {
        0 => String::new(),
        _ => format!(" ({} cached)", share(usage.cache_read, usage.prompt())),
    };
    let plural = if *calls == 1 { "" } else { "s" };
    let (tokens_in, tokens_out) = (count(usage.prompt()), count(usage.output));
    format!("Σ {calls} model call{plural} · {tokens_in} tokens in{cached}, {tokens_out} out · {spent}")
}

/// A part of a whole in percent: `80%`; nothing of nothing is `0%`.
pub fn share(part: u64, whole: u64) -> String {
    format!("{}%", (u128::from(part) * 100).checked_div(u128::from(whole)).unwrap_or(0))
}

/// The sign of a task's state.
pub fn mark(look: Look, status: TaskStatus) -> String {
    match status {
        TaskStatus::Queued => look.dim("◌"),
        TaskStatus::Running => look.name("▶"),
        TaskStatus::Done => look.good("✓"),
        TaskStatus::Failed => look.bad("✗"),
        TaskStatus::Parked => look.warn("?"),
        TaskStatus::Aborted | TaskStatus::Interrupted | TaskStatus::LimitTurns | TaskStatus::Partial => look.warn("■"),
    }
}

/// A span of time as people say it: `0.4s`, `41s`, `2m14s`, `1h02m`.
pub fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..10 => format!("{}.{}s", seconds, span.subsec_millis() / 100),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// A number of tokens: `950`, `12.3k`, `1.2M`.
pub fn count(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}.{}k", tokens / 1_000, tokens % 1_000 / 100),
        _ => format!("{}.{}M", tokens / 1_000_000, tokens % 1_000_000 / 100_000),
    }
}
