//! A provider that refuses, is down or says nothing, and a model that calls tools badly: what a person is told.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::{KEY, Stage, WIRES, Wire, files_with, is_main};
use crate::server::{Captured, Response, says};

/// A01.
#[test]
fn a_wrong_key_ends_at_once_and_is_shown_nowhere() {
    let body = format!(r#"{{"type":"error","error":{{"type":"authentication_error","message":"invalid key {KEY}"}}}}"#);
    // Ollama has no key.
    for wire in WIRES.into_iter().filter(|wire| *wire != Wire::Ollama) {
        let body = body.clone();
        let stage = Stage::new(wire, move |_| Response::status(401, &body));
        let done = stage.run(&["hi"]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(3), ""), "{}", done.stderr);
        assert!(done.stderr.contains(wire.variable()), "{wire:?}: the variable is named: {}", done.stderr);
        assert!(done.stderr.contains("127.0.0.1"), "{wire:?}: the host is named: {}", done.stderr);
        assert_eq!(stage.server.requests().len(), 1, "{wire:?}: it is not tried again");
        let json = stage.run(&["--json", "hi"]);
        assert_eq!(json.code, Some(3));
        for text in [&done.stderr, &json.stdout, &json.stderr] {
            assert!(!text.contains(KEY), "{text}");
        }
        assert_eq!(files_with(stage.place.home.path(), KEY), Vec::<String>::new());
        assert_eq!(files_with(stage.place.path(), KEY), [stage.place.path().join(".env").display().to_string()]);
    }
}

