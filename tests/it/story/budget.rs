//! Limits of turns and money as a person meets them: on the command line for one answer, at the prompt for a worker.

use std::fs;

use serde_json::json;

use super::{Stage, Wire, is_main, leave};
use crate::cli::{Done, Place};
use crate::repl::pty::Terminal;
use crate::server::{Captured, Says, says};

/// 5,000 tokens in and 100 out are 1.1 cents.
const MODEL: &str = "anthropic/claude-sonnet-5-5";
const CALL: f64 = 0.011;

/// It may call nothing any more.
fn sums_up(request: &Captured) -> bool {
    request.body["tool_choice"]["type"] == "none" || request.tools().is_empty()
}

fn costing(says: Says) -> Says {
    says.usage(5_000, 0, 100)
}

/// Goes on for ever, each time with something else.
fn step(request: &Captured) -> Says {
    let turn = request.turns();
    let command = json!({"command": format!("seq {turn} | cksum")});
    costing(says().call(&format!("c{turn}"), "shell", command))
}

fn endless() -> Stage {
    Stage::new(Wire::Anthropic, |request| match sums_up(request) {
        true => costing(says().text("Half done.")).into(),
        false => step(request).into(),
    })
}

fn run(stage: &Stage, words: &[&str]) -> Done {
    let url = stage.server.base_url();
    let args = ["run", "--trust", "-m", MODEL, "--base-url", &url];
    stage.place.tillerman(&[&args, words].concat())
}

#[test]
fn an_answer_within_a_sum_of_money_is_summed_up_and_ends_with_6() {
    let stage = endless();
    let done = run(&stage, &["--max-budget-usd", "0.06", "work"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(6), "Half done.\n"), "{}", done.stderr);
    let made = stage.server.requests().len();
    assert!((3..=5).contains(&made), "{made} calls of 1.1 cents for 6");
    let done = run(&stage, &["--json", "--max-budget-usd", "0.06", "work"]);
    let lines = done.lines();
    let end = lines.last().unwrap();
    assert_eq!((done.code, &end["result"]), (Some(6), &json!("Half done.")), "{end}");
    assert!(end["cost_usd"].as_f64().unwrap() <= 0.06, "{end}");
    // A conversation that is gone on with has words of an earlier answer, which are none to this line.
    let done = run(&stage, &["-c", "--max-budget-usd", "0.001", "more"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(6), ""), "{}", done.stderr);
}

#[test]
fn a_sum_of_money_for_an_answer_holds_its_workers_too() {
    let stage = Stage::new(Wire::Anthropic, |request| match (is_main(request), request.turns()) {
        (true, 0) => costing(says().call("d1", "dispatch", json!({"task": "Work.", "title": "w"}))).into(),
        (true, _) => costing(says().text("Heard.")).into(),
        (false, _) if sums_up(request) => costing(says().text("So far.")).into(),
        (false, _) => step(request).into(),
    });
    let done = run(&stage, &["--wait", "--max-budget-usd", "0.15", "work"]);
    let made = stage.server.requests().len();
    assert!((6..=13).contains(&made), "{made} calls of {CALL}: {}", done.stderr);
    let result = stage.read(".tasks/t_001/result.md");
    assert!(result.contains("\nstatus: partial\n") && result.contains("for this run"), "{result}");
}

#[test]
fn an_answer_within_a_number_of_turns_is_summed_up_and_ends_with_6() {
    let stage = endless();
    let done = run(&stage, &["--max-turns", "2", "work"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(6), "Half done.\n"), "{}", done.stderr);
    assert_eq!(stage.server.requests().len(), 3, "two, and one that sums up");
    let done = run(&stage, &["--max-turns", "0", "work"]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
}

#[test]
fn a_sum_that_cannot_be_held_is_refused_before_anything_is_asked() {
    let stage = endless();
    for (wrong, words) in [("lots", "write a sum like 0.50"), ("-1", "write a sum like 0.50"), ("0", "write a sum")] {
        let done = run(&stage, &[&format!("--max-budget-usd={wrong}"), "work"]);
        assert!(done.code == Some(2) && done.stderr.contains(words), "{wrong}: {done:?}");
    }
    let done = stage.run(&["--max-budget-usd", "0.50", "work"]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("nobody knows the price of anthropic/claude-test"), "{}", done.stderr);
    assert_eq!(stage.server.requests().len(), 0);
}

/// A main agent that gives each task 6 cents; the worker is done at its ninth turn, and its third waits for `go`.
fn crew() -> Stage {
    let place = Place::new();
    let go = place.path().join("go");
    Stage::at(Wire::Anthropic, place, move |request| {
        let line = request.last_user();
        match (is_main(request), request.turns()) {
            (true, turn) if line == "work" => {
                let task = json!({"task": "Work.", "title": "work", "budget": "$0.06"});
                costing(says().call(&format!("d{turn}"), "dispatch", task)).into()
            }
            (true, _) if line.starts_with("[Worker") => costing(says().text("I heard of it.")).into(),
            (true, _) => costing(says().text("On it.")).into(),
            (false, _) if sums_up(request) => costing(says().text("So far.")).into(),
            (false, 2) => {
                let wire = Wire::Anthropic;
                wire.opened().hold(&go).send(wire.stream(&step(request)))
            }
            (false, 8..) => costing(says().text("All of it.")).into(),
            (false, _) => step(request).into(),
        }
    })
}

fn prompt(stage: &Stage) -> Terminal {
    let url = stage.server.base_url();
    let args = ["--trust", "-m", MODEL, "--base-url", &url];
    let terminal = Terminal::start(stage.place.path(), stage.place.home.path(), &args);
    terminal.wait_for_prompt(" > ");
    terminal.say("work");
    terminal.wait_for("● On it.");
    stage.server.wait_until("the worker is at its third call", |_| stage.requests(false).len() == 3);
    terminal
}

#[test]
fn a_budget_that_is_raised_before_it_is_used_up_lets_the_worker_go_on() {
    let stage = crew();
    let terminal = prompt(&stage);
    terminal.say("/budget t_001 +0.25");
    terminal.wait_for("of $0.31");
    fs::write(stage.place.path().join("go"), "").unwrap();
    terminal.wait_for("✓ t_001 done");
    terminal.wait_for("● I heard of it.");
    leave(terminal);
    let result = stage.read(".tasks/t_001/result.md");
    assert!(result.contains("\nstatus: done\n") && result.contains("All of it."), "{result}");
    assert!(stage.read(".tasks/t_001/task.md").contains("usd: 0.31"), "the file says so");
}

#[test]
fn a_task_whose_budget_is_used_up_is_given_more_and_gone_on_with() {
    let stage = crew();
    let terminal = prompt(&stage);
    fs::write(stage.place.path().join("go"), "").unwrap();
    terminal.wait_for("■ t_001 partial");
    terminal.wait_for("● I heard of it.");
    let before = stage.requests(false).len();
    assert!((4..=5).contains(&before), "{before} calls for 6 cents");
    terminal.say("/continue t_001 finish it");
    terminal.wait_for("give it more first");
    terminal.say("/budget t_001 +0.25");
    terminal.wait_for("of $0.31");
    terminal.wait_for("/resume t_001");
    terminal.say("/continue t_001 finish it");
    terminal.wait_for("✓ t_001 done");
    leave(terminal);
    let result = stage.read(".tasks/t_001/result.md");
    assert!(result.contains("\nattempt: 2\n") && result.contains("All of it."), "{result}");
    assert!(stage.requests(false).iter().any(|request| request.contains("finish it")), "the words are heard");
}
