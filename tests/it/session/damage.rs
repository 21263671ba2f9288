//! Files of unknown state: cut, flipped, doubled, foreign, newer, full disks, second writers.

use std::fs;
use std::io::Write;
use std::path::Path;

use proptest::prelude::*;
use tillerman::session::{Record, Session, SessionError};

use super::{add, recorded, result, says, started, words};

/// Bytes of a recorded session, and a place for variations of it: in memory if there is one, for there are thousands.
fn original() -> (tempfile::TempDir, Vec<u8>) {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let bytes = fs::read(recorded(dir.path())).unwrap();
    (dir, bytes)
}

pub fn crc(body: &str) -> String {
    format!("{body},\"crc\":\"{:08x}\"}}\n", crc32fast::hash(body.as_bytes()))
}

/// C01, S0-04: every prefix of a session opens with all its whole lines; the rest is set aside.
#[test]
fn a_session_cut_at_any_byte_loses_at_most_the_line_that_was_cut() {
    let (dir, bytes) = original();
    let path = dir.path().join("cut.jsonl");
    let aside = dir.path().join("cut.jsonl.torn");
    for cut in 0..=bytes.len() {
        fs::write(&path, &bytes[..cut]).unwrap();
        let _ = fs::remove_file(&aside);
        let mut session = Session::open(&path).unwrap();
        words(&session);
        let newlines = bytes[..cut].iter().filter(|byte| **byte == b'\n').count();
        let whole = bytes[..cut].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        // A line is whole when only its newline is missing.
        let unended = cut > whole && bytes.get(cut) == Some(&b'\n');
        let torn = &bytes[if unended { cut } else { whole }..cut];
        if torn.is_empty() {
            assert!(!aside.exists(), "cut at {cut}");
        } else {
            assert_eq!(fs::read(&aside).unwrap(), [torn, b"\n"].concat(), "cut at {cut}");
            assert_eq!(session.damage().len(), 1, "{:?}", session.damage());
        }
        let kept = fs::read(&path).unwrap();
        let end = if unended { cut } else { whole };
        assert_eq!(kept[..end], bytes[..end]);
        assert!(session.entries() >= newlines + usize::from(unended));
        // What goes on after the cut is there again too.
        if cut % 8 != 0 {
            continue;
        }
        add(&mut session, Record::user("after"));
        let expected = words(&session);
        drop(session);
        let again = Session::open(&path).unwrap();
        assert_eq!((words(&again), again.damage().len()), (expected, 0), "cut at {cut}");
    }
}

/// C13: a flipped bit costs the line it is in, and that is said.
#[test]
fn a_flipped_bit_costs_one_line() {
    let (dir, bytes) = original();
    let path = dir.path().join("flipped.jsonl");
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    // Without its last newline a session is torn, which is another test's.
    for at in (0..bytes.len() - 1).step_by(7) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        if bytes[at] == b'\n' {
            continue;
        }
        fs::write(&path, &bytes).unwrap();
        let session = Session::read(&path).unwrap();
        words(&session);
        assert!(!session.damage().is_empty(), "bit {at}");
        // A flipped newline joins two lines.
        assert!(session.entries() >= lines - 2, "bit {at}: {:?}", session.damage());
        assert_eq!(fs::read(&path).unwrap(), bytes, "reading changes nothing");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    /// C14: lines lost, doubled and moved about give the same valid conversation each time.
    #[test]
    fn lines_in_any_disorder_make_a_valid_conversation(order in prop::collection::vec(0_usize..15, 1..30)) {
        let (dir, bytes) = original();
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let path = dir.path().join("disorder.jsonl");
        fs::write(&path, order.iter().map(|line| lines[*line]).collect::<Vec<_>>().concat()).unwrap();
        let read = words(&Session::read(&path).unwrap());
        let mut session = Session::open(&path).unwrap();
        prop_assert_eq!(words(&session), read);
        add(&mut session, Record::user("go on"));
        let expected = words(&session);
        drop(session);
        prop_assert_eq!(words(&Session::open(&path).unwrap()), expected);
    }
}

#[test]
fn calls_without_an_answer_are_interrupted_and_not_run_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::create(dir.path()).unwrap();
    add(&mut session, Record::user("go"));
    add(&mut session, says("", &["a", "b", "c"]));
    add(&mut session, started("a"));
    add(&mut session, started("b"));
    add(&mut session, result("b"));
    let path = session.path().unwrap().to_owned();
    drop(session);
    let first = words(&Session::open(&path).unwrap());
    assert!(first[2].starts_with("a ! interrupted, effects unknown"), "{first:?}");
    assert_eq!(first[3], "b = out b");
    assert!(first[4].starts_with("c ! interrupted: the program ended before this call started"), "{first:?}");
    assert_eq!(words(&Session::open(&path).unwrap()), first, "answered once");
}

