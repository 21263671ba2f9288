//! `tillerman compaction`: what was summed up, and taking some of it back.

use std::fs;
use std::sync::Arc;

use serde_json::Value;
use tillerman::message::{Message, Usage};
use tillerman::session::{Compaction, Item, Kind, Record, Session};
use tillerman::workspace::Workspace;

use super::Place;

/// A session of 12 messages; the first 8 were summed up.
fn session(place: &Place) -> Session {
    let workspace = Workspace::open(place.path(), place.home.path()).unwrap();
    let mut session = Session::create(&workspace.sessions()).unwrap();
    for at in 1..=12 {
        let record = if at % 2 == 1 {
            Record::user(format!("line {at}"))
        } else {
            let message = Arc::new(Message::assistant(format!("reply {at}")));
            Record::Assistant { message, usage: Usage::default(), model: "a/b".into(), cost: None }
        };
        session.append(record).unwrap();
    }
    let item = |at: usize| {
        let origin = &session.origins()[at];
        Item { entry: origin.entry, kind: origin.kind, tokens: 5, head: None }
    };
    let compaction = Compaction {
        head: vec![Arc::new(Message::user("short"))],
        kept_from: Some(session.origins()[8].entry),
        before: 60,
        after: 25,
        why: "over 75 % of the window".into(),
        dropped: (0..8).map(item).collect(),
        kept: (8..12).map(item).collect(),
        ..Compaction::default()
    };
    session.append(Record::Compaction(Box::new(compaction))).unwrap();
    session
}

#[test]
fn compactions_are_listed_and_shown_while_somebody_has_the_session() {
    let place = Place::new();
    let session = session(&place);
    let list = place.tillerman(&["compaction"]);
    assert_eq!(list.code, Some(0), "{}", list.stderr);
    assert!(
        list.stdout.starts_with("1  m13 ") && list.stdout.contains("60 → 25 tokens · 8 summed up, 4 kept, 0 pinned")
    );
    let show = place.tillerman(&["compaction", "show", "1"]);
    assert!(
        show.stdout.contains("summed up: 8 entries, about 40 tokens\n  m1 line of a person, 5  line 1\n"),
        "{}",
        show.stdout
    );
    let show = place.tillerman(&["compaction", "show", "1", "--json"]);
    let told: Value = serde_json::from_str(&show.stdout).unwrap();
    assert_eq!((&told["why"], &told["dropped"][1]["name"]), (&"over 75 % of the window".into(), &"m2".into()));
    assert_eq!((&told["kept"][3]["name"], &told["kept"][3]["kind"]), (&"m12".into(), &"assistant".into()));
    let wrong = place.tillerman(&["compaction", "show", "2"]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.contains("there is no compaction 2; this session has 1"), "{}", wrong.stderr);
    drop(session);
}

#[test]
fn a_preview_asks_no_model_and_writes_nothing() {
    let place = Place::new();
    let path = session(&place).path().unwrap().to_owned();
    let before = fs::read(&path).unwrap();
    let shown = place.tillerman(&["compaction", "preview"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    for line in ["would be summed up: ", "m13 summary", "would stay: ", "m12 reply"] {
        assert!(shown.stdout.contains(line), "{line}: {}", shown.stdout);
    }
    let told: Value = serde_json::from_str(&place.tillerman(&["compaction", "preview", "--json"]).stdout).unwrap();
    assert!(told["tokens"].as_u64().unwrap() > 0 && told["window"].as_u64().unwrap() > 0, "{told}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn an_entry_is_restored_unless_the_session_is_open_elsewhere() {
    let place = Place::new();
    let held = session(&place);
    let (path, id) = (held.path().unwrap().to_owned(), held.id().to_string());
    let refused = place.tillerman(&["compaction", "restore", "m3"]);
    assert_eq!(refused.code, Some(7), "{}", refused.stderr);
    assert!(refused.stderr.contains(&id), "{}", refused.stderr);
    drop(held);
    let done = place.tillerman(&["compaction", "restore", "m3", "--session", &id]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    assert_eq!(done.stdout, "m3 is in the conversation again, as m14; it stays when that is shortened\n");
    let session = Session::open(&path).unwrap();
    let last = (session.context().last().unwrap().text(), session.origins().last().unwrap().kind);
    assert!(last.0.ends_with(", m3]\nline 3") && last.1 == Kind::Restored, "{last:?}");
    drop(session);
    let again = place.tillerman(&["compaction", "restore", "m3"]);
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("m3 was not restored: it is restored already, as m14"), "{}", again.stderr);
    let nothing = place.tillerman(&["compaction", "restore", "m99"]);
    assert!(nothing.stderr.contains("no single entry of this session is called \"m99\""), "{}", nothing.stderr);
}

#[test]
fn without_a_session_it_says_so() {
    let place = Place::new();
    let done = place.tillerman(&["compaction"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(1), "tillerman: there is no session yet in this workspace\n"));
}
