//! ledger.jsonl: one line per call, read again by the next program, whatever happened to the file.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde_json::{Value, json};
use tillerman::ledger::{Call, Clock, Ledger, Opening, Purpose, Sums};
use tillerman::message::{Budget, Usage, Usd};
use tokio::time::timeout;

use super::{budget, cents, opening, pay};

fn open(path: &Path) -> Ledger {
    Ledger::open(path, Budget::default(), Budget::default(), Clock::system())
}

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_call_is_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.jsonl");
    let ledger = open(&path);
    let task = Opening { agent: Some("coder".to_owned()), ..opening("t_007", budget("$1.00")) };
    let account = ledger.dispatch(&task).unwrap();
    let usage = Usage { input: 500, output: 100, cache_read: 10_000, cache_write: 3, reasoning: 40 };
    let call =
        Call { purpose: Purpose::Turn, model: "anthropic/claude", usage, cost: Some(Usd(3_000_000)), estimated: false };
    account.charge(call, Sums::default());
    let title = Call { purpose: Purpose::Title, cost: None, estimated: true, ..call };
    ledger.main("s1").charge(title, Sums::default());
    let mut lines = lines(&path);
    for line in &mut lines {
        assert!(line["at"].as_str().unwrap().parse::<Timestamp>().is_ok());
        line.as_object_mut().unwrap().shift_remove("at");
    }
    let first = json!({
        "v": 1, "task": "t_007", "dispatched": "2023-11-14T22:13:20Z", "agent": "coder", "purpose": "turn",
        "model": "anthropic/claude", "input": 500, "cache_read": 10_000, "cache_write": 3, "output": 100, "usd": 0.003,
        "worked_ms": 0
    });
    let second = json!({
        "v": 1, "task": "main", "session": "s1", "purpose": "title", "model": "anthropic/claude", "input": 500,
        "cache_read": 10_000, "cache_write": 3, "output": 100, "usd": null, "estimated": true, "worked_ms": 0
    });
    assert_eq!(lines, [first, second]);
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_task_that_goes_on_in_another_program_has_used_what_it_used() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.jsonl");
    let task = opening("t_001", budget("$0.50"));
    let first = open(&path);
    let account = first.dispatch(&task).unwrap();
    pay(&account, 20, 1_000);
    pay(&account, 10, 1_000);
    // Nobody closes anything: the program was killed while it wrote.
    fs::write(&path, fs::read_to_string(&path).unwrap() + "{\"v\":1,\"at\":\"20").unwrap();

    let second = open(&path);
    let account = second.resume(&task).unwrap();
    let spent = account.balance().unwrap().spent;
    assert_eq!((spent.usd, spent.tokens, spent.turns), (cents(30), 2_000, 2));
    pay(&account, 5, 1);
    let third = open(&path).resume(&task).unwrap();
    assert_eq!(third.balance().unwrap().spent.usd, cents(35), "a torn line hides none behind it");
    // The number may be given again when its directory is gone; that is another task.
    let anew = Opening { created: task.created + 1.second(), ..task };
    assert_eq!(open(&path).resume(&anew).unwrap().balance().unwrap().spent, Sums::default());
}

#[test]
fn a_fleet_knows_what_was_used_today_and_forgets_yesterday() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.jsonl");
    let line = |at: Timestamp, task: &str, worked: u64| {
        let line = json!({
            "v": 1, "at": at, "task": task, "dispatched": "2023-11-14T22:13:20Z", "purpose": "turn", "model": "m",
            "input": 1_000, "cache_read": 0, "cache_write": 0, "output": 0, "usd": 0.10, "worked_ms": worked
        });
        format!("{line}\n")
    };
    let now: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
    let noon = Clock::of(TimeZone::UTC, move || now);
    let text = [
        line(now - 49.hours(), "t_001", 60_000),
        line(now, "t_001", 90_000),
        "garbage\n".to_owned(),
        "x".repeat(200_000) + "\n",
        line(now, "main", 0),
        line(now, "t_002", 5_000),
    ];
    fs::write(&path, text.concat()).unwrap();
    let ledger = Ledger::open(&path, budget("$0.50"), Budget::default(), noon);
    let spent = ledger.fleet().spent;
    assert_eq!((spent.usd, spent.tokens, spent.turns, spent.time.as_secs()), (cents(20), 2_000, 2, 35));
    let refused = ledger.dispatch(&opening("t_003", budget("$0.40"))).err().unwrap();
    assert!(refused.to_string().starts_with("only $0.30 is left of $0.50 for all tasks of a day"), "{refused}");
}

