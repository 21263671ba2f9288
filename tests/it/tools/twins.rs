//! Names that look alike, and files that are not as large as they look (F08, F09, F14).

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;
use tillerman::tools::gate::shown;

use super::Bench;

/// One letter, and a letter with an accent of its own.
const COMPOSED: &str = "caf\u{e9}.txt";
const APART: &str = "cafe\u{301}.txt";

#[tokio::test]
async fn f09_two_names_that_look_the_same_are_two_files_to_every_hand() {
    let bench = Bench::new();
    for (name, content) in [(COMPOSED, "one"), (APART, "two")] {
        bench.text("write_file", json!({ "path": name, "content": content })).await;
    }
    assert_eq!(fs::read_dir(bench.path(".")).unwrap().count(), 2);
    let told = bench.text("read_file", json!({ "path": COMPOSED })).await;
    assert_eq!(told, format!("File: {COMPOSED} (1 lines)\n1: one\n"));
    let edit = json!({ "path": APART, "old_text": "two", "new_text": "three" });
    bench.text("edit_file", edit).await;
    assert_eq!(bench.text("shell", json!({ "command": format!("cat '{APART}' '{COMPOSED}'") })).await, "threeone");
}

#[test]
fn f09_a_person_who_is_asked_can_tell_the_two_names_apart() {
    assert_eq!([shown(COMPOSED), shown(APART)], [COMPOSED, "cafe\\u{301}.txt"]);
}

#[tokio::test]
async fn f08_names_that_differ_by_case_are_different_files_unless_they_are_the_same() {
    let bench = Bench::new();
    bench.put("a.txt", "one");
    // What a file system without cases does by itself: both names lead to one file.
    std::os::unix::fs::symlink("a.txt", bench.path("A.txt")).unwrap();
    bench.put("B.txt", "two");
    bench.text("read_file", json!({ "path": "A.txt" })).await;
    bench.text("edit_file", json!({ "path": "a.txt", "old_text": "one", "new_text": "1" })).await;
    assert!(bench.error("read_file", json!({ "path": "b.txt" })).await.starts_with("b.txt does not exist"));
    assert_eq!(fs::read_to_string(bench.path("a.txt")).unwrap(), "1");
}

#[tokio::test]
async fn f14_a_sparse_file_of_ten_gigabytes_is_refused_and_not_read() {
    let bench = Bench::new();
    bench.put("sparse", "beginning\n");
    OpenOptions::new().write(true).open(bench.path("sparse")).unwrap().set_len(10 << 30).unwrap();
    let told = bench.error("read_file", json!({ "path": "sparse" })).await;
    assert!(told.starts_with("sparse is larger than 10.0 MB; use grep"), "{told}");
    let told = bench.error("edit_file", json!({ "path": "sparse", "old_text": "a", "new_text": "b" })).await;
    assert!(told.starts_with("sparse is larger than 10.0 MB"), "{told}");
    for tool in ["load", "scan"] {
        let told = bench.call(tool, json!({ "path": "sparse" })).await;
        assert!(told.is_err() || told.is_ok_and(|told| told.text.len() < 100_000), "{tool}");
    }
}

#[tokio::test]
async fn f14_a_file_that_grows_while_it_is_read_ends_somewhere() {
    let bench = Bench::new();
    bench.put("log", "line\n".repeat(100_000));
    let mut log = OpenOptions::new().append(true).open(bench.path("log")).unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let writer = thread::spawn({
        let done = Arc::clone(&done);
        move || {
            // As much as is read at most, so that the end is never reached before it is refused.
            while !done.load(Ordering::Relaxed) && log.metadata().is_ok_and(|log| log.len() < 1 << 30) {
                log.write_all(&b"line\n".repeat(20_000)).unwrap();
            }
        }
    });
    for _ in 0..3 {
        match bench.call("read_file", json!({ "path": "log" })).await {
            Ok(told) => assert!(told.text.len() < 100_000),
            Err(told) => assert!(told.to_string().starts_with("log is larger than 10.0 MB"), "{told}"),
        }
    }
    done.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    assert!(File::open(bench.path("log")).is_ok());
}
