//! Sessions put into the archive and the trash and taken out again, also when a move is cut short.

use std::fs;
use std::path::Path;

use tillerman::session::{Place, Record, Session, SessionError, SessionId, Store};

use super::{add, words};

/// A store with one session and all that can lie beside it.
fn stocked(dir: &Path) -> Store {
    let store = Store::new(dir.join("sessions"));
    make(&store, "one");
    for beside in ["one.inbox.jsonl", "one.jsonl.torn", "one.inbox.jsonl.torn"] {
        fs::write(store.dir().join(beside), beside).unwrap();
    }
    store
}

fn make(store: &Store, name: &str) -> Session {
    let mut session = Session::create_named(&store.dir().join(format!("{name}.jsonl"))).unwrap();
    add(&mut session, Record::user(format!("say {name}")));
    session
}

fn ids(store: &Store, place: Place) -> Vec<String> {
    store.list_of(place).unwrap().iter().map(|found| found.id.to_string()).collect()
}

/// Every file below the store, sorted.
fn files(store: &Store) -> Vec<String> {
    let below = |place: Place| {
        let names = fs::read_dir(store.folder(place)).into_iter().flatten().flatten();
        let files = names.filter(|entry| entry.file_type().unwrap().is_file());
        files.map(|entry| format!("{}/{}", place.name(), entry.file_name().display())).collect::<Vec<_>>()
    };
    let mut files: Vec<String> = Place::ALL.into_iter().flat_map(below).collect();
    files.sort();
    files
}

fn all_in(place: Place) -> Vec<String> {
    let names = ["one.inbox.jsonl", "one.inbox.jsonl.torn", "one.jsonl", "one.jsonl.torn"];
    names.map(|name| format!("{}/{name}", place.name())).to_vec()
}

#[test]
fn a_session_goes_into_the_archive_and_the_trash_and_comes_back_whole() {
    let dir = tempfile::tempdir().unwrap();
    let store = stocked(dir.path());
    let before = fs::read(store.dir().join("one.jsonl")).unwrap();
    let id = SessionId::new("one");
    assert_eq!(ids(&store, Place::Current), ["one"], "what lies beside is no session");

    assert_eq!(store.archive("o").unwrap(), id);
    assert_eq!((files(&store), ids(&store, Place::Archive)), (all_in(Place::Archive), vec!["one".to_owned()]));
    assert_eq!(store.latest().unwrap(), None);
    assert!(matches!(store.find("one"), Err(SessionError::NotFound(_))));
    assert_eq!(store.find_in(&Place::ALL, "one").unwrap().0, Place::Archive);

    assert_eq!(store.delete("one").unwrap(), id);
    assert_eq!(files(&store), all_in(Place::Trash));
    let error = store.unarchive("one").unwrap_err().to_string();
    assert_eq!(error, "no session in the archive begins with \"one\"");
    store.restore("one").unwrap();
    store.archive("one").unwrap();
    store.unarchive("one").unwrap();
    assert_eq!(files(&store), all_in(Place::Current));
    assert_eq!(fs::read(store.dir().join("one.jsonl")).unwrap(), before, "moved and not rewritten");
    assert_eq!(words(&Session::open(&store.find("one").unwrap()).unwrap()), ["User say one"]);
}

#[test]
fn only_what_is_in_the_trash_is_destroyed() {
    let dir = tempfile::tempdir().unwrap();
    let store = stocked(dir.path());
    make(&store, "two");
    let id = SessionId::new("one");
    assert!(store.destroy(&id, &[]).is_err());
    store.delete("one").unwrap();
    let also = dir.path().join("artifacts");
    let copies = store.folder(Place::Archive).join("one");
    fs::create_dir_all(also.join("deep")).and_then(|()| fs::create_dir_all(&copies)).unwrap();
    store.destroy(&id, &[also.clone(), dir.path().join("gone")]).unwrap();
    assert!(!also.exists() && !copies.exists());
    assert_eq!(files(&store), ["current/two.jsonl"]);
    assert!(store.destroy(&id, &[]).is_err());
}

/// C25, C16.
#[test]
fn a_session_that_is_open_elsewhere_stays_where_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let store = stocked(dir.path());
    let open = Session::open(&store.find("one").unwrap()).unwrap();
    for refused in [store.archive("one"), store.delete("one"), store.rename("one", "new")] {
        assert!(matches!(refused, Err(SessionError::Locked { .. })), "{refused:?}");
    }
    assert_eq!(files(&store), all_in(Place::Current));
    drop(open);
    store.delete("one").unwrap();
    let open = Session::open(&store.find_in(&[Place::Trash], "one").unwrap().1).unwrap();
    assert!(store.restore("one").is_err() && store.destroy(open.id(), &[]).is_err());
    assert_eq!(files(&store), all_in(Place::Trash));
}

#[test]
fn nothing_is_ever_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let store = stocked(dir.path());
    store.delete("one").unwrap();
    drop(make(&store, "one"));
    let before = files(&store);
    for refused in [store.restore("one"), store.delete("one")] {
        assert!(matches!(refused, Err(SessionError::Exists(_))), "{refused:?}");
    }
    assert_eq!(files(&store), before);
    store.destroy(&SessionId::new("one"), &[]).unwrap();
    assert_eq!(files(&store), ["current/one.jsonl"], "the namesake keeps what is its own");
}

/// C25: whatever part of a move was done when the program ended, the session is in one list, and the next move takes
/// everything along. A session among the current ones always has with it what lies beside it.
#[test]
fn a_move_that_was_cut_short_leaves_no_orphan() {
    // The files that were moved already, in the order in which they are moved.
    let out = ["one.jsonl", "one.inbox.jsonl", "one.jsonl.torn", "one.inbox.jsonl.torn"];
    let back = ["one.inbox.jsonl", "one.jsonl.torn", "one.inbox.jsonl.torn", "one.jsonl"];
    for done in 0..=4 {
        for (begun, names) in [(Place::Current, out), (Place::Trash, back)] {
            let dir = tempfile::tempdir().unwrap();
            let store = stocked(dir.path());
            store.delete("one").unwrap();
            if begun == Place::Current {
                store.restore("one").unwrap();
            }
            let target = if begun == Place::Current { Place::Trash } else { Place::Current };
            for name in &names[..done] {
                fs::rename(store.folder(begun).join(name), store.folder(target).join(name)).unwrap();
            }
            let lists: Vec<Place> = Place::ALL.into_iter().filter(|place| !ids(&store, *place).is_empty()).collect();
            assert_eq!(lists.len(), 1, "{begun:?} {done}");
            if lists == [Place::Current] {
                assert_eq!(files(&store), all_in(Place::Current), "{begun:?} {done}");
                store.archive("one").unwrap();
                assert_eq!(files(&store), all_in(Place::Archive));
            } else {
                store.restore("one").unwrap();
                assert_eq!(files(&store), all_in(Place::Current));
                store.delete("one").unwrap();
                store.destroy(&SessionId::new("one"), &[]).unwrap();
                assert_eq!(files(&store), [""; 0]);
            }
        }
    }
}
