//! What was said before: found by words and read by name, also what was compacted away; and said again.

use std::sync::Arc;

use serde_json::Value;
use tillerman::message::{Block, CallId, Message, RawArgs, Role, ToolCall, ToolResult, Usage};
use tillerman::session::{Compaction, Excerpts, History, Record, Session, SessionError};

fn go_on() -> bool {
    false
}

/// m0 the beginning, m1 a line, m2 a call, m3 its start, m4 its answer, m5 a reply, m6 a compaction, m7 a line.
fn session(dir: &std::path::Path) -> Session {
    let mut session = Session::create(dir).unwrap();
    session.append(Record::user("Where is the Harbour?")).unwrap();
    let call = CallId("c1".into());
    let args = RawArgs(r#"{"pattern":"harbour"}"#.into());
    let block = Block::Call(ToolCall { id: call.clone(), name: "grep".into(), args });
    let reply = |message| Record::Assistant {
        message: Arc::new(message),
        usage: Usage::default(),
        model: "a/b".into(),
        cost: None,
    };
    session.append(reply(Message { role: Role::Assistant, blocks: vec![block] })).unwrap();
    session.append(Record::ToolStarted { call: call.clone() }).unwrap();
    let result =
        ToolResult { call, output: "map.txt: the HARBOUR is west".into(), details: Value::Null, is_error: false };
    session.append(Record::ToolResult { message: Arc::new(Message::result(result)) }).unwrap();
    session.append(reply(Message::assistant("West."))).unwrap();
    let head = vec![Arc::new(Message::user("short"))];
    session.append(Record::Compaction(Box::new(Compaction { head, ..Compaction::default() }))).unwrap();
    session.append(Record::user("go on")).unwrap();
    session
}

#[test]
fn words_are_found_in_everything_that_was_ever_said() {
    let dir = tempfile::tempdir().unwrap();
    let session = session(dir.path());
    let history = History::of(session.path().unwrap());
    let found = history.search("harbour", 10, &go_on).unwrap();
    let hits: Vec<(u64, &str, &str)> =
        found.hits.iter().map(|hit| (hit.number, hit.what, hit.excerpt.as_str())).collect();
    let expected = [
        (1, "line of a person", "Where is the Harbour?"),
        (2, "reply", r#"[calls grep {"pattern":"harbour"}]"#),
        (4, "tool result", "map.txt: the HARBOUR is west"),
    ];
    assert_eq!((hits.as_slice(), found.more), (expected.as_slice(), 0));
    let both = history.search("west harbour", 10, &go_on).unwrap();
    assert_eq!(both.hits.iter().map(|hit| hit.number).collect::<Vec<_>>(), [4]);
    let newest = history.search("harbour", 1, &go_on).unwrap();
    assert_eq!((newest.hits[0].number, newest.more), (4, 2));
    assert_eq!(history.search("  ", 10, &go_on).unwrap().hits, []);
}

#[test]
fn entries_are_read_by_number_as_far_as_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let session = session(dir.path());
    let history = History::of(session.path().unwrap());
    let Excerpts { shown, left_out } = history.read(&[4..=5, 1..=1], 1_000, &go_on).unwrap();
    let shown: Vec<(u64, &str)> = shown.iter().map(|(entry, words)| (entry.number, words.as_str())).collect();
    assert_eq!(shown, [(1, "Where is the Harbour?"), (4, "map.txt: the HARBOUR is west"), (5, "West.")]);
    assert_eq!(left_out, [0; 0]);
    let Excerpts { shown, left_out } = history.read(&[0..=9], 10, &go_on).unwrap();
    assert_eq!((shown.len(), left_out), (1, vec![2, 4, 5, 6, 7]));
    assert!(shown[0].1.contains("bytes left out"), "{}", shown[0].1);
}

#[test]
fn an_entry_is_said_again_once_and_only_when_it_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = session(dir.path());
    let named = |session: &Session, name: &str| session.entry_named(name).unwrap();
    let refused = |session: &mut Session, name: &str| {
        let entry = named(session, name);
        match session.restore(entry) {
            Err(SessionError::NotRestored { name, why }) => format!("{name}: {why}"),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(&mut session, "m7"), "m7: it is in the conversation as it was said");
    assert_eq!(refused(&mut session, "m3"), "m3: it is a start of a tool, which has no words of its own");
    let entry = named(&session, "m4");
    session.restore(entry).unwrap();
    let text = session.context().last().unwrap().text();
    assert!(
        text.starts_with("[Restored: tool result of ") && text.ends_with(", m4]\nmap.txt: the HARBOUR is west"),
        "{text}"
    );
    assert_eq!(refused(&mut session, "m4"), "m4: it is restored already, as m8");
    let compactions = session.compactions().unwrap();
    assert_eq!(compactions.iter().map(|(entry, _)| entry.number).collect::<Vec<_>>(), [6]);
}

/// Early versions wrote no lists; their entries load as before.
#[test]
fn a_compaction_of_an_early_version_loads() {
    let early = r#"{"head":[],"kept_from":null,"carried":{"said":["hi"]},"before":9,"after":1,"usage":{}}"#;
    let read: Compaction = serde_json::from_str(early).unwrap();
    assert_eq!((read.before, read.carried.said.len(), read.kept.len(), read.why.as_str()), (9, 1, 0, ""));
    let written = serde_json::to_string(&read).unwrap();
    assert!(!written.contains("kept\"") && !written.contains("wishes"), "{written}");
}
