//! `tillerman doctor`: what is wrong is found by its effect, and each finding says what to do.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use super::Place;

/// The rows of a group that are not as they should be, and the code.
fn found(place: &Place, args: &[&str], env: &[(&str, &str)]) -> (Option<i32>, Vec<Value>) {
    let done = place.tillerman_with(&[&["doctor", "--json"], args].concat(), env, "");
    let said: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{done:?}"));
    assert_eq!(said["ok"], done.code == Some(0), "{done:?}");
    (done.code, said["rows"].as_array().unwrap().clone())
}

fn has(rows: &[Value], group: &str, mark: &str, text: &str) -> bool {
    let is_it = |row: &&Value| row["group"] == group && row["mark"] == mark;
    rows.iter().filter(is_it).any(|row| row["found"].as_str().unwrap().contains(text))
}

#[test]
fn s4_36_whatever_is_not_right_is_found_with_what_to_do_about_it() {
    let place = Place::new();
    let write = |path: &str, text: &str| {
        let path = place.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("skills/broken.md", "---\nname: [\n---\n");
    write("agents/broken.md", "---\nname: broken\ndescription: x\nmodel: nosuch/x\ntools: [nosuch]\n---\nx\n");
    write("config.md", "---\nmax_tunrs: 3\n---\n");
    write("AGENTS.md", "do\u{202e}this\n");
    write(".tasks/t_001/task.md", "---\nstatus: [\n---\n");
    let (code, rows) = found(&place, &["--deny", "Nosuch"], &[("LANG", "C")]);
    assert_eq!(code, Some(0), "it can work all the same: {rows:?}");
    for (group, text) in [
        ("files", "broken"),
        ("agents", "nosuch"),
        ("settings", "did you mean `max_turns`?"),
        ("files", "AGENTS.md line 1 has a character that nobody sees"),
        ("files", "unreadable"),
        ("permissions", "deny Nosuch (--deny) never counts"),
        ("workspace", "not trusted"),
        ("model", "pilot/pilot"),
        ("terminal", "LANG is C"),
    ] {
        assert!(has(&rows, group, "warn", text), "{group} {text}: {rows:#?}");
    }
    for row in rows.iter().filter(|row| row["mark"] == "warn" || row["mark"] == "bad") {
        assert!(row["remedy"].as_str().is_some_and(|remedy| remedy.len() > 8), "no remedy: {row}");
    }
    assert!(has(&rows, "disk", "good", "MB are free for this folder") && has(&rows, "programs", "good", "tillerman "));
}

#[test]
fn where_nothing_can_be_kept_it_fails_and_names_the_folder() {
    let place = Place::new();
    let taken = place.home.path().join("taken");
    fs::write(&taken, "a file").unwrap();
    let (code, rows) = found(&place, &[], &[("TILLERMAN_HOME", taken.to_str().unwrap())]);
    assert_eq!(code, Some(1));
    assert!(has(&rows, "workspace", "bad", "taken"), "{rows:#?}");
    let (code, rows) = found(&place, &["-w", "nowhere"], &[]);
    assert_eq!(code, Some(1));
    assert!(has(&rows, "workspace", "bad", "nowhere"), "{rows:#?}");
    // Whoever may do everything is stopped by no mode of a folder.
    if rustix::process::geteuid().is_root() {
        return;
    }
    fs::set_permissions(place.home.path(), fs::Permissions::from_mode(0o500)).unwrap();
    let (code, rows) = found(&place, &[], &[]);
    fs::set_permissions(place.home.path(), fs::Permissions::from_mode(0o700)).unwrap();
    assert!(code == Some(1) && has(&rows, "workspace", "bad", "cannot"), "{rows:#?}");
}

#[test]
fn every_group_is_shown_once_and_the_summary_only_what_is_not_right() {
    let place = Place::new();
    let whole = place.tillerman(&["doctor"]).stdout;
    let groups: Vec<&str> = whole.lines().filter(|line| !line.starts_with(' ')).collect();
    let (end, groups) = groups.split_last().unwrap();
    assert_eq!(
        groups,
        ["model", "providers", "workspace", "settings", "files", "agents", "programs", "sandbox", "disk", "terminal"]
    );
    assert!(end.ends_with("it can work"), "{end}");
    let summary = place.tillerman(&["doctor", "--summary"]).stdout;
    assert!(!summary.contains("✓") && summary.contains("⚠ not trusted"), "{summary}");
    assert_eq!(summary.lines().last(), Some(*end));
    let ascii = place.tillerman(&["doctor", "--ascii"]).stdout;
    assert!(ascii.is_ascii() && ascii.contains("[warn] not trusted") && ascii.contains("-> "), "{ascii}");
}

#[test]
fn no_key_is_shown() {
    let place = Place::new();
    let key = ("ANTHROPIC_API_KEY", "sk-ant-canary-0123456789abcdef");
    let url = ("ANTHROPIC_BASE_URL", "https://sk-ant-canary-0123456789abcdef@127.0.0.1:1/v1");
    for args in [&["doctor"][..], &["doctor", "--json"], &["config", "show", "--origin"], &["config", "--json"]] {
        for env in [&[key][..], &[key, url]] {
            let done = place.tillerman_with(args, env, "");
            assert!(!done.stdout.contains("canary") && !done.stderr.contains("canary"), "{args:?} {done:?}");
        }
    }
}
