//! What the shell tool told of a command, taken apart: how it ended, how long it took, what it wrote.

use serde_json::Value;

use crate::message::ToolResult;

/// A command that ran, or could not.
pub(super) struct Outcome<'a> {
    /// In a few words: `exit 0`, `timed out after 120 s; the command was stopped`.
    pub(super) end: String,
    pub(super) succeeded: bool,
    /// For people: `12 ms`, `3.4 s`.
    pub(super) took: Option<String>,
    /// What it wrote, without what the tool added about its end; may be empty.
    pub(super) output: &'a str,
}

impl<'a> Outcome<'a> {
    pub(super) fn of(result: &'a ToolResult) -> Outcome<'a> {
        let number = |name: &str| result.details.get(name).and_then(Value::as_u64);
        let output = result.output.trim_end();
        let took = number("took_ms").map(duration);
        match number("exit_code") {
            Some(0) => Outcome { end: "exit 0".to_owned(), succeeded: true, took, output: silent(output) },
            Some(code) => {
                let output = split_last_line(output).0;
                Outcome { end: format!("exit {code}"), succeeded: false, took, output }
            }
            // It ran and did not end by itself: the last line says how.
            None if took.is_some() => {
                let (output, end) = split_last_line(output);
                Outcome { end: end.to_owned(), succeeded: false, took, output }
            }
            None if result.is_error => {
                let (first, rest) = output.split_once('\n').unwrap_or((output, ""));
                Outcome { end: first.trim().to_owned(), succeeded: false, took, output: rest }
            }
            None => Outcome { end: "done".to_owned(), succeeded: true, took, output: silent(output) },
        }
    }
}

fn silent(output: &str) -> &str {
    if output == "(no output)" { "" } else { output }
}

fn split_last_line(text: &str) -> (&str, &str) {
    text.rsplit_once('\n').unwrap_or(("", text))
}

fn duration(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis} ms"),
        // Tenths of a second are all that anybody reads.
        1_000..60_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        _ => format!("{} min {:02} s", millis / 60_000, millis / 1_000 % 60),
    }
}
