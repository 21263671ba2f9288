//! JSON lines: flat, versioned, numbered, ended.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tillerman::cli::json::{End, Lines};
use tillerman::event::{AgentEvent, Ending};
use tillerman::message::{
    Block, CallId, Message, Note, NoteId, NoteKind, RawArgs, Role, Spent, Tally, ToolCall, ToolResult, Usage, Usd,
};
use tillerman::runtime::{Envelope, News, RunId, Source};
use tillerman::session::SessionId;
use tillerman::task::{TaskId, TaskReport, TaskStatus};
use tillerman::terminal::exit::Exit;

const TOOK: Duration = Duration::from_millis(1500);
const USED: Usage = Usage { input: 100, output: 20, cache_read: 3, cache_write: 4, reasoning: 5 };

/// The lines of some news, without what is the same in all of them.
fn lines(source: &Source, news: Vec<News>) -> Vec<Value> {
    let mut lines = Lines::new("s");
    let envelope = |news| Envelope { seq: 77, at: Timestamp::UNIX_EPOCH, source: source.clone(), news };
    let all: Vec<String> = news.into_iter().flat_map(|news| lines.news(&envelope(news))).collect();
    let agent = match source {
        Source::Main { .. } => "main".to_owned(),
        Source::Task(task) => task.to_string(),
    };
    let bare = |(at, line): (usize, &String)| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let fields = line.as_object_mut().unwrap();
        let mut take = |key: &str| fields.shift_remove(key).unwrap();
        assert_eq!(take("v"), 1);
        assert_eq!(take("seq"), at + 1);
        assert_eq!(take("ts"), "1970-01-01T00:00:00.000Z");
        assert_eq!(take("session"), "s");
        assert_eq!(take("agent"), agent.as_str());
        line
    };
    all.iter().enumerate().map(bare).collect()
}

fn call(args: &str) -> ToolCall {
    ToolCall { id: CallId("c1".into()), name: "shell".into(), args: RawArgs(args.into()) }
}

