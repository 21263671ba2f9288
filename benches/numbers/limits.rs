//! What it costs to hold limits: a call that the ledger is asked about and told of, and a turn that is judged.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use tempfile::TempDir;
use tillerman::agent::stuck::{Judge, Kind, Step};
use tillerman::ledger::{Account, Call, Clock, Ledger, Opening, Purpose, Sums};
use tillerman::message::{Budget, Usage, Usd};

use crate::table::{at, median, row};

/// The word that measures only what is here.
pub(crate) const WORD: &str = "limits";

/// Calls, and turns, of which each figure is made.
const EACH: usize = 20_000;

pub(crate) fn measure() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    for tasks in [1, 1_000] {
        let (asked, whole) = runtime.block_on(calls(tasks));
        row(&format!("a call asked for and charged, {tasks} tasks, p50"), "", us(median(asked.iter().copied())));
        row(&format!("a call asked for and charged, {tasks} tasks, p99"), "", us(at(asked.into_iter(), 0.99)));
        row(&format!("… and known to be in ledger.jsonl, {tasks} tasks, each"), "", us(whole / EACH as u32));
    }
    for bytes in [200, 20_000] {
        let took = turns(bytes);
        row(&format!("a turn judged, a call of {bytes} bytes of output, p50"), "", us(median(took.iter().copied())));
    }
}

fn us(took: Duration) -> String {
    format!("{:.2} µs", took.as_secs_f64() * 1e6)
}

/// How long each call's question and bill took whoever runs the loop, and how long all took with the waits for the file.
async fn calls(tasks: usize) -> (Vec<Duration>, Duration) {
    let folder = TempDir::new().expect("the temporary folder is writable");
    let fleet = Budget { usd: Some(Usd(u64::MAX / 4)), ..Budget::default() };
    let ledger = Ledger::open(&folder.path().join("ledger.jsonl"), fleet, Budget::default(), Clock::system());
    let open = |task: usize| {
        let (task, created) = (format!("t_{task:03}"), Timestamp::UNIX_EPOCH);
        let opening = Opening { task, created, agent: None, budget: Budget::default(), parent: None };
        ledger.dispatch(&opening).expect("there is money enough")
    };
    let accounts: Vec<Account> = (1..=tasks).map(open).collect();
    let about = Sums { usd: Usd(1_000), tokens: 5_100, turns: 1, ..Sums::default() };
    let usage = Usage { input: 5_000, output: 100, ..Usage::default() };
    let (mut took, began) = (Vec::with_capacity(EACH), Instant::now());
    for call in 0..EACH {
        let account = &accounts[call % tasks];
        account.settled().await;
        let began = Instant::now();
        std::hint::black_box(account.admit(about, about));
        let call = Call { purpose: Purpose::Turn, model: "bench/model", usage, cost: Some(Usd(900)), estimated: false };
        account.charge(call, about);
        took.push(began.elapsed());
    }
    ledger.settled().await;
    (took, began.elapsed())
}

/// How long each turn was judged, each with a call whose output is new by one line.
fn turns(bytes: usize) -> Vec<Duration> {
    let mut judge = Judge::default();
    let line = "a line of an output that was there before\n";
    let old = line.repeat(bytes / line.len());
    let judged = (0..EACH / 10).map(|turn| {
        let (args, output) = (format!("{{\"command\":\"step {turn}\"}}"), format!("{old}line {turn}\n"));
        let id = format!("c{turn}");
        let step = Step { tool: "shell", id: &id, args: &args, kind: Kind::Acts, output: &output, failed: false };
        let began = Instant::now();
        std::hint::black_box(judge.turn(&[step], Duration::ZERO));
        began.elapsed()
    });
    judged.collect()
}
