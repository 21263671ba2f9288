//! Files cut at every byte: what is whole is there, nothing else is, and what was torn is kept aside.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tillerman::session::Session;
use tillerman::task::{Brief, TaskDir};

use super::after::files;
use super::scene::{Play, Scene};
use super::{every, tally};

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
