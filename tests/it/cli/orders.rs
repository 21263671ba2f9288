//! `tillerman tasks steer …` from a second terminal, while the first works.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use super::{Done, Place, is_alive, wait_until};

/// A program that runs one task until the file `go` is there.
fn slow(place: &Place) -> Child {
    fs::write(place.path().join("wait"), "echo > waits; until [ -e go ]; do sleep 0.01; done").unwrap();
    let mut run = place.command(&["run", "--wait", "dispatch slow: echo begun; sh wait"]);
    let run = run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // What is said before it waits, it would hear at once.
    wait_until("it waits", || place.path().join("waits").exists());
    run
}

fn go(place: &Place) {
    fs::write(place.path().join("go"), "").unwrap();
}

fn socket(place: &Place) -> PathBuf {
    let all = fs::read_dir(place.home.path().join("workspaces")).unwrap();
    all.map(|state| state.unwrap().path().join("control.sock")).next().unwrap()
}

fn said(done: &Done) -> (Option<i32>, &str, &str) {
    (done.code, done.stdout.as_str(), done.stderr.as_str())
}

#[test]
fn a_worker_is_steered_from_a_second_terminal_and_the_receipt_says_when_it_was_seen() {
    let place = Place::new();
    let mut run = slow(&place);
    let steered = place.tillerman(&["tasks", "steer", "t_001", "also", "run `echo by hand`"]);
    assert_eq!(said(&steered), (Some(0), "t_001 queued #1\n", ""));
    let json = place.tillerman(&["tasks", "follow-up", "t_001", "run `echo at the end`", "--json"]);
    assert_eq!(said(&json), (Some(0), "{\"v\":1,\"type\":\"queued\",\"agent\":\"t_001\",\"note\":2}\n", ""));
    let mut wait = place.command(&["tasks", "steer", "t_001", "also run `echo seen`", "--wait", "--json"]);
    let wait = wait.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let notes = || place.tillerman(&["tasks", "show", "t_001", "--json"]).stdout;
    wait_until("the third note is there", || notes().contains("echo seen"));
    go(&place);
    let waited = String::from_utf8(wait.wait_with_output().unwrap().stdout).unwrap();
    let lines: Vec<serde_json::Value> = waited.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{waited}");
    assert_eq!((&lines[1]["type"], &lines[1]["note"]), (&"seen".into(), &3.into()), "{waited}");
    assert!(lines[1]["turn"].as_u64().is_some_and(|turn| turn > 1), "{waited}");
    assert!(run.wait().unwrap().success());
    let result = fs::read_to_string(place.path().join(".tasks/t_001/result.md")).unwrap();
    assert!(result.contains("by hand") && result.contains("seen"), "{result}");
    assert!(!socket(&place).exists(), "the socket is left");
}

