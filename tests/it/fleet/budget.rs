//! A budget of each currency over kills: what the model was asked is counted by the model, so nothing that the program
//! forgot is missed.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::twenty::check;
use super::{fleet, task_of};
use crate::battery::after::{Left, Told};
use crate::battery::live::Dice;
use crate::battery::scene::{Play, Scene};
use crate::battery::{every, knob, tally};
use crate::server::{Captured, Response, Says, Server, says};
use crate::story::is_main;

/// Tokens that the model says a call took.
const CALL: u64 = 4_020;

/// What a call costs, by the catalogue, in millionths of a dollar.
const PRICE: u64 = 8_200;

/// Each task's budget, and how many calls that buys at most, where that is certain.
const BUDGETS: [(&str, Option<u64>); 4] =
    [("20 turns", Some(20)), ("100k", Some(100_000 / CALL)), ("$0.10", Some(100_000 / PRICE)), ("3s", None)];

fn main_agent(request: &Captured) -> Response {
    if !request.last_user().contains("launch") {
        return says().text("Heard.").into();
    }
    let launch = |says: Says, (at, (budget, _)): (usize, &(&str, Option<u64>))| {
        says.call(&format!("d{at}"), "dispatch", json!({"task": "Work.", "title": "w", "budget": budget}))
    };
    BUDGETS.iter().enumerate().fold(says(), launch).into()
}

/// Works for ever, until it may call nothing any more.
fn worker(request: &Captured) -> Response {
    let turn = request.turns();
    let says = says().usage(4_000, 0, 20);
    match request.body["tool_choice"]["type"] == "none" || request.tools().is_empty() {
        true => says.text("So far I came.").into(),
        false => says.call(&format!("c{turn}"), "shell", json!({"command": format!("seq {turn} | cksum")})).into(),
    }
}

/// How long a task has been at work by its last line in the ledger, in milliseconds.
fn worked(scene: &Scene, task: u32) -> u64 {
    let text = fs::read_to_string(scene.sessions().parent().unwrap().join("ledger.jsonl")).unwrap();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mine = lines.filter(|line| line["task"] == format!("t_{task:03}"));
    mine.filter_map(|line| line["worked_ms"].as_u64()).max().unwrap_or_default()
}

/// R04, R05, C19: at most one call more than the budget for each kill, of which nobody knows whether it was paid.
#[test]
fn r04_a_budget_of_each_currency_holds_over_kills() {
    let (kills, mut dice) = (knob("FLEET", if every() { 40 } else { 3 }), Dice::new());
    let scene = fleet(Scene::new(), BUDGETS.len());
    let asked: Arc<Mutex<BTreeMap<u32, u64>>> = Arc::default();
    let counted = asked.clone();
    let server = Server::answer(move |request| {
        if is_main(request) {
            return main_agent(request);
        }
        *counted.lock().unwrap().entry(task_of(&String::from_utf8_lossy(&request.raw))).or_default() += 1;
        worker(request)
    });
    let url = server.base_url();
    let model = ["--trust", "-m", "anthropic/claude-sonnet-5-5", "--base-url", &url];
    let words = |words: &[&'static str]| [&["run", "--json", "--wait"], &model[..], words].concat();
    let (launch, again) = (words(&["launch"]), words(&["-c", "--resume-workers", "go on"]));
    let mut told = Told::default();
    let said = scene.run_until(Play::of(&launch), |_| asked.lock().unwrap().len() == BUDGETS.len());
    let mut killed = u64::from(said.code.is_none());
    check(&scene, &mut told, &said, Left::Killed);
    for _ in 1..kills {
        let (began, time) = (Instant::now(), Duration::from_millis(dice.below(1_000)));
        let said = scene.run_until(Play::of(&again), |_| began.elapsed() >= time);
        killed += u64::from(said.code.is_none());
        check(&scene, &mut told, &said, Left::Killed);
    }
    let said = scene.run(Play::of(&again));
    assert_eq!(said.code, Some(0), "{said:?}");
    check(&scene, &mut told, &said, Left::Settled);
    let asked = asked.lock().unwrap();
    for (task, (budget, calls)) in (1..).zip(BUDGETS) {
        let result = fs::read_to_string(scene.work().join(format!(".tasks/t_{task:03}/result.md"))).unwrap();
        // A kill behind its last call leaves nothing to sum up with.
        let ended = ["So far I came.", "Used up: "].iter().any(|words| result.contains(words));
        assert!(result.contains("\nstatus: partial\n") && ended, "{budget}: {result}");
        let made = asked[&task];
        match calls {
            Some(calls) => {
                assert!((calls / 2..=calls + killed).contains(&made), "{budget}: {made} calls after {killed} kills");
            }
            // Its last call is begun before the end, and is given half a minute.
            None => assert!((1_500..40_000).contains(&worked(&scene, task)), "{budget}: {} ms", worked(&scene, task)),
        }
    }
    tally(&format!("{killed} kills, budgets of turns, tokens, money and time: {:?} calls", asked.values()));
}