#[test]
fn similar_tasks_tell_what_one_may_take() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.jsonl");
    let ledger = open(&path);
    assert_eq!(ledger.estimate(None, "anthropic/test"), None);
    let work = |ledger: &Ledger, number: u64, agent: Option<&str>, price: u64| {
        let task = format!("t_{number:03}");
        let task = Opening { agent: agent.map(str::to_owned), ..opening(&task, Budget::default()) };
        pay(&ledger.dispatch(&task).unwrap(), price, 1_000 * number);
    };
    work(&ledger, 0, None, 0);
    ledger.close("t_000");
    assert_eq!(ledger.estimate(None, "anthropic/test"), None, "a model that counts nothing tells nothing");
    (1..=9).for_each(|number| work(&ledger, number, Some("coder"), 10 * number));
    assert_eq!(ledger.estimate(None, "anthropic/test"), None, "tasks that go on tell nothing yet");
    (1..=9).for_each(|number| ledger.close(&format!("t_{number:03}")));
    let told = |agent: Option<&str>, model: &str| ledger.estimate(agent, model).map(|estimate| estimate.to_string());
    assert_eq!(told(Some("coder"), "anthropic/test").as_deref(), Some("est. $0.30-0.70 (9 similar tasks)"));
    assert_eq!(told(Some("coder"), "anthropic/other"), None);
    work(&ledger, 10, Some("tester"), 0);
    ledger.close("t_010");
    assert_eq!(told(Some("tester"), "anthropic/test").as_deref(), Some("est. $0.30-0.70 (10 similar tasks)"));
    let free = |ledger: &Ledger| {
        (11..=14).for_each(|number| work(ledger, number, None, 0));
        (11..=14).for_each(|number| ledger.close(&format!("t_{number:03}")));
        ledger.estimate(None, "anthropic/test").map(|estimate| estimate.to_string())
    };
    assert_eq!(free(&ledger).as_deref(), Some("est. 12k-14k tokens (4 similar tasks)"));
    // Another program knows the same.
    let told = open(&path).estimate(Some("coder"), "anthropic/test").map(|estimate| estimate.to_string());
    assert_eq!(told.as_deref(), Some("est. $0.30-0.70 (9 similar tasks)"));
}

#[test]
fn a_disk_that_refuses_takes_no_sum_away() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gone/ledger.jsonl");
    let ledger = open(&path);
    let account = ledger.dispatch(&opening("t_001", budget("$0.50"))).unwrap();
    pay(&account, 30, 0);
    assert_eq!(account.balance().unwrap().spent.usd, cents(30));
    fs::create_dir(dir.path().join("gone")).unwrap();
    pay(&account, 5, 0);
    assert_eq!(lines(&path).len(), 1, "it is written again as soon as it can be");
}

#[tokio::test]
async fn a_disk_that_hangs_holds_up_nobody_but_the_next_call() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.jsonl");
    // A pipe takes 64 KiB, and then waits for a reader.
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let account = open(&path).dispatch(&opening("t_001", budget("$50.00"))).unwrap();
    for _ in 0..1_000 {
        pay(&account, 1, 10);
    }
    assert_eq!(account.balance().unwrap().spent.usd, cents(1_000), "they are charged all the same");
    assert!(timeout(Duration::from_millis(20), account.settled()).await.is_err(), "and not known to be written");
    let reader = thread::spawn(move || {
        let pipe = BufReader::new(fs::File::open(path).unwrap());
        let lines = pipe.lines().take(1_000).map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        lines.filter(|line| line["task"] == "t_001").count()
    });
    account.settled().await;
    assert_eq!(reader.join().unwrap(), 1_000, "each once");
}
