//! Secrets on their way into a conversation and to observers (T15, T16).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tillerman::event::{AgentEvent, Events, Observer};
use tillerman::message::{Block, CallId, Message, Opaque, RawArgs, Role, Thinking, ToolCall, ToolResult};
use tillerman::session::{Record, Session};

use super::{CANARY, secrets};

#[derive(Default)]
struct Seen(Mutex<Vec<AgentEvent>>);

impl Observer for Seen {
    fn observe(&self, event: &AgentEvent) {
        self.0.lock().unwrap().push(event.clone());
    }
}

fn seen(events: &[AgentEvent]) -> Vec<AgentEvent> {
    let seen = Arc::new(Seen::default());
    let to = Events::to([seen.clone() as Arc<dyn Observer>]).without(&secrets());
    events.iter().for_each(|event| to.emit(event));
    let seen = seen.0.lock().unwrap();
    seen.clone()
}

fn text(text: &str) -> AgentEvent {
    AgentEvent::Text { text: text.to_owned() }
}

#[test]
fn t16_a_stream_to_observers_is_held_back_only_where_a_secret_may_begin() {
    let call = CallId("c".to_owned());
    let chunk = |chunk: &str| AgentEvent::ToolProgress { call: CallId("c".to_owned()), chunk: chunk.to_owned() };
    let result = ToolResult { call, output: format!("x {CANARY}"), details: json!({"o": CANARY}), is_error: false };
    let told = seen(&[
        text("it is cnry+7f/3"),
        text("a9=d51e0b."),
        text(" no"),
        text(" c"),
        AgentEvent::TurnEnded { turn: 1 },
        chunk("a cnry+"),
        chunk("7f/3a9=d51e0b"),
        chunk(" b cnry"),
        AgentEvent::ToolFinished { result: result.clone(), took: Duration::ZERO },
    ]);
    let clean = ToolResult {
        output: "x [secret DEPLOY_TOKEN]".into(),
        details: json!({"o": "[secret DEPLOY_TOKEN]"}),
        ..result
    };
    let expected = [
        text("it is "),
        text("[secret DEPLOY_TOKEN]."),
        text(" no"),
        text(" "),
        text("c"),
        AgentEvent::TurnEnded { turn: 1 },
        chunk("a "),
        chunk("[secret DEPLOY_TOKEN]"),
        chunk(" b "),
        chunk("cnry"),
        AgentEvent::ToolFinished { result: clean, took: Duration::ZERO },
    ];
    assert_eq!(told, expected);
}

#[test]
fn t15_nothing_secret_enters_a_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::create(folder.path()).unwrap();
    session.keep_from(&secrets());
    session.append(Record::user(format!("hi {CANARY}"))).unwrap();
    let proof = Opaque { provider: "p".into(), model: "m".into(), data: json!("signed") };
    let call =
        ToolCall { id: CallId("c".into()), name: "shell".into(), args: RawArgs(format!("{{\"a\":\"{CANARY}\"}}")) };
    let blocks = vec![
        Block::Thinking(Thinking { text: CANARY.into(), opaque: Some(proof.clone()) }),
        Block::Thinking(Thinking { text: "plain".into(), opaque: Some(proof.clone()) }),
        Block::Call(call.clone()),
    ];
    let message = Arc::new(Message { role: Role::Assistant, blocks });
    session.append(Record::Assistant { message, usage: Default::default(), model: "p/m".into(), cost: None }).unwrap();
    let result = ToolResult { call: call.id.clone(), output: CANARY.into(), details: json!(null), is_error: false };
    session.append(Record::ToolResult { message: Arc::new(Message::result(result.clone())) }).unwrap();

    let mark = "[secret DEPLOY_TOKEN]";
    let expected = [
        Message::user(format!("hi {mark}")),
        Message {
            role: Role::Assistant,
            blocks: vec![
                Block::Thinking(Thinking { text: mark.into(), opaque: None }),
                Block::Thinking(Thinking { text: "plain".into(), opaque: Some(proof) }),
                Block::Call(ToolCall { args: RawArgs(format!("{{\"a\":\"{mark}\"}}")), ..call }),
            ],
        },
        Message::result(ToolResult { output: mark.into(), ..result }),
    ];
    let context: Vec<Message> = session.context().iter().map(|message| (**message).clone()).collect();
    assert_eq!(context, expected);
    let written = std::fs::read_to_string(session.path().unwrap()).unwrap();
    assert!(!written.contains(CANARY), "{written}");
}
