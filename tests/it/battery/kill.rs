//! The program is killed at each of the calls by which it changes files, and started again.

use super::after::{Left, Told, wrong};
use super::scene::{Play, Scene};
use super::tracer::Strike;
use super::{sample, tally};

/// A worker whose command must not run twice.
const ERRAND: Play<'_> = Play::of(&["run", "--json", "--wait", "dispatch once: echo once >> once.txt"]);

/// What is asked after the kill, in the same conversation if there is one.
const AGAIN: Play<'_> = Play::of(&["run", "--json", "--wait", "-c", "2 + 2"]);

#[test]
fn a_kill_at_any_write_loses_nothing_that_was_told() {
    let calls = Scene::new().struck(ERRAND, Strike::Never).1.calls;
    let (mut kills, mut facts) = (0, 0);
    for at in sample(calls.len(), 10) {
        for strike in [Strike::Kill { at }, Strike::Tear { at }] {
            let scene = Scene::new();
            let (said, trace) = scene.struck(ERRAND, strike);
            let last = trace.calls.last().cloned().unwrap_or_default();
            let mut told = Told::default();
            told.add(&said);
            let mut found = wrong(&scene, &told, Left::Killed);
            let again = scene.run(AGAIN);
            told.add(&again);
            found.extend(wrong(&scene, &told, Left::Settled));
            let once = std::fs::read_to_string(scene.work().join("once.txt")).unwrap_or_default();
            assert!(once.len() <= "once\n".len(), "{strike:?}, {last}: run again");
            assert!(found.is_empty() && again.code == Some(0), "{strike:?}, {last}: {found:#?}\n{again:#?}");
            kills += usize::from(trace.code.is_none());
            facts += told.count();
        }
    }
    tally(&format!("{kills} kills at the {} calls of an errand, {facts} things told, 0 lost", calls.len()));
}
