//! Calls that fail or do half their work: a full disk, a disk that breaks, a short write, too few files.

use std::fs;

use nix::errno::Errno;

use super::after::{Left, Told, wrong};
use super::scene::{Play, Said, Scene};
use super::tracer::{CAN_FAIL, Strike};
use super::{sample, skipped, tally};

const ERRAND: Play<'_> = Play::of(&["run", "--json", "--wait", "dispatch once: echo once >> once.txt"]);
const AGAIN: Play<'_> = Play::of(&["run", "--json", "--wait", "-c", "2 + 2"]);

/// Plays the errand with the strike, then goes on with a disk that works; answers what was said under the strike.
fn errand(strike: Strike) -> (Said, String) {
    let scene = Scene::new();
    let (said, trace) = scene.struck(ERRAND, strike);
    let at = format!("{strike:?}, {}", trace.calls.get(at(strike) - 1).cloned().unwrap_or_default());
    assert!(!trace.hung && trace.code.is_some(), "{at}: it did not end by itself: {said:?}");
    assert!(!said.err.contains("panicked"), "{at}: {}", said.err);
    let mut told = Told::default();
    told.add(&said);
    let mut found = wrong(&scene, &told, Left::Killed);
    let again = scene.run(AGAIN);
    told.add(&again);
    found.extend(wrong(&scene, &told, Left::Settled));
    let once = fs::read_to_string(scene.work().join("once.txt")).unwrap_or_default();
    assert!(once.len() <= "once\n".len(), "{at}: run again");
    assert!(found.is_empty() && again.code == Some(0), "{at}: {found:#?}\n{said:#?}\n{again:#?}");
    (said, at)
}

fn at(strike: Strike) -> usize {
    match strike {
        Strike::Kill { at } | Strike::Tear { at } | Strike::Fail { at, .. } | Strike::Short { at } => at,
        Strike::Never => 1,
    }
}

/// Numbers of the errand's calls whose names begin so.
fn calls(names: &[&str]) -> Vec<usize> {
    let calls = Scene::new().struck(ERRAND, Strike::Never).1.calls;
    let of = |call: &String| names.iter().any(|name| call.split(' ').next() == Some(name));
    calls.iter().enumerate().filter(|(_, call)| of(call)).map(|(at, _)| at + 1).collect()
}

/// C07, C08: from some call on nothing can be written or made any more.
#[test]
fn c07_a_full_disk_ends_a_run_visibly_and_loses_nothing_that_was_told() {
    if !CAN_FAIL {
        return skipped("calls can be made to fail on x86_64 only");
    }
    let all = calls(&[
        "write",
        "pwrite64",
        "openat",
        "openat2",
        "open",
        "mkdir",
        "mkdirat",
        "rename",
        "renameat",
        "renameat2",
    ]);
    let (mut tried, mut failed) = (0, 0);
    for index in sample(all.len(), 6) {
        let strike = Strike::Fail { at: all[index - 1], errno: Errno::ENOSPC, lasting: true };
        let (said, _) = errand(strike);
        tried += 1;
        failed += usize::from(said.code != Some(0));
    }
    tally(&format!("{tried} times a disk became full, {failed} runs ended with a fault, 0 told things lost"));
}

/// C09.
#[test]
fn c09_a_short_write_is_completed() {
    if !CAN_FAIL {
        return skipped("writes can be cut short on x86_64 only");
    }
    let all = calls(&["write", "pwrite64"]);
    let mut tried = 0;
    for index in sample(all.len(), 6) {
        let (said, at) = errand(Strike::Short { at: all[index - 1] });
        assert_eq!(said.code, Some(0), "{at}: {said:?}");
        tried += 1;
    }
    tally(&format!("{tried} short writes, all completed"));
}

