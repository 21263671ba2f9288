//! What it costs to keep things: durable entries and notes per second, opening long sessions, listing many.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tillerman::message::{Message, Note, NoteId, NoteKind, Usage};
use tillerman::session::{Compaction, Durability, Mailbox, Posted, Record, Session, Store};
use tokio::sync::oneshot;

use crate::server::memory;
use crate::table::{at, mb, median, ms, row};

/// The word that makes the bench its own child; behind it stands the session to open.
pub(crate) const CHILD: &str = "opens";

/// The word that measures only what is here.
pub(crate) const WORD: &str = "journal";

/// Letters of an entry.
const ENTRY: usize = 300;

pub(crate) fn measure() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    for writers in [1, 8, 32] {
        let rates: Vec<f64> = (0..5).map(|_| runtime.block_on(appends(writers))).collect();
        row(&format!("durable entries, {writers} writers, a session each"), "", per_second(rates));
    }
    for writers in [1, 8, 32] {
        let rates: Vec<f64> = (0..5).map(|_| runtime.block_on(posts(writers)).0).collect();
        row(&format!("durable notes, {writers} writers, one inbox"), "", per_second(rates));
    }
    let took = runtime.block_on(posts(1)).1;
    row("a note until it is durable, p50", "", ms(median(took.iter().copied())));
    row("a note until it is durable, p99", "", ms(at(took.into_iter(), 0.99)));
    for megabytes in [1, 10, 100] {
        opening(megabytes);
    }
    listing();
}

fn per_second(mut rates: Vec<f64>) -> String {
    rates.sort_by(f64::total_cmp);
    format!("{:.0} / s", rates[rates.len() / 2])
}

/// Entries per second of so many writers, each of which waits for the disk after each entry.
async fn appends(writers: usize) -> f64 {
    let each = 1600 / writers;
    let folder = TempDir::new().expect("the temporary folder is writable");
    let sessions = (0..writers).map(|_| {
        let session = Session::create(folder.path()).expect("a session is made");
        session.with_durability(Durability::Always)
    });
    let sessions: Vec<Session> = sessions.collect();
    let started = Instant::now();
    let tasks = sessions.into_iter().map(|mut session| {
        tokio::spawn(async move {
            for _ in 0..each {
                session.append(Record::user("x".repeat(ENTRY))).expect("an entry is written");
                session.settle().await.expect("the disk works");
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.expect("a writer ends");
    }
    (each * writers) as f64 / started.elapsed().as_secs_f64()
}

/// Notes per second of so many senders to one inbox, each of whom waits for the receipt; and how long each waited.
async fn posts(writers: usize) -> (f64, Vec<Duration>) {
    let each = 1600 / writers;
    let folder = TempDir::new().expect("the temporary folder is writable");
    let inbox = Mailbox::of(&folder.path().join("s.jsonl"), Durability::Always).expect("an inbox opens");
    let started = Instant::now();
    let tasks = (0..writers).map(|writer| {
        let inbox = inbox.clone();
        tokio::spawn(async move {
            let mut took = Vec::with_capacity(each);
            for number in 0..each {
                let id = NoteId((writer * each + number + 1) as u64);
                let note = Note { id, kind: NoteKind::Steer, text: "x".repeat(ENTRY) };
                let (done, waits) = oneshot::channel();
                let started = Instant::now();
                inbox.post(Posted { note, from: "person".into(), images: vec![] }, |posted| drop(done.send(posted)));
                waits.await.expect("a receipt comes").expect("the disk works");
                took.push(started.elapsed());
            }
            took
        })
    });
    let mut took = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        took.extend(task.await.expect("a writer ends"));
    }
    ((each * writers) as f64 / started.elapsed().as_secs_f64(), took)
}

/// A session of so many megabytes, of which a compaction has left the last one to the model.
fn large(folder: &Path, megabytes: usize) -> PathBuf {
    let mut session = Session::create(folder).expect("a session is made");
    let path = session.path().expect("it has a file").to_owned();
    let text = "So the harbour was quiet that morning, and nobody wrote anything down. ".repeat(28);
    let mut says = |record| {
        session.append(record).expect("an entry is written");
    };
    let pairs = (megabytes << 20) / (2 * (text.len() + 300));
    let last = pairs.saturating_sub(pairs / megabytes / 2);
    for pair in 0..pairs {
        if pair == last {
            let head = vec![Arc::new(Message::user("so far"))];
            says(Record::Compaction(Box::new(Compaction { head, ..Compaction::default() })));
        }
        says(Record::user(text.clone()));
        let message = Arc::new(Message::assistant(text.clone()));
        says(Record::Assistant { message, usage: Usage::default(), model: "bench/bench".into(), cost: None });
    }
    path
}

fn opening(megabytes: usize) {
    let folder = TempDir::new().expect("the temporary folder is writable");
    let path = large(folder.path(), megabytes);
    let this = std::env::current_exe().expect("the bench knows its own path");
    let mut runs: Vec<(Duration, u64, u64)> = (0..5)
        .map(|_| {
            let output = Command::new(&this).arg(CHILD).arg(&path).output().expect("the bench starts itself");
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let mut numbers = said.split_whitespace().map(|number| number.parse().expect("a number"));
            let mut next = || numbers.next().expect("three numbers");
            (Duration::from_micros(next()), next(), next())
        })
        .collect();
    runs.sort();
    let (took, more, live) = runs[2];
    let bar = if megabytes == 100 { "< 1 s" } else { "" };
    row(&format!("a session of {megabytes} MB opened"), bar, ms(took));
    row("… its memory", "< 3 × the live part", format!("{} for {} that the model sees", mb(more), mb(live)));
}

/// What the child does: opens the session and says how long it took, and what it holds.
pub(crate) fn child(path: &str) {
    let before = memory(std::process::id(), "RssAnon");
    let started = Instant::now();
    let session = Session::open(Path::new(path)).expect("the session opens");
    let took = started.elapsed();
    let more = memory(std::process::id(), "RssAnon").saturating_sub(before);
    let live: usize = session.context().iter().map(|message| message.text().len()).sum();
    println!("{} {more} {live}", took.as_micros());
}

/// Ten thousand sessions with a few entries each.
fn listing() {
    let folder = TempDir::new().expect("the temporary folder is writable");
    for number in 0..10_000 {
        let mut session = Session::create(folder.path()).expect("a session is made");
        session.append(Record::user(format!("line {number}"))).expect("an entry is written");
        session.append(Record::Title { title: format!("Number {number}") }).expect("an entry is written");
    }
    let store = Store::new(folder.path());
    let once = |_| {
        let started = Instant::now();
        assert_eq!(store.list().expect("the folder can be read").len(), 10_000);
        started.elapsed()
    };
    row("10,000 sessions listed, warm", "< 200 ms", ms(median((0..7).map(once))));
}
