//! The flat JSON form: what sessions look like in it, and sessions made from it.

use std::fs;

use serde_json::{Value, json};
use tillerman::message::Role;
use tillerman::session::export::Format;
use tillerman::session::flat::{Flat, Line, Used};
use tillerman::session::{Record, Session, Store};

use super::{add, recorded, words};

fn used(tool: &str, input: Value, output: &str) -> Used {
    Used { tool: tool.into(), input, output: output.into() }
}

fn assistant(content: &str, tool_calls: Vec<Used>) -> Line {
    Line { tool_calls, ..Line::says(Role::Assistant, content) }
}

#[test]
fn s2_18_s2_19_s2_21_a_session_is_one_object_with_its_messages_and_calls() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::open(&recorded(dir.path())).unwrap();
    session.compress_history("greeted", 2).unwrap();
    let mut out = Vec::new();
    session.export(Format::V2, &mut out).unwrap();
    let mut object: Value = serde_json::from_slice(&out).unwrap();
    let keys: Vec<String> = object.as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["title", "created_at", "updated_at", "compressed_context", "messages"]);
    for time in ["created_at", "updated_at"] {
        assert!(object[time].as_str().unwrap().parse::<jiff::Timestamp>().is_ok(), "{}", object[time]);
        object[time] = Value::Null;
    }
    let expected = json!({
        "title": "Greetings", "created_at": null, "updated_at": null, "compressed_context": "greeted",
        "messages": [
            {"role": "user", "content": "hurry"},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "more"},
            {"role": "assistant", "content": "", "tool_calls": [{"tool": "echo", "input": {}, "output": "out a"}]},
            {"role": "assistant", "content": "end"},
        ],
    });
    assert_eq!(object, expected);
}

#[test]
fn s2_22_s2_72_an_agent_sees_the_summary_and_the_assistants_words_as_one() {
    let flat = Flat {
        compressed_context: Some("they met".into()),
        messages: vec![
            Line::says(Role::User, "hi"),
            assistant("let me look", vec![used("list", json!({}), "a.rs")]),
            assistant("one file", vec![]),
            assistant("", vec![used("read", json!({}), "fn")]),
            Line::says(Role::User, "thanks"),
        ],
        ..Flat::default()
    };
    let both = vec![used("list", json!({}), "a.rs"), used("read", json!({}), "fn")];
    let expected = [
        Line::says(Role::Assistant, "[Summary of previous conversation]\nthey met"),
        Line::says(Role::User, "hi"),
        assistant("let me look\none file", both),
        Line::says(Role::User, "thanks"),
    ];
    assert_eq!(flat.for_agent(), expected);
    assert_eq!(Flat { compressed_context: Some(String::new()), ..flat }.for_agent()[0].content, "hi");
}

#[test]
fn s2_20_a_plain_array_and_an_object_become_sessions() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path().join("sessions"));
    let messages = json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "look", "tool_calls": [
            {"tool": "list", "input": {"path": "."}, "output": "a.rs"},
            {"tool": "list", "input": "not json", "output": ""},
        ]},
        {"role": "assistant", "content": "done", "model": "unknown keys are passed over"},
    ]);
    let object = json!({"title": "A\nname", "created_at": 1.5, "compressed_context": "before", "messages": messages});
    let file = dir.path().join("other.json");
    fs::write(&file, format!("\u{feff} {messages}")).unwrap();
    let plain = Session::open(&store.find(store.import(&file).unwrap().as_str()).unwrap()).unwrap();
    fs::write(&file, object.to_string()).unwrap();
    let named = Session::open(&store.find(store.import(&file).unwrap().as_str()).unwrap()).unwrap();
    let said = ["User hi", "Assistant look", "call_2_0 = a.rs", "call_2_1 = ", "Assistant done"];
    assert_eq!((words(&plain), plain.title()), (said.map(String::from).to_vec(), None));
    assert_eq!(words(&named)[0], "Assistant [Summary of previous conversation]\nbefore");
    assert_eq!((words(&named).len(), named.title()), (6, Some("A name")));
    assert!(plain.damage().is_empty() && named.damage().is_empty(), "{:?}", named.damage());

    // And back: nothing that the form can say is lost.
    let back = serde_json::to_value(named.flat().unwrap()).unwrap();
    let mut expected = messages.clone();
    expected[2].as_object_mut().unwrap().remove("model");
    assert_eq!((&back["messages"], &back["compressed_context"]), (&expected, &"before".into()));
    assert_eq!(store.list().unwrap().len(), 2);
}

#[test]
fn what_cannot_be_imported_is_named_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path().join("sessions"));
    let file = dir.path().join("other.json");
    let refused = |text: &str| {
        fs::write(&file, text).unwrap();
        let error = store.import(&file).unwrap_err().to_string();
        assert!(!store.dir().exists(), "{text}");
        error.strip_prefix(&format!("{}: ", file.display())).unwrap().to_owned()
    };
    let forms = "expected a JSON array of messages (v1) or an object with title, compressed_context and messages (v2)";
    assert_eq!(refused("hello"), format!("{forms}, found 'h'; nothing was imported"));
    assert_eq!(refused(""), format!("{forms}, found nothing; nothing was imported"));
    let role = "[{\"role\":\"user\",\"content\":\"x\"},\n {\"role\":\"system\"}]";
    assert_eq!(
        refused(role),
        "line 2, column 17, [1].role: unknown variant `system`, expected `user` or `assistant`; nothing was imported"
    );
    assert_eq!(refused("{\"title\":\"x\"}"), "line 1, column 13: missing field `messages`; nothing was imported");
    assert!(refused("[{\"role\":\"user\",").contains("EOF while parsing"));
    assert!(refused("[] []").starts_with("line 1, column 4: trailing characters"));
    let missing = store.import(&dir.path().join("none.json")).unwrap_err().to_string();
    assert!(missing.starts_with("cannot read ") && missing.contains("none.json: No such file"), "{missing}");
}

#[test]
fn s2_23_messages_are_saved_one_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::create(dir.path()).unwrap();
    let lines = [
        Line::says(Role::User, "hi"),
        assistant("", vec![used("list", json!({"path": "."}), "a.rs")]),
        assistant("one file", vec![]),
    ];
    for line in &lines {
        session.save_message(line).unwrap();
    }
    let path = session.path().unwrap().to_owned();
    drop(session);
    assert_eq!(Session::open(&path).unwrap().flat().unwrap().messages, lines);
}

#[test]
fn s2_24_a_summary_takes_the_place_of_the_first_messages() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::open(&recorded(dir.path())).unwrap();
    session.compress_history("greeted", 2).unwrap();
    session.compress_history("greeted and hurried", 1).unwrap();
    assert_eq!(
        words(&session)[..2],
        ["Assistant [Summary of previous conversation]\ngreeted and hurried".to_owned(), "Assistant done".to_owned(),]
    );
    session.compress_history("all of it", 99).unwrap();
    add(&mut session, Record::user("go on"));
    let flat = session.flat().unwrap();
    assert_eq!((flat.compressed_context.as_deref(), flat.messages.len()), (Some("all of it"), 1));
}
