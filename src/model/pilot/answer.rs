//! Results of tools as sentences for a person. Which tools are called is decided in `main_agent`.

use serde_json::{Map, Value};

use super::command::Outcome;
use crate::message::{ToolCall, ToolResult};

/// Most lines of an output that are quoted.
const LINES: usize = 40;

/// Most characters of an output that are quoted.
const CHARACTERS: usize = 6_000;

/// Longest output that is told on the line of its command.
const SHORT: usize = 60;

/// What a result means, in a sentence and the result.
pub(super) fn answer(call: &ToolCall, result: &ToolResult) -> String {
    let args: Map<String, Value> = serde_json::from_str(&call.args.0).unwrap_or_default();
    let arg = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
    let output = result.output.as_str();
    if call.name == "shell" {
        return ran(arg("command"), &Outcome::of(result));
    }
    if result.is_error {
        return refusal(&call.name, arg(subject(&call.name)), output);
    }
    match call.name.as_str() {
        "load" if arg("path").ends_with("/result.md") => relayed(output),
        "read_file" | "list" => quoted(output),
        "grep" => format!("`{}`{}:\n{}", arg("pattern"), within(arg("path")), quoted(output)),
        "dispatch" if args.contains_key("rows") => plain(output),
        "dispatch" => dispatched(arg("title"), output),
        "tasks" | "steer" | "abort" | "answer" | "resume" | "call_agent" | "write_file" | "todo" => plain(output),
        other => format!("{other}:\n{}", quoted(output)),
    }
}

fn ran(command: &str, outcome: &Outcome<'_>) -> String {
    let command = first_line(command);
    let name = command.strip_prefix("# ").map_or_else(|| format!("`{command}`"), str::to_owned);
    let end = if outcome.succeeded { String::new() } else { format!(" failed: {}", outcome.end) };
    match outcome.output {
        "" if outcome.succeeded => format!("{name} wrote nothing."),
        "" => format!("{name}{end}"),
        line if outcome.succeeded && !line.contains('\n') && line.len() <= SHORT => format!("{name}: {line}"),
        output => format!("{name}{}\n{}", if outcome.succeeded { ":" } else { end.as_str() }, quoted(output)),
    }
}

/// The argument that says what a call is about.
fn subject(tool: &str) -> &'static str {
    match tool {
        "grep" => "pattern",
        "steer" | "abort" | "answer" | "resume" | "tasks" => "id",
        "call_agent" => "agent_name",
        "dispatch" => "title",
        _ => "path",
    }
}

fn refusal(tool: &str, subject: &str, output: &str) -> String {
    let about = if subject.is_empty() { String::new() } else { format!(" `{}`", first_line(subject)) };
    let output = output.trim();
    match output.contains('\n') {
        true => format!("{tool}{about} did not work:\n{}", quoted(output)),
        false => format!("{tool}{about} did not work: {output}"),
    }
}

fn dispatched(title: &str, output: &str) -> String {
    let is_id = |word: &&str| word.strip_prefix("t_").is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    let Some(id) = output.split(|c: char| !c.is_alphanumeric() && c != '_').find(is_id) else {
        return plain(output);
    };
    format!(
        "On it: {id} “{title}” runs in the background. Ask me anything meanwhile; \
         `steer {id} also run CMD` changes its course, `abort {id}` ends it, `tasks` shows how it goes."
    )
}

/// A tool's own sentence.
fn plain(output: &str) -> String {
    let output = output.trim();
    if output.is_empty() { "Done.".to_owned() } else { output.to_owned() }
}

/// The body of a worker's result.
fn relayed(output: &str) -> String {
    let body = body(output);
    if body.is_empty() { "It left an empty result.".to_owned() } else { cut(body) }
}

/// A Markdown file as the tool `load` shows it, without the line that holds its frontmatter.
fn body(text: &str) -> &str {
    let front = text.split_once('\n').filter(|(line, _)| line.starts_with('{') && line.ends_with('}'));
    front.map_or(text, |(_, body)| body).trim()
}

fn within(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" in {path}") }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn quoted(text: &str) -> String {
    match text.trim_end() {
        "" => "(no output)".to_owned(),
        text => fenced(&cut(text)),
    }
}

/// In a fence that its content cannot close.
pub(super) fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}

/// The beginning, and how much is left out.
fn cut(text: &str) -> String {
    let end = text.char_indices().nth(CHARACTERS).map_or(text.len(), |(at, _)| at);
    let shown: Vec<&str> = text.get(..end).unwrap_or_default().lines().take(LINES).collect();
    let left = text.lines().count().saturating_sub(shown.len());
    match (left, end < text.len()) {
        (0, false) => shown.join("\n"),
        (0, true) => format!("{}…", shown.join("\n")),
        (left, _) => format!("{}\n… {left} more lines", shown.join("\n")),
    }
}