/// C10.
#[test]
fn c10_a_disk_that_fails_to_sync_is_believed() {
    if !CAN_FAIL {
        return skipped("calls can be made to fail on x86_64 only");
    }
    let all = calls(&["fsync", "fdatasync"]);
    let (mut tried, mut said_so) = (0, 0);
    for index in sample(all.len(), 6) {
        let (said, _) = errand(Strike::Fail { at: all[index - 1], errno: Errno::EIO, lasting: false });
        tried += 1;
        let told = said.code != Some(0) || said.out.contains("os error 5") || said.err.contains("os error 5");
        said_so += usize::from(told);
    }
    tally(&format!("{tried} syncs failed, {said_so} of them told, 0 told things lost"));
}

/// C05, C08: the list of trusted folders is the only setting that the program writes.
#[test]
fn c08_the_list_of_trusted_folders_is_old_or_new_whatever_happens_while_it_is_saved() {
    let init = Play::of(&["init"]);
    let fresh = || {
        let scene = Scene::new();
        fs::write(scene.home().join("trust.yaml"), "/elsewhere:\n  folder: 1:2\n  since: 2026-01-01\n").unwrap();
        scene
    };
    let scene = fresh();
    let old = fs::read_to_string(scene.home().join("trust.yaml")).unwrap();
    let calls = scene.struck(init, Strike::Never).1.calls;
    assert!(fs::read_to_string(scene.home().join("trust.yaml")).unwrap().contains("work"), "init trusts: {calls:?}");
    let mut tried = 0;
    for at in sample(calls.len(), 6) {
        let full = Strike::Fail { at, errno: Errno::ENOSPC, lasting: true };
        for strike in [Strike::Kill { at }, Strike::Tear { at }, full].into_iter().take(if CAN_FAIL { 3 } else { 1 }) {
            let scene = fresh();
            let (said, _) = scene.struck(init, strike);
            let now = fs::read_to_string(scene.home().join("trust.yaml")).unwrap();
            let new = now.contains("/elsewhere") && now.contains("work") && now.ends_with('\n');
            assert!(now == old || new, "{strike:?}: {now}");
            assert!(!said.err.contains("panicked"), "{said:?}");
            assert_eq!(scene.run(init).code, Some(0), "{strike:?}");
            tried += 1;
        }
    }
    tally(&format!("{tried} kills and full disks at {} calls, old or new each time", calls.len()));
}

/// C11.
#[test]
fn c11_a_state_folder_that_is_read_only_is_named_at_the_start() {
    if !CAN_FAIL {
        return skipped("calls can be made to fail on x86_64 only");
    }
    for play in [ERRAND, Play::of(&["run", "--wait", "dispatch once: echo once >> once.txt"])] {
        let scene = Scene::new();
        let (said, trace) = scene.struck(play, Strike::Fail { at: 1, errno: Errno::EROFS, lasting: true });
        let words = [said.out.as_str(), said.err.as_str()].concat();
        assert!(!trace.hung && said.code.is_some_and(|code| code != 0), "{said:?}");
        assert!(words.contains("Read-only file system") && !words.contains("panicked"), "{said:?}");
        assert!(words.contains(scene.home().to_str().unwrap()), "it names the place: {said:?}");
    }
    tally("2 starts where nothing can be written, both refused with the place");
}

/// C12.
#[test]
fn c12_too_few_files_are_told_and_cost_nothing() {
    let mut few = 0;
    for files in (4..64).step_by(if super::every() { 1 } else { 12 }) {
        let scene = Scene::new();
        let said = scene.run_under(&format!("ulimit -n {files}"), ERRAND);
        assert!(!said.err.contains("panicked") && said.code.is_some(), "{files} files: {said:?}");
        let mut told = Told::default();
        told.add(&said);
        few += usize::from(said.code != Some(0));
        let again = scene.run(AGAIN);
        told.add(&again);
        let found = wrong(&scene, &told, Left::Settled);
        assert!(found.is_empty() && again.code == Some(0), "{files} files: {found:#?}\n{said:#?}\n{again:#?}");
    }
    tally(&format!("{few} runs had too few files and said so, 0 told things lost"));
}
