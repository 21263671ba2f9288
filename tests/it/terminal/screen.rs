//! The feed as lines.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tillerman::event::{AgentEvent, Ending};
use tillerman::message::{CallId, Message, Note, NoteId, NoteKind, RawArgs, Spent, ToolCall, ToolResult, Usage};
use tillerman::runtime::{Envelope, News, RunId, Source};
use tillerman::session::SessionId;
use tillerman::task::{TaskId, TaskReport, TaskStatus};
use tillerman::terminal::Look;
use tillerman::terminal::screen::{Screen, Texts};

use crate::patience::PATIENCE;

const TOOK: Duration = Duration::from_millis(1200);

pub(super) fn screen(texts: Texts) -> Screen {
    Screen::new(Look::PLAIN, 60, PathBuf::from("/w"), texts)
}

pub(super) fn main_source() -> Source {
    Source::Main { session: SessionId::new("s"), run: RunId(1) }
}

pub(super) fn envelope(source: Source, news: News) -> Envelope {
    Envelope { seq: 1, at: Timestamp::UNIX_EPOCH, source, news }
}

/// What the events of one source look like.
pub(super) fn shown(screen: &mut Screen, source: &Source, events: Vec<AgentEvent>) -> Vec<String> {
    let envelopes = events.into_iter().map(|event| envelope(source.clone(), News::Agent(event)));
    envelopes.flat_map(|envelope| screen.show(&envelope)).collect()
}

pub(super) fn text(text: &str) -> AgentEvent {
    AgentEvent::Text { text: text.into() }
}

pub(super) fn replied(text: &str) -> AgentEvent {
    AgentEvent::Replied {
        message: Message::assistant(text),
        usage: Usage::default(),
        took: TOOK,
        model: "a/b".into(),
        cost: None,
    }
}

