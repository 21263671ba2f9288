//! The tools `read_file` and `write_file`.

use serde_json::{Value, json};
use tillerman::message::RawArgs;

use super::Bench;

#[tokio::test]
async fn s0_38_s0_39_s0_40_a_file_is_shown_with_its_size_and_line_numbers() {
    let bench = Bench::new();
    bench.put("a.txt", "one\ntwo\r\nthree");
    let text = bench.text("read_file", json!({ "path": "a.txt" })).await;
    assert_eq!(text, "File: a.txt (3 lines)\n1: one\n2: two\n3: three\n");
    let text = bench.text("read_file", json!({ "path": "a.txt", "offset": 2, "limit": 1 })).await;
    assert_eq!(text, "File: a.txt (3 lines)\n2: two\n[lines 2 to 2 of 3; go on with offset 3]");
    bench.put("empty", "");
    assert_eq!(bench.text("read", json!({ "file_path": "empty" })).await, "File: empty (0 lines)\n");
}

#[tokio::test]
async fn a_long_file_is_shown_2000_lines_at_a_time() {
    let bench = Bench::new();
    bench.put("long", "x\n".repeat(2500));
    let text = bench.text("read_file", json!({ "path": "long" })).await;
    assert_eq!(text.lines().count(), 2002);
    assert!(text.ends_with("2000: x\n[lines 1 to 2000 of 2500; go on with offset 2001]"));
    bench.put("wide", "y".repeat(3000));
    let text = bench.text("read_file", json!({ "path": "wide" })).await;
    assert!(text.ends_with("y… [1000 bytes more of this line]\n"));
}

#[tokio::test]
async fn what_cannot_be_read_says_why_and_what_to_do() {
    let bench = Bench::new();
    bench.put("dir/x", "");
    bench.put("binary", b"\x7fELF\0\0");
    bench.put("big", vec![b'a'; 10 * 1024 * 1024 + 1]);
    bench.put("short", "a\n");
    let error = |args| bench.error("read_file", args);
    assert_eq!(error(json!({ "path": "none" })).await, "none does not exist; use list to see what is there");
    assert_eq!(
        error(json!({ "path": "dir" })).await,
        "dir is a folder, not a regular file; use list to see what is in it"
    );
    assert_eq!(
        error(json!({ "path": "binary" })).await,
        "binary is a binary file of 6 bytes; look at it with shell: file, xxd, strings"
    );
    assert_eq!(
        error(json!({ "path": "big" })).await,
        "big is larger than 10.0 MB; use grep to find the place, or shell with sed -n '1,200p' to read a part"
    );
    assert_eq!(error(json!({ "path": "short", "offset": 9 })).await, "offset 9 is behind the end: short has 1 lines");
}

#[tokio::test]
async fn a_file_that_is_not_utf8_is_shown_and_said_to_be() {
    let bench = Bench::new();
    bench.put("latin", b"caf\xe9\n");
    let text = bench.text("read_file", json!({ "path": "latin" })).await;
    assert_eq!(
        text,
        "File: latin (1 lines)\n[not UTF-8: bytes that are no text are shown as \u{fffd}]\n1: caf\u{fffd}\n"
    );
}

#[tokio::test]
async fn s0_41_s0_42_writing_makes_folders_and_says_whether_the_file_is_new() {
    let bench = Bench::new();
    let args = json!({ "path": "a/b/c.txt", "content": "one\ntwo\n" });
    let output = bench.call("write_file", args.clone()).await.unwrap();
    assert_eq!(
        (output.text.as_str(), &output.details["created"]),
        ("Created a/b/c.txt (2 lines, 8 bytes)", &json!(true))
    );
    let output = bench.call("write_file", args).await.unwrap();
    assert_eq!(
        (output.text.as_str(), &output.details["created"]),
        ("Wrote a/b/c.txt (2 lines, 8 bytes)", &json!(false))
    );
    assert_eq!(bench.get("a/b/c.txt"), "one\ntwo\n");
}

#[tokio::test]
async fn what_is_written_over_is_shown_to_people_as_a_diff() {
    let bench = Bench::new();
    let write = async |content: &str| {
        let args = json!({ "path": "f", "content": content });
        let details = bench.call("write_file", args).await.unwrap().details;
        (details["added"].clone(), details["removed"].clone(), details["diff"].as_str().map(str::to_owned))
    };
    let told = |added: u64, removed: u64, diff: &str| {
        (json!(added), json!(removed), Some(format!("--- a/f\n+++ b/f\n{diff}")))
    };
    assert_eq!(write("a\nb\nc\nd\n").await, told(4, 0, "@@ -0,0 +1,4 @@\n+a\n+b\n+c\n+d\n"));
    assert_eq!(write("a\nb\nc\nx\n").await, told(1, 1, "@@ -2,3 +2,3 @@\n b\n c\n-d\n+x\n"));
    let (added, removed, diff) = write(&"line\n".repeat(300)).await;
    assert_eq!((added, removed), (json!(300), json!(4)));
    assert!(diff.unwrap().ends_with("+line\n… 227 more lines\n"));
    bench.put("f", b"caf\xe9\n");
    assert_eq!(write("a\n").await, (Value::Null, Value::Null, None), "what is no text is not compared");
}

#[tokio::test]
async fn s1_20_writing_outside_is_refused_with_the_place_where_it_may() {
    let bench = Bench::new();
    let error = bench.error("write_file", json!({ "path": "../x", "content": "" })).await;
    let ws = bench.path("").canonicalize().unwrap();
    assert_eq!(error, format!("../x may not be written: writing is allowed in {}", ws.display()));
}

#[test]
fn c_5_two_calls_that_write_one_file_have_the_same_key() {
    let bench = Bench::new();
    let key = |tool: &str, args: &str| bench.tools.find(tool).unwrap().writes(&RawArgs(args.into()));
    let written = key("write_file", r#"{"path":"a/../b","content":""}"#);
    assert_eq!(written, key("edit_file", r#"{"path":"./b","old_text":"x","new_text":""}"#));
    assert_eq!(written, Some(bench.path("b").parent().unwrap().canonicalize().unwrap().join("b")));
    assert_eq!((key("shell", r#"{"command":"x"}"#), key("write_file", "{")), (None, None));
}
