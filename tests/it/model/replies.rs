//! Whole replies in all wire formats: blocks, deltas, usage, why it stopped; and what a server may do differently.

use serde_json::json;
use tillerman::message::{Block, CallId, Message, Opaque, RawArgs, Role, Thinking, ToolCall, ToolResult, Usage};
use tillerman::model::{Delta, Reply, Stop};

use super::talk::{ALL, ANTHROPIC, Ask, CHAT, GEMINI, KEY, OLLAMA, RESPONSES, id_of, model, stream, told};
use crate::server::{Response, Says, Server, says};

fn call(id: &str, args: &str) -> Block {
    Block::Call(ToolCall { id: CallId(id.to_owned()), name: "shell".to_owned(), args: RawArgs(args.to_owned()) })
}

fn reply(blocks: Vec<Block>, stop: Stop) -> Reply {
    let usage = Usage { input: 10, output: 5, ..Usage::default() };
    Reply { message: Message { role: Role::Assistant, blocks }, usage, stop, model: id_of("any/model"), cost: None }
}

/// Asks once and answers the reply, but for who spoke and what it cost.
async fn ask(id: &str, response: impl Into<Response>) -> Reply {
    let server = Server::list([response.into()]);
    let (reply, _) = Ask::new([Message::user("hi")]).send(&model(&server, id)).await;
    let reply = reply.unwrap_or_else(|e| panic!("{id}: {e}"));
    assert_eq!(reply.model, id_of(id));
    Reply { model: id_of("any/model"), cost: None, ..reply }
}

/// The reply of an OpenAI stream of these chunks.
async fn openai(chunks: &[serde_json::Value]) -> Reply {
    let mut body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    body.push_str("data: [DONE]\n\n");
    ask(CHAT, Response::stream().send(body)).await
}

fn calls(pieces: serde_json::Value) -> serde_json::Value {
    json!({"choices": [{"index": 0, "delta": {"tool_calls": pieces}}]})
}