pub(super) fn started(id: &str, command: &str) -> AgentEvent {
    let args = RawArgs(format!(r#"{{"command":"{command}"}}"#));
    AgentEvent::ToolStarted { call: ToolCall { id: CallId(id.into()), name: "shell".into(), args } }
}

pub(super) fn finished(id: &str, output: &str, is_error: bool) -> AgentEvent {
    let result = ToolResult { call: CallId(id.into()), output: output.into(), details: Value::Null, is_error };
    AgentEvent::ToolFinished { result, took: TOOK }
}

pub(super) fn noted(text: &str) -> AgentEvent {
    AgentEvent::Noted { note: Note { id: NoteId(3), kind: NoteKind::Steer, text: text.into() }, turn: 2 }
}

#[test]
fn s1_02_each_kind_of_message_has_its_colour() {
    let mut screen = Screen::new(Look { color: true, ..Look::PLAIN }, 60, PathBuf::from("/w"), Texts::Shown);
    let events = vec![
        AgentEvent::RunStarted,
        AgentEvent::TurnStarted { turn: 1 },
        replied("Said."),
        started("a", "good"),
        finished("a", "", false),
        started("b", "wrong"),
        finished("b", "exit 1", true),
        noted("heard"),
        AgentEvent::Failed { why: "over".into() },
    ];
    let lines = shown(&mut screen, &main_source(), events);
    let colour = |words: &str, colour: &str| {
        let line = lines.iter().find(|line| line.contains(words)).unwrap_or_else(|| panic!("no {words} in {lines:?}"));
        assert!(line.contains(colour), "{line:?}");
    };
    colour("Said.", "\x1b[36m●\x1b[0m");
    colour("good", "\x1b[32m✓\x1b[0m");
    colour("wrong", "\x1b[31m✗\x1b[0m");
    colour("seen at turn", "\x1b[2m");
    colour("over", "\x1b[31m✗\x1b[0m");
}

#[test]
fn an_answer_comes_as_whole_lines_with_one_bullet() {
    let events = vec![
        AgentEvent::RunStarted,
        AgentEvent::TurnStarted { turn: 1 },
        text("Two"),
        text(" things.\n\n"),
        text("First the"),
        text(" parser."),
        replied("Two things.\n\nFirst the parser."),
        started("a", "cargo test"),
        started("b", "false"),
        finished("b", "exit code 1", true),
        finished("a", "ok", false),
        AgentEvent::TurnEnded { turn: 1 },
        AgentEvent::TurnStarted { turn: 2 },
        replied("All \u{1b}[31mgreen\u{1b}[0m."),
        AgentEvent::TurnEnded { turn: 2 },
        AgentEvent::RunEnded { ending: Ending::Completed { answer: "All green.".into() } },
    ];
    let lines = shown(&mut screen(Texts::Shown), &main_source(), events);
    let expected = [
        "● Two things.",
        "",
        "  First the parser.",
        "├ shell false ✗ 1.2s · exit code 1",
        "├ shell cargo test ✓ 1.2s",
        "● All green.",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn words_that_a_retry_voids_are_not_shown_later() {
    let retrying =
        AgentEvent::Retrying { attempt: 2, wait: Duration::from_secs(2), why: "anthropic: overloaded".into() };
    let events = vec![
        AgentEvent::TurnStarted { turn: 1 },
        text("shown\n\nnot sho"),
        retrying,
        text("again\n"),
        replied("again\n"),
    ];
    let lines = shown(&mut screen(Texts::Shown), &main_source(), events);
    let retry = ["⟳ attempt 2 in 2.0s · anthropic: overloaded · the answer", "  begins anew"];
    assert_eq!(lines, ["● shown", retry[0], retry[1], "● again"]);
}

#[test]
fn a_failure_is_told_once() {
    let why = "anthropic: the key in ANTHROPIC_API_KEY was refused".to_owned();
    let events = vec![
        AgentEvent::Failed { why: why.clone() },
        AgentEvent::RunEnded { ending: Ending::Failed { why } },
        AgentEvent::RunStarted,
        AgentEvent::RunEnded { ending: Ending::Aborted },
    ];
    let lines = shown(&mut screen(Texts::Shown), &main_source(), events);
    assert_eq!(lines, ["✗ anthropic: the key in ANTHROPIC_API_KEY was refused", "■ stopped"]);
}

#[test]
fn hidden_words_leave_the_rest() {
    let events = vec![text("answer\n"), replied("answer"), started("a", "ls"), finished("a", "", false)];
    let lines = shown(&mut screen(Texts::Hidden), &main_source(), events);
    assert_eq!(lines, ["├ shell ls ✓ 1.2s"]);
}

#[test]
fn a_worker_is_told_by_its_news_and_by_the_notes_it_has_seen() {
    let mut screen = screen(Texts::Shown);
    let task = Source::Task(TaskId(4));
    let report = TaskReport {
        id: TaskId(4),
        title: "check docs".into(),
        attempt: 1,
        status: TaskStatus::Failed,
        answer: String::new(),
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
    let mut lines = screen.show(&envelope(task.clone(), News::TaskQueued { title: "check docs".into(), ahead: 2 }));
    lines.extend(screen.show(&envelope(task.clone(), News::TaskStarted { title: "check docs".into() })));
    let events =
        vec![AgentEvent::TurnStarted { turn: 1 }, text("quiet\n"), AgentEvent::TurnEnded { turn: 1 }, noted("also ls")];
    lines.extend(shown(&mut screen, &task, events));
    lines.extend(screen.show(&envelope(task, News::TaskEnded(report))));
    let expected = [
        "◌ t_004 queued · check docs · 2 ahead",
        "▶ t_004 check docs",
        "t_004 ↳ steer #3 seen at turn 2",
        "✗ t_004 failed 41s · check docs · .tasks/t_004/result.md",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_watched_worker_is_shown_closely_and_no_other() {
    let mut screen = screen(Texts::Shown);
    screen.watch(Some(TaskId(1)));
    let output = AgentEvent::ToolProgress { call: CallId("a".into()), chunk: "line \u{1b}[2Jone\nhalf".into() };
    let events =
        || vec![text("I look.\n"), replied("I look."), started("a", "ls"), output.clone(), finished("a", "", false)];
    assert_eq!(shown(&mut screen, &Source::Task(TaskId(2)), events()), Vec::<String>::new());
    let lines = shown(&mut screen, &Source::Task(TaskId(1)), events());
    assert_eq!(lines, ["t_001 │ ● I look.", "t_001 │ │ line one", "t_001 │ ├ shell ls ✓ 1.2s"]);
}

#[test]
fn a_wait_is_one_row_that_can_be_written_over_and_ends_with_the_next_event() {
    let mut screen = screen(Texts::Shown);
    let wait = Duration::from_secs(90);
    let retrying = AgentEvent::Retrying { attempt: 3, wait, why: format!("a: {}\nlong", "very ".repeat(40)) };
    shown(&mut screen, &main_source(), vec![retrying]);
    assert!(screen.wait().is_some_and(|left| left <= wait && left > wait - PATIENCE));
    let row = screen.waiting(Duration::from_millis(61_500)).unwrap();
    assert!(row.starts_with("⟳ attempt 3 in 1m02s · a: very"), "{row}");
    assert!(row.chars().count() <= 60 && !row.contains('\n'), "{row}");
    assert!(screen.waiting(Duration::ZERO).unwrap().starts_with("⟳ attempt 3 · a: very"));
    shown(&mut screen, &main_source(), vec![text("on")]);
    assert_eq!((screen.wait(), screen.waiting(wait)), (None, None));
}
