//! Notes as commands show them: what became of each, and what waits when a conversation goes on.

use std::path::Path;
use std::sync::mpsc;

use serde_json::{Value, json};
use tillerman::message::{Note, NoteId, NoteKind};
use tillerman::session::{Durability, Mailbox, Posted, Record, Session};
use tillerman::task::{Brief, TaskDir};
use tillerman::workspace::Workspace;

use super::Place;
use crate::patience::PATIENCE;

/// Posts notes of these kinds to the session, numbered from 1.
fn post(journal: &Path, notes: &[(NoteKind, &str, &str)]) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let _inside = runtime.enter();
    let mailbox = Mailbox::of(journal, Durability::Turn).unwrap();
    for (id, (kind, from, text)) in notes.iter().enumerate() {
        let (done, written) = mpsc::channel();
        let note = Note { id: NoteId(id as u64 + 1), kind: *kind, text: (*text).to_owned() };
        let posted = Posted { note, from: (*from).to_owned(), images: vec![] };
        mailbox.post(posted, move |posted| done.send(posted.is_ok()).unwrap());
        assert!(written.recv_timeout(PATIENCE).unwrap());
    }
}

#[test]
fn a_task_shows_what_became_of_each_note() {
    let place = Place::new();
    let workspace = Workspace::open(place.path(), place.home.path()).unwrap();
    let brief = Brief { title: "work".to_owned(), body: "Work.".to_owned(), ..Brief::default() };
    TaskDir::create(&workspace.tasks(), &brief).unwrap();
    let journal = workspace.worker_sessions().join("t_001.jsonl");
    let mut session = Session::create_named(&journal).unwrap();
    let steer = (NoteKind::Steer, "person", "keep the API");
    post(&journal, &[steer, (NoteKind::FollowUp, "main", "then test"), (NoteKind::Steer, "t_002", "wait for me")]);
    let note = Note { id: NoteId(1), kind: NoteKind::Steer, text: "keep the API".to_owned() };
    session.append(Record::Note { note, turn: 9 }).unwrap();
    session.append(Record::Dropped { notes: vec![NoteId(2)], why: "cleared by a steer".to_owned() }).unwrap();

    let shown = place.tillerman(&["tasks", "show", "t_001"]).stdout;
    let notes: Vec<&str> = shown.lines().filter(|line| line.starts_with('#')).collect();
    let parts: Vec<(&str, &str)> = notes.iter().map(|note| (note.split(" · ").next().unwrap(), *note)).collect();
    assert!(
        parts[0].0.starts_with("#1 steer from person ") && parts[0].1.ends_with(" · seen at turn 9 · keep the API")
    );
    assert!(
        parts[1].0.starts_with("#2 follow-up from main ") && parts[1].1.contains(" · dropped: cleared by a steer · ")
    );
    assert!(
        parts[2].0.starts_with("#3 steer from t_002 ") && parts[2].1.ends_with(" · waits · wait for me"),
        "{shown}"
    );
    let shown: Value = serde_json::from_str(&place.tillerman(&["tasks", "show", "t_001", "--json"]).stdout).unwrap();
    let fates: Vec<&Value> = shown["notes"].as_array().unwrap().iter().map(|note| &note["fate"]).collect();
    assert_eq!((json!(fates), &shown["notes"][0]["turn"]), (json!(["seen", "dropped", "waits"]), &json!(9)));
}

#[test]
fn what_waits_is_named_when_a_conversation_goes_on_and_told_once() {
    let place = Place::new();
    let workspace = Workspace::open(place.path(), place.home.path()).unwrap();
    let journal = workspace.sessions().join("before.jsonl");
    let mut session = Session::create_named(&journal).unwrap();
    session.append(Record::user("hello")).unwrap();
    drop(session);
    post(&journal, &[(NoteKind::Line, "person", "and the docs"), (NoteKind::Steer, "person", "hurry")]);
    let done = place.tillerman(&["run", "-c", "help"]);
    let told = "2 notes of the last session wait: #1 and the docs; #2 hurry; told with your next line";
    assert!(done.stderr.contains(told), "{done:?}");
    let again = place.tillerman(&["run", "-c", "help"]);
    assert!(!again.stderr.contains("of the last session"), "{again:?}");
    let said = Session::read(&journal).unwrap();
    let said = said.context().iter().filter(|message| message.text() == "and the docs").count();
    assert_eq!(said, 1);
}
