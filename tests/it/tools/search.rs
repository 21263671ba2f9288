//! The tools `list`, `grep`, `scan` and `load`.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::Bench;

fn project() -> Bench {
    let bench = Bench::new();
    bench.put("src/main.rs", "fn main() {\n    run();\n}\n");
    bench.put("src/deep/er/x.rs", "fn run() {}\n");
    bench.put("target/out.rs", "fn ignored() {}\n");
    bench.put(".gitignore", "target/\n");
    bench.put(".git/config", "fn hidden() {}\n");
    bench.put("notes.md", "---\nname: notes\ntags: [a]\n---\nThe fn body.\n");
    bench
}

#[tokio::test]
async fn a_folder_is_listed_as_a_tree_without_what_git_ignores() {
    let bench = project();
    let text = bench.text("list", json!({})).await;
    assert_eq!(text, "./\n  .gitignore\n  notes.md\n  src/\n    deep/\n      er/\n    main.rs\n");
    assert_eq!(bench.text("ls", json!({ "path": "src", "depth": 1 })).await, "src/\n  deep/\n  main.rs\n");
    assert_eq!(bench.text("list", json!({ "path": "target" })).await, "target/\n  out.rs\n");
    assert_eq!(bench.error("list", json!({ "path": "notes.md" })).await, "notes.md is no folder; use read_file");
    for n in 0..600 {
        bench.put(&format!("many/{n:03}"), "");
    }
    let output = bench.call("list", json!({ "path": "many" })).await.unwrap();
    assert_eq!(output.details, json!({ "entries": 500, "cut": true }));
    assert!(output.text.ends_with("  499\n[cut at 500 entries; name a folder below or a smaller depth]\n"));
}

#[tokio::test]
async fn a_search_answers_path_line_and_text() {
    let bench = project();
    let text = bench.text("grep", json!({ "pattern": "FN \\w+", "ignore_case": true })).await;
    assert_eq!(text, "notes.md:5: The fn body.\nsrc/deep/er/x.rs:1: fn run() {}\nsrc/main.rs:1: fn main() {\n");
    let text = bench.text("grep", json!({ "pattern": "run", "glob": "main.*", "context": 1 })).await;
    assert_eq!(text, "src/main.rs-1- fn main() {\nsrc/main.rs:2:     run();\nsrc/main.rs-3- }\n");
    let text = bench.text("grep", json!({ "pattern": "nothing", "path": "src" })).await;
    assert_eq!(text, "no match for nothing in 2 files below src\n");
    let text = bench.text("grep", json!({ "pattern": "ignored", "path": "target" })).await;
    assert_eq!(text, "target/out.rs:1: fn ignored() {}\n");
}

#[tokio::test]
async fn a_search_is_capped_in_matches_and_width() {
    let bench = Bench::new();
    bench.put("many", "hit\n".repeat(300));
    let output = bench.call("grep", json!({ "pattern": "hit" })).await.unwrap();
    assert_eq!(output.text.lines().count(), 201);
    assert!(output.text.ends_with("[cut at 200 matches; narrow the pattern, path or glob]\n"));
    assert_eq!(output.details, json!({ "matches": 200, "files": 1, "cut": true }));
    bench.put("many", format!("{}hit{}", "é".repeat(5000), "b".repeat(5000)));
    let text = bench.text("grep", json!({ "pattern": "hit" })).await;
    assert_eq!(text, format!("many:1: …{}hit{}…\n", "é".repeat(100), "b".repeat(197)));
}

#[tokio::test]
async fn a_search_does_not_leave_the_workspace() {
    let bench = project();
    symlink("/etc", bench.path("etc")).unwrap();
    symlink("/etc/passwd", bench.path("passwd")).unwrap();
    let text = bench.text("grep", json!({ "pattern": "root" })).await;
    assert_eq!(text, "no match for root in 4 files below .\n");
    let error = bench.error("grep", json!({ "pattern": "root", "path": "etc" })).await;
    assert!(error.starts_with("etc may not be read: it lies outside of "), "{error}");
}

#[tokio::test]
async fn a_wrong_pattern_is_explained() {
    let error = Bench::new().error("grep", json!({ "pattern": "a(" })).await;
    assert!(error.starts_with("pattern is no regular expression: "), "{error}");
    assert!(error.ends_with("put a backslash before ( ) [ ] { } . * + ? | to mean them literally"), "{error}");
}

#[tokio::test]
async fn s3_45_s3_46_documents_are_scanned_and_loaded() {
    let bench = project();
    let text = bench.text("scan", json!({ "dir": "." })).await;
    assert_eq!(text, r#"{"path":"notes.md","name":"notes","front":{"name":"notes","tags":["a"]}}"#);
    assert_eq!(bench.text("scan", json!({ "dir": ".", "pattern": "x*" })).await, "no Markdown file in .");
    let text = bench.text("load", json!({ "path": "notes.md" })).await;
    assert_eq!(text, "{\"name\":\"notes\",\"tags\":[\"a\"]}\n\nThe fn body.\n");
    bench.put("bad.md", "---\na: [\n---\n");
    let error = bench.error("load", json!({ "path": "bad.md" })).await;
    assert!(error.starts_with("the frontmatter of bad.md is wrong at line 3"), "{error}");
}
