//! `tillerman tasks tail` from a second terminal: what a worker says and does, once, and how it ends.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::{Place, wait_until};
use crate::server::{Captured, Response, Server, says};

/// A program in the background.
fn start(place: &Place, words: &[&str]) -> Child {
    let mut run = place.command(words);
    if words.contains(&"-m") {
        run.env("ANTHROPIC_API_KEY", "sk-test-0123456789");
    }
    run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// A second terminal that follows a task, and the file with what it shows.
struct Follower {
    child: Child,
    shown: PathBuf,
}

impl Follower {
    fn of(place: &Place, words: &[&str]) -> Follower {
        let shown = place.home.path().join(format!("shown{}", words.len()));
        let mut tail = place.command(&[&["tasks", "tail"], words].concat());
        let child = tail.stdin(Stdio::null()).stdout(File::create(&shown).unwrap()).spawn().unwrap();
        Follower { child, shown }
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.shown).unwrap()
    }

    fn wait_for(&self, words: &str) {
        wait_until(&format!("{words:?} is shown"), || self.text().contains(words));
    }

    /// Its code, and all that it showed.
    fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        (code, self.text())
    }
}

fn once(text: &str, words: &str) {
    assert_eq!(text.matches(words).count(), 1, "{words:?} in {text}");
}

#[test]
fn what_a_worker_does_is_shown_once_from_its_journal_and_as_it_happens() {
    let place = Place::new();
    fs::write(place.path().join("wait"), "echo > waits; until [ -e go ]; do sleep 0.01; done").unwrap();
    let mut run = start(&place, &["run", "--wait", "dispatch slow: echo begun; sh wait; echo the end"]);
    wait_until("it waits", || place.path().join("waits").exists());
    let tail = Follower::of(&place, &["t_001"]);
    tail.wait_for("shell sh wait");
    assert_eq!(place.tillerman(&["tasks", "steer", "t_001", "also run `echo by hand`"]).code, Some(0));
    fs::write(place.path().join("go"), "").unwrap();
    let (code, text) = tail.end();
    assert!(run.wait().unwrap().success());
    assert_eq!(code, Some(0), "{text}");
    let first = text.lines().next().unwrap_or_default();
    assert!(first.contains("t_001 running") && first.contains("slow"), "{text}");
    let expected =
        ["│ begun\n", "├ shell echo begun ✓", "↳ steer #1 seen at turn", "│ by hand\n", "│ the end\n", "✓ t_001 done"];
    expected.iter().for_each(|words| once(&text, words));
    let places: Vec<usize> = ["│ begun", "shell sh wait ✓", "✓ t_001"].map(|words| text.find(words).unwrap()).into();
    assert!(places.is_sorted(), "{text}");

    // What is over is told from the files, where nobody works.
    let (code, again) = Follower::of(&place, &["t_001", "--json"]).end();
    let lines: Vec<Value> = again.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(code, Some(0), "{again}");
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types[..4], ["message", "usage", "tool.start", "tool.end"], "{again}");
    assert!(lines.iter().all(|line| line["agent"] == "t_001") && types.contains(&"worker.steer"), "{again}");
    assert_eq!(lines[2]["args"]["command"], "echo begun");
    assert!(lines[3]["output"].as_str().unwrap().contains("begun"), "{again}");
    assert_eq!((types.last(), &lines.last().unwrap()["status"]), (Some(&"worker.end"), &json!("done")));
}

/// A worker that waits for `go`, then begins to speak and goes on when there is `more`.
fn speaking(root: &Path) -> Server {
    let (root, mut asked) = (root.to_owned(), 0);
    Server::answer(move |request: &Captured| {
        if request.contains(r#""name":"dispatch""#) {
            asked += 1;
            return match asked {
                1 => {
                    says().call("c1", "dispatch", json!({"title": "speak", "task": "Speak.", "touches": ["."]})).into()
                }
                _ => says().text("on it").into(),
            };
        }
        if request.turns() == 0 {
            let command = "echo > waits; until [ -e go ]; do sleep 0.01; done";
            return says().call("w1", "shell", json!({"command": command})).into();
        }
        let whole = says().text("These are the first words.\nThese are the last.\n").anthropic();
        let second = whole.match_indices("event: content_block_delta").nth(1).unwrap().0;
        Response::stream().send(&whole[..second]).hold(&root.join("more")).send(&whole[second..])
    })
}

