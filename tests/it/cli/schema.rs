//! `run -o FILE` and `run --json-schema FILE`: the last answer in a file, and an answer that is valid JSON.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::{Done, Place};
use crate::server::{Response, Server, says};

const KEY: (&str, &str) = ("ANTHROPIC_API_KEY", "sk-test-1");

/// Runs `run` with these words against models that say so, one after the other.
fn run(place: &Place, server: &Server, words: &[&str]) -> Done {
    let url = server.base_url();
    let line = [&["run", "-m", "anthropic/x", "--base-url", &url], words].concat();
    place.tillerman_with(&line, &[KEY], "")
}

fn place() -> Place {
    let place = Place::new();
    let schema = json!({
        "type": "object", "required": ["answer"], "additionalProperties": false,
        "properties": {"answer": {"type": "integer", "minimum": 1}},
    });
    fs::write(place.path().join("schema.json"), schema.to_string()).unwrap();
    place
}

#[test]
fn the_last_answer_is_in_the_file_whole_and_nothing_is_left_beside_it() {
    let place = Place::new();
    let server = Server::list([says().text("First."), says().text("Second.")]);
    let file = place.path().join("answer.txt");
    let done = run(&place, &server, &["one", "-o", "answer.txt"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "First.\n"), "{}", done.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), "First.\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("answer.txt", place.path().join("link")).unwrap();
    let done = run(&place, &server, &["two", "--json", "--output", "link"]);
    assert_eq!(done.lines().last().unwrap()["result"], "Second.");
    assert_eq!(fs::read_to_string(&file).unwrap(), "Second.\n");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(place.path().join("link")).unwrap().is_symlink());
    let mut names: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(
        names,
        [".tasks", "answer.txt", "link"].map(std::ffi::OsString::from)
            [usize::from(!place.path().join(".tasks").exists())..]
    );
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_a_model_is_asked() {
    let place = Place::new();
    let server = Server::answer(|_| Response::Says(says().text("never")));
    fs::write(place.path().join("plain"), "").unwrap();
    for file in [".", "no/such/folder.txt", "plain/below.txt"] {
        let done = run(&place, &server, &["hi", "-o", file]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{}", done.stderr);
        assert!(done.stderr.contains(&format!("cannot write {file}")), "{}", done.stderr);
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn without_an_answer_the_file_is_as_it_was() {
    let place = Place::new();
    fs::write(place.path().join("answer.txt"), "old").unwrap();
    let server = Server::answer(|_| Response::status(400, "{}"));
    let done = run(&place, &server, &["hi", "-o", "answer.txt"]);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(done.stderr.contains("there is no answer, so answer.txt is left as it was"), "{}", done.stderr);
    assert_eq!(fs::read_to_string(place.path().join("answer.txt")).unwrap(), "old");
}

#[test]
fn a_pipe_or_device_is_written_through() {
    let place = Place::new();
    let server = Server::list([says().text("Fine.")]);
    let done = run(&place, &server, &["hi", "-o", "/dev/null"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Fine.\n"), "{}", done.stderr);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn a_valid_answer_is_all_of_stdout_and_a_wrong_one_is_sent_back() {
    let place = place();
    let replies =
        ["Forty-two!", "Here it is:\n```json\n{\"answer\": 0, \"why\": 1}\n```", "```json\n{\"answer\": 42}\n```"];
    let server = Server::list(replies.map(|reply| says().text(reply)));
    let done = run(&place, &server, &["how much?", "--json-schema", "schema.json", "-o", "a.json"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "{\"answer\": 42}\n"), "{}", done.stderr);
    assert_eq!(fs::read_to_string(place.path().join("a.json")).unwrap(), "{\"answer\": 42}\n");
    let told: Vec<String> = server.requests().iter().map(|request| request.last_user()).collect();
    let [asked, first, second] = told.as_slice() else { panic!("{told:?}") };
    assert!(asked.starts_with("how much?\n\n") && asked.contains(r#""minimum":1"#), "{asked}");
    assert!(first.contains("it is not JSON: expected"), "{first}");
    assert!(second.contains("/answer: 0 is less than the minimum of 1") && second.contains("'why'"), "{second}");
}

#[test]
fn json_lines_have_the_valid_answer_as_a_value() {
    let place = place();
    let replies = || Server::list(["{\"answer\": 2}"].map(|reply| says().text(reply)));
    let done = run(&place, &replies(), &["?", "--json", "--output-schema", "schema.json"]);
    let end = done.lines().pop().unwrap();
    assert_eq!((&end["structured"], &end["result"]), (&json!({"answer": 2}), &json!("{\"answer\": 2}")));
    let done = run(&place, &replies(), &["?", "--json=claude", "--json-schema", "schema.json"]);
    let end: Value = serde_json::from_str(done.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&end["structured_output"], &end["subtype"]), (&json!({"answer": 2}), &json!("success")));
}

#[test]
fn after_two_more_tries_the_run_has_failed_and_says_why() {
    let place = place();
    let server = Server::answer(|_| Response::Says(says().text("{\"answer\": \"no\"}")));
    let done = run(&place, &server, &["?", "--json-schema", "schema.json", "-o", "a.json"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""), "{}", done.stderr);
    assert!(done.stderr.contains("/answer: \"no\" is not of type \"integer\""), "{}", done.stderr);
    assert_eq!(server.requests().len(), 3);
    assert!(!place.path().join("a.json").exists());
}

#[test]
fn a_limit_of_turns_ends_it_before_it_is_valid() {
    let place = place();
    let server = Server::answer(|_| Response::Says(says().call("c", "tasks", json!({})).text("Not yet.")));
    let done = run(&place, &server, &["?", "--json-schema", "schema.json", "--max-turns", "1", "--ephemeral"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(6), ""), "{}", done.stderr);
}

#[test]
fn a_schema_that_is_none_is_told_with_its_line_or_keyword() {
    let place = Place::new();
    let server = Server::answer(|_| Response::Says(says().text("never")));
    let wrong = [
        ("{\n\"type\": ,\n}", "line 2 column 9"),
        (r#"{"type": "integr"}"#, "/type"),
        (r#"{"properties": {"a": {"minimum": "x"}}}"#, "/properties/a/minimum"),
        (r#"{"$ref": "https://example.com/elsewhere.json"}"#, "example.com"),
    ];
    for (schema, named) in wrong {
        fs::write(place.path().join("bad.json"), schema).unwrap();
        let done = run(&place, &server, &["hi", "--json-schema", "bad.json"]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{schema}: {}", done.stderr);
        assert!(done.stderr.contains("bad.json") && done.stderr.contains(named), "{schema}: {}", done.stderr);
    }
    let done = run(&place, &server, &["hi", "--json-schema", "nowhere.json"]);
    assert!(done.code == Some(2) && done.stderr.contains("nowhere.json"), "{}", done.stderr);
    assert_eq!(server.requests().len(), 0);
}
