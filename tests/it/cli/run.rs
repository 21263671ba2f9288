//! `tillerman run`: the answer on stdout, what happens as JSON, tasks waited for or named, signals obeyed.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use super::{Place, types, wait_until};
use crate::server::{Response, Server, says};
use crate::story::processes;

#[test]
fn the_prompt_may_come_from_stdin() {
    for words in [&["run", "-"][..], &["run"], &["run", "--wait"]] {
        let done = Place::new().tillerman_with(words, &[], "2 * (3 + 4)");
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        assert!(done.stdout.contains("14"), "{}", done.stdout);
    }
}

#[test]
fn an_empty_prompt_says_what_to_do() {
    for (words, stdin) in [(&["run"][..], ""), (&["run", "-"], " \n"), (&["run", ""], "unread")] {
        let done = Place::new().tillerman_with(words, &[], stdin);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{words:?}");
        assert!(done.stderr.contains("the prompt is empty; say what to do"), "{}", done.stderr);
    }
}

#[test]
fn words_come_before_what_is_on_stdin() {
    let server = Server::list([says().text("Fine.")]);
    let args = ["run", "review", "this", "-", "-m", "anthropic/x", "--base-url", &server.base_url()];
    let done = Place::new().tillerman_with(&args, &[("ANTHROPIC_API_KEY", "sk-test-1")], "the diff\n");
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Fine.\n"), "{}", done.stderr);
    assert_eq!(server.requests()[0].last_user(), "review this\n\nthe diff\n");
}

// S0-08, S0-09
#[test]
fn a_session_folder_makes_later_runs_go_on() {
    let server = Server::answer(|_| Response::Says(says().text("Noted.")));
    let place = Place::new();
    let run = |prompt: &str| {
        let args = ["run", prompt, "--session-dir", "talks", "-m", "anthropic/x", "--base-url", &server.base_url()];
        place.tillerman_with(&args, &[("ANTHROPIC_API_KEY", "sk-test-1")], "")
    };
    assert_eq!(run("my name is Ada").code, Some(0));
    assert_eq!(run("what is my name?").code, Some(0));
    let requests = server.requests();
    assert!(requests[1].contains("my name is Ada"), "{}", requests[1].body);
    assert!(place.path().join("talks").is_dir());
}

