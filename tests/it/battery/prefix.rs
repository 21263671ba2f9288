//! Files cut at every byte: what is whole is there, nothing else is, and what was torn is kept aside.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tillerman::message::{Message, Note, NoteId, NoteKind};
use tillerman::session::{Compaction, Durability, Mailbox, Posted, Record, Session};
use tillerman::task::{Brief, TaskDir};

use super::after::files;
use super::scene::{Play, Scene};
use super::{every, tally};
use crate::session::{says, words};

/// A session of the real program with at least so many entries.
fn recorded(entries: usize) -> Vec<u8> {
    let scene = Scene::new();
    let mut session = Vec::new();
    for _ in 0..entries {
        let said = scene.run(Play::of(&["run", "-c", "run echo grüße"]));
        assert_eq!(said.code, Some(0), "{said:?}");
        session = fs::read(&files(&scene.sessions(), "jsonl")[0]).unwrap();
        if lines(&session).count() >= entries {
            break;
        }
    }
    assert!(lines(&session).count() >= entries);
    session
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"))
}

/// C01. Quick: of a short session, and of the long one here and there.
#[test]
fn c01_a_real_session_cut_at_any_byte_has_its_whole_lines() {
    let long = every();
    let bytes = recorded(if long { 200 } else { 50 });
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let mut cuts = 0;
    for cut in (0..=bytes.len()).filter(|cut| long || cut % 23 == 0 || bytes.len() - cut < 100) {
        whole_lines_stay(dir.path(), &bytes, cut);
        cuts += 1;
    }
    tally(&format!("{cuts} prefixes of a session of {} records, 0 lost", lines(&bytes).count()));
}

fn whole_lines_stay(dir: &Path, bytes: &[u8], cut: usize) {
    let (path, aside) = (dir.join("cut.jsonl"), dir.join("cut.jsonl.torn"));
    fs::write(&path, &bytes[..cut]).unwrap();
    let _ = fs::remove_file(&aside);
    let session = Session::open(&path).unwrap();
    let whole: usize = lines(&bytes[..cut]).map(<[u8]>::len).sum();
    // A line is whole when only its newline is missing.
    let end = if cut > whole && bytes.get(cut) == Some(&b'\n') { cut } else { whole };
    let kept = fs::read(&path).unwrap();
    assert_eq!(kept[..end], bytes[..end], "cut at {cut}");
    let torn = fs::read(&aside).unwrap_or_default();
    assert_eq!(torn.strip_suffix(b"\n").unwrap_or(&torn), &bytes[end..cut], "cut at {cut}");
    let added = kept.get(end..).unwrap_or_default().split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    for line in added {
        let entry: Value = serde_json::from_slice(line).unwrap();
        let expected = if end == 0 { "session" } else { "tool_result" };
        assert_eq!(entry["type"], expected, "cut at {cut}: {entry}");
    }
    assert_eq!(session.entries(), lines(&kept).count(), "cut at {cut}");
}

/// C24, C25: each is one line of the journal, so the conversation is as it was before or as it is after, never less.
#[test]
fn c24_c25_a_compaction_a_branch_and_a_title_are_there_or_not_wherever_they_are_cut() {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let mut session = Session::create(dir.path()).unwrap();
    let said = |session: &Session| (words(session), session.title().map(str::to_owned));
    let mut states = vec![said(&session)];
    let mut append = |session: &mut Session, record| {
        let id = session.append(record).unwrap();
        states.push(said(session));
        id
    };
    append(&mut session, Record::user("one"));
    let fork = append(&mut session, says("two", &[]));
    append(&mut session, Record::user("three"));
    let head = vec![Arc::new(Message::user("so far"))];
    append(&mut session, Record::Compaction(Box::new(Compaction { head, ..Compaction::default() })));
    append(&mut session, Record::Title { title: "Numbers".into() });
    append(&mut session, says("four", &[]));
    session.branch(fork).unwrap();
    states.push(said(&session));
    let bytes = fs::read(session.path().unwrap()).unwrap();
    let path = dir.path().join("cut.jsonl");
    let first = lines(&bytes).next().unwrap().len();
    for cut in first..=bytes.len() {
        fs::write(&path, &bytes[..cut]).unwrap();
        let whole = lines(&bytes[..cut]).count() + usize::from(bytes.get(cut) == Some(&b'\n'));
        assert_eq!(said(&Session::open(&path).unwrap()), states[whole - 1], "cut at {cut}");
    }
    tally(&format!("{} prefixes with a compaction, a branch and a title", bytes.len() - first + 1));
}

