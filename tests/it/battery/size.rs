//! A session of many megabytes: it opens quickly, and in memory there is what the model sees, not what ever was.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tillerman::message::Message;
use tillerman::session::{Compaction, Record, Session};

use super::{every, knob, tally};
use crate::patience::alone;

/// A session of so many megabytes, of which a compaction has left the last one to the model.
fn large(dir: &Path, megabytes: usize) -> PathBuf {
    let mut session = Session::create(dir).unwrap();
    let path = session.path().unwrap().to_owned();
    let text = "So the harbour was quiet that morning, and nobody wrote anything down. ".repeat(28);
    let mut bytes = 0;
    let mut shortened = false;
    while bytes < megabytes << 20 {
        if !shortened && bytes >= (megabytes - 1) << 20 {
            let head = vec![Arc::new(Message::user("so far"))];
            session.append(Record::Compaction(Box::new(Compaction { head, ..Compaction::default() }))).unwrap();
            shortened = true;
        }
        session.append(Record::user(text.clone())).unwrap();
        session.append(crate::session::says(&text, &[])).unwrap();
        bytes += 2 * (text.len() + 300);
    }
    path
}

/// Bytes of memory that are this process's own.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap() * 1024
}

/// C30. In the long form 100 MB, whose time counts; otherwise a few.
#[test]
fn c30_a_large_session_opens_quickly_and_takes_the_memory_of_its_live_part() {
    alone("battery::size::c30_a_large_session_opens_quickly_and_takes_the_memory_of_its_live_part", || {
        let megabytes = knob("MEGABYTES", if every() { 100 } else { 6 });
        let dir = tempfile::tempdir().unwrap();
        let path = large(dir.path(), megabytes);
        // What making it took is given back or stays with the allocator; a new process would not have it.
        let (before, began) = (resident(), Instant::now());
        let session = Session::open(&path).unwrap();
        let took = began.elapsed();
        let more = resident().saturating_sub(before);
        let live: usize = session.context().iter().map(|message| message.text().len()).sum();
        assert!(live > 500_000, "{live}");
        assert!(more < 3 * live as u64 + (4 << 20), "{more} bytes for {live} live ones");
        if every() && !cfg!(debug_assertions) {
            assert!(took < Duration::from_secs(1), "{took:?}");
        }
        let entries = session.entries();
        let line = format!("{megabytes} MB, {entries} entries: {took:?}, {more} bytes more for {live} live ones");
        tally(&line);
    });
}
