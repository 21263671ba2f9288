//! Making folders and finding files by their paths.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::Bench;

#[tokio::test]
async fn s4_32_a_folder_is_made_with_those_above_it() {
    let bench = Bench::new();
    let made = bench.call("create_directory", json!({ "directory_path": "a/b/c/" })).await.unwrap();
    assert_eq!((made.text.as_str(), made.details["created"].clone()), ("a/b/c/ made", json!(true)));
    assert!(bench.path("a/b/c").is_dir());
    assert_eq!(bench.text("mkdir", json!({ "path": "a/b" })).await, "a/b was there already");
    bench.put("file", "x");
    let error = bench.error("create_directory", json!({ "path": "file" })).await;
    assert_eq!(error, "file: there is a file of that name; choose another");
}

/// F10, F11, S4-39: what leads out is refused, what the system cannot name is a result.
#[tokio::test]
async fn a_folder_is_made_only_where_it_may_be() {
    let bench = Bench::new();
    symlink(bench.path("../"), bench.path("out")).unwrap();
    for path in ["../evil", "out/evil", "/etc/evil", ".git/hooks/x"] {
        let error = bench.error("create_directory", json!({ "path": path })).await;
        assert!(error.contains("may not be written"), "{path}: {error}");
    }
    for path in ["", "a\0b", "/", "..", "a/../../evil", &"n".repeat(256), &"deep/".repeat(1000)] {
        bench.call("create_directory", json!({ "path": path })).await.unwrap_err();
    }
    bench.call("create_directory", json!({ "path": "new\nline" })).await.unwrap();
    assert!(bench.path("new\nline").is_dir() && !bench.path("../evil").exists());
}

#[tokio::test]
async fn files_are_found_by_the_form_of_their_path_the_newest_first() {
    let bench = Bench::new();
    for (path, age) in [("src/a.rs", 30), ("src/deep/b.rs", 10), ("c.rs", 20), ("src/d.md", 5), ("x/.gitignore", 1)] {
        bench.put(path, if path.ends_with("ignore") { "*.rs" } else { "" });
        let time = SystemTime::now() - Duration::from_secs(age);
        fs::File::options().write(true).open(bench.path(path)).unwrap().set_modified(time).unwrap();
    }
    bench.put("x/ignored.rs", "");
    let root = fs::canonicalize(bench.path("")).unwrap();
    let whole = format!("{}/src/*", root.display());
    let table = [
        (json!({ "pattern": "*.rs" }), "src/deep/b.rs\nc.rs\nsrc/a.rs"),
        (json!({ "pattern": "*.rs", "by_name": true }), "c.rs\nsrc/a.rs\nsrc/deep/b.rs"),
        (json!({ "pattern": "src/*.rs" }), "src/a.rs"),
        (json!({ "pattern": "./src/**/*.{rs,md}", "by_name": true }), "src/a.rs\nsrc/d.md\nsrc/deep/b.rs"),
        (json!({ "pattern": "**/b.rs", "dir": "src" }), "src/deep/b.rs"),
        (json!({ "pattern": whole, "by_name": true }), "src/a.rs\nsrc/d.md"),
        (json!({ "pattern": "*.py" }), "no file like *.py among 5 below ."),
    ];
    for (args, expected) in table {
        assert_eq!((args.to_string(), bench.text("Glob", args.clone()).await), (args.to_string(), expected.to_owned()));
    }
}

#[tokio::test]
async fn a_pattern_that_cannot_be_one_is_told() {
    let bench = Bench::new();
    bench.put("link/x.rs", "");
    symlink("/etc", bench.path("etc")).unwrap();
    let table = [
        (json!({ "pattern": "" }), "pattern \"\" is wrong: it must have 1 to 1000 bytes"),
        (json!({ "pattern": "../*" }), "pattern \"../*\" is wrong: it leads up with ..; give the folder as path"),
        (
            json!({ "pattern": "a{b" }),
            "pattern \"a{b\" is wrong: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)",
        ),
        (json!({ "pattern": "*", "path": "link/x.rs" }), "link/x.rs is no folder; name one, or leave it out"),
    ];
    for (args, expected) in table {
        assert_eq!(bench.error("glob", args).await, expected);
    }
    assert!(!bench.text("glob", json!({ "pattern": "**/passwd" })).await.contains("etc/"), "links are not followed");
}
