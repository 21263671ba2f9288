//! A conversation with a model is recorded and played again without one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use super::{Done, Place};
use crate::server::{Response, Server, says};

const KEY: &str = "sk-a-key-that-nobody-may-read";

/// Two workers side by side, of which the second ends when the first is told of; reasoning with a proof, an overloaded
/// server in the middle, a placeholder that is none, and a model that says the key.
fn story(told: &Path) -> Server {
    let (mut overloaded, told) = (false, told.to_owned());
    Server::answer(move |request| {
        let is_worker = request.system().contains("Your task directory");
        let results = request.results();
        let user = request.last_user();
        match (is_worker, results.first()) {
            (true, None) => says().call("w1", "shell", json!({"command": "cat notes.txt"})).into(),
            (true, Some((_, output))) => {
                let text = says().text(format!("Done: {}", output.lines().next().unwrap())).anthropic();
                let waits = request.system().contains("/t_002");
                let stream = Response::stream();
                if waits { stream.hold(&told).send(text) } else { stream.send(text) }
            }
            (false, None) if user.contains("[Worker completed t_001]") => {
                fs::write(&told, "").unwrap();
                says().text("The first is done.").into()
            }
            (false, None) if user.contains("[Worker completed t_002]") => says().text("The second is done.").into(),
            (false, None) => says()
                .thinking("Two of them.", "proof-1")
                .text("I hand it out. {{user}}")
                .call("c1", "dispatch", json!({"title": "one", "task": format!("read it, {KEY}")}))
                .call("c2", "dispatch", json!({"title": "two", "task": "read it as well"}))
                .usage(100, 20, 30)
                .into(),
            (false, Some(_)) if !std::mem::replace(&mut overloaded, true) => {
                Response::status(529, r#"{"type":"error","error":{"type":"overloaded_error","message":"overloaded"}}"#)
            }
            (false, Some(_)) => says().text("Both are at work.").into(),
        }
    })
}

/// Records the story; answers what was printed and the file.
fn record(place: &Place) -> (Done, String) {
    let server = story(&place.home.path().join("told"));
    fs::write(place.path().join("notes.txt"), "buy milk\n").unwrap();
    let file = place.home.path().join("story.json").display().to_string();
    let args = ["run", "--wait", "--record", &file, "-m", "anthropic/claude-sonnet-5-5", "--base-url"];
    let url = server.base_url();
    let args: Vec<&str> = args.into_iter().chain([url.as_str(), "please hand this out\nto two workers"]).collect();
    let done = place.tillerman_with(&args, &[("ANTHROPIC_API_KEY", KEY)], "");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    (done, file)
}

/// The exchanges of a recording by agent, without what depends on the clock.
fn without_times(file: &str) -> Vec<Value> {
    let recording: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let mut exchanges = recording["fixtures"].as_array().unwrap().clone();
    for exchange in &mut exchanges {
        exchange.as_object_mut().unwrap().remove("latency");
        exchange["response"].as_object_mut().unwrap().remove("retryAfter");
        exchange["recorded"].as_object_mut().unwrap().remove("after");
    }
    exchanges.sort_by_key(|exchange| exchange["recorded"]["agent"].to_string());
    exchanges
}

fn calls(lines: &[Value]) -> Vec<(Value, Value, Value)> {
    let started = lines.iter().filter(|line| line["type"] == "tool.start");
    let mut calls: Vec<_> =
        started.map(|line| (line["agent"].clone(), line["name"].clone(), line["args"].clone())).collect();
    calls.sort_by_key(|call| format!("{call:?}"));
    calls
}

#[test]
fn a_recorded_conversation_is_played_again_without_its_server() {
    let place = Place::new();
    let (done, file) = record(&place);
    assert!(done.stdout.ends_with("The first is done.\nThe second is done.\n"), "{}", done.stdout);
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains(KEY) && text.contains("read it, [secret ANTHROPIC_API_KEY]"), "{text}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    // In a folder with the same notes, and with no key and no server.
    let again = Place::new();
    fs::write(again.path().join("notes.txt"), "buy milk\n").unwrap();
    let copy = again.home.path().join("again.json").display().to_string();
    let workspace = again.path().display().to_string();
    let args = ["replay", &file, "--fast", "-w", &workspace, "--record", &copy];
    let replayed = again.tillerman(&args);
    assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
    assert_eq!(replayed.stdout, done.stdout);
    assert_eq!(without_times(&copy), without_times(&file));

    // And once more in a folder of its own, as a program would read it.
    let json = again.tillerman(&["replay", &copy, "--fast", "--json"]);
    assert_eq!(json.code, Some(0), "{}", json.stderr);
    let lines = json.lines();
    let called = calls(&lines);
    assert_eq!(called.len(), 4, "{called:?}");
    assert!(called.iter().any(|(agent, name, _)| agent == "t_002" && name == "shell"), "{called:?}");
    let retries: Vec<_> = lines.iter().filter(|line| line["type"] == "retry").collect();
    assert_eq!(retries.len(), 1, "{retries:?}");
    assert!(retries[0]["message"].as_str().unwrap().contains("529"), "{retries:?}");
}

#[test]
fn lines_of_the_prompt_and_numbers_of_tasks_are_those_of_the_recording() {
    let place = Place::new();
    let first = place.tillerman(&["run", "--wait", "dispatch before: echo earlier"]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let file = place.home.path().join("two.json").display().to_string();
    let recorded = place.tillerman_with(&["--record", &file], &[], "2 * 21\ndispatch later: echo counted\n");
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    assert!(recorded.stdout.starts_with("2 * 21 = 42\n") && recorded.stdout.contains("t_002"), "{}", recorded.stdout);

    let again = Place::new();
    let replayed = again.tillerman(&["replay", &file, "--fast"]);
    assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
    assert_eq!(replayed.stdout, recorded.stdout);
    assert!(replayed.stderr.contains("✓ t_002 done"), "{}", replayed.stderr);
    // Where tasks would have other numbers, nothing is played.
    let workspace = again.path().display().to_string();
    let elsewhere = again.tillerman(&["replay", &file, "--fast", "-w", &workspace]);
    let said = "tasks get numbers from t_001 on here and had them from t_002 on in the recording";
    assert_eq!(elsewhere.code, Some(2), "{}", elsewhere.stderr);
    assert!(elsewhere.stderr.contains(said), "{}", elsewhere.stderr);
}

#[test]
fn what_cannot_be_recorded_or_played_is_refused_with_what_to_do() {
    let place = Place::new();
    fs::write(place.path().join("mine.json"), "mine").unwrap();
    for (args, said) in [
        (&["run", "--record", "mine.json", "hi"][..], "mine.json is there already and not empty; record into another"),
        (&["run", "--record", "no/such/folder.json", "hi"], "cannot record into no/such/folder.json"),
        (&["tasks", "--record", "a.json"], "--record is for the prompt, for run, rpc and replay"),
        (&["replay", "mine.json"], "mine.json:1:1: the file"),
        (&["replay", "none.json"], "cannot read the script none.json"),
    ] {
        let done = place.tillerman(args);
        assert_eq!(done.code, Some(2), "{}", done.stderr);
        assert!(done.stderr.contains(said), "{}", done.stderr);
    }
    assert_eq!(fs::read_to_string(place.path().join("mine.json")).unwrap(), "mine");
}
