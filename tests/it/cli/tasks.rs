//! `tillerman tasks`: looked at from a second terminal, while the first works.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{Place, wait_until};
use crate::server::{Captured, Response, Server, says};
use crate::story::is_main;

#[test]
fn tasks_are_shown_while_another_program_runs_them() {
    let place = Place::new();
    std::fs::write(place.path().join("wait"), "until [ -e go ]; do sleep 0.01; done").unwrap();
    let mut run = place.command(&["run", "--wait", "dispatch slow: echo begun; sh wait"]);
    let mut run = run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let progress = place.path().join(".tasks/t_001/progress.md");
    wait_until("the first step is done", || {
        std::fs::read_to_string(&progress).is_ok_and(|text| text.contains("begun"))
    });

    let list = place.tillerman(&["tasks", "list", "--json"]);
    let row: Value = serde_json::from_str(list.stdout.trim()).unwrap();
    assert_eq!((&row["id"], &row["status"], &row["title"]), (&"t_001".into(), &"running".into(), &"slow".into()));
    let show = place.tillerman(&["tasks", "show", "t_001"]);
    assert!(show.stdout.contains("progress") && show.stdout.contains("begun"), "{}", show.stdout);

    let mut tail = place.command(&["tasks", "tail", "t_001"]);
    let tail = tail.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    std::fs::write(place.path().join("go"), "").unwrap();
    let tail = tail.wait_with_output().unwrap();
    let text = String::from_utf8(tail.stdout).unwrap();
    assert_eq!(tail.status.code(), Some(0), "{text}");
    assert!(text.contains("begun") && text.contains("✓ t_001 done"), "{text}");
    assert!(run.wait().unwrap().success());

    let show = place.tillerman(&["tasks", "show", "t_001", "--json"]);
    let row: Value = serde_json::from_str(show.stdout.trim()).unwrap();
    assert_eq!(row["result"]["status"], "done");
}

