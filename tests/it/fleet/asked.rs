//! Twenty workers that ask and rest: while they do, the process holds nothing for them; killed and gone on with, each
//! question is answered once, by the main agent that may.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use super::process::Held;
use super::twenty::{MANY, answer, check, note, outcomes};
use super::{fleet, run, task_of};
use crate::battery::after::{Left, Told};
use crate::battery::live::Dice;
use crate::battery::scene::{Play, Scene};
use crate::battery::{every, knob, tally};
use crate::patience::PATIENCE;
use crate::server::{Captured, Response, Server, says};
use crate::story::{Wire, is_main};

/// Sockets of a process that has no worker at work are fewer: signals, orders, the main agent.
const OWN_SOCKETS: usize = 10;

/// Launches, and answers what it is asked, all at once.
fn main_agent(request: &Captured) -> Response {
    let said = request.last_user();
    let asked = (1..=MANY).filter(|task| said.contains(&format!("[Question t_{task:03} q_001]")));
    let answers = asked.fold(says(), |says, task| {
        says.call(&format!("a{task}"), "answer", json!({"id": format!("t_{task:03}"), "answer": note(task)}))
    });
    let launch = |says: crate::server::Says, task: u32| {
        says.call(
            &format!("d{task}"),
            "dispatch",
            json!({"task": "Ask.", "title": format!("w{task}"), "touches": ["steps.txt"]}),
        )
    };
    match () {
        () if said.contains("launch") => (1..=MANY).fold(says(), launch).into(),
        () if answers == says() => says().text("Heard.").into(),
        () => answers.into(),
    }
}

/// Works a step, asks, works another and says what it was told. Its connections end with each answer.
fn worker(request: &Captured) -> Response {
    let text = String::from_utf8_lossy(&request.raw).into_owned();
    let (task, turn) = (task_of(&text), request.turns());
    let step = |says: crate::server::Says| {
        let command = format!("echo {task}.{turn} >> steps.txt");
        says.call(&format!("c{turn}"), "shell", json!({"command": command}))
    };
    let ask = json!({"question": "Which number?", "default": "none", "deadline": "12h"});
    let says = match turn {
        0 | 2 => step(says()),
        1 => says().call("ask", "ask", ask),
        _ => says().text(answer(task, &text)),
    };
    Wire::Anthropic.opened().send(Wire::Anthropic.stream(&says))
}

/// The questions that are written down and not settled.
fn open_questions(scene: &Scene) -> usize {
    let file = |task| scene.work().join(format!(".tasks/t_{task:03}/questions/q_001.md"));
    let text = |task: u32| fs::read_to_string(file(task)).unwrap_or_default();
    (1..=MANY).filter(|task| text(*task).contains("\nstate: open\n")).count()
}

#[test]
fn twenty_workers_that_ask_hold_nothing_and_are_answered_once_each_over_kills() {
    let (kills, mut dice) = (knob("FLEET", if every() { 40 } else { 4 }), Dice::new());
    let scene = fleet(Scene::new(), MANY as usize);
    let server = Server::answer(move |request| match is_main(request) {
        true => main_agent(request),
        false => worker(request),
    });
    let (url, mut told) = (server.base_url(), Told::default());
    let launch = run(&url, &["--json", "launch twenty"]);
    let (mut rest, began) = (None, Instant::now());
    let said = scene.watch(Play::of(&launch), |process| {
        let holds = (Held::journals(process), Held::children(process), Held::sockets(process));
        let asked = open_questions(&scene) == MANY as usize;
        if asked && matches!(holds, (0, 0, ..OWN_SOCKETS)) {
            rest = Some(holds);
        }
        rest.is_some() || began.elapsed() > PATIENCE
    });
    assert!(said.code.is_none() && rest.is_some(), "they hold something, or do not rest: {said:?}");
    check(&scene, &mut told, &said, Left::Killed);
    // From now on its main agent may answer.
    let config = fs::read_to_string(scene.home().join("config.yaml")).unwrap();
    fs::write(scene.home().join("config.yaml"), format!("{config}authority: [number]\n")).unwrap();
    let again = run(&url, &["--json", "-c", "--resume-workers", "go on"]);
    let (mut killed, mut whole) = (1, Duration::from_millis(1_500));
    for _ in 1..kills {
        let (began, time) = (Instant::now(), Duration::from_micros(dice.below(whole.as_micros() as u64)));
        let said = scene.run_until(Play::of(&again), |_| began.elapsed() >= time);
        whole = if said.code.is_some() { whole / 2 } else { whole };
        killed += usize::from(said.code.is_none());
        check(&scene, &mut told, &said, Left::Killed);
    }
    let said = scene.run(Play::of(&again));
    assert_eq!(said.code, Some(0), "{said:?}");
    check(&scene, &mut told, &said, Left::Settled);
    let ends = outcomes(&scene);
    tally(&format!(
        "{ends} at rest hold no process, socket or journal; {killed} kills, {ends} questions answered once each, {} \
         things told",
        told.count()
    ));
}
