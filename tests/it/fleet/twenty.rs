//! Twenty workers that are launched and steered, half of which end while their main agent is in the middle of a turn; then
//! the program is killed, and killed again, and gone on with. Each task has one outcome that was told once, each note was
//! seen once.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{fleet, number_after, run, task_of};
use crate::battery::after::{Left, Told, files, wrong};
use crate::battery::live::Dice;
use crate::battery::scene::{Play, Said, Scene};
use crate::battery::{every, knob, tally};
use crate::patience::PATIENCE;
use crate::server::{Captured, Response, Server, says};
use crate::story::{Wire, is_main};

pub(super) const MANY: u32 = 20;

/// Those that end before the first kill.
const QUICK: u32 = 10;

/// What the model waits for.
#[derive(Clone)]
struct Gates {
    folder: PathBuf,
    /// Turns of a slow worker, each of which may be the one that a kill ends.
    steps: usize,
    /// The main agent has been held in the middle of a turn.
    held: Arc<AtomicBool>,
}

impl Gates {
    fn gate(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Says it when the gate is open.
    fn behind(&self, name: &str, says: &crate::server::Says) -> Response {
        Wire::Anthropic.opened().hold(&self.gate(name)).send(Wire::Anthropic.stream(says))
    }

    /// Launch, steer, and then a turn that lasts.
    fn main(&self, request: &Captured) -> Response {
        let each = |call: fn(u32) -> (String, &'static str, Value)| {
            (1..=MANY).map(call).fold(says(), |says, (id, name, args)| says.call(&id, name, args)).into()
        };
        let results = request.results();
        if request.last_user().contains("launch") {
            return each(|task| {
                (
                    format!("d{task}"),
                    "dispatch",
                    json!({"task": "Work.", "title": format!("w{task}"), "touches": ["steps.txt"]}),
                )
            });
        }
        match results.first().map(|(_, text)| text.as_str()) {
            Some(text) if text.contains("is dispatched") => {
                each(|task| (format!("s{task}"), "steer", json!({"id": format!("t_{task:03}"), "message": note(task)})))
            }
            Some(text) if text.contains("queued #") => {
                assert_eq!(results.iter().filter(|(_, text)| text.contains("queued #")).count(), MANY as usize);
                // The workers go on when all notes are on their way, and the main agent does not.
                fs::write(self.gate("steered"), "").unwrap();
                self.held.store(true, Ordering::SeqCst);
                self.behind("main", &says().text("On it."))
            }
            _ => says().text("Heard.").into(),
        }
    }

    fn worker(&self, request: &Captured) -> Response {
        let text = String::from_utf8_lossy(&request.raw).into_owned();
        let (task, turn) = (task_of(&text), request.turns());
        let step = |step: usize| json!({"command": format!("echo {task}.{step} >> steps.txt")});
        match (turn, task <= QUICK) {
            (0, _) => says().call("c0", "shell", step(0)).into(),
            (1, _) => self.behind("steered", &says().call("c1", "shell", step(1))),
            (2, true) => says().text(answer(task, &text)).into(),
            (turn, false) if turn < self.steps => {
                let next = says().call(&format!("c{turn}"), "shell", step(turn));
                if turn == 2 { self.behind("slow", &next) } else { next.into() }
            }
            _ => says().text(answer(task, &text)).into(),
        }
    }
}

/// What a worker is told on its way.
pub(super) fn note(task: u32) -> String {
    format!("note={task}.")
}

/// What a worker says that heard its note and no other one.
pub(super) fn answer(task: u32, request: &str) -> String {
    let heard = number_after(request, "note=");
    format!("I am {task} and was told {heard:?}.")
}

/// The entries of the journals of the main agent or of a worker.
fn journal(scene: &Scene, folder: &str) -> String {
    let texts = files(&scene.sessions().join(folder), "jsonl").into_iter();
    texts.map(|path| fs::read_to_string(path).unwrap()).collect()
}

fn ends(screen: &str) -> usize {
    screen.matches("\"type\":\"worker.end\"").count()
}

/// R06, C19, C22: what the workers of a killed program had ended is told, what they had not goes on.
#[test]
fn twenty_workers_that_end_while_their_main_agent_is_busy_are_told_once_each_over_kills() {
    let (kills, mut dice) = (knob("FLEET", if every() { 40 } else { 4 }), Dice::new());
    let scene = fleet(Scene::new(), MANY as usize);
    let gates = Gates { folder: scene.home(), steps: 2 + 2 * kills, held: Arc::default() };
    let script = gates.clone();
    let server = Server::answer(move |request| match is_main(request) {
        true => script.main(request),
        false => script.worker(request),
    });
    let url = server.base_url();
    let mut told = Told::default();
    let launch = run(&url, &["--json", "launch twenty"]);
    let said = scene
        .run_until(Play::of(&launch), |screen| gates.held.load(Ordering::SeqCst) && ends(screen) == QUICK as usize);
    assert_eq!(said.code, None, "{said:?}");
    check(&scene, &mut told, &said, Left::Killed);
    fs::write(gates.gate("main"), "").unwrap();
    fs::write(gates.gate("slow"), "").unwrap();
    let again = run(&url, &["--json", "-c", "--resume-workers", "go on"]);
    let mut killed = 1;
    let mut whole = Duration::from_millis(1_500);
    for _ in 1..kills {
        let (began, time) = (Instant::now(), Duration::from_micros(dice.below(whole.as_micros() as u64)));
        let said = scene.run_until(Play::of(&again), |_| began.elapsed() >= time);
        if said.code.is_some() {
            // It was through: earlier next time.
            whole /= 2;
        }
        killed += usize::from(said.code.is_none());
        check(&scene, &mut told, &said, Left::Killed);
    }
    let began = Instant::now();
    let said = scene.run(Play::of(&again));
    assert!(said.code == Some(0) && began.elapsed() < PATIENCE, "{said:?}");
    check(&scene, &mut told, &said, Left::Settled);
    let ends = outcomes(&scene);
    tally(&format!(
        "{killed} kills, {ends} outcomes told once each, {MANY} notes seen once, {} things told",
        told.count()
    ));
}

pub(super) fn check(scene: &Scene, told: &mut Told, said: &Said, left: Left) {
    told.add(said);
    let found = wrong(scene, told, left);
    assert!(found.is_empty(), "{found:#?}\n{said:?}");
}

/// Every task is done, said so once, heard its own note once and did no step of it twice.
pub(super) fn outcomes(scene: &Scene) -> usize {
    let main = journal(scene, "");
    for task in 1..=MANY {
        let id = format!("t_{task:03}");
        let result = fs::read_to_string(scene.work().join(format!(".tasks/{id}/result.md"))).unwrap();
        assert!(result.contains(&format!("I am {task} and was told Some({task}).")), "{result}");
        assert_eq!(main.matches(&format!("[Worker completed {id}]")).count(), 1, "{id}");
        let own = fs::read_to_string(scene.sessions().join(format!("workers/{id}.jsonl"))).unwrap();
        let seen = own.lines().filter(|line| line.contains("\"type\":\"note\"") && line.contains(&note(task)));
        assert_eq!(seen.count(), 1, "{id}");
    }
    steps(&scene.work());
    MANY as usize
}

/// A step is done once, or not at all when a kill came between its beginning and its end.
fn steps(work: &Path) {
    let all = fs::read_to_string(work.join("steps.txt")).unwrap();
    let mut steps: Vec<&str> = all.lines().collect();
    steps.sort_unstable();
    assert!(steps.windows(2).all(|pair| pair[0] != pair[1]), "done twice: {steps:?}");
}
