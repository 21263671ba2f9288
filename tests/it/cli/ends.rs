//! Exit codes: each one by what leads to it, with a sentence that says what to do.

use super::Place;
use crate::server::{Response, Server, says};

const MODEL: &str = "anthropic/test";
const KEY: (&str, &str) = ("ANTHROPIC_API_KEY", "sk-test-1");

/// Runs a prompt against a provider that answers so.
fn against(answers: impl FnMut() -> Response + Send + 'static) -> super::Done {
    let mut answers = answers;
    let server = Server::answer(move |_| answers());
    Place::new().tillerman_with(&["run", "hi", "-m", MODEL, "--base-url", &server.base_url()], &[KEY], "")
}

#[test]
fn an_answer_ends_with_0_and_is_all_of_stdout() {
    let done = against(|| Response::Says(says().text("Forty-two.")));
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Forty-two.\n"), "{}", done.stderr);
    assert!(done.stderr.contains("anthropic/test"), "{}", done.stderr);
}

#[test]
fn a_slip_on_the_command_line_ends_with_2() {
    let place = Place::new();
    for args in
        [&["run"][..], &["run", ""], &["run", "hi", "--jsno"], &["tasks", "shw"], &["-w", "nowhere", "run", "hi"]]
    {
        let done = place.tillerman(args);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{args:?} {}", done.stderr);
    }
    let done = place.tillerman(&["--session", "nosuch", "run", "hi"]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("nosuch"), "{}", done.stderr);
    let done = place.tillerman(&["fix the tests"]);
    assert!(done.stderr.contains("tillerman run"), "{}", done.stderr);
}

#[test]
fn a_missing_key_ends_with_3_and_names_the_variable() {
    let done = Place::new().tillerman(&["run", "hi", "-m", MODEL]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(3), ""));
    assert!(done.stderr.contains("ANTHROPIC_API_KEY"), "{}", done.stderr);
    let done = Place::new().tillerman(&["-m", "antropic/x", "run", "hi"]);
    assert_eq!(done.code, Some(3));
    assert!(done.stderr.contains("anthropic"), "{}", done.stderr);
}

#[test]
fn a_refused_key_ends_with_3_at_once() {
    let body = r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#;
    let done = against(move || Response::status(401, body));
    assert_eq!((done.code, done.stdout.as_str()), (Some(3), ""), "{}", done.stderr);
    assert!(done.stderr.contains("ANTHROPIC_API_KEY"), "{}", done.stderr);
    assert!(!done.stderr.contains(KEY.1), "{}", done.stderr);
    // A person knows the own key by its ends, and nobody else learns it from them.
    let server = Server::answer(move |_| Response::status(401, body));
    let key = ("ANTHROPIC_API_KEY", "sk-ant-0123456789-abcdef");
    let done = Place::new().tillerman_with(&["run", "hi", "-m", MODEL, "--base-url", &server.base_url()], &[key], "");
    let told = "ANTHROPIC_API_KEY (it begins with sk-, ends with def)";
    assert!(done.stderr.contains("401 from 127.0.0.1") && done.stderr.contains(told), "{}", done.stderr);
    assert_eq!((done.code, server.requests().len()), (Some(3), 1), "no second try: {}", done.stderr);
}

#[test]
fn a_request_that_the_provider_refuses_ends_with_1() {
    let body = r#"{"type":"error","error":{"type":"invalid_request_error","message":"no such field"}}"#;
    let done = against(move || Response::status(400, body));
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""), "{}", done.stderr);
}

#[test]
fn a_provider_that_stays_down_ends_with_4() {
    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"overloaded"}}"#;
    let done = against(move || Response::with(529, &[("retry-after-ms", "1")], body));
    assert_eq!((done.code, done.stdout.as_str()), (Some(4), ""), "{}", done.stderr);
    assert!(done.stderr.contains("attempt 2") && done.stderr.contains("overloaded"), "{}", done.stderr);
}

#[test]
fn a_conversation_that_fits_no_window_ends_with_5() {
    let message = "prompt is too long: 250000 tokens > 200000 maximum";
    let body = format!(r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"{message}"}}}}"#);
    let done = against(move || Response::status(400, &body));
    assert_eq!((done.code, done.stdout.as_str()), (Some(5), ""), "{}", done.stderr);
}

#[test]
fn the_turn_limit_ends_with_6_and_prints_the_summing_up() {
    let server = Server::answer(|request| {
        let tools = request.body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        let forbidden = request.body["tool_choice"]["type"] == "none" || !tools;
        let reply =
            if forbidden { says().text("Half done.") } else { says().call("c", "tasks", serde_json::json!({})) };
        Response::Says(reply)
    });
    let place = Place::new();
    std::fs::write(place.path().join("config.md"), "---\nmax_turns: 1\n---\n").unwrap();
    let args = ["run", "hi", "--trust", "-m", MODEL, "--base-url", &server.base_url()];
    let done = place.tillerman_with(&args, &[KEY], "");
    assert_eq!((done.code, done.stdout.as_str()), (Some(6), "Half done.\n"), "{}", done.stderr);
}

#[test]
fn a_second_program_in_the_same_workspace_ends_with_7_and_names_the_first() {
    let place = Place::new();
    let mut first = place.command(&[]);
    let mut first = first.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let state = place.home.path().join("workspaces");
    let locked = || {
        let folders = std::fs::read_dir(&state).into_iter().flatten().flatten();
        folders
            .into_iter()
            .any(|folder| std::fs::read_to_string(folder.path().join("lock")).is_ok_and(|text| !text.is_empty()))
    };
    super::wait_until("the first has the lock", locked);
    let done = place.tillerman(&["run", "hi"]);
    drop(first.stdin.take());
    assert!(first.wait().unwrap().success());
    assert_eq!(done.code, Some(7), "{}", done.stderr);
    assert!(done.stderr.contains(&first.id().to_string()), "{}", done.stderr);
}