#[tokio::test]
async fn a_reply_comes_whole_and_in_pieces() {
    for id in ALL {
        let said = says().thinking("let me see", "sig").text("grüße 🛶").call("c1", "shell", json!({"command": "ls"}));
        let server = Server::list([said.usage(7, 100, 9)]);
        let (answer, deltas) = Ask::new([Message::user("hi")]).send(&model(&server, id)).await;
        let answer = answer.unwrap();
        let (thoughts, rest): (Vec<Block>, Vec<Block>) =
            answer.message.blocks.into_iter().partition(|block| matches!(block, Block::Thinking(_)));
        assert_eq!(rest, [Block::text("grüße 🛶"), call("c1", r#"{"command":"ls"}"#)], "{id}");
        assert!(matches!(&thoughts[0], Block::Thinking(t) if t.text == "let me see"), "{id}");
        // Ollama does not tell what its cache served.
        let (input, cache_read) = if id == OLLAMA { (107, 0) } else { (7, 100) };
        assert_eq!(answer.usage, Usage { input, output: 9, cache_read, ..Usage::default() }, "{id}");
        assert_eq!(answer.stop, Stop::ToolUse, "{id}");
        assert_eq!(told(&deltas), "grüße 🛶", "{id}");
        let thought: String = deltas.iter().map(|d| if let Delta::Thinking(t) = d { t.as_str() } else { "" }).collect();
        assert_eq!(thought, "let me see", "{id}");
        let opened = Delta::CallOpened { id: CallId("c1".to_owned()), name: "shell".to_owned() };
        assert_eq!(deltas.iter().filter(|delta| **delta == opened).count(), 1, "{id}");
    }
}

#[tokio::test]
async fn a_request_carries_the_key_and_nothing_else_does() {
    let bearer = ("authorization", "Bearer ");
    let headers =
        [(ANTHROPIC, ("x-api-key", "")), (RESPONSES, bearer), (CHAT, bearer), (GEMINI, ("x-goog-api-key", ""))];
    for (id, (name, prefix)) in headers {
        let server = Server::list([says().text("ok")]);
        Ask::new([Message::user("hi")]).send(&model(&server, id)).await.0.unwrap();
        let request = &server.requests()[0];
        assert_eq!(request.headers[name], format!("{prefix}{KEY}"));
        assert!(!request.contains(KEY) && !request.path.contains(KEY));
        assert!(request.streams());
        assert_eq!(request.system(), "be brief");
    }
}

/// A40.
#[tokio::test]
async fn stop_reasons_are_read() {
    let cases = [("end_turn", Stop::EndTurn), ("max_tokens", Stop::MaxTokens), ("refusal", Stop::Refusal)];
    for id in ALL {
        // Ollama has no word for a refusal.
        for (word, stop) in cases.into_iter().filter(|(word, _)| (id, *word) != (OLLAMA, "refusal")) {
            let answer = ask(id, says().text("so").stop(word)).await;
            assert_eq!(answer, reply(vec![Block::text("so")], stop), "{id} {word}");
        }
        let answer = ask(id, says().call("c", "shell", json!({})).stop("end_turn")).await;
        assert_eq!(answer.stop, Stop::ToolUse, "{id}: a call is a call, whatever the server says");
    }
}

/// A38.
#[tokio::test]
async fn a_call_cut_by_the_token_limit_is_dropped() {
    for id in ALL {
        let cut = says().text("now").call("c1", "shell", json!({"command": "a"})).call_raw(
            "c2",
            "shell",
            r#"{"command": "rm -"#,
        );
        let answer = ask(id, cut.stop("max_tokens")).await;
        let whole = vec![Block::text("now"), call("c1", r#"{"command":"a"}"#)];
        assert_eq!(answer, reply(whole, Stop::MaxTokens), "{id}");
        let bare = ask(id, says().call_raw("c1", "shell", "").stop("max_tokens")).await;
        assert_eq!(bare, reply(vec![], Stop::MaxTokens), "{id}");
    }
}

/// A32, A33.
#[tokio::test]
async fn ids_are_unique_in_a_message_and_across_turns() {
    for id in ALL {
        let twice = says().call("c", "shell", json!({})).call("c", "shell", json!({})).call("", "shell", json!({}));
        let server = Server::list([twice.clone(), twice]);
        let model = model(&server, id);
        let mut ask = Ask::new([Message::user("hi")]);
        let mut ids: Vec<String> = Vec::new();
        for _ in 0..2 {
            let (answer, deltas) = ask.send(&model).await;
            let message = answer.unwrap().message;
            let told = deltas.iter().filter_map(|d| if let Delta::CallOpened { id, .. } = d { Some(id) } else { None });
            let here: Vec<String> = message.calls().map(|call| call.id.to_string()).collect();
            assert_eq!(told.map(ToString::to_string).collect::<Vec<_>>(), here, "{id}");
            ids.extend(here.iter().cloned());
            ask.push(message);
            for call in here {
                let call = CallId(call);
                ask.push(Message::result(ToolResult {
                    call,
                    output: "ok".into(),
                    details: json!(null),
                    is_error: false,
                }));
            }
        }
        let mut unique = ids.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), 6, "{id}: {ids:?}");
        assert_eq!(ids[0], "c");
    }
}

#[tokio::test]
async fn the_proof_of_reasoning_is_kept() {
    let answer = ask(ANTHROPIC, says().thinking("hm", "sig-1").text("so")).await;
    let opaque = Opaque {
        provider: "anthropic".to_owned(),
        model: "claude-sonnet-5-5".to_owned(),
        data: json!({"signature": "sig-1"}),
    };
    let thinking = Block::Thinking(Thinking { text: "hm".to_owned(), opaque: Some(opaque) });
    assert_eq!(answer, reply(vec![thinking, Block::text("so")], Stop::EndTurn));
}

/// A34.
#[tokio::test]
async fn calls_are_assembled_by_index() {
    let answer = openai(&[
        calls(json!([{"index": 5, "id": "b", "function": {"name": "shell", "arguments": ""}}])),
        calls(json!([{"index": 2, "id": "a", "function": {"name": "shell", "arguments": "{\"x\""}}])),
        calls(json!([{"index": 5, "function": {"arguments": "{}"}}, {"index": 2, "function": {"arguments": ":1}"}}])),
    ])
    .await;
    assert_eq!(answer.message.blocks, [call("a", r#"{"x":1}"#), call("b", "{}")]);
}

#[tokio::test]
async fn sloppy_servers_are_understood() {
    // All at index 0, told apart by id; no index at all; arguments as an object; the name after the arguments.
    let same = [("a", 0), ("b", 0)].map(|(id, index)| {
        calls(json!([{"index": index, "id": id, "function": {"name": "shell", "arguments": "{}"}}]))
    });
    assert_eq!(openai(&same).await.message.blocks, [call("a", "{}"), call("b", "{}")]);
    let no_index = [
        calls(json!([{"id": "a", "function": {"name": "shell", "arguments": {"x": 1}}}])),
        calls(json!([{"id": "b", "function": {"arguments": "{\"y\""}}])),
        calls(json!([{"function": {"name": "shell", "arguments": ":2}"}}])),
    ];
    assert_eq!(openai(&no_index).await.message.blocks, [call("a", r#"{"x":1}"#), call("b", r#"{"y":2}"#)]);
    let parts =
        json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "so"}]);
    let answer =
        openai(&[json!({"choices": [{"delta": {"content": parts}, "finish_reason": "stop"}], "unknown": 1})]).await;
    assert_eq!(answer.message.text(), "so");
}

#[tokio::test]
async fn usage_is_read_wherever_it_stands() {
    let tokens = json!({"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 127, "prompt_cache_hit_tokens": 60,
        "completion_tokens_details": {"reasoning_tokens": 20}});
    let expected = Usage { input: 40, output: 27, cache_read: 60, cache_write: 0, reasoning: 20 };
    for chunk in [
        json!({"choices": [], "usage": tokens}),
        json!({"choices": [{"delta": {}, "finish_reason": "stop", "usage": tokens}]}),
        json!({"choices": [], "x_groq": {"usage": tokens}}),
    ] {
        assert_eq!(openai(std::slice::from_ref(&chunk)).await.usage, expected, "{chunk}");
    }
}

/// A30, A43.
#[tokio::test]
async fn an_answer_that_is_not_streamed_is_read_too() {
    let anthropic = json!({"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [
        {"type": "text", "text": "so"}, {"type": "from_the_future", "x": 1},
        {"type": "tool_use", "id": "c", "name": "shell", "input": {"command": "ls"}}],
        "usage": {"input_tokens": 10, "output_tokens": 5}});
    let openai = json!({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant",
        "content": "so", "tool_calls": [{"id": "c", "type": "function",
        "function": {"name": "shell", "arguments": "{\"command\":\"ls\"}"}}]}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5}});
    let responses = json!({"object": "response", "status": "completed", "error": null, "incomplete_details": null,
        "output": [{"type": "message", "id": "m", "role": "assistant",
            "content": [{"type": "output_text", "text": "so", "annotations": []}]},
            {"type": "from_the_future", "id": "f"},
            {"type": "function_call", "id": "i", "call_id": "c", "name": "shell",
                "arguments": "{\"command\":\"ls\"}"}],
        "usage": {"input_tokens": 10, "output_tokens": 5}});
    let gemini = json!({"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
        {"text": "so"}, {"fromTheFuture": {"x": 1}},
        {"functionCall": {"id": "c", "name": "shell", "args": {"command": "ls"}}}]}}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5}});
    let ollama = json!({"message": {"role": "assistant", "content": "so",
        "tool_calls": [{"id": "c", "function": {"name": "shell", "arguments": {"command": "ls"}}}]},
        "done": true, "done_reason": "stop", "prompt_eval_count": 10, "eval_count": 5});
    let expected = reply(vec![Block::text("so"), call("c", r#"{"command":"ls"}"#)], Stop::ToolUse);
    for (id, body) in ALL.into_iter().zip([anthropic, responses, openai, gemini, ollama]) {
        assert_eq!(ask(id, Response::status(200, &body.to_string())).await, expected, "{id}");
    }
}

/// The stream may end without its last word once the reply is complete; the connection is used again otherwise.
#[tokio::test]
async fn a_finished_reply_needs_no_last_word_and_frees_its_connection() {
    let said = says().text("so");
    // Responses ends with the only event that tells what it cost.
    let last_words = [
        (ANTHROPIC, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"),
        (RESPONSES, ""),
        (CHAT, "data: [DONE]\n\n"),
    ];
    for (id, last) in last_words {
        let whole = stream(id, &said);
        let without = whole.strip_suffix(last).unwrap();
        assert_eq!(
            ask(id, Response::stream().send(without).fin()).await,
            reply(vec![Block::text("so")], Stop::EndTurn)
        );
    }
    for id in ALL {
        let server = Server::list([said.clone(), said.clone(), said.clone()]);
        let model = model(&server, id);
        for _ in 0..3 {
            Ask::new([Message::user("hi")]).send(&model).await.0.unwrap();
        }
        assert_eq!(server.accepted(), 1, "{id}");
    }
}

#[tokio::test]
async fn a_model_that_says_nothing_says_nothing() {
    for id in ALL {
        assert_eq!(ask(id, says()).await, reply(vec![], Stop::EndTurn), "{id}");
        let empty: Says = says().text("");
        assert_eq!(ask(id, empty).await, reply(vec![], Stop::EndTurn), "{id}");
    }
}
