//! Sessions: what is written is there again, whatever happens to the file; nothing is forgotten.

mod bill;
mod branches;
mod damage;
mod export;
mod flat;
mod fork;
mod history;
mod mailbox;
mod model;
mod property;
mod search;
mod shelf;
mod store;
mod tree;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tillerman::message::{
    Block, CallId, Message, Note, NoteId, NoteKind, RawArgs, Role, ToolCall, ToolResult, Usage, check_answered,
};
use tillerman::session::{EntryId, Record, Session};

pub fn call(id: &str) -> Block {
    Block::Call(ToolCall { id: CallId(id.into()), name: "echo".into(), args: RawArgs("{}".into()) })
}

pub fn says(text: &str, calls: &[&str]) -> Record {
    let blocks = std::iter::once(Block::text(text)).chain(calls.iter().map(|id| call(id))).collect();
    let message = Arc::new(Message { role: Role::Assistant, blocks });
    Record::Assistant {
        message,
        usage: Usage { input: 10, output: 1, ..Usage::default() },
        model: "a/b".into(),
        cost: None,
    }
}

pub fn result(id: &str) -> Record {
    let result =
        ToolResult { call: CallId(id.into()), output: format!("out {id}"), details: Value::Null, is_error: false };
    Record::ToolResult { message: Arc::new(Message::result(result)) }
}

pub fn started(id: &str) -> Record {
    Record::ToolStarted { call: CallId(id.into()) }
}

pub fn note(id: u64, text: &str) -> Record {
    Record::Note { note: Note { id: NoteId(id), kind: NoteKind::Steer, text: text.into() }, turn: 1 }
}

/// A session with two turns, calls, a note and a title, and its file.
pub fn recorded(dir: &Path) -> PathBuf {
    let mut session = Session::create(dir).unwrap();
    for record in [
        Record::user("grüße\n\u{2028}"),
        says("look", &["a", "b"]),
        started("a"),
        started("b"),
        result("b"),
        result("a"),
        note(7, "hurry"),
        Record::Title { title: "Greetings".into() },
        says("done", &[]),
        Record::user("more"),
        says("", &["a"]),
        started("a"),
        result("a"),
        says("end", &[]),
    ] {
        session.append(record).unwrap();
    }
    session.path().unwrap().to_owned()
}

/// The conversation in short, after the check that it can be sent.
pub fn words(session: &Session) -> Vec<String> {
    check_answered(session.context().iter().map(|message| &**message)).unwrap();
    let line = |message: &Arc<Message>| match message.results().next() {
        Some(result) if result.is_error => format!("{} ! {}", result.call, result.output),
        Some(result) => format!("{} = {}", result.call, result.output),
        None => format!("{:?} {}", message.role, message.text()),
    };
    session.context().iter().map(line).collect()
}

pub fn add(session: &mut Session, record: Record) -> EntryId {
    session.append(record).unwrap()
}
