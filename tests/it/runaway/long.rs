//! Very long runs: their memory is that of the window, not of everything that was ever said.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use serde_json::json;
use tillerman::agent::{self, Agent, Limits, Outcome, inbox};
use tillerman::event::Events;
use tillerman::message::{NoteId, RawArgs, ToolSpec, Usage};
use tillerman::model::Model;
use tillerman::model::tokens::Counter;
use tillerman::session::{Durability, Record, Session};
use tillerman::tool::{Tool, ToolContext, ToolError, ToolOutput, Toolbox};

use crate::patience::alone;
use crate::runtime::{calls, played_as, says};

/// A model that calls a tool in so many turns, and sums up when it is asked to.
fn endless(turns: usize) -> Arc<dyn Model> {
    let turn = AtomicUsize::new(0);
    played_as("scripted/endless", Usage::default(), move |ask| {
        let message = match ask.first().starts_with("<transcript>") {
            true => says("It went on and on."),
            false => match turn.fetch_add(1, Ordering::SeqCst) {
                turn if turn < turns => calls([("speak", json!({ "turn": turn }))]),
                _ => says("done"),
            },
        };
        std::future::ready(message)
    })
}

/// A tool whose every output is another one of so many bytes.
struct Speak {
    spec: ToolSpec,
    bytes: usize,
    spoken: AtomicUsize,
    /// Memory of the process when half of the turns were made.
    half: Arc<AtomicUsize>,
    turns: usize,
}

impl Tool for Speak {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _: RawArgs, _: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let turn = self.spoken.fetch_add(1, Ordering::SeqCst);
        if turn == self.turns / 2 {
            self.half.store(resident(), Ordering::SeqCst);
        }
        let line = format!("turn {turn} says what no turn before it has said\n");
        Box::pin(async move { Ok(ToolOutput::text(line.repeat(self.bytes.div_ceil(line.len())))) })
    }
}

/// Bytes of memory that are this process's own.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<usize>().ok()).unwrap() * 1024
}

/// Plays so many turns with outputs of so many bytes; answers the memory at half of it, and after.
fn play(turns: usize, bytes: usize) -> (usize, usize) {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::create(dir.path()).unwrap().with_durability(Durability::Off);
    session.append(Record::user("go")).unwrap();
    let half = Arc::new(AtomicUsize::new(0));
    let schema = json!({"type": "object"}).into();
    let spec = ToolSpec { name: "speak".to_owned(), description: "Speaks.".into(), schema, read_only: true };
    let tool = Speak { spec, bytes, spoken: AtomicUsize::new(0), half: half.clone(), turns };
    let agent = Agent {
        model: endless(turns),
        summariser: None,
        counter: Counter::default(),
        tools: Toolbox::new(vec![Arc::new(tool)]).unwrap(),
        system: "be brief".to_owned(),
        limits: Limits { context_window: 100_000, ..Limits::default() },
        artifacts: dir.path().join("artifacts"),
        ledger: None,
        account: None,
    };
    let (_tiller, mut inbox) = inbox::channel(NoteId(1));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ended = runtime.block_on(agent::run(&agent, &mut session, &mut inbox, &Events::none()));
    assert_eq!(ended.unwrap(), Outcome::Answered("done".to_owned()));
    assert!(session.context().len() < 1_000, "it was shortened");
    (half.load(Ordering::SeqCst), resident())
}

/// In the long form a hundred; otherwise a few.
#[test]
fn r11_a_hundred_megabytes_of_results_stay_on_the_disk() {
    alone("runaway::long::r11_a_hundred_megabytes_of_results_stay_on_the_disk", || {
        let megabytes = crate::battery::knob("RESULTS", if crate::battery::every() { 100 } else { 4 });
        // What counting tokens takes is there by half of it.
        let (half, after) = play(megabytes << 4, 64 << 10);
        let more = after.saturating_sub(half);
        assert!(more < 12 << 20, "{more} bytes more");
        crate::battery::tally(&format!("{megabytes} MB of results: {more} bytes more"));
    });
}

/// In the long form 10,000 turns.
#[test]
fn r12_the_memory_of_a_run_does_not_grow_with_its_turns() {
    alone("runaway::long::r12_the_memory_of_a_run_does_not_grow_with_its_turns", || {
        let turns = crate::battery::knob("LONG", if crate::battery::every() { 10_000 } else { 1_000 });
        let (half, after) = play(turns, 1 << 10);
        let more = after.saturating_sub(half);
        assert!(more < 8 << 20, "{more} bytes more after the first half");
        crate::battery::tally(&format!("{turns} turns: {more} bytes more in the second half"));
    });
}