#[test]
fn json_lines_tell_it_all_and_end_with_the_end() {
    let done = Place::new().tillerman(&["run", "--json", "run `echo to the tiller`"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let lines = done.lines();
    let types = types(&lines, "main");
    assert_eq!(types.first().map(String::as_str), Some("session.start"));
    for kind in ["turn.start", "tool.start", "tool.end", "text.delta", "message", "usage", "turn.end"] {
        assert!(types.iter().any(|found| found == kind), "{kind} is missing in {types:?}");
    }
    let end = lines.iter().find(|line| line["type"] == "tool.end").unwrap();
    assert!(end["output"].as_str().unwrap().contains("to the tiller"), "{end}");
}

#[test]
fn json_ends_with_the_end_also_when_nothing_could_begin() {
    let done = Place::new().tillerman(&["run", "--json", "hi", "-m", "anthropic/x"]);
    assert_eq!(done.code, Some(3));
    let lines = done.lines();
    assert_eq!(types(&lines, "main"), ["error", "session.end"]);
    assert!(lines[0]["message"].as_str().unwrap().contains("ANTHROPIC_API_KEY"));
}

#[test]
fn waiting_prints_what_the_agent_says_to_the_result() {
    let done = Place::new().tillerman(&["run", "--json", "--wait", "dispatch count: echo 4 lines"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let lines = done.lines();
    let worker = types(&lines, "t_001");
    assert_eq!(worker.first().map(String::as_str), Some("worker.start"), "{worker:?}");
    assert_eq!(worker.last().map(String::as_str), Some("worker.end"), "{worker:?}");
    let end = lines.last().unwrap();
    assert!(end["result"].as_str().unwrap().contains("4 lines"), "{end}");
    assert_eq!(end["interrupted"], serde_json::json!([]));
}

#[test]
fn without_waiting_a_task_at_work_is_named_and_recorded_as_interrupted() {
    let place = Place::new();
    let done = place.tillerman(&["run", "dispatch long: sleep 300"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("t_001 interrupted") && done.stderr.contains("--wait"), "{}", done.stderr);
    let list = place.tillerman(&["tasks"]);
    assert!(list.stdout.contains("t_001") && list.stdout.contains("interrupted"), "{}", list.stdout);
}

/// How many processes nap for a time that no other test, nor another run of this one, takes.
fn napping(nap: &str) -> usize {
    processes(nap).iter().filter(|line| line.starts_with("sleep")).count()
}

#[test]
fn a_signal_ends_the_run_its_command_and_the_json() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let place = Place::new();
        let nap = format!("sleep 302.{code}{}", std::process::id());
        let mut command = place.command(&["run", "--json", &format!("run {nap}")]);
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        wait_until("the command runs", || napping(&nap) == 1);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let mut out = String::new();
        child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        wait_until("the command is gone", || napping(&nap) == 0);
        let last = out.lines().last().unwrap();
        assert!(last.contains("\"session.end\"") && last.contains(&format!("\"exit_code\":{code}")), "{last}");
    }
}

// C19
#[test]
fn what_a_killed_program_left_undone_is_told_by_the_next() {
    let place = Place::new();
    let nap = format!("sleep 303.{}", std::process::id());
    let mut first = place.command(&["run", "--wait", &format!("dispatch long: {nap}")]);
    let mut first = first.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the command runs", || napping(&nap) == 1);
    first.kill().unwrap();
    first.wait().unwrap();
    wait_until("its command ends with it", || napping(&nap) == 0);
    let next = place.tillerman(&["-c", "run", "2 + 2"]);
    assert_eq!(next.code, Some(0), "{}", next.stderr);
    assert!(next.stderr.contains("■ t_001 interrupted"), "{}", next.stderr);
    let again = place.tillerman(&["-c", "run", "2 + 2"]);
    assert!(!again.stderr.contains("t_001"), "{}", again.stderr);
}

#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() {
    let place = Place::new();
    let mut command = place.command(&["run", "--json", "--wait", "dispatch talk: seq 2000"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.contains("session.start"));
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.contains("panicked")), (Some(0), false), "{said}");
}

#[test]
fn a_reader_of_the_answer_that_goes_away_is_no_fault() {
    let place = Place::new();
    let mut command = place.command(&["run", "2 + 2"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.contains("panicked")), (Some(0), false), "{said}");
}

#[test]
fn no_byte_of_a_pipe_steers_a_terminal() {
    let escape = "\u{1b}[31m\u{1b}]0;title\u{7}red";
    for json in [None, Some("--json"), Some("--json=codex"), Some("--json=claude")] {
        let server = Server::list([
            says().text(escape).call(
                "c1",
                "shell",
                serde_json::json!({"command": "printf '\\033[2J\\033]0;x\\007out'"}),
            ),
            says().text(format!("It is {escape}.")),
        ]);
        let url = server.base_url();
        let words = ["run", "paint", "--wait", "-m", "anthropic/x", "--base-url", &url];
        let words: Vec<&str> = words.into_iter().chain(json).collect();
        let env = [("ANTHROPIC_API_KEY", "sk-test-1"), ("TERM", "xterm-256color"), ("COLORTERM", "truecolor")];
        let done = Place::new().tillerman_with(&words, &env, "");
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        assert!(!done.stdout.contains('\u{1b}') && !done.stderr.contains('\u{1b}'), "{json:?} {done:?}");
    }
}

#[test]
fn lines_of_a_pipe_are_answered_one_after_the_other() {
    let done = Place::new().tillerman_with(&[], &[], "2 + 2\n\n!echo by hand\n3 * 5\n/taks\n");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let place = |text: &str| done.stdout.find(text).unwrap_or_else(|| panic!("no {text} in {}", done.stdout));
    assert!(place("4") < place("by hand") && place("by hand") < place("15"));
    assert!(done.stderr.contains("did you mean /task"), "{}", done.stderr);
    assert!(!done.stdout.contains('\u{1b}') && !done.stderr.contains('\u{1b}'));
}
