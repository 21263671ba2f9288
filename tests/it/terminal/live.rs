//! What still changes: text that streams, thoughts, calls that run; and a call in full.

use tillerman::event::AgentEvent;
use tillerman::message::{CallId, RawArgs, ToolCall, ToolResult};
use tillerman::runtime::Source;
use tillerman::task::TaskId;
use tillerman::terminal::screen::{Screen, Texts};

use super::screen::{finished, main_source, replied, screen, shown, started, text};
use crate::cli::wait_until;

fn thinking(text: &str) -> AgentEvent {
    AgentEvent::Thinking { text: text.into() }
}

fn progress(id: &str, chunk: &str) -> AgentEvent {
    AgentEvent::ToolProgress { call: CallId(id.into()), chunk: chunk.into() }
}

fn see(screen: &mut Screen, events: Vec<AgentEvent>) -> Vec<String> {
    shown(screen, &main_source(), events)
}

#[test]
fn text_that_streams_is_live_until_it_is_final() {
    let mut screen = screen(Texts::Shown);
    assert_eq!(see(&mut screen, vec![text("Half a \u{1b}[31msen")]), [""; 0]);
    assert_eq!(screen.live(9), ["● Half a sen"]);
    assert_eq!(see(&mut screen, vec![text("tence.\n\nAn")]), ["● Half a sentence."]);
    assert_eq!(screen.live(9), ["", "  An"]);
    assert_eq!(see(&mut screen, vec![text("other."), replied("")]), ["", "  Another."]);
    assert_eq!(screen.live(9), [""; 0]);
}

#[test]
fn hidden_words_are_not_live_either() {
    let mut screen = screen(Texts::Hidden);
    see(&mut screen, vec![text("Half a sen")]);
    assert_eq!(screen.live(9), [""; 0]);
}

#[test]
fn a_thought_is_not_shown_until_somebody_says_how() {
    let mut screen = screen(Texts::Shown);
    assert_eq!(see(&mut screen, vec![thinking("deep\n"), text("out\n"), replied("out\n")]), ["● out"]);
    assert_eq!(screen.set_thoughts(true), [""; 0]);
}

#[test]
fn a_thought_is_folded_into_a_line_and_opened_when_asked() {
    let mut screen = screen(Texts::Shown);
    assert_eq!(screen.set_thoughts(false), [""; 0]);
    assert_eq!(see(&mut screen, vec![thinking("first\nsec"), thinking("ond")]), [""; 0]);
    assert_eq!(screen.live(9), ["✻ thinking 0s …"]);
    let lines = see(&mut screen, vec![text("out\n"), replied("out\n")]);
    assert_eq!(lines, ["✻ thought for 0s (ctrl+t shows)", "● out"]);
    assert_eq!(screen.set_thoughts(true), ["✻ first", "  second"]);
    let lines = see(&mut screen, vec![thinking("\nmore\nand")]);
    assert_eq!((lines, screen.live(9)), (vec!["✻ more".to_owned()], vec!["  and".to_owned()]));
    assert_eq!(see(&mut screen, vec![started("a", "ls")]), ["  and"]);
    assert_eq!(screen.set_thoughts(false), [""; 0]);
    assert_eq!(screen.set_thoughts(true), [""; 0], "it stands there already");
}

#[test]
fn calls_that_run_are_live_with_what_they_said_last() {
    let mut screen = screen(Texts::Shown);
    see(
        &mut screen,
        vec![started("a", "make"), started("b", "true"), progress("a", "one\ntw"), progress("a", "o\nthr")],
    );
    assert_eq!(see(&mut screen, vec![finished("b", "", false)]), ["├ shell true ✓ 1.2s"]);
    wait_until("the call to be shown", || screen.live(9).len() == 2);
    let lines = screen.live(9);
    assert!(lines[0].starts_with("├ shell make … running "), "{lines:?}");
    assert_eq!(lines[1], "│ thr");
    see(&mut screen, vec![progress("a", "ee\n\n")]);
    assert_eq!(screen.live(1), ["│ three"], "no more rows than there are");
    see(&mut screen, vec![finished("a", "three", false)]);
    assert_eq!(screen.live(9), [""; 0]);
}

#[test]
fn calls_of_a_watched_worker_are_live_with_its_name() {
    let mut screen = screen(Texts::Shown);
    screen.watch(Some(TaskId(1)));
    shown(&mut screen, &Source::Task(TaskId(1)), vec![started("a", "make")]);
    wait_until("the call to be shown", || !screen.live(9).is_empty());
    assert!(screen.live(9)[0].starts_with("t_001 │ ├ shell make … running "), "{:?}", screen.live(9));
}

#[test]
fn the_last_call_is_shown_in_full_within_a_cap() {
    let mut screen = screen(Texts::Shown);
    assert_eq!(screen.expand(), ["no call has ended yet"]);
    let args = RawArgs(r#"{"command":"seq 2\necho","timeout":5}"#.into());
    let call = ToolCall { id: CallId("a".into()), name: "shell".into(), args };
    let result = |output: String| ToolResult {
        call: CallId("a".into()),
        output,
        details: serde_json::Value::Null,
        is_error: false,
    };
    let mut run = |output: String| {
        let took = std::time::Duration::from_secs(12);
        let ended = AgentEvent::ToolFinished { result: result(output), took };
        see(&mut screen, vec![AgentEvent::ToolStarted { call: call.clone() }, ended]);
        screen.expand()
    };
    let head = ["├ shell seq 2 echo ✓ 12s", "  command: seq 2", "  echo", "  timeout: 5"];
    assert_eq!(run("1\n2\u{1b}[2J\n".into()), [&head[..], &["  1", "  2"]].concat());
    assert_eq!(run(String::new()), [&head[..], &["  (no output)"]].concat());
    let lines = run("x\n".repeat(1000));
    assert_eq!((lines.len(), lines[500].as_str()), (501, "  … 504 more lines"));
}
