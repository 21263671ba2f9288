//! What is written down of a run: spans that become a tree again, and a log that a person reads.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tillerman::event::{AgentEvent, Ending, Observer};
use tillerman::message::{
    Block, CallId, Message, Note, NoteId, NoteKind, RawArgs, Role, ToolCall, ToolResult, Usage, Usd,
};
use tillerman::trace::tree::{self, Kind, Span, Tree};
use tillerman::trace::{BACKLOG, Link, Origin, RunLog, Scribe, Spans};

fn origin(agent: &str) -> Origin {
    Origin { trace: "tr_1".into(), agent: agent.into(), model: "scripted/x".into(), link: None }
}

fn call(id: &str, args: &str) -> ToolCall {
    ToolCall { id: CallId(id.into()), name: "shell".into(), args: RawArgs(args.into()) }
}

fn calls(text: &str, ids: &[&str]) -> Message {
    let calls = ids.iter().map(|id| Block::Call(call(id, r#"{"command":"true"}"#)));
    Message { role: Role::Assistant, blocks: std::iter::once(Block::text(text)).chain(calls).collect() }
}

fn replied(message: Message, input: u64) -> AgentEvent {
    let usage = Usage { input, output: 5, ..Usage::default() };
    AgentEvent::Replied { message, usage, took: Duration::from_millis(120), model: "a/b".into(), cost: None }
}

fn finished(id: &str, output: &str, is_error: bool) -> AgentEvent {
    let result = ToolResult { call: CallId(id.into()), output: output.into(), details: json!({"exit": 0}), is_error };
    AgentEvent::ToolFinished { result, took: Duration::from_millis(30) }
}

fn completed(answer: &str) -> AgentEvent {
    AgentEvent::RunEnded { ending: Ending::Completed { answer: answer.into() } }
}

/// Two calls side by side, the second failing, a steer, an answer.
fn a_run() -> Vec<AgentEvent> {
    let note = Note { id: NoteId(7), kind: NoteKind::Steer, text: "hurry".into() };
    vec![
        AgentEvent::RunStarted,
        AgentEvent::TurnStarted { turn: 1 },
        AgentEvent::Text { text: "let me look".into() },
        replied(calls("let me look", &["a", "b"]), 100),
        AgentEvent::ToolStarted { call: call("a", r#"{"command":"true"}"#) },
        AgentEvent::ToolStarted { call: call("b", r#"{"command":"false"}"#) },
        AgentEvent::ToolProgress { call: CallId("a".into()), chunk: "half".into() },
        finished("b", "no such thing\nat all", true),
        finished("a", "fine", false),
        AgentEvent::TurnEnded { turn: 1 },
        AgentEvent::Noted { note, turn: 1 },
        AgentEvent::TurnStarted { turn: 2 },
        AgentEvent::Retrying { attempt: 2, wait: Duration::from_secs(1), why: "overloaded".into() },
        replied(Message::assistant("done"), 200),
        AgentEvent::TurnEnded { turn: 2 },
        completed("done"),
    ]
}

/// Writes the runs one after the other to one file and reads it back.
fn traced(folder: &Path, runs: &[Vec<AgentEvent>]) -> (PathBuf, Tree) {
    let path = folder.join("tr_1.jsonl");
    let scribe = Scribe::start();
    for events in runs {
        let spans = Spans::create(&scribe, &path, origin("main"));
        events.iter().for_each(|event| spans.observe(event));
    }
    assert!(scribe.flush());
    let tree = tree::read(&path).unwrap();
    (path, tree)
}

/// A span in one line, with what is in it below: kind, fault, moments.
fn outline(span: &Span, depth: usize) -> String {
    let what = match &span.kind {
        Kind::Run { agent, reason, .. } => format!("run {agent} {reason}"),
        Kind::Turn(turn) => format!("turn {turn}"),
        Kind::Model { model, first } => format!("model {model}{}", if first.is_some() { " streamed" } else { "" }),
        Kind::Tool { tool, call } => format!("tool {tool} {call}"),
        Kind::Unknown => "unknown".into(),
    };
    let fault = span.error.as_ref().map(|why| format!(" !{why}")).unwrap_or_default();
    let open = if span.took.is_none() { " open" } else { "" };
    let moments: String = span.moments.iter().map(|(name, text)| format!(" ({name}: {text})")).collect();
    let children: String = span.children.iter().map(|child| outline(child, depth + 1)).collect();
    format!("{}{what}{open}{fault}{moments}\n{children}", "  ".repeat(depth))
}

fn check(runs: &[Vec<AgentEvent>], expected: &str) {
    let folder = TempDir::new().unwrap();
    let (_, tree) = traced(folder.path(), runs);
    assert_eq!(tree.runs.iter().map(|run| outline(run, 0)).collect::<String>(), expected);
    assert_eq!((tree.dropped, tree.damaged), (0, 0));
}

#[test]
fn a_run_becomes_a_tree_of_spans() {
    let expected = "run main completed (note: hurry)
  turn 1
    model scripted/x streamed
    tool shell a
    tool shell b !no such thing
  turn 2
    model scripted/x (retry: attempt 2: overloaded)
";
    check(&[a_run()], expected);
}

#[test]
fn spans_know_how_long_they_took_and_what_they_used() {
    let folder = TempDir::new().unwrap();
    let (_, tree) = traced(folder.path(), &[a_run()]);
    let run = &tree.runs[0];
    let (model, tool) = (&run.children[0].children[0], &run.children[0].children[1]);
    assert_eq!(run.usage, Some(Usage { input: 300, output: 10, ..Usage::default() }));
    assert_eq!(model.usage, Some(Usage { input: 100, output: 5, ..Usage::default() }));
    assert_eq!((model.took, tool.took), (Some(Duration::from_millis(120)), Some(Duration::from_millis(30))));
    assert!(run.start <= model.start && model.start <= tool.start, "starts are in order");
}

#[test]
fn tokens_and_money_stand_under_the_names_of_opentelemetry() {
    let folder = TempDir::new().unwrap();
    let usage = Usage { input: 10, output: 5, cache_read: 70, cache_write: 20, reasoning: 3 };
    let (message, took) = (Message::assistant("done"), Duration::from_millis(120));
    let summary = Usage { input: 40, output: 2, ..Usage::default() };
    let run = vec![
        AgentEvent::RunStarted,
        AgentEvent::TurnStarted { turn: 1 },
        AgentEvent::Compacted { before: 9, after: 2, model: Some("c/d".into()), usage: summary, cost: None },
        AgentEvent::Replied { message, usage, took, model: "a/b".into(), cost: Some(Usd(12_300_000)) },
        completed("done"),
    ];
    let (path, tree) = traced(folder.path(), &[run]);
    assert_eq!(tree.damaged, 0);
    let text = std::fs::read_to_string(path).unwrap();
    let told = |event: &str| {
        let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let line = lines.into_iter().find(|line| line["event"] == event).unwrap();
        let names = [
            "gen_ai.response.model",
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.usage.cache_creation.input_tokens",
            "gen_ai.usage.reasoning.output_tokens",
            "cost_usd",
            "cost_unknown_calls",
        ];
        json!(names.map(|name| line[name].clone()))
    };
    assert_eq!(told("model_end"), json!(["a/b", 100, 5, 70, 20, 3, 0.0123, 0]));
    assert_eq!(told("compaction"), json!(["c/d", 40, 2, 0, 0, 0, null, 1]));
    assert_eq!(told("run_end"), json!([null, 140, 7, 70, 20, 3, 0.0123, 1]));
}

#[test]
fn s3_60_a_trace_line_says_its_event_and_tool_first() {
    let folder = TempDir::new().unwrap();
    let (path, _) = traced(folder.path(), &[a_run()]);
    let text = std::fs::read_to_string(path).unwrap();
    let line = text.lines().find(|line| line.contains("tool_start")).unwrap();
    assert!(line.starts_with(r#"{"event":"tool_start","tool":"shell","#), "{line}");
    let value: Value = serde_json::from_str(line).unwrap();
    assert_eq!((&value["trace_id"], &value["call"]), (&json!("tr_1"), &json!("a")));
}

#[test]
fn several_runs_share_a_trace() {
    let run = |answer: &str| {
        vec![
            AgentEvent::RunStarted,
            AgentEvent::TurnStarted { turn: 1 },
            replied(Message::assistant(answer), 1),
            AgentEvent::TurnEnded { turn: 1 },
            completed(answer),
        ]
    };
    let one = "run main completed\n  turn 1\n    model scripted/x\n";
    check(&[run("a"), run("b")], &one.repeat(2));
}

#[test]
fn an_aborted_run_leaves_no_span_open() {
    let events = vec![
        AgentEvent::RunStarted,
        AgentEvent::TurnStarted { turn: 1 },
        replied(calls("", &["a"]), 1),
        AgentEvent::ToolStarted { call: call("a", "{}") },
        AgentEvent::RunEnded { ending: Ending::Aborted },
    ];
    check(&[events], "run main aborted\n  turn 1 !aborted\n    model scripted/x\n    tool shell a !aborted\n");
}

#[test]
fn a_failed_model_call_carries_its_fault() {
    let why = "anthropic: wrong key; set ANTHROPIC_API_KEY";
    let events = vec![
        AgentEvent::RunStarted,
        AgentEvent::TurnStarted { turn: 1 },
        AgentEvent::Failed { why: why.into() },
        AgentEvent::RunEnded { ending: Ending::Failed { why: why.into() } },
    ];
    let expected = format!("run main failed !{why}\n  turn 1 !{why}\n    model scripted/x !{why} (error: {why})\n");
    check(&[events], &expected);
}

#[test]
fn a_run_that_was_cut_off_is_shown_as_open() {
    let events = a_run()[..6].to_vec();
    let expected = "run main  open
  turn 1 open
    model scripted/x streamed
    tool shell a open
    tool shell b open
";
    check(&[events], expected);
}

#[test]
fn a_torn_last_line_costs_only_itself() {
    let folder = TempDir::new().unwrap();
    let (path, whole) = traced(folder.path(), &[a_run()]);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&bytes[..], b"{\"event\":\"run_sta"].concat()).unwrap();
    assert_eq!(tree::read(&path).unwrap(), Tree { damaged: 1, ..whole });
}

#[test]
fn a_workers_run_is_linked_to_the_call_that_dispatched_it() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t_001.jsonl");
    let link = Some(Link { trace: "main".into(), call: CallId("toolu_9".into()) });
    let scribe = Scribe::start();
    let spans = Spans::create(&scribe, &path, Origin { link: link.clone(), ..origin("t_001") });
    spans.observe(&AgentEvent::RunStarted);
    spans.observe(&completed("done"));
    assert!(scribe.flush());
    let kind = Kind::Run { agent: "t_001".into(), reason: "completed".into(), link };
    assert_eq!(tree::read(&path).unwrap().runs[0].kind, kind);
}

#[test]
fn a_huge_output_is_cut_and_counted() {
    let folder = TempDir::new().unwrap();
    let events = vec![
        AgentEvent::RunStarted,
        AgentEvent::TurnStarted { turn: 1 },
        AgentEvent::ToolStarted { call: call("a", "{}") },
        finished("a", &"ü".repeat(500_000), false),
        completed(""),
    ];
    let (path, _) = traced(folder.path(), &[events]);
    let text = std::fs::read_to_string(path).unwrap();
    let line: Value = serde_json::from_str(text.lines().find(|line| line.contains("tool_end")).unwrap()).unwrap();
    assert_eq!(line["output_bytes"], 1_000_000);
    let output = line["output"].as_str().unwrap();
    assert!(output.ends_with("… [983616 of 1000000 bytes left out]"), "{}", &output[output.len() - 60..]);
}

#[test]
fn only_the_owner_may_read_traces_and_logs() {
    let folder = TempDir::new().unwrap();
    let (path, _) = traced(&folder.path().join("traces"), &[a_run()]);
    let scribe = Scribe::start();
    let log = RunLog::create(&scribe, &folder.path().join("logs"), &origin("main"), "hello");
    assert!(scribe.flush());
    for path in [path, log.path()] {
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700), "{}", path.display());
    }
}

#[test]
fn a_trace_that_cannot_be_written_harms_nobody() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let scribe = Scribe::start();
    let bad = Spans::create(&scribe, &folder.path().join("file/tr.jsonl"), origin("main"));
    let good = Spans::create(&scribe, &folder.path().join("good.jsonl"), origin("main"));
    for event in a_run() {
        bad.observe(&event);
        good.observe(&event);
    }
    assert!(scribe.flush());
    assert_eq!(tree::read(&folder.path().join("good.jsonl")).unwrap().runs.len(), 1);
}

#[test]
fn what_is_waiting_is_written_when_the_last_owner_goes() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("tr.jsonl");
    let spans = Spans::create(&Scribe::start(), &path, origin("main"));
    a_run().iter().for_each(|event| spans.observe(event));
    drop(spans);
    assert_eq!(tree::read(&path).unwrap().runs.len(), 1);
}

/// A FIFO without a reader stands for a disk that hangs: opening it blocks the writer until somebody reads.
#[test]
fn a_disk_that_hangs_costs_lines_but_neither_time_nor_endings() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let scribe = Scribe::start();
    let spans = Spans::create(&scribe, &path, origin("main"));
    let output = "x".repeat(16 * 1024);
    let rounds = BACKLOG / output.len() + 100;
    spans.observe(&AgentEvent::RunStarted);
    for _ in 0..rounds {
        spans.observe(&finished("a", &output, false));
    }
    spans.observe(&completed("done"));
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        std::fs::File::open(path).unwrap().read_to_string(&mut text).unwrap();
        text
    });
    assert!(scribe.flush());
    drop((spans, scribe));
    let text = reader.join().unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ends = events.iter().filter(|event| event["event"] == "tool_end").count();
    let dropped: u64 = events.iter().filter_map(|event| event["lines"].as_u64()).sum();
    assert_eq!(ends as u64 + dropped, rounds as u64);
    assert!(dropped >= 100, "{dropped}");
    assert_eq!(events.last().unwrap()["event"], "run_end");
}

