//! Forks: a new session that begins as another did; the other is not touched.

use std::fs;
use std::path::{Path, PathBuf};

use tillerman::session::{Forked, Record, Session, SessionError, Store};

use super::{add, note, recorded, result, says, started, words};

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn a_fork_begins_as_the_first_did_and_each_goes_on_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = recorded(dir.path());
    let mut first = Session::open(&path).unwrap();
    let before = fs::read(&path).unwrap();
    let at = first.entry_named("m9").unwrap();
    let mut fork = first.fork(at, dir.path()).unwrap();
    assert_eq!(words(&fork), words(&first)[..6]);
    assert_eq!(fork.origins(), &first.origins()[..6], "an entry has the same id in both");
    assert_eq!((fork.title(), fork.next_note(), fork.leaf()), (Some("Greetings"), first.next_note(), Some(at)));
    assert_ne!(fork.id(), first.id());
    add(&mut fork, Record::user("mine"));
    add(&mut first, Record::user("yours"));
    assert!(fs::read(&path).unwrap().starts_with(&before));
    let forked = fork.path().unwrap().to_owned();
    drop((fork, first));
    assert_eq!(files(dir.path()).len(), 2);
    assert_eq!(Store::new(dir.path()).list().unwrap().len(), 2);
    let (fork, first) = (Session::open(&forked).unwrap(), Session::open(&path).unwrap());
    assert!(fork.damage().is_empty() && first.damage().is_empty(), "{:?}", fork.damage());
    assert_eq!((words(&fork)[6].as_str(), words(&first)[10].as_str()), ("User mine", "User yours"));
    let head = fs::read_to_string(&forked).unwrap();
    let head: serde_json::Value = serde_json::from_str(head.lines().next().unwrap()).unwrap();
    let from: Forked = serde_json::from_value(head["data"]["from"].clone()).unwrap();
    assert_eq!(from, Forked { session: first.id().clone(), entry: at, number: 9 });
}

/// Nobody pays twice for what was said once.
#[test]
fn what_was_paid_before_a_fork_is_on_the_first_ones_bill() {
    let dir = tempfile::tempdir().unwrap();
    let first = Session::open(&recorded(dir.path())).unwrap();
    let mut fork = first.fork(first.leaf().unwrap(), dir.path()).unwrap();
    assert_eq!((fork.usage().total_tokens(), first.usage().total_tokens()), (0, 44));
    add(&mut fork, Record::user("mine"));
    add(&mut fork, says("yours", &[]));
    let path = fork.path().unwrap().to_owned();
    drop(fork);
    assert_eq!(Session::open(&path).unwrap().usage().total_tokens(), 11);
}

#[test]
fn calls_that_a_fork_leaves_unanswered_are_answered_as_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = Session::in_memory();
    add(&mut first, Record::user("go"));
    add(&mut first, says("", &["a", "b"]));
    let at = add(&mut first, started("a"));
    add(&mut first, result("a"));
    let fork = first.fork(at, dir.path()).unwrap();
    let shown = words(&fork);
    assert!(shown[2].starts_with("a ! left behind") && shown[3].starts_with("b ! left behind"), "{shown:?}");
    let path = fork.path().unwrap().to_owned();
    drop(fork);
    assert_eq!(words(&Session::open(&path).unwrap()), shown);
}

/// Also out of a branch that was left, and out of a session that somebody else writes.
#[test]
fn any_entry_can_be_forked_while_another_program_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = Session::create(dir.path()).unwrap();
    let one = add(&mut first, Record::user("one"));
    let aside = add(&mut first, note(3, "aside"));
    add(&mut first, Record::Title { title: "Aside".into() });
    first.branch(one).unwrap();
    add(&mut first, Record::user("two"));
    let reader = Session::read(first.path().unwrap()).unwrap();
    let fork = reader.fork(aside, dir.path()).unwrap();
    assert_eq!((words(&fork), fork.title()), (vec!["User one".into(), "User aside".into()], None));
    assert_eq!(fork.branches().unwrap().len(), 1, "other branches stay where they are");
    let nowhere = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
    assert!(matches!(first.fork(nowhere, dir.path()), Err(SessionError::NoEntry(id)) if id == nowhere));
    let file = dir.path().join("file");
    fs::write(&file, "x").unwrap();
    assert!(matches!(first.fork(one, &file), Err(SessionError::Io { .. })));
    let empty = first.fork(first.entry_named("m0").unwrap(), dir.path()).unwrap();
    assert_eq!((words(&empty).len(), empty.entries()), (0, 1));
}

/// C25: what a fork that died has left is no session, and the next one sweeps it away.
#[test]
fn an_unfinished_fork_is_no_session() {
    let dir = tempfile::tempdir().unwrap();
    let path = recorded(dir.path());
    let first = Session::open(&path).unwrap();
    let (old, young) = (dir.path().join("20200101-000000.fork"), dir.path().join("20200101-000001.fork"));
    for left in [&old, &young] {
        fs::write(left, &fs::read(&path).unwrap()[..300]).unwrap();
    }
    let hour = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    fs::File::options().append(true).open(&old).unwrap().set_modified(hour).unwrap();
    assert_eq!(Store::new(dir.path()).list().unwrap().len(), 1);
    let fork = first.fork(first.leaf().unwrap(), dir.path()).unwrap();
    let mut expected = vec![path, fork.path().unwrap().to_owned(), young];
    expected.sort();
    assert_eq!(files(dir.path()), expected, "somebody may be at work on a young one");
}
