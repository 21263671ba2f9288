//! Models that take no tools: the program tells them of its tools in words, because a setting says so or because their
//! server refuses.

use serde_json::json;

use super::{Stage, WIRES, Wire, turns};
use crate::server::{Captured, Response, says};

/// No tools are in the body, and the system prompt tells of them.
fn is_in_words(request: &Captured) -> bool {
    let body = &request.body;
    body.get("tools").is_none()
        && body.get("tool_choice").is_none()
        && request.contains("Final Answer: what the person")
}

/// Reads the notes and tells what they say, in words.
fn reader(request: &Captured) -> Response {
    let reply = match turns(request) {
        0 => says().text(
            "Thought: I look.\n**Action:** read_file\n**Action Input:** {\"path\": \"notes.txt\"}\nObservation: empty",
        ),
        _ if request.last_user().starts_with("Observation: ") && request.last_user().contains("buy milk") => {
            says().text("Thought: Now I know.\nFinal Answer: Buy milk.")
        }
        _ => says().text("Final Answer: I saw nothing."),
    };
    reply.into()
}

#[test]
fn a_setting_has_tools_called_in_words() {
    for wire in WIRES {
        let stage = Stage::new(wire, reader);
        stage.write("config.md", "---\nprotocol: react\n---\n");
        stage.write("notes.txt", "buy milk\n");
        let done = stage.run(&["read my notes"]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Buy milk.\n"), "{}", done.stderr);
        assert!(done.stderr.contains("read_file"), "the call is shown: {}", done.stderr);
        let requests = stage.server.requests();
        assert!(requests.len() == 2 && requests.iter().all(is_in_words), "{wire:?}");
        let system = |request: &Captured| request.body["system"].to_string() + &request.body["messages"][0].to_string();
        assert_eq!(system(&requests[0]), system(&requests[1]));
    }
}

#[test]
fn a_server_that_refuses_tools_is_told_of_them_without_a_setting() {
    for wire in WIRES {
        let stage = Stage::new(wire, |request| match is_in_words(request) {
            true => reader(request),
            false => {
                let why = "registry.ollama.ai/library/gemma3:270m does not support tools";
                Response::status(400, &json!({"error": {"message": why, "type": "api_error"}}).to_string())
            }
        });
        stage.write("notes.txt", "buy milk\n");
        let done = stage.run(&["read my notes"]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Buy milk.\n"), "{}", done.stderr);
        assert!(done.stderr.contains("does not support tools"), "{}", done.stderr);
        assert_eq!(stage.server.requests().len(), 3, "{wire:?}: refused once, and then never again");
        stage.write("config.md", "---\nprotocol: native\n---\n");
        let done = stage.run(&["read my notes"]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(3), ""), "{}", done.stderr);
        assert!(done.stderr.contains("`protocol: react`"), "{}", done.stderr);
    }
}

#[test]
fn workers_are_dispatched_and_work_in_words() {
    let stage = Stage::new(Wire::OpenAi, |request| {
        let reply = match (request.contains("## dispatch"), turns(request)) {
            (true, 0) => says().text("Action: dispatch\nAction Input: {\"task\": \"read the notes\"}"),
            (true, 1) => says().text("Final Answer: On it."),
            (true, _) => says().text("Final Answer: They say: buy milk."),
            (false, _) => return reader(request),
        };
        reply.into()
    });
    stage.write("config.md", "---\nprotocol: react\n---\n");
    stage.write("notes.txt", "buy milk\n");
    let done = stage.run(&["--wait", "have my notes read"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "On it.\nThey say: buy milk.\n"), "{}", done.stderr);
    assert!(stage.read(".tasks/t_001/result.md").contains("Buy milk."));
    assert!(stage.server.requests().iter().all(is_in_words));
}

/// S4-17.
#[test]
fn s4_17_temperature_tokens_and_the_system_prompt_are_set() {
    let stage = Stage::new(Wire::OpenAi, |_| says().text("Final Answer: Hi.").into());
    stage.write("config.md", "---\nprotocol: react\ntemperature: 0.7\n---\n");
    stage.write("prompts/main.md", "You are a pirate.\n");
    assert_eq!(stage.run(&["hi"]).stdout, "Hi.\n");
    let request = stage.server.requests().remove(0);
    assert_eq!((&request.body["temperature"], &request.body["max_output_tokens"]), (&json!(0.7), &json!(4096)));
    assert!(request.system().starts_with("You are a pirate.\n"), "{}", request.system());
}
