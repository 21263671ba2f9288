//! `tillerman sessions`: looking at conversations, finding words in them, putting them away, writing them out.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{Done, Place};

/// A place with a conversation for each of the lines, in this order.
fn talked(lines: &[&str]) -> Place {
    let place = Place::new();
    for line in lines {
        assert_eq!(place.tillerman(&["run", line]).code, Some(0));
    }
    place
}

/// Stdout as JSON, a value per line.
fn rows(done: &Done) -> Vec<Value> {
    assert_eq!(done.code, Some(0), "{done:?}");
    done.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn ids(place: &Place, args: &[&str]) -> Vec<String> {
    let args = [&["sessions"], args, &["--json"]].concat();
    rows(&place.tillerman(&args)).iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// The folder with the session files.
fn folder(place: &Place) -> PathBuf {
    let row = &rows(&place.tillerman(&["sessions", "--json"]))[0];
    PathBuf::from(row["path"].as_str().unwrap()).parent().unwrap().to_owned()
}

#[test]
fn sessions_are_listed_newest_first_as_lines_that_fit() {
    let place = Place::new();
    assert_eq!(place.tillerman(&["sessions"]).stdout, "no sessions yet\n");
    let place = talked(&["17 * 4", "help"]);
    let done = place.tillerman(&["sessions", "list", "--json"]);
    let list = rows(&done);
    let keys: Vec<&String> = list[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["v", "id", "title", "place", "updated", "entries", "bytes", "path"]);
    let titles: Vec<&Value> = list.iter().map(|row| &row["title"]).collect();
    assert_eq!(titles, ["help", "17 * 4"]);
    let text = place.tillerman(&["sessions"]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with(list[0]["id"].as_str().unwrap()) && lines[0].ends_with("  help"), "{text}");
    assert!(lines[1].contains(" now ") && lines[1].ends_with("B  17 * 4"), "{text}");
    assert_eq!(ids(&place, &["list", "-n", "1"]).len(), 1);
}

#[test]
fn a_session_is_shown_renamed_and_found() {
    let place = talked(&["17 * 4", "help"]);
    let id = ids(&place, &[])[1].clone();
    let done = place.tillerman(&["sessions", "rename", &id, "A", "small\x1b[31m", "sum"]);
    assert_eq!((done.code, done.stdout), (Some(0), format!("✓ renamed {id}: A small sum\n")));
    let shown = place.tillerman(&["sessions", "show", &id]).stdout;
    assert!(shown.starts_with("A small sum\n") && shown.contains("m1 you 17 * 4\n"), "{shown}");
    let shown = &rows(&place.tillerman(&["sessions", "show", &id, "--json", "--last", "1"]))[0];
    assert_eq!((&shown["title"], &shown["place"]), (&"A small sum".into(), &"current".into()));
    let last = shown["last"].as_array().unwrap();
    assert_eq!((last.len(), &last[0]["role"]), (1, &"assistant".into()));

    // Renaming wrote to it, so it is the latest.
    assert_eq!(rows(&place.tillerman(&["sessions", "show", "--json", "--last", "1"]))[0], *shown);
    let found = rows(&place.tillerman(&["sessions", "search", "SMALL", "--json"]));
    assert_eq!((found.len(), &found[0]["id"], &found[0]["said_by"]), (1, &id.as_str().into(), &"title".into()));
    let text = place.tillerman(&["sessions", "search", "17", "4"]).stdout;
    assert!(text.starts_with(&format!("{id}  A small sum\n  m1 ")) && text.contains(" user  17 * 4\n"), "{text}");
    assert_eq!(place.tillerman(&["sessions", "search", "nowhere"]).stdout, "nothing found\n");
}

#[test]
fn sessions_go_into_the_archive_and_the_trash_and_only_the_trash_forgets() {
    let place = talked(&["one", "two", "three"]);
    let all = ids(&place, &[]);
    let folder = folder(&place);
    assert_eq!(
        rows(&place.tillerman(&["sessions", "archive", &all[0], "--json"])),
        [json!({"v": 1, "id": all[0], "done": "archived"})]
    );
    assert_eq!(ids(&place, &["list", "--archived"]), [all[0].clone()]);
    assert_eq!(place.tillerman(&["sessions", "search", "three"]).stdout, "nothing found\n");
    assert!(place.tillerman(&["sessions", "search", "three", "--archived"]).stdout.contains("(archived)"));

    assert_eq!(place.tillerman(&["sessions", "delete", &all[0], &all[1]]).code, Some(0));
    assert_eq!((ids(&place, &[]), ids(&place, &["trash"]).len()), (vec![all[2].clone()], 2));
    assert_eq!(place.tillerman(&["sessions", "trash", "restore", &all[1]]).code, Some(0));
    assert_eq!(ids(&place, &["list"]).len(), 2);

    let shy = place.tillerman(&["sessions", "trash", "empty"]);
    assert_eq!(shy.code, Some(2));
    let asked = "tillerman: remove 1 session for good? Say --yes; there is no terminal to ask at\n";
    assert_eq!(shy.stderr, asked);
    let trace = folder.join(format!("../traces/{}.jsonl", all[0]));
    assert!(trace.exists(), "{}", trace.display());
    let done = place.tillerman(&["sessions", "trash", "empty", "--yes"]);
    assert_eq!((done.code, done.stdout), (Some(0), format!("✓ removed {}\n", all[0])));
    assert!(!trace.exists() && fs::read_dir(folder.join("trash")).unwrap().next().is_none());
    assert_eq!(place.tillerman(&["sessions", "trash", "empty"]).stdout, "the trash is empty\n");
    assert_eq!(place.tillerman(&["run", "-c", "more"]).code, Some(0));
}

#[test]
fn what_is_not_there_is_named() {
    let place = talked(&["one"]);
    let done = place.tillerman(&["sessions", "show", "2027"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""));
    assert!(done.stderr.contains("no session begins with \"2027\""), "{}", done.stderr);
    let done = place.tillerman(&["sessions", "unarchive", "2"]);
    assert_eq!(done.stderr, "tillerman: no session in the archive begins with \"2\"\n");
    let id = ids(&place, &[])[0].clone();
    assert_eq!(place.tillerman(&["sessions", "rename", &id, " "]).code, Some(2));
    let done = place.tillerman(&["sessions", "import", "none.json"]);
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("cannot read none.json"), "{}", done.stderr);
}

#[test]
fn a_session_is_written_out_in_every_form_and_read_in_again() {
    let place = talked(&["17 * 4"]);
    let id = ids(&place, &[])[0].clone();
    let markdown = place.tillerman(&["sessions", "export", &id]).stdout;
    assert!(markdown.starts_with("# 17 \\* 4\n") && markdown.contains("> 17 * 4\n"), "{markdown}");
    for (form, begin) in [("html", "<!doctype html>"), ("json", "{\"v\":1,"), ("v2", "{\n  \"title\"")] {
        let file = format!("out.{form}");
        let args = ["sessions", "export", id.as_str(), "--format", form, "-o", file.as_str()];
        let done = place.tillerman(&args);
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), ""), "{}", done.stderr);
        assert!(fs::read_to_string(place.path().join(&file)).unwrap().starts_with(begin), "{form}");
        let again = place.tillerman(&args);
        assert!(again.code == Some(1) && again.stderr.contains("File exists"), "{}", again.stderr);
    }
    let done = place.tillerman(&["sessions", "import", "out.v2"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let [new, old] = ids(&place, &[]).try_into().unwrap();
    assert_eq!(old, id);
    let flat = |id: &str| rows_of(&place.tillerman(&["sessions", "export", id, "--format", "v2"]).stdout);
    assert_eq!(flat(&new)["messages"], flat(&old)["messages"]);
}

#[test]
fn a_conversation_is_gone_back_in_and_forked() {
    let place = talked(&["17 * 4"]);
    for line in ["18 * 4", "19 * 4"] {
        assert_eq!(place.tillerman(&["run", "-c", line]).code, Some(0));
    }
    let id = ids(&place, &[])[0].clone();
    let branches = |id: &str| rows(&place.tillerman(&["sessions", "branches", id, "--json"]));
    let [tip] = branches(&id).try_into().unwrap();
    let first = rows(&place.tillerman(&["sessions", "tree", &id, "--json"]));
    let words: Vec<&str> = first.iter().map(|row| row["words"].as_str().unwrap()).collect();
    assert_eq!(words, ["17 * 4", "17 * 4 = 68", "18 * 4", "18 * 4 = 72", "19 * 4", "19 * 4 = 76"]);
    let at = first[1]["entry"].as_str().unwrap();

    let done = place.tillerman(&["sessions", "branch", &id, at]);
    let expected = format!("✓ branched {id} at {at}; what is said next goes on from there\n");
    assert_eq!((done.code, done.stdout), (Some(0), expected), "{}", done.stderr);
    assert_eq!(place.tillerman(&["run", "-c", "20 * 4"]).code, Some(0));
    let two = branches(&id);
    assert_eq!((two.len(), &two[0]["current"], &two[1]["current"]), (2, &false.into(), &true.into()));
    assert!(place.tillerman(&["sessions", "show", &id]).stdout.contains(" on 2 branches"));
    assert_eq!(place.tillerman(&["sessions", "tree", &id]).stdout.lines().count(), 8);

    let old = tip["entry"].as_str().unwrap();
    assert_eq!(place.tillerman(&["sessions", "switch", &id, old]).code, Some(0));
    assert_eq!(branches(&id)[0]["current"], true);
    let done = place.tillerman(&["sessions", "fork", &id, at]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let forked = ids(&place, &[])[0].clone();
    assert_ne!(forked, id);
    let shown = &rows(&place.tillerman(&["sessions", "show", &forked, "--json"]))[0];
    assert_eq!(shown["last"].as_array().unwrap().len(), 2);
    assert_eq!(place.tillerman(&["sessions", "branch", &id, "m999"]).code, Some(2));
}

fn rows_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// C16: looking needs no lock; what another program has open is not moved.
#[test]
fn sessions_are_looked_at_while_another_program_has_one_open() {
    let place = talked(&["one"]);
    let mut prompt = place.command(&["-c"]);
    let mut prompt = prompt.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut typed = prompt.stdin.take().unwrap();
    writeln!(typed, "17 * 4").unwrap();
    let mut shown = BufReader::new(prompt.stdout.take().unwrap()).lines();
    assert!(shown.any(|line| line.unwrap().contains("68")), "the prompt has answered");

    let id = ids(&place, &["list"])[0].clone();
    assert!(place.tillerman(&["sessions", "show", &id]).stdout.contains("17 * 4"));
    assert!(place.tillerman(&["sessions", "search", "17"]).stdout.contains(&id));
    let refused = place.tillerman(&["sessions", "delete", &id]);
    assert_eq!(refused.code, Some(7), "{}", refused.stderr);
    let whose = format!("is open in another tillerman (process {})", prompt.id());
    assert!(refused.stderr.contains(&whose), "{}", refused.stderr);
    drop(typed);
    for line in shown {
        line.unwrap();
    }
    prompt.wait().unwrap();
    assert_eq!(place.tillerman(&["sessions", "delete", &id]).code, Some(0));
}