#[test]
fn work_is_handed_over_stopped_and_gone_on_with_from_a_second_terminal() {
    let place = Place::new();
    let mut run = slow(&place);
    let more = place.tillerman(&["tasks", "dispatch", "Do:\n- [ ] `echo more`\n- [ ] `sleep 300`", "--title", "more"]);
    assert_eq!(said(&more), (Some(0), "t_002 dispatched\n", ""));
    let progress = place.path().join(".tasks/t_002/progress.md");
    wait_until("it runs", || fs::read_to_string(&progress).is_ok_and(|text| text.contains("more")));
    let list = place.tillerman(&["tasks"]);
    assert!(list.stdout.contains("t_002") && list.stdout.contains("running"), "{list:?}");
    assert_eq!(said(&place.tillerman(&["tasks", "abort", "t_002"])), (Some(0), "t_002 is told to stop\n", ""));
    let result = place.path().join(".tasks/t_002/result.md");
    wait_until("it has ended", || fs::read_to_string(&result).is_ok_and(|text| text.contains("aborted")));
    // The crew forgets it a moment after its result is written.
    wait_until("it goes on", || match place.tillerman(&["tasks", "resume", "t_002"]) {
        again if again.stderr.contains("goes on already") => false,
        again => {
            assert_eq!(said(&again), (Some(0), "t_002 goes on: attempt 2\n", ""));
            true
        }
    });
    let refused = place.tillerman(&["tasks", "resume", "t_001"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("t_001 goes on already"), "{refused:?}");
    go(&place);
    assert!(run.wait().unwrap().success());
}

#[test]
fn where_nobody_works_orders_say_so_and_what_a_killed_program_left_fools_nobody() {
    let place = Place::new();
    let refused = place.tillerman(&["tasks", "steer", "t_001", "hello"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains("no tillerman works in") && refused.stderr.contains("start one there"),
        "{refused:?}"
    );
    assert_eq!(place.tillerman(&["tasks", "steer", "one", "hello"]).code, Some(2));
    assert_eq!(place.tillerman(&["tasks", "steer", "t_001"]).code, Some(2));

    let mut run = slow(&place);
    let mut wait = place.command(&["tasks", "steer", "t_001", "hello", "--wait"]);
    let wait = wait.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the note is there", || place.tillerman(&["tasks", "show", "t_001"]).stdout.contains("hello"));
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(socket(&place).exists(), "a killed program cannot remove it");
    let waited = wait.wait_with_output().unwrap();
    assert_eq!(waited.status.code(), Some(1), "who waits does not wait for ever");
    assert!(String::from_utf8(waited.stderr).unwrap().contains("#1 waits, and is heard if t_001 goes on"));
    let refused = place.tillerman(&["tasks", "abort", "t_001"]);
    assert!(refused.stderr.contains("no tillerman works in"), "{refused:?}");

    go(&place);
    let done = place.tillerman(&["tasks", "resume", "t_001"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stderr.contains("✓ t_001 done"), "without anybody it is done here: {done:?}");
    assert!(!socket(&place).exists());
    assert!(!is_alive(run.id()));
}

#[test]
fn b1_a_budget_is_given_looked_at_and_raised_from_a_second_terminal() {
    let place = Place::new();
    let mut run = slow(&place);
    let handed =
        place.tillerman(&["tasks", "dispatch", "Do: `sleep 300`\n- [ ] `sleep 300`", "--budget", "40 turns $0.50"]);
    assert_eq!(said(&handed), (Some(0), "t_002 dispatched\n", ""));
    let raised = place.tillerman(&["tasks", "budget", "t_002", "+0.25"]);
    assert!(raised.code == Some(0) && raised.stdout.contains("$0.00 of $0.75 · "), "{raised:?}");
    let looked = place.tillerman(&["tasks", "budget", "t_002"]);
    assert!(looked.code == Some(0) && looked.stdout.contains("$0.00 of $0.75 · "), "{looked:?}");
    let brief = || fs::read_to_string(place.path().join(".tasks/t_002/task.md")).unwrap();
    assert!(brief().contains("usd: 0.75"), "{}", brief());
    for words in ["lots", "-1"] {
        let why = format!("`{words}` is no budget; write it like $0.50, 400k tokens, 20m or 40 turns\n");
        let wrong = place.tillerman(&["tasks", "budget", "t_002", words]);
        assert_eq!((wrong.code, wrong.stderr), (Some(2), format!("tillerman: {why}")));
        let wrong = place.tillerman(&["tasks", "dispatch", "x", "--budget", words]);
        assert!(wrong.code == Some(2) && wrong.stderr.contains(&why), "{wrong:?}");
    }
    place.tillerman(&["tasks", "abort", "t_002"]);
    go(&place);
    assert!(run.wait().unwrap().success());
}

#[test]
fn a_table_is_dispatched_whole_from_a_second_terminal() {
    let place = Place::new();
    let mut run = slow(&place);
    let rows: String = (1..=70).map(|row| format!("{row}\n")).collect();
    fs::write(place.path().join("rows.csv"), format!("n\n{rows}")).unwrap();
    let wrong = place.tillerman(&["tasks", "dispatch", "Do:\n- [ ] echo {{m}}", "--rows", "rows.csv"]);
    assert_eq!((wrong.code, wrong.stdout.as_str()), (Some(2), ""), "{wrong:?}");
    assert!(wrong.stderr.contains("the template asks for {{m}}, and the columns are n"), "{wrong:?}");
    let made = place.tillerman(&["tasks", "dispatch", "Do:\n- [ ] echo {{n}}", "--rows", "rows.csv"]);
    let told: String = (2..=71).map(|id| format!("t_{id:03} dispatched\n")).collect();
    assert_eq!(said(&made), (Some(0), told.as_str(), ""));
    go(&place);
    assert!(run.wait().unwrap().success());
    let result = fs::read_to_string(place.path().join(".tasks/t_071/result.md")).unwrap();
    assert!(result.contains("status: done") && result.contains("echo 70"), "{result}");
}
