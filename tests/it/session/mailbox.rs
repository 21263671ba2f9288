//! Inboxes: what was posted is there again, what was heard is not, and a disk that refuses leaves nothing behind.

use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use tillerman::message::{Note, NoteId, NoteKind};
use tillerman::session::{Durability, Mailbox, Posted, Record, Session};

use super::{add, note};

fn post(mailbox: &Mailbox, ids: impl IntoIterator<Item = u64>) -> Vec<Result<(), String>> {
    let (told, hear) = mpsc::channel();
    let mut sent = 0;
    for id in ids {
        let told = told.clone();
        let note = Note { id: NoteId(id), kind: NoteKind::Steer, text: format!("note {id}") };
        mailbox
            .post(Posted { note, from: "person".into(), images: vec![] }, move |done| told.send((id, done)).unwrap());
        sent += 1;
    }
    let told: Vec<_> = (0..sent).map(|_| hear.recv_timeout(Duration::from_secs(60)).unwrap()).collect();
    assert!(told.is_sorted_by_key(|(id, _)| *id), "acknowledged in the order of the posts");
    told.into_iter().map(|(_, done)| done.map_err(|error| error.to_string())).collect()
}

fn waiting(mailbox: &Mailbox, session: &Session) -> Vec<u64> {
    mailbox.waiting(session.heard()).unwrap().iter().map(|posted| posted.note.id.0).collect()
}

fn opened(path: &Path) -> (Session, Mailbox) {
    (Session::open(path).unwrap(), Mailbox::of(path, Durability::Turn).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_posted_waits_until_the_journal_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let mut session = Session::create_named(&path).unwrap();
    let mailbox = Mailbox::of(&path, Durability::Turn).unwrap();
    assert_eq!((mailbox.next_note(), fs::read_dir(dir.path()).unwrap().count()), (NoteId(1), 1));

    assert_eq!(post(&mailbox, 1..=5), vec![Ok(()); 5]);
    add(&mut session, note(2, "note 2"));
    add(&mut session, Record::Dropped { notes: vec![NoteId(4)], why: "cleared by a steer".into() });
    assert_eq!(waiting(&mailbox, &session), [1, 3, 5]);
    drop((session, mailbox));

    let (session, mailbox) = opened(&path);
    assert_eq!((waiting(&mailbox, &session), mailbox.next_note()), (vec![1, 3, 5], NoteId(6)));
    assert_eq!(session.next_note(), NoteId(5));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inbox_cut_at_any_byte_keeps_all_whole_notes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    drop(Session::create_named(&path).unwrap());
    let mailbox = Mailbox::of(&path, Durability::Off).unwrap();
    post(&mailbox, 1..=6);
    drop(mailbox);
    let inbox = dir.path().join("s.inbox.jsonl");
    let bytes = fs::read(&inbox).unwrap();
    for cut in 0..=bytes.len() {
        fs::write(&inbox, &bytes[..cut]).unwrap();
        let (session, mailbox) = opened(&path);
        let lines = bytes[..cut].iter().filter(|byte| **byte == b'\n').count();
        // A line that only lacks its newline is whole.
        let whole = lines + usize::from(bytes.get(cut) == Some(&b'\n'));
        assert_eq!(waiting(&mailbox, &session).len(), whole, "cut at {cut}");
        assert_eq!(post(&mailbox, [50]), [Ok(())], "cut at {cut}");
        assert_eq!(waiting(&mailbox, &session).len(), whole + 1, "cut at {cut}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn posts_from_many_sides_are_all_there_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let session = Session::create_named(&path).unwrap();
    let mailbox = Mailbox::of(&path, Durability::Always).unwrap();
    let sides = (0..8).map(|side| {
        let mailbox = mailbox.clone();
        tokio::task::spawn_blocking(move || post(&mailbox, side * 100 + 1..=side * 100 + 50))
    });
    for side in sides.collect::<Vec<_>>() {
        assert_eq!(side.await.unwrap(), vec![Ok(()); 50]);
    }
    let mut ids = waiting(&mailbox, &session);
    ids.sort_unstable();
    assert_eq!(ids, (0..8).flat_map(|side| side * 100 + 1..=side * 100 + 50).collect::<Vec<u64>>());
}

/// C07: the disk refuses; the sender hears of it and nothing is heard later.
#[tokio::test(flavor = "multi_thread")]
async fn a_note_that_cannot_be_written_was_never_posted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("away").join("s.jsonl");
    let mailbox = Mailbox::of(&path, Durability::Turn).unwrap();
    fs::write(dir.path().join("away"), "a file where a folder must be").unwrap();
    let refused = post(&mailbox, [1]).remove(0).unwrap_err();
    assert!(refused.contains("s.inbox.jsonl"), "{refused}");
    fs::remove_file(dir.path().join("away")).unwrap();
    assert_eq!(post(&mailbox, [1]), [Ok(())]);
    assert_eq!(waiting(&mailbox, &Session::in_memory()), [1]);
}
