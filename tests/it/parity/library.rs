//! Promises to those who build on the library: an agent of three parts, closures that come and go, and what a line took.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use tillerman::agent::{Agent, Outcome};
use tillerman::event::{AgentEvent, Events, Subscribers, Subscription};
use tillerman::message::Usage;
use tillerman::model::scripted::{Scripted, Step};
use tillerman::runtime::{News, Source};
use tillerman::session::Session;
use tillerman::tool::{FnTool, ToolError, Toolbox};

use crate::runtime::{boat, played, says};

const EXAMPLES: [&str; 7] = ["simple", "custom_tool", "todo", "files", "advanced", "events", "two_workers"];

fn used(input: u64, output: u64) -> Usage {
    Usage { input, output, ..Usage::default() }
}

/// An agent that rings a bell and then answers.
fn ringer(answer: &str) -> Agent {
    let bell = FnTool::new("bell", "Rings the bell.", true, |_: Map<String, Value>, _cx| async {
        Ok::<_, ToolError>("ding".to_owned())
    });
    let steps = [Step::calls("bell", json!({})).with_usage(used(10, 1)), Step::says(answer).with_usage(used(20, 2))];
    let tools = Toolbox::new(vec![Arc::new(bell)]).unwrap();
    Agent { tools, ..Agent::new(Arc::new(Scripted::replies(steps))) }
}

#[tokio::test]
async fn s0_10_s0_12_an_agent_is_a_model_tools_and_a_session_and_says_what_a_line_took() {
    let mut session = Session::in_memory();
    let answer = ringer("rung").prompt(&mut session, "ring", &Events::none()).await.unwrap();
    assert_eq!((&answer.outcome, answer.text(), answer.turns), (&Outcome::Answered("rung".into()), "rung", 2));
    assert_eq!(answer.usage.total_tokens(), 10 + 1 + 20 + 2);
    let said: Vec<String> = session.context().iter().map(|message| message.text()).collect();
    assert_eq!((said.first().unwrap().as_str(), said.last().unwrap().as_str()), ("ring", "rung"));
}

#[tokio::test]
async fn s0_11_a_closure_is_told_events_until_its_guard_is_dropped() {
    let subscribers = Subscribers::default();
    let watch = |seen: &Arc<Mutex<Vec<AgentEvent>>>| {
        let seen = Arc::clone(seen);
        subscribers.subscribe(move |event| seen.lock().unwrap().push(event.clone()))
    };
    let (leaver, stayer) = (Arc::default(), Arc::default());
    let (leaving, staying) = (watch(&leaver), watch(&stayer));
    let mut session = Session::in_memory();
    ringer("one").prompt(&mut session, "ring", &subscribers.events()).await.unwrap();
    let first = leaver.lock().unwrap().len();
    assert_eq!(*leaver.lock().unwrap(), *stayer.lock().unwrap());
    assert!(first > 0);
    drop(leaving);
    ringer("two").prompt(&mut session, "ring", &subscribers.events()).await.unwrap();
    assert_eq!((leaver.lock().unwrap().len(), stayer.lock().unwrap().len()), (first, first * 2));
    drop(staying);
}

#[test]
fn s0_11_who_is_told_may_leave_and_bring_others() {
    let subscribers = Subscribers::default();
    let told: Arc<Mutex<Vec<&str>>> = Arc::default();
    let own: Arc<Mutex<Option<Subscription>>> = Arc::default();
    let (list, kept, late) = (subscribers.clone(), Arc::clone(&own), Arc::clone(&told));
    let once = subscribers.subscribe(move |_| {
        late.lock().unwrap().push("once");
        let late = Arc::clone(&late);
        *kept.lock().unwrap() = Some(list.subscribe(move |_| late.lock().unwrap().push("after")));
    });
    *own.lock().unwrap() = Some(once);
    let events = subscribers.events();
    (0..3).for_each(|_| events.emit(&AgentEvent::RunStarted));
    assert_eq!(*told.lock().unwrap(), ["once", "after", "after"]);
}

#[tokio::test]
async fn s0_11_s0_12_a_runtime_tells_closures_and_answers_with_what_it_took() {
    let boat = boat(played("plain", |_| async { says("ahoy") })).await;
    let (seen, mut ends) = tokio::sync::mpsc::unbounded_channel();
    let watching = boat.runtime.subscribe(move |envelope| {
        if let (Source::Main { run, .. }, News::Agent(AgentEvent::RunEnded { .. })) = (envelope.source, envelope.news) {
            let _ = seen.send(run);
        }
    });
    let answered = boat.runtime.prompt(&boat.session, "hello").await.unwrap();
    assert_eq!((answered.text(), ends.recv().await), ("ahoy", Some(answered.run)));
    let bill = boat.runtime.status(&boat.session).await.unwrap().since_open;
    assert_eq!((answered.usage, answered.spent), (bill.usage, bill.spent));
    drop(watching);
    boat.runtime.prompt(&boat.session, "again").await.unwrap();
    // The closure is gone, and its sender with it.
    assert_eq!(ends.recv().await, None);
}

#[test]
fn s4_35_there_are_short_examples_that_say_how_to_run_them_and_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Built by `cargo test`, and by no part of it alone.
    let built = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("examples");
    for name in EXAMPLES {
        let text = std::fs::read_to_string(root.join("examples").join(name).with_extension("rs")).unwrap();
        assert!(text.contains(&format!("cargo run --example {name}")), "{name}");
        assert!(text.lines().count() <= 60, "{name} is long");
        let program = built.join(name);
        if program.exists() {
            let done = Command::new(program).stdin(Stdio::null()).output().unwrap();
            assert!(done.status.success() && !done.stdout.is_empty(), "{name}: {done:?}");
        }
    }
}