#[test]
fn lines_of_a_pipe_end_with_the_code_of_the_last_fault() {
    let refusals = [
        (401, r#"{"error":{"message":"no such key","type":"authentication_error"}}"#, 3),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 9 tokens","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            5,
        ),
        (400, r#"{"error":{"message":"no such field","type":"invalid_request_error"}}"#, 1),
    ];
    for (status, body, code) in refusals {
        let stage = Stage::new(Wire::OpenAi, move |_| Response::status(status, body));
        let url = stage.wire.base_url(&stage.server);
        let args = ["--trust", "-m", stage.wire.model(), "--base-url", &url];
        let done = stage.place.tillerman_with(&args, &[], "hi\n");
        assert_eq!((done.code, done.stdout.as_str()), (Some(code), ""), "{}", done.stderr);
    }
}

#[test]
fn a_key_that_a_command_prints_is_in_no_request() {
    let command = json!({"command": "env; cat .env >/dev/null; echo seen"});
    let stage = Stage::new(Wire::Anthropic, move |request| match request.turns() {
        0 => says().call("c1", "shell", command.clone()).into(),
        _ => says().text("ok").into(),
    });
    let url = stage.wire.base_url(&stage.server);
    let args = ["run", "-m", stage.wire.model(), "--base-url", &url, "what is set?"];
    let done = stage.place.tillerman_with(&args, &[(stage.wire.variable(), KEY)], "");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(stage.server.requests()[1].contains("seen"));
    assert!(!stage.server.requests().iter().any(|request| request.contains(KEY)));
}

#[test]
fn a_worker_whose_provider_refuses_fails_and_the_main_agent_says_so() {
    let stage = Stage::new(Wire::OpenAi, |request| match is_main(request) {
        false => Response::status(400, r#"{"error":{"message":"no such field","type":"invalid_request_error"}}"#),
        true if request.last_user().starts_with("[Worker failed t_001]") => says().text("It failed.").into(),
        true if request.results().is_empty() => says().call("d1", "dispatch", json!({"task": "count"})).into(),
        true => says().text("On it.").into(),
    });
    let done = stage.run(&["--wait", "count"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "On it.\nIt failed.\n"), "{}", done.stderr);
    let result = stage.read(".tasks/t_001/result.md");
    assert!(result.contains("status: failed") && result.contains("no such field"), "{result}");
}

/// A41.
#[test]
fn a_model_that_says_nothing_is_asked_once_more_and_ends_with_1() {
    for wire in WIRES {
        let stage = Stage::new(wire, |_| says().into());
        let done = stage.run(&["hi"]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""), "{}", done.stderr);
        assert!(done.stderr.contains(wire.model()), "{wire:?}: {}", done.stderr);
        let requests = stage.server.requests();
        assert_eq!(requests.len(), 2, "{wire:?}");
        assert!(requests[1].last_user().contains("empty"), "{}", requests[1].last_user());
    }
}

#[test]
fn a_model_that_says_nothing_once_is_forgiven() {
    for wire in WIRES {
        let asked = AtomicUsize::new(0);
        let stage = Stage::new(wire, move |_| match asked.fetch_add(1, Ordering::SeqCst) {
            0 => says().into(),
            _ => says().text("Sorry, hello.").into(),
        });
        let done = stage.run(&["hi"]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Sorry, hello.\n"), "{}", done.stderr);
    }
}

/// One bad call after the other; each is answered, and then the model gets it right.
fn clumsy(request: &Captured) -> Response {
    let reply = match request.turns() {
        0 => says().call_raw("c0", "read_file", r#"{"path": "no"#),
        1 => says().call("c1", "read_file", json!({"path": 7, "offset": "far", "colour": "red"})),
        2 => says().call("c2", "raed_file", json!({"path": "notes.txt"})),
        3 => says().call("c3", "read_file", json!({"path": "nowhere.txt"})),
        4 => says().call("c4", "read_file", json!({"path": "latin1.txt"})),
        5 => says().call("c5", "read_file", json!({"path": "notes.txt"})),
        _ => says().text("Read."),
    };
    reply.into()
}

/// A35, A36, A37.
#[test]
fn bad_calls_are_answered_with_what_is_wrong_and_the_model_goes_on() {
    for wire in WIRES {
        let stage = Stage::new(wire, clumsy);
        stage.write("notes.txt", "remember the milk\n");
        std::fs::write(stage.place.path().join("latin1.txt"), b"caf\xe9 au lait\n").unwrap();
        let done = stage.run(&["read my notes"]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Read.\n"), "{}", done.stderr);
        let requests = stage.server.requests();
        let heard: Vec<String> = requests[1..].iter().map(|request| request.results()[0].1.clone()).collect();
        let expected: [&[&str]; 6] = [
            &["JSON"],
            &["offset", "far"],
            &["raed_file", "read_file"],
            &["nowhere.txt"],
            &["latin1.txt", "UTF-8"],
            &["remember the milk"],
        ];
        for (heard, expected) in heard.iter().zip(expected) {
            for word in expected {
                assert!(heard.contains(word), "{wire:?}: no {word} in {heard}");
            }
        }
    }
}

/// A14, A19, A31: what a reply that broke off wanted to be done is not done, and the one after it is done once.
#[test]
fn a_call_of_a_reply_that_breaks_off_is_run_once_and_shown_once() {
    for wire in WIRES {
        let said = says().text("I count.").call("c1", "shell", json!({"command": "echo ran >> ran.txt"}));
        let whole = wire.stream(&said);
        let half = whole[..whole.find("comma").unwrap()].rfind(wire.end()).unwrap() + wire.end().len();
        let call = whole.find("ran.txt").unwrap();
        let call = call + whole[call..].find(wire.end()).unwrap() + wire.end().len();
        let busy = r#"{"type":"error","error":{"type":"overloaded_error","code":529,"message":"Overloaded"}}"#;
        let busy = if wire == Wire::Ollama { format!("{busy}\n") } else { format!("event: error\ndata: {busy}\n\n") };
        // The third has sent all of the call, only not that the reply ends with it.
        let breaks = [
            wire.opened().send(&whole[..half]).send(&busy).fin(),
            wire.opened().send(&whole[..half]).rst(),
            wire.opened().send(&whole[..call]).send(&busy).fin(),
        ];
        for broken in breaks {
            let first = AtomicUsize::new(0);
            let said = said.clone();
            let stage =
                Stage::new(wire, move |request| match (request.turns(), first.fetch_add(1, Ordering::SeqCst)) {
                    (0, 0) => broken.clone(),
                    (0, _) => said.clone().into(),
                    _ => says().text("Counted.").into(),
                });
            let done = stage.run(&["count"]);
            assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Counted.\n"), "{wire:?}: {}", done.stderr);
            assert_eq!(stage.read("ran.txt"), "ran\n", "{wire:?}");
            let told = stage.server.requests()[2].body.to_string();
            assert_eq!(told.matches("I count.").count(), 1, "{wire:?}: {told}");
        }
    }
}
