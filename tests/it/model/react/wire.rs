//! Tools in words over a wire, and servers that refuse tools.

use std::sync::Arc;

use serde_json::{Value, json};
use tillerman::message::{CallId, Message, ToolResult};
use tillerman::model::react::React;
use tillerman::model::{Delta, Fault, Model};

use super::{blocks, question};
use crate::model::talk::{ALL, CHAT, model};
use crate::server::{Response, Server, says};

#[tokio::test]
async fn nothing_of_tools_goes_over_the_wire() {
    for id in ALL {
        let server = Server::list([
            says().text("Thought: look\nAction: read\nAction Input: {\"path\": \"a\"}\nObservation: made up"),
            says().text("Thought: so\nFinal Answer: It says b."),
        ]);
        let react: Arc<dyn Model> = Arc::new(React::new(model(&server, id)));
        let mut ask = question();
        let reply = ask.send(&react).await.0.unwrap();
        let call = reply.message.calls().next().unwrap().id.clone();
        ask.push(reply.message);
        ask.push(Message::result(ToolResult { call, output: "b".into(), details: Value::Null, is_error: false }));
        let reply = ask.send(&react).await.0.unwrap();
        assert_eq!(blocks(&reply.message), ["thought so", "text It says b."], "{id}");
        let requests = server.requests();
        for request in &requests {
            assert!(
                request.body.get("tools").is_none() && request.body.get("tool_choice").is_none(),
                "{}",
                request.body
            );
            assert!(request.system().contains("## read") || request.contains("## read"), "{}", request.body);
        }
        assert_eq!(requests[1].last_user(), "Observation: b", "{id}");
        let text = |request: &crate::server::Captured| String::from_utf8_lossy(&request.raw).into_owned();
        let (first, second) = (text(&requests[0]), text(&requests[1]));
        let same = first.bytes().zip(second.bytes()).take_while(|(a, b)| a == b).count();
        assert!(first.len() - same < 8, "the second request begins with the first: {same} of {}", first.len());
    }
}

#[tokio::test]
async fn a_server_that_refuses_tools_is_asked_in_words_from_then_on() {
    let refusals = [
        (400, "registry.ollama.ai/library/gemma3 does not support tools"),
        (500, "tools param requires --jinja flag"),
        (400, "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"),
        (404, "No endpoints found that support tool use."),
    ];
    for (status, why) in refusals {
        let server = Server::answer(move |request| match request.body.get("tools") {
            Some(_) => Response::status(status, &json!({"error": {"message": why}}).to_string()),
            None => says().text("Action: now").into(),
        });
        let react: Arc<dyn Model> = Arc::new(React::when_refused(model(&server, CHAT)));
        let (reply, deltas) = question().send(&react).await;
        assert_eq!(blocks(&reply.unwrap().message), ["now {}"], "{why}");
        let [Delta::Retrying { attempt: 2, wait, why: told }, Delta::CallOpened { .. }] = deltas.as_slice() else {
            panic!("{deltas:?}");
        };
        assert!(
            wait.is_zero() && told.contains(why) && told.ends_with("(`protocol: react`), which is done from now on"),
            "{told}"
        );
        assert_eq!(question().send(&react).await.1.len(), 1, "the second time it is not tried");
        assert_eq!(server.requests().len(), 3);
    }
}

#[tokio::test]
async fn a_server_that_takes_tools_gets_them() {
    let server = Server::list([says().call("c1", "now", json!({}))]);
    let react: Arc<dyn Model> = Arc::new(React::when_refused(model(&server, CHAT)));
    let reply = question().send(&react).await.0.unwrap();
    assert_eq!(reply.message.calls().next().unwrap().id, CallId("c1".into()));
    assert_eq!(server.requests()[0].body["tools"].as_array().map(Vec::len), Some(4));
    let server = Server::list([Response::status(400, r#"{"error": {"message": "no such field"}}"#)]);
    let react: Arc<dyn Model> = Arc::new(React::when_refused(model(&server, CHAT)));
    assert_eq!(
        question().send(&react).await.0.expect_err("a fault").fault,
        Fault::BadRequest,
        "and no other fault counts"
    );
}
