//! What a call changed or why it failed, below its line; and that every line fits.

use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tillerman::event::{AgentEvent, Ending};
use tillerman::message::{CallId, RawArgs, ToolCall, ToolResult};
use tillerman::runtime::{News, Permission, Source};
use tillerman::task::TaskId;
use tillerman::terminal::Look;
use tillerman::terminal::screen::{Screen, Texts};
use tillerman::terminal::theme::Theme;
use tillerman::terminal::wrap::columns;

use super::screen::{envelope, finished, main_source, noted, replied, screen, shown, started, text};

const TOOK: Duration = Duration::from_millis(100);

fn call(name: &str, args: &Value) -> AgentEvent {
    AgentEvent::ToolStarted {
        call: ToolCall { id: CallId("c".into()), name: name.into(), args: RawArgs(args.to_string()) },
    }
}

fn ended(output: &str, details: Value, is_error: bool) -> AgentEvent {
    let result = ToolResult { call: CallId("c".into()), output: output.into(), details, is_error };
    AgentEvent::ToolFinished { result, took: TOOK }
}

fn edited(diff: &str) -> Vec<AgentEvent> {
    let details = json!({ "added": 1, "removed": 1, "diff": diff });
    vec![call("edit_file", &json!({ "path": "src/a.rs" })), ended("Edited src/a.rs", details, false)]
}