#[test]
fn words_are_shown_as_they_come_and_a_killed_program_leaves_nobody_waiting() {
    let place = Place::new();
    let server = speaking(place.path());
    let url = server.base_url();
    let words = ["--trust", "-m", "anthropic/claude-sonnet-5-5", "--base-url", &url, "run", "--wait", "speak"];
    let mut run = start(&place, &words);
    wait_until("it waits", || place.path().join("waits").exists());
    let (tail, lines) = (Follower::of(&place, &["t_001"]), Follower::of(&place, &["t_001", "--json"]));
    tail.wait_for("shell echo > waits");
    lines.wait_for("\"tool.start\"");
    fs::write(place.path().join("go"), "").unwrap();
    lines.wait_for("\"text.delta\"");
    assert!(!lines.text().contains("the last"), "{}", lines.text());
    run.kill().unwrap();
    run.wait().unwrap();
    let ((code, text), (of_lines, lines)) = (tail.end(), lines.end());
    assert_eq!((code, of_lines), (Some(1), Some(1)), "{text}\n{lines}");
    once(&lines, "\"tool.end\"");
    once(&text, "├ shell echo > waits");
    let left = place.tillerman(&["tasks", "tail", "t_001"]);
    assert_eq!(left.code, Some(1));
    let why = "t_001 is running by its files, and `tillerman tasks resume t_001` goes on with it";
    assert!(left.stderr.contains("no tillerman works in") && left.stderr.contains(why), "{left:?}");

    fs::write(place.path().join("more"), "").unwrap();
    let resume = ["--trust", "-m", "anthropic/claude-sonnet-5-5", "--base-url", &url, "tasks", "resume", "t_001"];
    assert!(start(&place, &resume).wait().unwrap().success());
    let done = place.tillerman(&["tasks", "tail", "t_001"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    once(&done.stdout, "● These are the first words.\n  These are the last.\n");
}

#[test]
fn questions_and_their_answers_are_shown_and_the_code_tells_the_end() {
    let place = Place::new();
    fs::write(place.path().join("wait"), "until [ -e go ]; do sleep 0.01; done").unwrap();
    let mut run = start(&place, &["run", "--wait", "dispatch slow: sh wait"]);
    let is_there = |task: &str| place.path().join(".tasks").join(task).join("task.md").exists();
    wait_until("it begins", || is_there("t_001"));
    wait_until("orders are taken", || place.tillerman(&["tasks", "budget", "t_001"]).code == Some(0));
    let ask = "Do:\n- [ ] ask: JWT or cookie? [jwt*, cookie] 9m\n- [ ] `echo so be it`";
    assert_eq!(place.tillerman(&["tasks", "dispatch", ask, "--title", "ask"]).code, Some(0));
    let tail = Follower::of(&place, &["t_002"]);
    tail.wait_for("? t_002 JWT or cookie? [1] jwt* [2] cookie, default in");
    assert_eq!(place.tillerman(&["tasks", "answer", "t_002", "2"]).code, Some(0));
    let (code, text) = tail.end();
    assert_eq!(code, Some(0), "{text}");
    once(&text, "? t_002 JWT");
    once(&text, "t_002 q_001 answered by person: cookie");
    once(&text, "✓ t_002 done");

    let tail = Follower::of(&place, &["t_001"]);
    tail.wait_for("shell sh wait");
    assert_eq!(place.tillerman(&["tasks", "abort", "t_001"]).code, Some(0));
    let (code, text) = tail.end();
    assert_eq!(code, Some(1), "{text}");
    once(&text, "■ t_001 aborted");
    run.wait().unwrap();
}
