//! Listing a folder by frontmatter: order, patterns, links, bounds, and bad files that stop nothing.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;
use tillerman::markdown::{self, DocMeta};

use crate::patience::PATIENCE;

/// A folder of files with these texts.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

fn meta(dir: &Path, path: &str, name: &str, front: Value) -> DocMeta {
    DocMeta { path: dir.join(path), name: name.to_owned(), front }
}

fn paths(dir: &Path, pattern: Option<&str>) -> Vec<String> {
    let scan = markdown::scan(dir, pattern).unwrap();
    scan.docs.iter().map(|doc| doc.path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn a_folder_is_listed_by_path_with_the_frontmatter_only() {
    let dir = folder(&[
        ("b.md", "---\nname: beta\ntags: [z, a]\n1: one\n---\nbody of b"),
        ("a/x.MD", "no frontmatter"),
        ("a.md", "---\nzeta: 1\nalpha: {y: 2, x: 1}\n---\n"),
        ("note.txt", "---\nname: no\n---\n"),
        (".git/hidden.md", ""),
        ("node_modules/p/readme.md", ""),
    ]);
    let scan = markdown::scan(dir.path(), None).unwrap();
    let expected = [
        meta(dir.path(), "a/x.MD", "x", json!({})),
        meta(dir.path(), "a.md", "a", json!({"alpha": {"x": 1, "y": 2}, "zeta": 1})),
        meta(dir.path(), "b.md", "beta", json!({"1": "one", "name": "beta", "tags": ["z", "a"]})),
    ];
    assert_eq!(scan.docs, expected);
    assert_eq!(serde_json::to_string(&scan.docs[1].front).unwrap(), r#"{"alpha":{"x":1,"y":2},"zeta":1}"#);
    assert!(scan.skipped.is_empty() && !scan.cut);
}

#[test]
fn stars_match_names_or_paths() {
    let dir = folder(&[
        ("t_001/result.md", ""),
        ("t_001/task.md", ""),
        ("t_002/result.md", ""),
        ("deep/t_003/result.md", "---\nname: third\n---\n"),
        (".tasks/t_004/result.md", ""),
    ]);
    let table: &[(&str, &[&str])] = &[
        ("*", &["deep/t_003/result.md", "t_001/result.md", "t_001/task.md", "t_002/result.md"]),
        ("result*", &["deep/t_003/result.md", "t_001/result.md", "t_002/result.md"]),
        ("ta*.md", &["t_001/task.md"]),
        ("thi*", &["deep/t_003/result.md"]),
        ("t_*/result.md", &["t_001/result.md", "t_002/result.md"]),
        ("**/result.md", &["deep/t_003/result.md", "t_001/result.md", "t_002/result.md"]),
        (".tasks/*/result.md", &[".tasks/t_004/result.md"]),
        ("*.txt", &[]),
    ];
    for (pattern, expected) in table {
        assert_eq!(paths(dir.path(), Some(pattern)), *expected, "{pattern}");
    }
    let error = markdown::scan(dir.path(), Some("a[")).unwrap_err().to_string();
    assert_eq!(
        error,
        "the pattern \"a[\" is wrong: unclosed character class; missing ']'; use * for any part of a name, as in t_*.md"
    );
}

#[test]
fn bad_files_are_skipped_with_the_reason_and_never_stop_the_others() {
    let dir = folder(&[
        ("bomb.md", &super::bomb()),
        ("good.md", "---\nname: good\n---\n"),
        ("list.md", "---\n- a\n---\n"),
        ("long.md", &format!("---\n{}", "k: v\n".repeat(20_000))),
        ("twice.md", "---\na: 1\na: 2\n---\n"),
        ("type.md", "---\na: b: c\n---\n"),
    ]);
    fs::write(dir.path().join("latin.md"), b"---\nok: 1\nname: caf\xe9\n---\n").unwrap();
    let scan = markdown::scan(dir.path(), None).unwrap();
    assert_eq!(scan.docs, [meta(dir.path(), "good.md", "good", json!({"name": "good"}))]);
    let at = |name: &str| dir.path().join(name).display().to_string();
    let skipped: Vec<String> = scan.skipped.iter().map(ToString::to_string).collect();
    let expected = [
        format!("the frontmatter of {} is wrong at line 1, column 1: repetition limit exceeded", at("bomb.md")),
        format!("{} is not UTF-8 text: bad byte in line 3; save it as UTF-8", at("latin.md")),
        format!(
            "the frontmatter of {} is wrong at line 2, column 1: expected lines of the form `key: value`",
            at("list.md")
        ),
        format!("the frontmatter of {} has no closing `---` within 65536 bytes", at("long.md")),
        format!("the frontmatter of {} is wrong at line 2, column 1: duplicate entry with key \"a\"", at("twice.md")),
        format!(
            "the frontmatter of {} is wrong at line 2, column 5: mapping values are not allowed in this context",
            at("type.md")
        ),
    ];
    assert_eq!(skipped, expected);
    let asked = markdown::scan(dir.path(), Some("good*")).unwrap();
    assert_eq!((asked.docs.len(), asked.skipped.len()), (1, 0), "a bad file that nobody asked for is no news");
}

#[test]
fn links_never_lead_out_of_the_folder_or_in_circles() {
    let outside = folder(&[("secret.md", "---\nname: secret\n---\n"), ("sub/more.md", "")]);
    let dir = folder(&[("real/a.md", "---\nname: a\n---\n")]);
    let link = |target: &Path, name: &str| symlink(target, dir.path().join(name)).unwrap();
    link(&outside.path().join("secret.md"), "secret.md");
    link(outside.path(), "elsewhere");
    link(dir.path(), "loop");
    link(Path::new("real/a.md"), "alias.md");
    link(Path::new("nowhere.md"), "broken.md");
    assert_eq!(paths(dir.path(), None), ["alias.md", "real/a.md"]);
    let skipped: Vec<String> =
        markdown::scan(dir.path(), None).unwrap().skipped.iter().map(ToString::to_string).collect();
    let expected = ["broken.md", "secret.md"]
        .map(|name| format!("{}: a link that leads out of the folder", dir.path().join(name).display()));
    assert_eq!(skipped, expected);
}

#[test]
fn a_folder_that_is_not_there_is_an_error_that_names_it() {
    let error = markdown::scan(&PathBuf::from("/nonexistent/skills"), None).unwrap_err().to_string();
    assert_eq!(error, "cannot read /nonexistent/skills: No such file or directory (os error 2)");
}

#[test]
fn a_huge_file_costs_no_more_than_its_head() {
    let dir = folder(&[("huge.md", "---\nname: huge\n---\n"), ("bare.md", "no frontmatter")]);
    for name in ["huge.md", "bare.md"] {
        let file = fs::OpenOptions::new().append(true).open(dir.path().join(name)).unwrap();
        file.set_len(1 << 40).unwrap();
    }
    let start = Instant::now();
    let scan = markdown::scan(dir.path(), None).unwrap();
    assert_eq!(scan.docs.iter().map(|doc| doc.name.as_str()).collect::<Vec<_>>(), ["bare", "huge"]);
    // Reading two TiB takes minutes on any machine.
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
}

#[test]
fn a_scan_of_very_many_files_ends_and_says_that_it_was_cut() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("0.md"), "").unwrap();
    for n in 1..=markdown::MAX_DOCS {
        fs::hard_link(dir.path().join("0.md"), dir.path().join(format!("{n}.md"))).unwrap();
    }
    let scan = markdown::scan(dir.path(), None).unwrap();
    assert_eq!((scan.docs.len(), scan.skipped.len(), scan.cut), (markdown::MAX_DOCS, 0, true));
}
