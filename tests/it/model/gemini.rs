//! Gemini's proofs of reasoning, each on its exact part, and its reasons to stop.

use serde_json::{Value, json};
use tillerman::message::{Block, CallId, Message, Opaque, RawArgs, Role, Thinking, ToolCall, ToolResult, Usage};
use tillerman::model::{Delta, Fault, Stop};

use super::talk::{ANTHROPIC, Ask, GEMINI, event, id_of, model};
use crate::server::{Captured, Response, Server, says};

const STAND_IN: &str = "skip_thought_signature_validator";

fn chunk(parts: Value, reason: Value) -> String {
    event(
        GEMINI,
        &json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason}]}).to_string(),
    )
}

fn stream(chunks: &[Value]) -> Response {
    let body: String = chunks.iter().map(|parts| chunk(parts.clone(), Value::Null)).collect();
    Response::stream().send(body).send(chunk(json!([]), json!("STOP"))).fin()
}

fn proof(of: &str, data: Value, text: &str) -> Block {
    let id = id_of(of);
    Block::Thinking(Thinking {
        text: text.to_owned(),
        opaque: Some(Opaque { provider: id.provider, model: id.model, data }),
    })
}

fn called(name: &str, sign: Option<&str>) -> Value {
    let mut part = json!({"functionCall": {"id": name, "name": "shell", "args": {"x": 1.0, "b": [], "a": "ü"}}});
    if let Some(sign) = sign {
        part["thoughtSignature"] = json!(sign);
    }
    part
}

fn result(id: &str) -> Message {
    let call = CallId(id.to_owned());
    Message::result(ToolResult { call, output: "fine".to_owned(), details: json!(null), is_error: false })
}

/// What a model answered, with its results and a word, in the next request as its parts.
async fn answered_and_sent_again(chunks: &[Value]) -> (Message, Value) {
    let server = Server::list([stream(chunks), says().text("ok").into()]);
    let model = model(&server, GEMINI);
    let mut ask = Ask::new([Message::user("hi")]);
    let message = ask.send(&model).await.0.unwrap().message;
    ask.push(message.clone());
    let calls: Vec<CallId> = message.calls().map(|call| call.id.clone()).collect();
    calls.iter().for_each(|call| ask.push(result(&call.0)));
    ask.push(Message::user("go on"));
    ask.send(&model).await.0.unwrap();
    (message, server.requests()[1].body["contents"][1]["parts"].clone())
}

#[tokio::test]
async fn a_proof_goes_back_on_the_part_that_it_came_on() {
    let signed = json!({"text": "lo", "thoughtSignature": "s2"});
    let (message, parts) = answered_and_sent_again(&[
        json!([{"text": "let ", "thought": true}]),
        json!([{"text": "me", "thought": true, "thoughtSignature": "s1"}]),
        json!([{"text": "hel"}]),
        json!([signed, {"text": " you"}]),
        json!([called("a", Some("s3")), called("b", None)]),
        json!([{"text": "", "thoughtSignature": "s4"}]),
    ])
    .await;
    assert_eq!(message.text(), "hello you");
    let expected = json!([
        {"text": "me", "thought": true, "thoughtSignature": "s1"},
        {"text": "hel"}, signed, {"text": " you"},
        called("a", Some("s3")), called("b", None),
        {"text": "", "thoughtSignature": "s4"},
    ]);
    assert_eq!(parts, expected);
    assert_eq!(message.blocks[3], proof(GEMINI, json!({"signature": "s2"}), ""));
    assert_eq!(message.blocks.last(), Some(&proof(GEMINI, json!({"signature": "s4", "alone": "text"}), "")));
}

fn spoken(blocks: Vec<Block>) -> Message {
    Message { role: Role::Assistant, blocks }
}

fn call(id: &str) -> Block {
    Block::Call(ToolCall { id: CallId(id.to_owned()), name: "shell".to_owned(), args: RawArgs("{}".to_owned()) })
}

/// The signatures of the first message that the model said.
fn signatures(request: &Captured) -> Vec<Value> {
    let parts = request.body["contents"][1]["parts"].as_array().unwrap();
    parts.iter().map(|part| part["thoughtSignature"].clone()).collect()
}

