//! The whole story: a line, a task in the background, an answer at once, a steer on the way, the result relayed.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::{Stage, WIRES, is_main, leave, story_of};
use crate::cli::wait_until;
use crate::server::{Captured, Response, says};

const LINE: &str = "refactor main.rs";
const STEER: &str = "keep the public API";

fn play(request: &Captured) -> Response {
    let reply = if is_main(request) { main_agent(request) } else { worker(request) };
    Response::Says(reply)
}

fn main_agent(request: &Captured) -> crate::server::Says {
    let line = request.last_user();
    let results = request.results();
    if line == LINE {
        let brief = json!({"title": "Refactor main.rs", "task": "Refactor main.rs and run its tests."});
        says().text("I hand that over.").call("d1", "dispatch", brief)
    } else if line.starts_with("[Worker completed t_001]") {
        says().call("l1", "load", json!({"path": ".tasks/t_001/result.md"}))
    } else if results.iter().any(|(id, _)| id == "d1") {
        says().text("On it.")
    } else if line == "and what is two and two?" {
        says().text("Four.")
    } else {
        let (_, result) = results.first().cloned().unwrap_or_default();
        says().text(format!("It is done, API kept: {}", result.contains("Split into five, API kept.")))
    }
}

fn worker(request: &Captured) -> crate::server::Says {
    let steered = request.contains(STEER);
    match request.turns() {
        0 => says().call("r1", "read_file", json!({"path": "main.rs"})),
        1 => says().text("It is long.").call("s1", "shell", json!({"command": "sh wait; echo tests pass"})),
        _ if steered => says().text("Split into five, API kept."),
        _ => says().text("Split into five, API broken."),
    }
}

/// The worker's second step lasts until the file `go` is there.
fn stage(wire: super::Wire) -> Stage {
    let stage = Stage::new(wire, play);
    stage.write("main.rs", "fn main() { /* long */ }\n");
    stage.write("wait", "until [ -e go ]; do sleep 0.01; done");
    stage
}

#[test]
fn a_line_becomes_a_task_that_is_steered_and_relayed_while_the_prompt_answers() {
    for wire in WIRES {
        let stage = stage(wire);
        let terminal = stage.prompt();
        terminal.say(LINE);
        terminal.wait_for("● On it.");
        assert!(!stage.place.path().join(".tasks/t_001/result.md").exists(), "answered before the worker was done");
        stage.server.wait_until("the worker is at its second step", |_| stage.requests(false).len() == 2);
        terminal.wait_for_prompt(" > ");
        terminal.say("and what is two and two?");
        terminal.wait_for("● Four.");
        terminal.wait_for_prompt(" > ");
        terminal.say(&format!("@t_001 {STEER}"));
        terminal.wait_for("↳ steer #1");
        assert_eq!(stage.requests(false).len(), 2, "{wire:?}: it works on");
        fs::write(stage.place.path().join("go"), "").unwrap();
        terminal.wait_for("seen at turn 3");
        terminal.wait_for("✓ t_001 done");
        terminal.wait_for("It is done, API kept: true");
        leave(terminal);

        let worker = stage.requests(false);
        assert_eq!(worker.len(), 3, "{wire:?}");
        assert!(worker[1].results()[0].1.contains("fn main()"), "{wire:?}: {:?}", worker[1].results());
        assert!(worker[2].results()[0].1.contains("tests pass"), "{wire:?}: {:?}", worker[2].results());
        assert!(worker[2].last_user().contains(STEER), "{wire:?}: {}", worker[2].last_user());
        let told = stage.requests(true).iter().filter(|request| request.last_user().starts_with("[Worker")).count();
        assert_eq!(told, 1, "{wire:?}: woken once");
        let result = stage.read(".tasks/t_001/result.md");
        assert!(result.contains("status: done") && result.contains("Split into five, API kept."), "{result}");
        let progress = stage.read(".tasks/t_001/progress.md");
        for step in ["read_file main.rs", "shell sh wait", STEER] {
            assert!(progress.contains(step), "{wire:?}: no {step} in {progress}");
        }
    }
}

#[test]
fn a_run_that_waits_tells_the_whole_story_in_json_lines() {
    for wire in WIRES {
        let stage = stage(wire);
        stage.write("go", "");
        let done = stage.run(&["--json", "--wait", LINE]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let lines = done.lines();
        let story = story_of(&lines);
        let at =
            |what: &str| story.iter().position(|line| line == what).unwrap_or_else(|| panic!("no {what}: {story:?}"));
        assert!(
            at("main session.start") < at("t_001 worker.start") && at("t_001 worker.start") < at("t_001 worker.end")
        );
        let texts: Vec<&str> =
            lines.iter().filter(|line| line["type"] == "message").filter_map(|line| line["text"].as_str()).collect();
        let place = |what: &str| texts.iter().position(|text| *text == what).unwrap_or_else(|| panic!("{texts:?}"));
        assert!(place("On it.") < place("It is done, API kept: false"), "{texts:?}");
        assert_eq!(lines.last().unwrap()["result"], "It is done, API kept: false");
        // Five replies of the main agent's, three of the worker's, at 15 tokens each.
        assert_eq!(lines.last().unwrap()["usage"]["total"], 15 * stage.server.requests().len());
        let dir =
            PathBuf::from(lines.iter().find(|line| line["type"] == "worker.end").unwrap()["dir"].as_str().unwrap());
        wait_until("the result is on the disk", || dir.join("result.md").exists());
    }
}
