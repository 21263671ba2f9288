//! A long ledger.jsonl becomes a short one that says the same of every task, of the day and of what tasks like one took.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde_json::{Value, json};
use tillerman::ledger::{Balance, Clock, Estimate, Ledger, Opening};
use tillerman::message::Budget;

use super::{budget, cents, opening, pay};

const TASKS: u32 = 40;
const CALLS: u32 = 60;

fn noon() -> Timestamp {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

fn open(path: &Path) -> Ledger {
    Ledger::open(path, budget("$900"), Budget::default(), Clock::of(TimeZone::UTC, noon))
}

fn of(task: u32) -> Opening {
    opening(&format!("t_{task:03}"), Budget::default())
}

/// Calls of forty tasks over three days, long ones so that there need not be many, with calls of the main agent, and lines that are none.
fn long(folder: &Path) -> PathBuf {
    let (mut text, more) = (String::from("garbage\n"), "x".repeat(4_000));
    for call in 0..CALLS {
        let at = noon() - (48 - 24 * i64::from(call * 3 / CALLS)).hours();
        for task in 0..=TASKS {
            let line = json!({
                "v": 1, "at": at, "task": format!("t_{task:03}"), "dispatched": of(task).created, "agent": "coder",
                "purpose": if call % 20 == 19 { "summary" } else { "turn" }, "model": "anthropic/claude-sonnet-5-5",
                "input": 1_000 + task, "cache_read": 7, "cache_write": 3, "output": 10, "usd": 0.001,
                "worked_ms": 10 * (call + 1), "more": more
            });
            let main = json!({
                "v": 1, "at": at, "task": "main", "session": "s1", "purpose": "title", "model": "m", "input": 5,
                "cache_read": 0, "cache_write": 0, "output": 1, "usd": null, "estimated": true, "more": more
            });
            text += &format!("{}\n", if task == 0 { main } else { line });
        }
    }
    let path = folder.join("ledger.jsonl");
    fs::write(&path, text + "{\"v\":1,\"at\":\"20").unwrap();
    path
}

/// All that is asked of the file.
fn told(path: &Path) -> (Vec<Balance>, Balance, Option<Estimate>) {
    let ledger = open(path);
    let tasks = (1..=TASKS).map(|task| ledger.past(&of(task))).collect();
    (tasks, ledger.fleet(), ledger.estimate(Some("coder"), "anthropic/claude-sonnet-5-5"))
}

fn lines(path: &Path) -> usize {
    let text = fs::read_to_string(path).unwrap();
    text.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok_and(|line| line["v"] == 1)).count()
}

#[test]
fn a_long_file_becomes_a_short_one_that_says_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let path = long(dir.path());
    let before = told(&path);
    assert_eq!((before.0[0].spent.turns, before.0[0].spent.time.as_millis()), (57, 600));
    let ledger = open(&path);
    let account = ledger.resume(&of(41)).unwrap();
    pay(&account, 5, 0);
    let expected = (before.1.spent.usd.plus(cents(5)), before.1.spent.tokens);
    assert_eq!((ledger.fleet().spent.usd, ledger.fleet().spent.tokens), expected, "nothing counts twice");
    assert_eq!(lines(&path), 3 * (TASKS as usize + 1) + 1, "a line for each task and day, and the new one");
    assert_eq!(lines(&dir.path().join("ledger.1.jsonl")), ((TASKS + 1) * CALLS) as usize + 1, "each call is there");
    let after = told(&path);
    assert_eq!((after.0, after.1.spent.usd, after.1.spent.tokens), (before.0, expected.0, expected.1));
    // It goes on at the end of the new file.
    pay(&account, 7, 0);
    assert_eq!(lines(&path), 3 * (TASKS as usize + 1) + 2);
    assert_eq!(open(&path).past(&of(41)).spent.usd, cents(12));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left beside the two");
}

#[test]
fn a_file_that_is_folded_again_says_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let path = long(dir.path());
    pay(&open(&path).resume(&of(41)).unwrap(), 5, 0);
    let (before, once) = (told(&path), fs::read_to_string(&path).unwrap());
    // Lines that are no calls make it long again.
    fs::write(&path, once + &format!("{}\n", "x".repeat(60_000)).repeat(150)).unwrap();
    pay(&open(&path).resume(&of(41)).unwrap(), 0, 0);
    assert!(fs::metadata(&path).unwrap().len() < 1 << 20);
    let after = told(&path);
    assert_eq!((after.0, after.1.spent.usd, after.2), (before.0, before.1.spent.usd, before.2));
}

/// C05: what a kill leaves at each step of it.
#[test]
fn c05_a_kill_while_a_long_file_is_folded_changes_no_sum() {
    let half = |path: &Path| fs::read(path).unwrap()[..1 << 20].to_vec();
    let steps: [&dyn Fn(&Path); 3] = [
        &|path| fs::write(path.with_file_name("ledger.new"), half(path)).unwrap(),
        &|path| fs::write(path.with_file_name("ledger.1.jsonl"), fs::read(path).unwrap()).unwrap(),
        &|path| {
            fs::copy(path, path.with_file_name("ledger.1.jsonl")).unwrap();
            fs::write(path.with_file_name("ledger.new"), "{\"v\":1,").unwrap();
        },
    ];
    for step in steps {
        let dir = tempfile::tempdir().unwrap();
        let path = long(dir.path());
        let before = told(&path);
        step(&path);
        assert_eq!(told(&path), before);
        pay(&open(&path).resume(&of(41)).unwrap(), 0, 0);
        assert_eq!(told(&path).0, before.0);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