#[tokio::test]
async fn a_call_of_another_model_gets_the_stand_in() {
    let server = Server::list([says().text("ok")]);
    let said = spoken(vec![proof(ANTHROPIC, json!({"signature": "foreign"}), ""), call("a"), call("b")]);
    let ask = Ask::new([Message::user("hi"), said, result("a"), result("b")]);
    ask.send(&model(&server, GEMINI)).await.0.unwrap();
    assert_eq!(signatures(&server.requests()[0]), [json!(STAND_IN), Value::Null]);
    assert!(!server.requests()[0].contains("foreign"));
}

/// Once per call; what is said later keeps its proofs, and what was sent is sent again byte for byte.
#[tokio::test]
async fn refused_proofs_are_left_out_from_then_on() {
    let words = ["Invalid thought signature.", "Function call is missing a thought_signature in functionCall parts"];
    for words in words {
        let body = json!({"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}}).to_string();
        let server = Server::list([
            Response::status(400, &body),
            stream(&[json!([called("b", Some("new"))])]),
            says().text("ok").into(),
            Response::status(400, &body),
            Response::status(400, &body),
        ]);
        let model = model(&server, GEMINI);
        let said = spoken(vec![proof(GEMINI, json!({"signature": "old"}), ""), call("a")]);
        let mut ask = Ask::new([Message::user("hi"), said, result("a")]);
        let (reply, deltas) = ask.send(&model).await;
        assert!(matches!(&deltas[0], Delta::Retrying { attempt: 2, why, .. } if why.contains(words)), "{deltas:?}");
        ask.push(reply.unwrap().message);
        ask.push(result("b"));
        ask.send(&model).await.0.unwrap();
        let requests = server.requests();
        assert_eq!([&requests[0], &requests[1]].map(signatures), [[json!("old")], [json!(STAND_IN)]]);
        assert_eq!(requests[2].body["contents"][3]["parts"][0]["thoughtSignature"], "new");
        assert!(requests[2].raw.starts_with(requests[1].raw.strip_suffix(b"]}]}").unwrap()), "{words}");
        ask.push(Message::user("and?"));
        let error = ask.send(&model).await.0.expect_err("it refuses for good");
        assert_eq!((error.fault, server.requests().len()), (Fault::BadRequest, 5), "{error}");
    }
}

async fn ended(reason: &str) -> Result<(String, Stop), Fault> {
    let body = chunk(json!([{"text": "so"}]), Value::Null) + &chunk(json!([]), json!(reason));
    let server = Server::answer(move |_| Response::stream().send(&body).fin());
    let reply = Ask::new([Message::user("hi")]).send(&model(&server, GEMINI)).await.0;
    reply.map(|reply| (reply.message.text(), reply.stop)).map_err(|error| error.fault)
}

#[tokio::test]
async fn every_reason_to_stop_is_read() {
    for reason in ["STOP", "FUNCTION_CALL", "OTHER", "FINISH_REASON_UNSPECIFIED", "FROM_THE_FUTURE"] {
        assert_eq!(ended(reason).await, Ok(("so".to_owned(), Stop::EndTurn)), "{reason}");
    }
    for reason in ["MAX_TOKENS", "CONTINUATION"] {
        assert_eq!(ended(reason).await, Ok(("so".to_owned(), Stop::MaxTokens)), "{reason}");
    }
    for reason in ["SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "ESCALATION"] {
        assert_eq!(ended(reason).await, Ok(("so".to_owned(), Stop::Refusal)), "{reason}");
    }
    for reason in ["MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"] {
        assert_eq!(ended(reason).await, Err(Fault::Garbled), "{reason}");
    }
    assert_eq!(ended("MISSING_THOUGHT_SIGNATURE").await, Err(Fault::BadRequest));
}

#[tokio::test]
async fn a_blocked_prompt_is_a_refusal_and_figures_are_added_up() {
    let usage = json!({"promptTokenCount": 100, "cachedContentTokenCount": 60, "toolUsePromptTokenCount": 3,
        "candidatesTokenCount": 7, "thoughtsTokenCount": 20, "totalTokenCount": 130});
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": usage});
    let server = Server::list([Response::status(200, &json!([blocked]).to_string()), Response::status(200, "{}")]);
    let model = model(&server, GEMINI);
    let reply = Ask::new([Message::user("hi")]).send(&model).await.0.unwrap();
    assert_eq!((reply.message.text().as_str(), reply.stop), ("blocked: PROHIBITED_CONTENT", Stop::Refusal));
    assert_eq!(reply.usage, Usage { input: 43, output: 27, cache_read: 60, cache_write: 0, reasoning: 20 });
}
