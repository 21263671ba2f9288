//! Promises about messages and events, which every room speaks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tillerman::event::{AgentEvent, Ending, Events, Observer};
use tillerman::message::{
    Block, CallId, Image, Message, Note, NoteId, NoteKind, Opaque, RawArgs, Role, Thinking, ToolCall, ToolResult, Usage,
};

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), ".*".prop_map(Value::from)];
    leaf.prop_recursive(2, 8, 3, |inner| prop::collection::vec(inner, 0..3).prop_map(Value::from))
}

fn block() -> impl Strategy<Value = Block> {
    let opaque = json_value().prop_map(|data| Opaque { provider: "p".into(), model: "m".into(), data });
    let result = (".*", ".*", json_value(), any::<bool>());
    prop_oneof![
        ".*".prop_map(Block::text),
        (".*", prop::option::of(opaque)).prop_map(|(text, opaque)| Block::Thinking(Thinking { text, opaque })),
        "[A-Za-z0-9+/]*".prop_map(|data| Block::Image(Image { media_type: "image/png".into(), data })),
        (".*", ".*", ".*")
            .prop_map(|(id, name, args)| { Block::Call(ToolCall { id: CallId(id), name, args: RawArgs(args) }) }),
        result.prop_map(|(call, output, details, is_error)| {
            Block::Result(ToolResult { call: CallId(call), output, details, is_error })
        }),
    ]
}

proptest! {
    #[test]
    fn s0_05_every_message_is_the_same_after_a_trip_through_json(
        role in prop_oneof![Just(Role::User), Just(Role::Assistant)],
        blocks in prop::collection::vec(block(), 0..5),
    ) {
        let message = Message { role, blocks };
        let text = serde_json::to_string(&message).unwrap();
        prop_assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
    }
}

#[test]
fn s0_12_usage_tells_all_tokens_of_several_calls() {
    let mut usage = Usage { input: 100, output: 20, cache_read: 5, cache_write: 7, reasoning: 4 };
    usage.add(Usage { input: 1, output: 2, ..Usage::default() });
    assert_eq!(usage.total_tokens(), 101 + 22 + 5 + 7);
}

/// All kinds of events, each once.
fn every_event() -> Vec<AgentEvent> {
    let id = CallId("c".into());
    let call = ToolCall { id: id.clone(), name: "shell".into(), args: RawArgs("{}".into()) };
    let result = ToolResult { call: id.clone(), output: "out".into(), details: json!({"exit": 0}), is_error: true };
    let note = Note { id: NoteId(1), kind: NoteKind::Steer, text: "n".into() };
    let took = Duration::from_millis(5);
    vec![
        AgentEvent::RunStarted,
        AgentEvent::TurnStarted { turn: 1 },
        AgentEvent::Text { text: "t".into() },
        AgentEvent::Thinking { text: "t".into() },
        AgentEvent::CallOpened { id: id.clone(), name: "shell".into() },
        AgentEvent::Replied {
            message: Message::assistant("t"),
            usage: Usage::default(),
            took,
            model: "a/b".into(),
            cost: None,
        },
        AgentEvent::ToolStarted { call },
        AgentEvent::ToolProgress { call: id, chunk: "half".into() },
        AgentEvent::ToolFinished { result, took },
        AgentEvent::Noted { note, turn: 1 },
        AgentEvent::Compacted { before: 9, after: 3, model: None, usage: Usage::default(), cost: None },
        AgentEvent::Retrying { attempt: 2, wait: took, why: "busy".into() },
        AgentEvent::Failed { why: "gone".into() },
        AgentEvent::TurnEnded { turn: 1 },
        AgentEvent::RunEnded { ending: Ending::Aborted },
    ]
}

#[test]
fn every_event_is_the_same_after_a_trip_through_json() {
    for event in every_event() {
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<AgentEvent>(&text).unwrap(), event);
    }
}

/// Writes its name and the event's kind into a common list.
struct Witness(&'static str, Arc<Mutex<Vec<String>>>);

impl Observer for Witness {
    fn observe(&self, event: &AgentEvent) {
        let kind = serde_json::to_value(event).unwrap()["kind"].as_str().unwrap().to_owned();
        self.1.lock().unwrap().push(format!("{} {kind}", self.0));
    }
}

#[test]
fn s3_13_several_observers_see_every_event_in_the_order_of_the_list() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let witness = |name| Arc::new(Witness(name, Arc::clone(&seen))) as Arc<dyn Observer>;
    let events = Events::to([witness("first"), witness("second")]);
    events.emit(&AgentEvent::RunStarted);
    events.clone().emit(&AgentEvent::TurnStarted { turn: 1 });
    let expected = ["first run_started", "second run_started", "first turn_started", "second turn_started"];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[test]
fn s3_12_events_that_nobody_watches_go_nowhere() {
    let events = Events::none();
    every_event().iter().for_each(|event| events.emit(event));
    // A list and a word on what is kept from it: nothing is put aside for anybody.
    assert!(std::mem::size_of_val(&events) <= 3 * std::mem::size_of::<usize>());
}