#[test]
fn the_jobs_of_a_worker_are_shown_while_it_is_at_work() {
    let place = Place::new();
    std::fs::write(place.home.path().join("config.yaml"), "tools: [default, jobs]\n").unwrap();
    let (go, nap) = (place.path().join("go"), format!("sleep 307.{}", std::process::id()));
    let command = format!("{nap} # \u{1b}[2J");
    let server = Server::answer(move |request: &Captured| {
        let answered = !request.results().is_empty();
        let last = Response::stream().hold(&go).send(says().text("done").anthropic());
        match (is_main(request), answered) {
            (false, false) => says().call("j1", "jobs", json!({"command": command})).into(),
            (false, true) => last,
            (true, false) if request.turns() == 0 => {
                says().call("d1", "dispatch", json!({"title": "nap", "task": "Nap."})).into()
            }
            (true, _) => says().text("on it").into(),
        }
    });
    let url = server.base_url();
    let args = ["run", "--wait", "-m", "anthropic/claude-sonnet-5-5", "--base-url", &url, "nap"];
    let mut run =
        place.command(&args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let shown = || place.tillerman(&["tasks", "show", "t_001"]).stdout;
    let is_told = |text: &str| text.contains("\njobs\njob 1 runs since ") && text.contains("  1 job");
    wait_until("the job is listed", || is_told(&shown()));
    let text = shown();
    assert!(!text.contains('\u{1b}') && text.contains(&nap), "{text}");
    let row: Value = serde_json::from_str(&place.tillerman(&["tasks", "show", "t_001", "--json"]).stdout).unwrap();
    let job = &row["live"]["jobs"][0];
    assert_eq!(
        (&job["id"], &job["ended"], job["command"].as_str().unwrap().starts_with(&nap)),
        (&json!(1), &Value::Null, true)
    );
    std::fs::write(place.path().join("go"), "").unwrap();
    assert!(run.wait().unwrap().success());
    assert!(!shown().contains("\njobs\n"), "they ended with the run");
}

#[test]
fn c19_a_killed_task_is_interrupted_and_resume_goes_on_with_it_without_running_anything_twice() {
    let place = Place::new();
    std::fs::write(place.path().join("wait"), "echo begun >> ran; until [ -e go ]; do sleep 0.01; done").unwrap();
    let mut run = place.command(&["run", "--wait", "dispatch slow: echo one >> ran; sh wait; echo three >> ran"]);
    let mut run = run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let ran = || std::fs::read_to_string(place.path().join("ran")).unwrap_or_default();
    wait_until("the second step runs", || ran() == "one\nbegun\n");
    run.kill().unwrap();
    run.wait().unwrap();

    let done = place.tillerman(&["tasks", "resume", "t_001"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stderr.contains("t_001 goes on: attempt 2") && done.stderr.contains("✓ t_001 done"), "{done:?}");
    assert_eq!(ran(), "one\nbegun\nthree\n", "no step ran twice");
    let show = place.tillerman(&["tasks", "show", "t_001"]);
    assert!(show.stdout.contains("cut off when the task was ended"), "{}", show.stdout);
    let earlier = std::fs::read_to_string(place.path().join(".tasks/t_001/result-1.md")).unwrap();
    assert!(earlier.contains("status: interrupted"), "{earlier}");

    let again = place.tillerman(&["tasks", "resume", "t_001", "t_007"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains("t_001 is done") && again.stderr.contains("no task t_007"), "{again:?}");
    let misread = place.tillerman(&["tasks", "resume", "one"]);
    assert_eq!(misread.code, Some(2), "{misread:?}");
}

#[test]
fn all_interrupted_tasks_go_on_when_that_is_asked_for() {
    let place = Place::new();
    std::fs::write(place.path().join("wait"), "echo begun >> ran; until [ -e go ]; do sleep 0.01; done").unwrap();
    let mut run = place.command(&["run", "--wait", "dispatch slow: sh wait; echo two >> ran"]);
    let mut run = run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let ran = || std::fs::read_to_string(place.path().join("ran")).unwrap_or_default();
    wait_until("the first step runs", || ran() == "begun\n");
    run.kill().unwrap();
    run.wait().unwrap();
    let done = place.tillerman(&["--resume-workers", "-c", "run", "--wait", "hello"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(ran(), "begun\ntwo\n");
    assert_eq!(place.tillerman(&["--resume-workers", "doctor"]).code, Some(2));
}

#[test]
fn a_task_that_is_not_there_is_named() {
    let place = Place::new();
    let done = place.tillerman(&["tasks", "show", "t_009"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""));
    assert!(done.stderr.contains("t_009"), "{}", done.stderr);
    let done = place.tillerman(&["tasks", "tail", "nine"]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert_eq!(place.tillerman(&["tasks"]).stdout, "no tasks yet\n");
}

#[test]
fn init_does_not_trust_settings_that_were_there_before_unless_told_to() {
    let place = Place::new();
    std::fs::write(place.path().join("config.md"), "---\nbase_url: http://evil.example\n---\n").unwrap();

    let shy = place.tillerman(&["init"]);
    assert_eq!(shy.code, Some(0));
    let last = "⚠ not trusted: config.md was here before; read it, then say tillerman init --trust";
    assert!(shy.stdout.contains(last), "{}", shy.stdout);
    assert!(!place.home.path().join("trust.yaml").exists());

    let told = place.tillerman(&["init", "--trust"]);
    assert_eq!((told.code, told.stdout.contains("✓ trusted")), (Some(0), true), "{}", told.stdout);
    assert!(place.home.path().join("trust.yaml").exists());
}

#[test]
fn init_writes_once_trusts_and_doctor_then_finds_nothing_bad() {
    let place = Place::new();
    let before = place.tillerman(&["doctor"]);
    assert!(before.stdout.contains("not trusted"), "{}", before.stdout);
    let first = place.tillerman(&["init"]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert!(first.stdout.contains("wrote config.md") && place.path().join("AGENTS.md").exists(), "{}", first.stdout);
    std::fs::write(place.path().join("AGENTS.md"), "mine").unwrap();
    let second = place.tillerman(&["init"]);
    assert!(second.stdout.contains("kept  AGENTS.md") && !second.stdout.contains("wrote"), "{}", second.stdout);
    assert_eq!(std::fs::read_to_string(place.path().join("AGENTS.md")).unwrap(), "mine");

    let after = place.tillerman(&["doctor", "--json"]);
    assert_eq!(after.code, Some(0), "{}", after.stdout);
    let found: Value = serde_json::from_str(&after.stdout).unwrap();
    assert_eq!(found["ok"], true, "{found}");
    let rows = found["rows"].as_array().unwrap();
    let find = |text: &str| rows.iter().any(|row| row["found"].as_str().unwrap().contains(text));
    assert!(
        find("pilot/pilot") && find("trusted") && find("ANTHROPIC_API_KEY is not set") && find("git version"),
        "{found}"
    );
}

#[test]
fn doctor_names_what_is_wrong_with_the_settings() {
    let place = Place::new();
    std::fs::write(place.path().join("config.md"), "---\nmax_turns: [\n---\n").unwrap();
    let done = place.tillerman(&["doctor"]);
    assert_eq!(done.code, Some(1), "{}", done.stdout);
    assert!(done.stdout.contains("✗") && done.stdout.contains("config.md"), "{}", done.stdout);
}