#[test]
fn an_edit_shows_what_changed() {
    let diff = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -8,3 +8,3 @@\n let a;\n-let b = one();\n+let b = two();\n let c;\n@@ -99,0 +100,1 @@\n+\u{1b}[2Jend\n";
    let lines = shown(&mut screen(Texts::Shown), &main_source(), edited(diff));
    let expected = [
        "├ edit_file src/a.rs ✓ 0.1s +1 −1",
        "    8   let a;",
        "    9 - let b = one();",
        "    9 + let b = two();",
        "   10   let c;",
        "     ⋮",
        "  100 + end",
    ];
    assert_eq!(lines, expected);
    assert_eq!(shown(&mut screen(Texts::Hidden), &main_source(), edited(diff)), expected[..1]);
}

#[test]
fn words_that_changed_are_marked() {
    let look = Look { color: true, theme: Theme::Ansi, ..Look::PLAIN };
    let mut screen = Screen::new(look, 60, PathBuf::from("/w"), Texts::Shown);
    let lines = shown(&mut screen, &main_source(), edited("@@ -1 +1 @@\n-let b = one();\n+let b = two();\n"));
    let part = |sgr: &str, text: &str| format!("\u{1b}[{sgr}m{text}\u{1b}[0m");
    let [gone, come] = [("31", "-", "one();"), ("32", "+", "two();")].map(|(tone, sign, word)| {
        let begin = [part("2", "  1 "), part(tone, &format!("{sign} ")), part(tone, "let b = ")].concat();
        begin + &part(&format!("1;4;{tone}"), word)
    });
    let merged = |line: &str| line.replace("\u{1b}[0m\u{1b}[31m", "").replace("\u{1b}[0m\u{1b}[32m", "");
    assert_eq!(lines[1..].iter().map(|line| merged(line)).collect::<Vec<_>>(), [merged(&gone), merged(&come)]);
}

#[test]
fn a_long_change_is_cut_and_all_of_it_shown_when_asked() {
    let mut screen = screen(Texts::Shown);
    let diff = format!("@@ -0,0 +1,40 @@\n{}… 7 more lines\n", "+new\n".repeat(40));
    let lines = shown(&mut screen, &main_source(), edited(&diff));
    assert_eq!((lines.len(), lines[13].as_str()), (14, "  … 29 more lines"));
    screen.set_thoughts(false);
    let lines = shown(&mut screen, &main_source(), edited(&diff));
    assert_eq!(lines[13], "  … 29 more lines; ctrl+o");
    let all = screen.expand();
    assert!(all.contains(&"  40 + new".to_owned()) && all.contains(&"      … 7 more lines".to_owned()), "{all:?}");
}

#[test]
fn a_failed_command_shows_what_it_said_first() {
    let output = "one\n\ntwo\nthree\nfour\nfive\nsix\nexit code 2";
    let events = |output: &str| {
        vec![call("shell", &json!({ "command": "make" })), ended(output, json!({ "exit_code": 2 }), false)]
    };
    let lines = shown(&mut screen(Texts::Shown), &main_source(), events(output));
    let expected =
        ["├ shell make ✗ 0.1s · exit code 2", "│ one", "│ two", "│ three", "│ four", "│ five", "  … 1 more line"];
    assert_eq!(lines, expected);
    let lines = shown(&mut screen(Texts::Shown), &main_source(), events("exit code 2"));
    assert_eq!(lines, expected[..1]);
    let lines = shown(&mut screen(Texts::Hidden), &main_source(), events(output));
    assert_eq!(lines, expected[..1]);
}

#[test]
fn a_dispatch_names_the_task() {
    let said = "t_003 is dispatched; its files are in .tasks/t_003/.";
    let events = |output: &str, is_error| {
        let args = json!({ "title": "speed up\nthe parser", "task": "long" });
        vec![call("dispatch", &args), ended(output, Value::Null, is_error)]
    };
    let lines = shown(&mut screen(Texts::Shown), &main_source(), events(said, false));
    assert_eq!(lines, ["├ dispatch t_003 “speed up” ✓ 0.1s"]);
    let lines = shown(&mut screen(Texts::Shown), &main_source(), events("the queue is full", true));
    assert_eq!(lines, ["├ dispatch speed up the parser ✗ 0.1s · the queue is full"]);
}

#[test]
fn a_question_about_a_call_is_broken_at_words() {
    let mut screen = screen(Texts::Shown);
    let permission = Permission {
        id: 7,
        tool: "shell".into(),
        shown: "rm -rf target/debug/build".into(),
        why: "rule `ask: Bash(rm:*)` in config.md".into(),
        escalated: false,
        settled: None,
    };
    let lines = screen.show(&envelope(main_source(), News::Permission(permission)));
    let expected = [
        "? may it? shell rm -rf target/debug/build · rule `ask:",
        "  Bash(rm:*)` in config.md · y, n, /approve 7 or /deny 7 WHY",
    ];
    assert_eq!(lines, expected);
}

fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec!["word", "中文字幕", "👩\u{200d}🚀🚢", "averyveryverylongwordwithoutanyend", "❤\u{fe0f}", "\n", "`a`", "é"]);
    prop::collection::vec(word, 0..30).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_line_fits(said in words(), width in prop::sample::select(vec![20usize, 40, 80, 200])) {
        let mut screen = Screen::new(Look::PLAIN, width, PathBuf::from("/w"), Texts::Shown);
        screen.set_thoughts(true);
        screen.watch(Some(TaskId(4)));
        let permission = |escalated, settled: Option<&str>| News::Permission(Permission {
            id: 1, tool: "shell".into(), shown: said.clone(), why: said.clone(), escalated, settled: settled.map(str::to_owned),
        });
        let diff = format!("@@ -1,9 +1,9 @@\n-{}\n+{} more\n", said.replace('\n', " "), said.replace('\n', " "));
        let events = vec![
            AgentEvent::RunStarted,
            AgentEvent::Thinking { text: said.clone() },
            text(&said),
            replied(&said),
            noted(&said),
            call(&said, &json!({ "command": said })),
            AgentEvent::ToolProgress { call: CallId("c".into()), chunk: format!("{said}\n") },
            ended(&said, json!({ "exit_code": 1, "added": 10, "removed": 2, "diff": diff }), false),
            started("b", "x"),
            finished("b", &said, true),
            AgentEvent::Retrying { attempt: 2, wait: Duration::from_secs(9), why: said.clone() },
            AgentEvent::Compacted { before: 1, after: 2, model: None, usage: Default::default(), cost: None },
            AgentEvent::Failed { why: said.clone() },
            AgentEvent::RunEnded { ending: Ending::Stuck { evidence: said.clone() } },
        ];
        let task = Source::Task(TaskId(4));
        let mut lines = shown(&mut screen, &main_source(), events.clone());
        lines.extend(shown(&mut screen, &task, events));
        for news in [permission(false, None), permission(true, None), permission(true, Some(&said)), News::TaskQueued { title: said.clone(), ahead: 3 },
            News::TaskHeld { title: said.clone(), after: vec![TaskId(1); 9] }, News::TaskStarted { title: said.clone() }, News::Walls { why: said.clone() }] {
            lines.extend(screen.show(&envelope(task.clone(), news)));
        }
        lines.extend(screen.live(50));
        lines.extend(screen.expand());
        for line in &lines {
            prop_assert!(columns(line) <= width && !line.contains('\n'), "{} columns: {:?}", columns(line), line);
        }
    }
}