#[test]
fn files_of_other_programs_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notes.jsonl");
    for text in ["{\"role\":\"user\"}\n", "hello", "\n\n", "\0\0\0\0", "{\"v\":1,\"seq\":0}\n{}\n"] {
        fs::write(&path, text).unwrap();
        let error = Session::open(&path).err().map(|error| error.to_string());
        let expected = format!("{} is not a session of tillerman; it was left as it is", path.display());
        assert_eq!(error, Some(expected), "{text:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    assert!(matches!(Session::open(&dir.path().join("none.jsonl")), Err(SessionError::Io { .. })));
}

/// C15: a later version's session can be read and is not written.
#[test]
fn a_newer_session_opens_for_reading_only() {
    let (dir, bytes) = original();
    let path = dir.path().join("newer.jsonl");
    let later = crc(r#"{"v":2,"seq":15,"id":"X","parent":null,"at":"2030-01-01T00:00:00Z","type":"user","data":{}"#);
    let bytes = [bytes, later.into_bytes(), b"torn".to_vec()].concat();
    fs::write(&path, &bytes).unwrap();
    let mut session = Session::open(&path).unwrap();
    assert_eq!(words(&session).len(), 10);
    let refused = session.append(Record::user("go on")).unwrap_err().to_string();
    assert!(refused.ends_with("was written by a newer tillerman (format 2); update to go on with it, reading works"));
    drop(session);
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn entries_of_unknown_types_are_kept_and_passed_over() {
    let (dir, bytes) = original();
    let path = dir.path().join("receipts.jsonl");
    let text = String::from_utf8(bytes).unwrap();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let head = format!(
        r#"{{"v":1,"seq":15,"id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","parent":{},"at":"","type":"receipt","data":{{"n":1}}"#,
        last["id"]
    );
    fs::write(&path, text + &crc(&head)).unwrap();
    let mut session = Session::open(&path).unwrap();
    add(&mut session, Record::user("go on"));
    assert_eq!((words(&session).len(), session.entries(), session.damage().len()), (11, 17, 0));
}

/// C16: two writers of one file never happen; readers may look.
#[test]
fn a_second_writer_is_refused_and_a_reader_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = recorded(dir.path());
    let first = Session::open(&path).unwrap();
    let Err(SessionError::Locked { path: locked, owner }) = Session::open(&path) else { panic!("opened twice") };
    assert_eq!((locked, owner), (path.clone(), Some(std::process::id())));
    let mut reader = Session::read(&path).unwrap();
    assert_eq!(words(&reader), words(&first));
    assert!(matches!(reader.append(Record::user("x")), Err(SessionError::ReadOnly(_))));
    drop(first);
    assert!(Session::open(&path).is_ok());
    assert!(matches!(Session::create_named(&path), Err(SessionError::Exists(_))));
}

/// C07, C09: an append that the disk refuses leaves no half line behind, and the next one works.
#[test]
fn a_full_disk_leaves_no_half_line() {
    let Some(small) = SmallDisk::mount() else { return };
    let mut session = Session::create(&small.0).unwrap();
    add(&mut session, Record::user("one"));
    let filler = small.0.join("filler");
    fs::write(&filler, vec![0; 40 << 10]).unwrap();
    let refused = session.append(Record::user("x".repeat(60 << 10)));
    assert!(matches!(refused, Err(SessionError::Io { what: "write", .. })), "{refused:?}");
    fs::remove_file(&filler).unwrap();
    add(&mut session, Record::user("two"));
    let path = session.path().unwrap().to_owned();
    drop(session);
    let session = Session::open(&path).unwrap();
    assert_eq!((words(&session), session.damage().len()), (vec!["User one".into(), "User two".into()], 0));
}

/// A disk of 64 KiB where root may mount one; elsewhere the test that needs it has nothing to try.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount() -> Option<SmallDisk> {
        let dir = tempfile::tempdir().unwrap().keep();
        let mount = |dir: &Path| {
            let mut command = std::process::Command::new("mount");
            command.args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(dir).stderr(std::process::Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        if mount(&dir) {
            return Some(SmallDisk(dir));
        }
        let _ = writeln!(std::io::stderr(), "skipped: only root can mount a small disk");
        let _ = fs::remove_dir(&dir);
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
        let _ = fs::remove_dir(&self.0);
    }
}
