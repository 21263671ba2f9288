//! What happens, told in one line each.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tillerman::message::{CallId, RawArgs, Spent, ToolCall, ToolResult, Usage};
use tillerman::task::{TaskId, TaskReport, TaskStatus};
use tillerman::terminal::Look;
use tillerman::terminal::story::{argument, count, ended, outcome, retry, span};

const PLAIN: Look = Look::PLAIN;

fn call(args: &str) -> ToolCall {
    ToolCall { id: CallId("c".into()), name: "shell".into(), args: RawArgs(args.into()) }
}

fn result(output: &str, is_error: bool) -> ToolResult {
    ToolResult { call: CallId("c".into()), output: output.into(), details: Value::Null, is_error }
}

#[test]
fn a_call_is_one_line_with_its_outcome() {
    let took = Duration::from_millis(1234);
    let asked = call(r#"{"timeout":5,"command":"cargo test\n--all"}"#);
    assert_eq!(outcome(PLAIN, &asked, &result("ok", false), took, 80), "├ shell cargo test --all ✓ 1.2s");
    let failed = result("\nerror: no such file\nmore", true);
    assert_eq!(outcome(PLAIN, &asked, &failed, took, 80), "├ shell cargo test --all ✗ 1.2s · error: no such file");
    let long = call(&format!(r#"{{"command":"{}"}}"#, "x".repeat(200)));
    let line = outcome(PLAIN, &long, &failed, took, 40);
    assert_eq!(line, format!("├ shell {}… ✗ 1.2s", "x".repeat(21)));
}

#[test]
fn a_command_that_did_not_end_well_is_not_shown_as_done() {
    let took = Duration::from_millis(1234);
    let asked = call(r#"{"command":"make"}"#);
    let shown = |details: Value, last: &str| {
        let result = ToolResult { details, ..result(&format!("built\n{last}"), false) };
        outcome(PLAIN, &asked, &result, took, 80)
    };
    let bad = "├ shell make ✗ 1.2s";
    assert_eq!(shown(json!({"exit_code": 2}), "exit code 2"), format!("{bad} · exit code 2"));
    assert_eq!(
        shown(json!({"exit_code": null, "signal": 9}), "killed by signal 9"),
        format!("{bad} · killed by signal 9")
    );
    assert_eq!(shown(json!({"timed_out": true}), "timed out after 5 s"), format!("{bad} · timed out after 5 s"));
    assert_eq!(shown(json!({"aborted": true, "signal": null}), "aborted"), format!("{bad} · aborted"));
    let fine = json!({"exit_code": 0, "signal": null, "timed_out": false, "aborted": false});
    assert_eq!(shown(fine, "all"), "├ shell make ✓ 1.2s");
}

#[test]
fn the_telling_argument_is_found_also_in_broken_arguments() {
    let of = |text: &str| argument(&RawArgs(text.into()));
    assert_eq!(of(r#"{"limit":3,"path":"src/a.rs"}"#), "src/a.rs");
    assert_eq!(of(r#"{"flag":true,"depth":3}"#), "3");
    assert_eq!(of("{}"), "");
    assert_eq!(of("{\"path\": \"src"), "{\"path\": \"src");
}

#[test]
fn a_tasks_end_says_how_when_and_where() {
    let report = TaskReport {
        id: TaskId(4),
        title: "check\x1b[2J docs".into(),
        attempt: 1,
        status: TaskStatus::Done,
        answer: "fine".into(),
        turns: 3,
        usage: Usage::default(),
        spent: Spent::default(),
        started: None,
        ended: Timestamp::UNIX_EPOCH,
        took: Duration::from_secs(41),
        dir: PathBuf::from("/w/.tasks/t_004"),
        verified: Vec::new(),
        files: Vec::new(),
        changed: Vec::new(),
        assumptions: Vec::new(),
        total: Spent::default(),
    };
    let line = ended(PLAIN, &report, Path::new("/w"));
    assert_eq!(line, "✓ t_004 done 41s · check docs · .tasks/t_004/result.md");
    let stopped = TaskReport { status: TaskStatus::LimitTurns, ..report };
    let line = ended(PLAIN, &stopped, Path::new("/elsewhere"));
    assert_eq!(line, "■ t_004 out of turns 41s · check docs · /w/.tasks/t_004/result.md");
}

#[test]
fn figures_are_written_as_people_say_them() {
    let spans = [(400, "0.4s"), (9_990, "9.9s"), (41_000, "41s"), (134_000, "2m14s"), (3_720_000, "1h02m")];
    for (millis, said) in spans {
        assert_eq!(span(Duration::from_millis(millis)), said);
    }
    for (tokens, said) in [(950, "950"), (12_345, "12.3k"), (1_200_000, "1.2M")] {
        assert_eq!(count(tokens), said);
    }
    let line = retry(PLAIN, 2, Duration::from_millis(1500), "anthropic: overloaded\n");
    assert_eq!(line, "⟳ attempt 2 in 1.5s · anthropic: overloaded");
    let line = retry(PLAIN, 2, Duration::ZERO, "anthropic: down; asking openai/x");
    assert_eq!(line, "⟳ anthropic: down; asking openai/x", "nothing is waited for");
}
