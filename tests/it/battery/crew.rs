//! Three workers whose program is killed again and again, and who go on each time: one outcome each, every note seen once.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::after::{Left, Told, wrong};
use super::live::Dice;
use super::scene::{Play, Said, Scene};
use super::{every, knob, tally};

/// Notes that were acknowledged in this run: the task and the words.
fn acknowledged(said: &Said) -> Vec<(String, String)> {
    let lines = said.lines();
    let of = |kind: &'static str| lines.iter().filter(move |line| line["type"] == kind && line["agent"] == "main");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let queued = of("tool.end").filter(|line| text(&line["output"]).starts_with("queued #"));
    let started = |call: &Value| of("tool.start").find(|line| line["call"] == *call);
    let notes = queued.filter_map(|line| started(&line["call"]));
    notes.map(|line| (text(&line["args"]["id"]), text(&line["args"]["message"]))).collect()
}

/// C19, C22, C23.
#[test]
fn c19_three_workers_killed_at_random_have_one_outcome_each_and_saw_each_note_once() {
    let (kills, mut dice) = (knob("CREW", if every() { 20 } else { 5 }), Dice::new());
    let scene = Scene::new();
    let (mut told, mut notes) = (Told::default(), BTreeSet::new());
    // Each a little different: the same step again and again would be stuck.
    let steps: Vec<String> = (0..3 * kills).map(|step| format!("sleep 0.1{step:03}")).collect();
    let steps = steps.join("; ");
    let mut killed = 0;
    for round in 0.. {
        if killed == kills {
            break;
        }
        let id = round % 3 + 1;
        let line = match round {
            0..3 => format!("dispatch w{id}: {steps}"),
            _ => format!("steer t_00{id} also run echo note{round}"),
        };
        let args = ["run", "--json", "--wait", "-c", "--resume-workers", &line];
        // The first three are killed when their worker is at work, then every other one after its note was acknowledged,
        // and the others at any time.
        let (began, time) = (Instant::now(), Duration::from_millis(50 + dice.below(450)));
        let said = scene.run_until(Play::of(&args), |shown| match round {
            0..3 => shown.contains(&format!("\"agent\":\"t_00{id}\",\"turn\":1")),
            _ => began.elapsed() >= time && (round % 2 == 0 || shown.contains("queued #")),
        });
        killed += usize::from(said.code.is_none());
        notes.extend(acknowledged(&said));
        told.add(&said);
        let found = wrong(&scene, &told, Left::Killed);
        assert!(found.is_empty(), "kill {round}: {found:#?}");
    }
    let said = scene.run(Play::of(&["run", "--json", "--wait", "-c", "--resume-workers", "2 + 2"]));
    told.add(&said);
    let found = wrong(&scene, &told, Left::Settled);
    assert!(found.is_empty() && said.code == Some(0), "after {killed} kills: {found:#?}\n{said:#?}");
    for (task, note) in &notes {
        let journal = fs::read_to_string(scene.sessions().join(format!("workers/{task}.jsonl"))).unwrap();
        let seen = journal.lines().filter(|line| line.contains("\"type\":\"note\"") && line.contains(note.as_str()));
        assert_eq!(seen.count(), 1, "{task} was told {note:?}");
    }
    let (count, facts) = (notes.len(), told.count());
    tally(&format!("{killed} kills, 3 outcomes, {count} notes seen once each, {facts} things told, 0 lost"));
}
