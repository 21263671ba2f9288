//! progress.md: which events become lines, and that no line is ever half, forged or written elsewhere.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use tillerman::event::{AgentEvent, Ending, Observer};
use tillerman::message::{Block, CallId, Message, Note, NoteId, NoteKind, RawArgs, Role, ToolCall, ToolResult, Usage};
use tillerman::task::{Brief, PROGRESS_SHOWN, Progress, TaskDir, one_line, short};

fn task() -> (tempfile::TempDir, TaskDir) {
    let home = tempfile::tempdir().unwrap();
    let dir = TaskDir::create(home.path(), &Brief { body: "x".to_owned(), ..Brief::default() }).unwrap();
    (home, dir)
}

/// The lines without their stamps, which are checked.
fn lines(dir: &TaskDir) -> Vec<String> {
    let text = dir.progress_text();
    assert!(text.is_empty() || text.ends_with('\n'));
    let line = |line: &str| {
        let (stamp, words) = line.split_once(' ').unwrap();
        let clock: Vec<u8> = stamp.split(':').map(|part| part.parse().unwrap()).collect();
        assert!(stamp.len() == 5 && clock[0] < 24 && clock[1] < 60, "{stamp}");
        words.to_owned()
    };
    text.lines().map(line).collect()
}

fn call(id: &str, name: &str, args: &str) -> ToolCall {
    ToolCall { id: CallId(id.to_owned()), name: name.to_owned(), args: RawArgs(args.to_owned()) }
}

fn replied(blocks: Vec<Block>) -> AgentEvent {
    let message = Message { role: Role::Assistant, blocks };
    AgentEvent::Replied {
        message,
        usage: Usage::default(),
        took: Duration::from_secs(1),
        model: "a/b".into(),
        cost: None,
    }
}

fn finished(id: &str, output: &str, is_error: bool) -> AgentEvent {
    let result = ToolResult { call: CallId(id.to_owned()), output: output.to_owned(), details: Value::Null, is_error };
    AgentEvent::ToolFinished { result, took: Duration::from_millis(1_240) }
}

#[test]
fn a_run_becomes_one_line_per_step() {
    let (_home, dir) = task();
    let watch = Progress::of(dir.clone());
    let shell = call("c1", "shell", r#"{"timeout": 5, "command": "cargo test\n  --all"}"#);
    let note =
        |kind, text: &str| AgentEvent::Noted { note: Note { id: NoteId(1), kind, text: text.to_owned() }, turn: 2 };
    let events = [
        AgentEvent::RunStarted,
        AgentEvent::TurnStarted { turn: 1 },
        AgentEvent::Text { text: "Found".to_owned() },
        replied(vec![Block::text("\nFound 5 extractable functions\nand more"), Block::Call(shell.clone())]),
        AgentEvent::ToolStarted { call: shell },
        AgentEvent::ToolStarted { call: call("c2", "list", "not json") },
        AgentEvent::ToolProgress { call: CallId("c1".to_owned()), chunk: "running 3 tests\n".to_owned() },
        finished("c2", "src", false),
        finished("c1", "no such command\nhelp", true),
        note(NoteKind::Steer, "keep the public API"),
        note(NoteKind::FollowUp, "then the docs"),
        AgentEvent::Retrying { attempt: 2, wait: Duration::from_millis(500), why: "503".to_owned() },
        AgentEvent::Compacted { before: 9_000, after: 1_000, model: None, usage: Usage::default(), cost: None },
        AgentEvent::TurnEnded { turn: 1 },
        replied(vec![Block::text("All is well.")]),
        AgentEvent::RunEnded { ending: Ending::Completed { answer: "All is well.".to_owned() } },
    ];
    events.iter().for_each(|event| watch.observe(event));
    assert_eq!(
        lines(&dir),
        [
            "Found 5 extractable functions",
            "list (1.2 s)",
            "shell cargo test --all: refused: no such command",
            "steered #1 seen at turn 2: keep the public API",
            "follow-up #1 seen at turn 2: then the docs",
            "model call failed (503); attempt 2 in 500 ms",
            "shortened the conversation: 9000 to 1000 tokens",
            "done",
        ]
    );
}

#[test]
fn every_ending_is_told_once() {
    let ended = |ending| vec![AgentEvent::RunEnded { ending }];
    let failed = |why: &str| {
        let ending = Ending::Failed { why: why.to_owned() };
        vec![AgentEvent::Failed { why: why.to_owned() }, AgentEvent::RunEnded { ending }]
    };
    for (events, line) in [
        (ended(Ending::Aborted), "aborted"),
        (ended(Ending::TurnLimit { answer: String::new() }), "turn limit reached"),
        (failed("anthropic: wrong key"), "failed: anthropic: wrong key"),
    ] {
        let (_home, dir) = task();
        let watch = Progress::of(dir.clone());
        events.iter().for_each(|event| watch.observe(event));
        assert_eq!(lines(&dir), [line]);
    }
}

#[test]
fn a_line_stays_one_line_and_short() {
    let (_home, dir) = task();
    dir.progress("one\n23:59 forged\r\u{1b}[2J\ttwo").unwrap();
    dir.progress(&"é".repeat(500)).unwrap();
    assert_eq!(lines(&dir), ["one 23:59 forged [2J two".to_owned(), format!("{}…", "é".repeat(159))]);
    assert_eq!(one_line("  a \n b ", 80), "a b");
    assert_eq!(one_line("abc", 3), "ab…");
    assert_eq!(one_line("ab", 3), "ab");
}

#[test]
fn a_link_or_a_pipe_in_place_of_the_file_is_not_followed() {
    let (home, dir) = task();
    let victim = home.path().join("victim");
    fs::write(&victim, "mine").unwrap();
    std::os::unix::fs::symlink(&victim, dir.path().join("progress.md")).unwrap();
    assert!(dir.progress("x").is_err());
    assert_eq!((fs::read_to_string(&victim).unwrap().as_str(), dir.progress_text().as_str()), ("mine", ""));

    let (_home, dir) = task();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        dir.path().join("progress.md"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    assert!(dir.progress("x").is_err(), "and nobody waits for a reader");
    Progress::of(dir.clone()).observe(&AgentEvent::RunEnded { ending: Ending::Aborted });
}

#[test]
fn a_long_file_is_shown_from_a_line_start_near_its_end() {
    let (_home, dir) = task();
    let line = format!("14:03 {}\n", "x".repeat(94));
    fs::write(dir.path().join("progress.md"), line.repeat(2_000)).unwrap();
    let shown = dir.progress_text();
    assert!(shown.len() as u64 <= PROGRESS_SHOWN && shown.len() > 60_000);
    assert!(shown.starts_with("14:03 ") && shown.ends_with("x\n"));
}

#[test]
fn durations_are_for_people() {
    let shown = [0, 999, 1_000, 59_940, 60_000, 3_725_000].map(|millis| short(Duration::from_millis(millis)));
    assert_eq!(shown, ["0 ms", "999 ms", "1.0 s", "59.9 s", "1 min 00 s", "62 min 05 s"]);
}
