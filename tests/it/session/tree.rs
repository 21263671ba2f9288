//! The tree: leaf, context and branches, in memory and after a restart.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use serde_json::Value;
use tillerman::message::{CallId, NoteId};
use tillerman::session::{Durability, EntryId, Record, Session, SessionError};

use super::{add, note, recorded, result, says, started, words};

#[test]
fn what_was_said_is_there_again_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let path = recorded(dir.path());
    let session = Session::open(&path).unwrap();
    assert_eq!(
        words(&session),
        [
            "User grüße\n\u{2028}",
            "Assistant look",
            "a = out a",
            "b = out b",
            "User hurry",
            "Assistant done",
            "User more",
            "Assistant ",
            "a = out a",
            "Assistant end"
        ]
    );
    assert_eq!(session.usage().total_tokens(), 44);
    assert_eq!(session.title(), Some("Greetings"));
    assert_eq!(session.next_note(), NoteId(8));
    assert!(session.damage().is_empty(), "{:?}", session.damage());
}

#[test]
fn an_entry_is_a_line_with_its_checksum_last() {
    let dir = tempfile::tempdir().unwrap();
    let path = recorded(dir.path());
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for (seq, line) in lines.iter().enumerate() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let keys: Vec<&String> = entry.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["v", "seq", "id", "parent", "at", "type", "data", "crc"]);
        assert_eq!(entry["seq"], seq);
        let body = &line[..line.len() - r#","crc":"00000000"}"#.len()];
        assert_eq!(entry["crc"], format!("{:08x}", crc32fast::hash(body.as_bytes())));
        if seq > 0 {
            let before: Value = serde_json::from_str(lines[seq - 1]).unwrap();
            assert_eq!(entry["parent"], before["id"]);
        }
    }
    let types: Vec<Value> = lines.iter().map(|l| serde_json::from_str::<Value>(l).unwrap()["type"].clone()).collect();
    assert_eq!(types[..4], ["session", "user", "assistant", "tool_started"]);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn appending_shares_what_was_there_before() {
    let mut session = Session::in_memory();
    add(&mut session, Record::user("one"));
    add(&mut session, says("two", &["a"]));
    let before = session.context().to_vec();
    add(&mut session, result("a"));
    assert!(before.iter().zip(session.context()).all(|(old, new)| Arc::ptr_eq(old, new)));
}

#[test]
fn results_stand_in_the_order_of_their_calls() {
    let mut session = Session::in_memory();
    add(&mut session, Record::user("go"));
    add(&mut session, says("", &["a", "b", "c"]));
    for id in ["c", "a", "b"] {
        add(&mut session, result(id));
    }
    assert_eq!(words(&session)[2..], ["a = out a", "b = out b", "c = out c"]);
}

#[test]
fn a_conversation_that_no_provider_would_take_is_refused() {
    let mut session = Session::in_memory();
    add(&mut session, Record::user("go"));
    assert!(matches!(session.append(result("x")), Err(SessionError::NoCall(call)) if call == CallId("x".into())));
    add(&mut session, says("", &["a"]));
    let refused = session.append(Record::user("wait"));
    assert_eq!(refused.unwrap_err().to_string(), "call a must be answered before the conversation goes on");
    assert!(session.append(note(1, "wait")).is_err() && session.append(says("", &[])).is_err());
    add(&mut session, result("a"));
    assert!(session.append(result("a")).is_err(), "answered once");
    assert_eq!(session.entries(), 3);
}

#[test]
fn a_branch_goes_on_elsewhere_and_deletes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::create(dir.path()).unwrap();
    add(&mut session, Record::user("one"));
    let fork = add(&mut session, says("two", &[]));
    add(&mut session, Record::user("three"));
    let old = add(&mut session, says("four", &[]));
    let path = session.path().unwrap().to_owned();
    let before = std::fs::read(&path).unwrap();

    session.branch(fork).unwrap();
    assert_eq!((session.leaf(), words(&session)), (Some(fork), vec!["User one".into(), "Assistant two".into()]));
    add(&mut session, Record::user("five"));
    let expected = ["User one", "Assistant two", "User five"];
    assert_eq!(words(&session), expected);
    drop(session);

    assert!(std::fs::read(&path).unwrap().starts_with(&before));
    let mut session = Session::open(&path).unwrap();
    assert_eq!(words(&session), expected);
    session.branch(old).unwrap();
    assert_eq!(words(&session), ["User one", "Assistant two", "User three", "Assistant four"]);
    let nowhere: EntryId = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
    assert!(matches!(session.branch(nowhere), Err(SessionError::NoEntry(id)) if id == nowhere));
    assert_eq!(session.usage().total_tokens(), 22, "tokens were spent on every branch");
}

#[test]
fn a_branch_between_call_and_answer_is_answered() {
    let mut session = Session::in_memory();
    add(&mut session, Record::user("go"));
    add(&mut session, says("", &["a", "b"]));
    let fork = add(&mut session, started("a"));
    add(&mut session, result("a"));
    add(&mut session, result("b"));
    session.branch(fork).unwrap();
    let words = words(&session);
    assert!(words[2].starts_with("a ! left behind") && words[3].starts_with("b ! left behind"), "{words:?}");
}

#[tokio::test]
async fn settling_waits_for_the_disk_whatever_the_durability() {
    let dir = tempfile::tempdir().unwrap();
    for durability in [Durability::Always, Durability::Turn, Durability::Off] {
        let mut session = Session::create(dir.path()).unwrap().with_durability(durability);
        add(&mut session, Record::user("one"));
        session.settle_meanwhile().await.unwrap();
        add(&mut session, says("two", &[]));
        session.settle().await.unwrap();
        session.settle().await.unwrap();
        let path = session.path().unwrap().to_owned();
        drop(session);
        assert_eq!(words(&Session::open(&path).unwrap()).len(), 2);
    }
    let mut quick = Session::create(dir.path()).unwrap();
    quick.settle_meanwhile().await.unwrap();
    let path = quick.path().unwrap().to_owned();
    drop(quick);
    assert!(Session::open(&path).is_ok(), "a sync under way holds no lock");
    let mut memory = Session::in_memory();
    add(&mut memory, Record::user("one"));
    memory.settle().await.unwrap();
}

#[test]
fn entries_are_named_by_their_number_or_the_beginning_of_their_id() {
    let mut session = Session::in_memory();
    let one = add(&mut session, Record::user("one"));
    let two = add(&mut session, says("two", &[]));

    assert_eq!((session.number(one), session.name(two)), (Some(0), "m1".to_owned()));
    assert_eq!(session.entry_named("m1").unwrap(), two);
    assert_eq!(session.entry_named(" M0 ").unwrap(), one);
    assert_eq!(session.entry_named(&one.to_string().to_lowercase()).unwrap(), one);
    assert_eq!(session.entry_named(&two.to_string()[..24]).is_ok(), one.to_string()[..24] != two.to_string()[..24]);
    for strange in ["m2", "", "m", "01", "m99999999999999999999", "ü", "mü"] {
        let refused = session.entry_named(strange).unwrap_err().to_string();
        let strange = strange.trim();
        assert_eq!(refused, format!("no single entry of this session is called {strange:?}; entries are m0 to m1"));
    }
}
