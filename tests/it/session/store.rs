//! The sessions of a folder: listed, found, continued.

use std::fs;
use std::time::{Duration, SystemTime};

use tillerman::session::{Record, Session, SessionError, Store};

use super::{add, says, words};

fn make(store: &Store, name: &str, line: &str, age: u64) -> Session {
    let mut session = Session::create_named(&store.dir().join(format!("{name}.jsonl"))).unwrap();
    add(&mut session, Record::user(line));
    let file = fs::File::options().append(true).open(session.path().unwrap()).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
    session
}

#[test]
fn sessions_are_listed_newest_first_with_a_title() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path().join("sessions"));
    assert_eq!(store.list().unwrap(), []);
    make(&store, "old", "  \nfix the parser, please\nand more", 100);
    let mut named = make(&store, "named", "first", 0);
    add(&mut named, Record::Title { title: "Parser".into() });
    add(&mut named, says(&"x".repeat(60_000), &[]));
    add(&mut named, Record::Title { title: "Parsers".into() });
    make(&store, "long", &"ä".repeat(100), 50);
    fs::write(store.dir().join("other.jsonl"), "{\"role\":\"user\"}\n").unwrap();
    fs::write(store.dir().join("old.jsonl.torn"), "x").unwrap();
    let list = store.list().unwrap();
    let seen: Vec<(&str, &str, u64)> =
        list.iter().map(|found| (found.id.as_str(), found.title.as_str(), found.entries)).collect();
    let long = "ä".repeat(80) + "…";
    assert_eq!(seen, [("named", "Parsers", 5), ("long", &long, 2), ("old", "fix the parser, please", 2)]);
}

#[test]
fn a_title_is_found_however_long_ago_it_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    let mut session = make(&store, "long", "first line", 0);
    add(&mut session, Record::Title { title: "Given early".into() });
    for turn in 0..200 {
        add(&mut session, says(&"words ".repeat(turn), &[]));
        assert_eq!(store.list().unwrap()[0].title, "Given early", "turn {turn}");
    }
    add(&mut session, Record::user("x".repeat(300_000)));
    assert_eq!(store.list().unwrap()[0].title, "Given early");
    let lines = fs::read_to_string(session.path().unwrap()).unwrap();
    let titles = lines.lines().filter(|line| line.contains("\"type\":\"title\"")).count();
    assert!((10..40).contains(&titles), "said again only where it is needed: {titles} times");
    assert_eq!(session.title(), Some("Given early"));
}

#[test]
fn a_session_is_found_by_the_beginning_of_its_id() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    for (name, age) in [("20260101-a", 3), ("20260101-ab", 2), ("20260202-c", 1)] {
        make(&store, name, "hi", age);
    }
    let find = |prefix: &str| match store.find(prefix) {
        Ok(path) => path.file_stem().unwrap().to_string_lossy().into_owned(),
        Err(error) => error.to_string(),
    };
    assert_eq!(find("20260202"), "20260202-c");
    assert_eq!(find("20260101-a"), "20260101-a", "a whole id goes before those that begin with it");
    assert_eq!(find("20260101"), "2 sessions begin with \"20260101\": 20260101-ab, 20260101-a; write more of it");
    assert_eq!(
        find("2027"),
        "no session begins with \"2027\"; `tillerman sessions` lists them, -c goes on with the latest one"
    );
    assert!(matches!(store.find(""), Err(SessionError::NotFound(_))));
}

/// S0-57..60.
#[test]
fn the_latest_session_is_continued_or_a_new_one_begun() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    let mut first = store.continue_latest().unwrap();
    add(&mut first, Record::user("one"));
    let id = first.id().clone();
    drop(first);
    make(&store, "older", "zero", 100);
    let again = store.continue_latest().unwrap();
    assert_eq!((again.id(), words(&again)), (&id, vec!["User one".to_owned()]));
}

#[test]
fn sessions_made_in_the_same_moment_have_names_of_their_own_in_order_of_time() {
    let dir = tempfile::tempdir().unwrap();
    let ids: Vec<String> = (0..50).map(|_| Session::create(dir.path()).unwrap().id().as_str().to_owned()).collect();
    let times: Vec<&str> = ids.iter().map(|id| &id[..19]).collect();
    assert!(times.is_sorted(), "{ids:?}");
    let mut unique = ids.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), 50);
}