/// The log of the events, times of day and dates replaced by their shape.
fn logged(agent: &str, opening: &str, events: &[AgentEvent]) -> (String, String) {
    let folder = TempDir::new().unwrap();
    let scribe = Scribe::start();
    let log = RunLog::create(&scribe, folder.path(), &origin(agent), opening);
    events.iter().for_each(|event| log.observe(event));
    assert!(scribe.flush());
    let shape = |text: &str| regex::Regex::new("[0-9]").unwrap().replace_all(text, "0").into_owned();
    let text = std::fs::read_to_string(log.path()).unwrap();
    let times = regex::Regex::new(r"\d{2}:\d{2}:\d{2}\.\d{3}|\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2} \S+").unwrap();
    (shape(log.path().file_name().unwrap().to_str().unwrap()), times.replace_all(&text, "TIME").into_owned())
}

#[test]
fn s1_42_the_run_log_tells_requests_responses_calls_and_results() {
    let (name, text) = logged("main", "count the lines", &a_run());
    assert_eq!(name, "agent_run_00000000_000000.log");
    let expected = r#"agent main, model scripted/x, TIME
trace tr_1

[1] TIME REQUEST, turn 1
user: count the lines

[2] TIME RESPONSE, 100 tokens in (0 cached), 5 out, unknown price, 0.120 s
let me look
→ shell (a) {"command":"true"}
→ shell (b) {"command":"true"}

[3] TIME TOOL CALL, shell (a)
{"command":"true"}

[4] TIME TOOL CALL, shell (b)
{"command":"false"}

[5] TIME TOOL RESULT, shell (b), error, 0.030 s
no such thing
at all

[6] TIME TOOL RESULT, shell (a), ok, 0.030 s
fine

[7] TIME REQUEST, turn 2
result of shell (b), as in [5]
result of shell (a), as in [6]
steer #7: hurry

[8] TIME RETRY, attempt 2 in 1.000 s
overloaded

[9] TIME RESPONSE, 200 tokens in (0 cached), 5 out, unknown price, 0.120 s
done

[10] TIME ENDED, completed
done
"#;
    assert_eq!(text, expected);
}

#[test]
fn s1_43_a_workers_run_log_names_the_worker() {
    let (name, text) = logged("t_001", "work", &[completed("done")]);
    assert_eq!(name, "agent_run_t_000_00000000_000000.log");
    assert_eq!(text, "agent t_001, model scripted/x, TIME\ntrace tr_1\n\n[1] TIME ENDED, completed\ndone\n");
}
