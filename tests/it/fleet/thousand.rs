//! A thousand workers of a hundred turns each, in one process: each answers right, each is told once, and how long and
//! how large that is. In `cargo test` far fewer; `WORKERS` and `TURNS` say how many.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use super::process::Held;
use super::{fleet, number_after, run, task_of};
use crate::battery::scene::{Play, Scene};
use crate::battery::{every, knob, tally};
use crate::server::{Captured, Response, Says, Server, says};

/// Tasks that one answer of a model may dispatch.
const AT_ONCE: usize = 64;

/// Longest time for all of them, on whatever machine and in whatever build.
const LONGEST: Duration = Duration::from_secs(3_600);

/// Every so many turns a worker runs a command instead of reading a file.
const COMMAND: usize = 20;

/// What the model knows of each worker: calls so far, and the sum of what it was shown.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Known {
    calls: usize,
    sum: u64,
}

/// The figure in a file of the workspace.
fn figure(file: usize) -> u64 {
    (file * file % 89 + file) as u64
}

/// What a worker with that number has read when it is done.
fn sum(task: u32, turns: usize) -> u64 {
    (1..turns).map(|turn| figure(file(task, turn))).sum()
}

fn file(task: u32, turn: usize) -> usize {
    (task as usize * 7 + turn) % 100
}

/// The next words of a worker: read a figure, and at the end say what they come to.
fn worker(request: &str, turns: usize, known: &mut BTreeMap<u32, Known>) -> Says {
    let task = task_of(request);
    let of = known.entry(task).or_default();
    if of.calls > 0 {
        let shown = request.rfind("\"tool_result\"").map(|at| &request[at..]);
        of.sum += u64::from(shown.and_then(|shown| number_after(shown, "figure=")).expect("a figure is shown"));
    }
    of.calls += 1;
    let turn = request.matches("\"role\":\"assistant\"").count() + 1;
    assert_eq!(turn, of.calls, "t_{task:03} is asked for a turn twice, or not at all");
    if turn == turns {
        return says().text(format!("sum={}", of.sum));
    }
    let path = format!("n/{}.txt", file(task, turn));
    let id = format!("c{turn}");
    match turn % COMMAND {
        0 => says().text("I look.").call(&id, "shell", json!({"command": format!("cat {path}")})),
        _ => says().call(&id, "read_file", json!({"path": path})),
    }
}

/// The main agent dispatches in as few turns as it may, and then listens.
fn main_agent(given: &mut usize, workers: usize) -> Says {
    let next = *given + 1..=workers.min(*given + AT_ONCE);
    if next.is_empty() {
        return says().text("Noted.");
    }
    *given = *next.end();
    next.fold(says(), |says, number| {
        says.call(&format!("d{number}"), "dispatch", json!({"task": "Add up the figures.", "title": "add"}))
    })
}

#[test]
fn a_thousand_workers_of_a_hundred_turns_lose_nothing() {
    let all = every();
    let (workers, turns) = (knob("WORKERS", if all { 1_000 } else { 40 }), knob("TURNS", if all { 100 } else { 10 }));
    let scene = fleet(Scene::on_disk(), workers);
    fs::create_dir_all(scene.work().join("n")).unwrap();
    for number in 0..100 {
        fs::write(scene.work().join(format!("n/{number}.txt")), format!("figure={}\n", figure(number))).unwrap();
    }
    let known = Arc::new(Mutex::new(BTreeMap::new()));
    let (told, mut given) = (known.clone(), 0);
    let server = Server::hasty(move |request: &Captured| -> Response {
        let text = String::from_utf8_lossy(&request.raw);
        let may = |tool: &str| text.contains(&format!("\"name\":\"{tool}\",\"description\""));
        match (may("dispatch"), may("shell")) {
            (true, _) => main_agent(&mut given, workers).into(),
            (false, true) => worker(&text, turns, &mut told.lock().unwrap()).into(),
            (false, false) => says().text("Many workers add up figures.").into(),
        }
    });
    let (mut held, began, url) = (Held::default(), Instant::now(), server.base_url());
    let said = scene.watch(Play::of(&run(&url, &["go"])), |process| {
        held.look(process);
        began.elapsed() > LONGEST
    });
    let took = began.elapsed();
    drop(server);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let known = known.lock().unwrap();
    let mut wrong = String::new();
    for task in 1..=u32::try_from(workers).unwrap() {
        let expected = Known { calls: turns, sum: sum(task, turns) };
        let result = fs::read_to_string(scene.work().join(format!(".tasks/t_{task:03}/result.md"))).unwrap_or_default();
        if known.get(&task) != Some(&expected) || !result.contains(&format!("\nsum={}\n", expected.sum)) {
            writeln!(wrong, "t_{task:03}: {:?}, not {expected:?}: {result}", known.get(&task)).unwrap();
        }
    }
    let main = crate::battery::after::files(&scene.sessions(), "jsonl");
    let main = fs::read_to_string(&main[0]).unwrap();
    for task in 1..=workers {
        let heard = main.matches(&format!("[Worker completed t_{task:03}]")).count();
        if heard != 1 {
            writeln!(wrong, "t_{task:03} was told {heard} times").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let (megabytes, each) = (held.memory >> 20, held.memory / 1024 / workers as u64);
    tally(&format!(
        "{workers} workers, {turns} turns each, in {:.1} s and {megabytes} MB ({each} KiB a worker), {} files, {} \
         threads; {workers} sums right, told once each",
        took.as_secs_f64(),
        held.files,
        held.threads
    ));
}