/// C01, for notes: what was posted is there, what was torn is not and takes no other with it.
#[tokio::test]
async fn c01_an_inbox_cut_at_any_byte_has_its_whole_notes_and_takes_more() {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let session = dir.path().join("s.jsonl");
    let post = async |inbox: &Mailbox, id: u64| {
        let note = Note { id: NoteId(id), kind: NoteKind::Steer, text: format!("note {id} grüße") };
        let (done, waits) = tokio::sync::oneshot::channel();
        inbox.post(Posted { note, from: "person".into(), images: vec![] }, |posted| drop(done.send(posted)));
        waits.await.unwrap().unwrap();
    };
    let inbox = Mailbox::of(&session, Durability::Off).unwrap();
    for id in 1..=8 {
        post(&inbox, id).await;
    }
    drop(inbox);
    let [path] = &fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().path()).collect::<Vec<_>>()[..] else {
        panic!("one file")
    };
    let bytes = fs::read(path).unwrap();
    let begin = lines(&bytes).find(|line| !line.windows(8).any(|part| part == b"\"posted\"")).map_or(0, <[u8]>::len);
    for cut in (0..=bytes.len()).filter(|cut| every() || cut % 3 == 0) {
        fs::write(path, &bytes[..cut]).unwrap();
        let inbox = Mailbox::of(&session, Durability::Off).unwrap();
        let ids = |inbox: &Mailbox| inbox.posted().unwrap().iter().map(|posted| posted.note.id.0).collect::<Vec<_>>();
        let whole = lines(&bytes[..cut]).count() + usize::from(cut > 0 && bytes.get(cut) == Some(&b'\n'));
        let whole = whole.saturating_sub(usize::from(begin > 0)) as u64;
        assert_eq!(ids(&inbox), (1..=whole).collect::<Vec<_>>(), "cut at {cut}: {:?}", inbox.damage());
        post(&inbox, 9).await;
        drop(inbox);
        let inbox = Mailbox::of(&session, Durability::Off).unwrap();
        assert_eq!(ids(&inbox), (1..=whole).chain([9]).collect::<Vec<_>>(), "cut at {cut}, and one more");
    }
    tally(&format!("{} bytes of an inbox", bytes.len()));
}

/// C06.
#[test]
fn c06_a_progress_file_cut_at_any_byte_shows_whole_lines_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let task =
        TaskDir::create(&dir.path().join(".tasks"), &Brief { body: "Work.".into(), ..Brief::default() }).unwrap();
    for line in ["step 1 of 2: grüße", "shell echo (4 ms)", "done"] {
        task.progress(line).unwrap();
    }
    let path = task.path().join("progress.md");
    let bytes = fs::read(&path).unwrap();
    for cut in 0..=bytes.len() {
        fs::write(&path, &bytes[..cut]).unwrap();
        let whole: usize = lines(&bytes[..cut]).map(<[u8]>::len).sum();
        let expected = String::from_utf8(bytes[..whole].to_vec()).unwrap();
        assert_eq!(task.progress_text(), expected, "cut at {cut}");
        task.progress("went on").unwrap();
        let text = task.progress_text();
        let last: Vec<&str> = text[whole..].lines().collect();
        assert!(last.last().unwrap().ends_with(" went on") && !last.last().unwrap().contains("step"), "{text}");
        assert_eq!(last.len(), 1 + usize::from(cut > whole), "cut at {cut}: {text}");
        assert!(cut == whole || last[0].ends_with("… (cut off)"), "cut at {cut}: {text}");
    }
    tally(&format!("{} prefixes of progress.md", bytes.len() + 1));
}