#[test]
fn every_event_is_one_flat_line_or_none() {
    let asked = call(r#"{"command":"ls"}"#);
    let message = Message { role: Role::Assistant, blocks: vec![Block::text("On it."), Block::Call(asked.clone())] };
    let (id, details) = (CallId("c1".into()), json!({"exit": 0}));
    let result = ToolResult { call: id.clone(), output: "a".into(), details, is_error: false };
    let note = Note { id: NoteId(3), kind: NoteKind::Steer, text: "faster".into() };
    let events = vec![
        AgentEvent::RunStarted,
        AgentEvent::TurnStarted { turn: 1 },
        AgentEvent::Thinking { text: "hm".into() },
        AgentEvent::Text { text: "On".into() },
        AgentEvent::CallOpened { id: id.clone(), name: "shell".into() },
        AgentEvent::Replied { message, usage: USED, took: TOOK, model: "a/b".into(), cost: Some(Usd(12_300_000)) },
        AgentEvent::ToolStarted { call: asked },
        AgentEvent::ToolStarted { call: call("{broken") },
        AgentEvent::ToolProgress { call: id, chunk: "a\n".into() },
        AgentEvent::ToolFinished { result, took: TOOK },
        AgentEvent::TurnEnded { turn: 1 },
        AgentEvent::Noted { note, turn: 2 },
        AgentEvent::Compacted { before: 9, after: 2, model: None, usage: Usage::default(), cost: Some(Usd(0)) },
        AgentEvent::Compacted { before: 9, after: 2, model: Some("a/c".into()), usage: USED, cost: None },
        AgentEvent::Retrying { attempt: 2, wait: TOOK, why: "busy".into() },
        AgentEvent::Failed { why: "no".into() },
        AgentEvent::RunEnded { ending: Ending::Aborted },
    ];
    let main = Source::Main { session: SessionId::new("s"), run: RunId(1) };
    let expected = [
        json!({"type": "turn.start", "turn": 1}),
        json!({"type": "reasoning.delta", "text": "hm"}),
        json!({"type": "text.delta", "text": "On"}),
        json!({"type": "message", "text": "On it.", "calls": [{"call": "c1", "name": "shell", "args": {"command": "ls"}}]}),
        json!({
            "type": "usage", "input": 100, "output": 20, "cache_read": 3, "cache_write": 4, "reasoning": 5, "total": 127,
            "duration_ms": 1500, "model": "a/b", "cost_usd": 0.0123, "cost_unknown_calls": 0
        }),
        json!({"type": "tool.start", "call": "c1", "name": "shell", "args": {"command": "ls"}}),
        json!({"type": "tool.start", "call": "c1", "name": "shell", "args": "{broken"}),
        json!({"type": "tool.output", "call": "c1", "text": "a\n"}),
        json!({
            "type": "tool.end", "call": "c1", "is_error": false, "output": "a", "details": {"exit": 0},
            "duration_ms": 1500
        }),
        json!({"type": "turn.end", "turn": 1}),
        json!({"type": "steer", "note": 3, "kind": "steer", "text": "faster", "turn": 2}),
        json!({
            "type": "compaction", "before": 9, "after": 2, "usage": none(), "model": null,
            "cost_usd": 0.0, "cost_unknown_calls": 0
        }),
        json!({
            "type": "compaction", "before": 9, "after": 2, "model": "a/c",
            "usage": {"input": 100, "output": 20, "cache_read": 3, "cache_write": 4, "reasoning": 5, "total": 127},
            "cost_usd": null, "cost_unknown_calls": 1
        }),
        json!({"type": "retry", "attempt": 2, "wait_ms": 1500, "message": "busy"}),
        json!({"type": "error", "message": "no"}),
    ];
    assert_eq!(lines(&main, events.into_iter().map(News::Agent).collect()), expected);
}

fn none() -> Value {
    json!({"input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "reasoning": 0, "total": 0})
}

#[test]
fn a_title_is_a_line() {
    let main = Source::Main { session: SessionId::new("s"), run: RunId(1) };
    let news = vec![News::Titled { title: "Boats".into() }];
    assert_eq!(lines(&main, news), [json!({"type": "session.title", "title": "Boats"})]);
}

#[test]
fn a_workers_comings_and_goings_are_lines_of_their_own() {
    let report = TaskReport {
        id: TaskId(3),
        title: "count".into(),
        attempt: 1,
        status: TaskStatus::Done,
        answer: "42".into(),
        turns: 2,
        usage: Usage::default(),
        spent: Spent { known: Usd(500_000_000), unknown: 2 },
        started: None,
        ended: Timestamp::UNIX_EPOCH,
        took: TOOK,
        dir: PathBuf::from("/w/.tasks/t_003"),
        verified: Vec::new(),
        files: Vec::new(),
        changed: Vec::new(),
        assumptions: Vec::new(),
        total: Spent::default(),
    };
    let note = Note { id: NoteId(3), kind: NoteKind::FollowUp, text: "then tidy".into() };
    let news = vec![
        News::TaskQueued { title: "count".into(), ahead: 1 },
        News::TaskStarted { title: "count".into() },
        News::Agent(AgentEvent::Noted { note, turn: 9 }),
        News::TaskEnded(report),
    ];
    let expected = [
        json!({"type": "worker.progress", "state": "queued", "title": "count", "ahead": 1}),
        json!({"type": "worker.start", "title": "count"}),
        json!({"type": "worker.steer", "note": 3, "kind": "follow_up", "text": "then tidy", "turn": 9}),
        json!({
            "type": "worker.end", "title": "count", "status": "done", "answer": "42", "turns": 2, "usage": none(),
            "duration_ms": 1500, "dir": "/w/.tasks/t_003", "cost_usd": 0.5, "cost_unknown_calls": 2
        }),
    ];
    assert_eq!(lines(&Source::Task(TaskId(3)), news), expected);
}

#[test]
fn the_last_line_says_how_it_ended() {
    let mut lines = Lines::new("s");
    lines.start("pilot/pilot", "no key found", "/w");
    let tally = Tally { calls: 3, usage: USED, spent: Spent { known: Usd(1), unknown: 0 } };
    let (result, structured) = (Some("half"), None);
    let (reason, interrupted) = (Some("turn_limit"), vec!["t_001".into()]);
    let end = End { exit: Exit::Limit, tally, reason, result, structured, interrupted };
    let line: Value = serde_json::from_str(&lines.end(&end)[0]).unwrap();
    assert_eq!(line["type"], "session.end");
    assert_eq!(line["seq"], 2);
    assert_eq!(line["exit_code"], 6);
    assert_eq!(line["exit"], "limit");
    assert_eq!((&line["result"], &line["reason"]), (&json!("half"), &json!("turn_limit")));
    assert_eq!(line.get("structured"), None);
    assert_eq!(line["usage"]["total"], 127);
    assert_eq!((&line["cost_usd"], &line["cost_unknown_calls"]), (&json!(1e-9), &json!(0)));
    assert_eq!(line["interrupted"], json!(["t_001"]));
}
