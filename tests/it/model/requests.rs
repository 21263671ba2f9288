//! How conversations are written in all wire formats, and that what was sent once is sent again byte for byte.

use std::sync::Arc;

use serde_json::{Value, json};
use tillerman::message::{Block, CallId, Image, Message, Opaque, RawArgs, Role, Thinking, ToolCall, ToolResult};

use super::talk::{ALL, ANTHROPIC, Ask, CHAT, GEMINI, OLLAMA, RESPONSES, id_of, model, shell};
use crate::server::{Captured, Server, says};

pub fn assistant(blocks: Vec<Block>) -> Message {
    Message { role: Role::Assistant, blocks }
}

pub fn call(id: &str, args: &str) -> Block {
    Block::Call(ToolCall { id: CallId(id.to_owned()), name: "shell".to_owned(), args: RawArgs(args.to_owned()) })
}

pub fn result(id: &str, output: &str, is_error: bool) -> Message {
    let call = CallId(id.to_owned());
    Message::result(ToolResult { call, output: output.to_owned(), details: json!({"secret": 1}), is_error })
}

/// What reaches a provider when the conversation is sent.
pub async fn sent(id: &str, messages: Vec<Message>) -> Captured {
    let server = Server::answer(|_| says().text("ok").into());
    Ask::new(messages).send(&model(&server, id)).await.0.unwrap();
    server.requests().remove(0)
}

pub fn everything() -> Vec<Message> {
    vec![
        Message::user("first"),
        Message::user("  "),
        Message { role: Role::User, blocks: vec![Block::text("second"), image()] },
        assistant(vec![Block::text("on it"), call("a", r#"{"x": 1}"#), call("b", "{broken")]),
        result("a", "fine", false),
        Message::user("a note between the results"),
        result("b", "", true),
        assistant(vec![Block::text(" ")]),
        Message::user("and?"),
    ]
}

fn image() -> Block {
    Block::Image(Image { media_type: "image/png".to_owned(), data: "iVBORw0KGgo=".to_owned() })
}

#[tokio::test]
async fn a_conversation_is_written_for_anthropic() {
    let body = sent(ANTHROPIC, everything()).await.body;
    let text = |text: &str| json!({"type": "text", "text": text});
    let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="});
    let use_of = |id: &str, input: Value| json!({"type": "tool_use", "id": id, "name": "shell", "input": input});
    let user = json!([text("first"), text("second"), {"type": "image", "source": source}]);
    let said =
        json!([text("on it"), use_of("a", json!({"x": 1})), use_of("b", json!({"malformed_arguments": "{broken"}))]);
    let answers = json!([
        {"type": "tool_result", "tool_use_id": "a", "content": "fine"},
        {"type": "tool_result", "tool_use_id": "b", "content": "(no output)", "is_error": true},
        text("a note between the results"), text("and?")
    ]);
    let expected = json!({
        "model": "claude-sonnet-5-5", "max_tokens": 1000, "stream": true, "cache_control": {"type": "ephemeral"},
        "thinking": {"type": "adaptive"}, "system": "be brief",
        "tools": [{"name": "shell", "description": "runs a command", "input_schema": shell().schema}],
        "messages": [{"role": "user", "content": user}, {"role": "assistant", "content": said},
            {"role": "user", "content": answers}]
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_conversation_is_written_for_chat_completions() {
    let body = sent(CHAT, everything()).await.body;
    let function = |args: &str| json!({"name": "shell", "arguments": args});
    let calls = json!([{"id": "a", "type": "function", "function": function(r#"{"x": 1}"#)},
        {"id": "b", "type": "function", "function": function(r#"{"malformed_arguments":"{broken"}"#)}]);
    let parts = json!([{"type": "text", "text": "second"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]);
    let expected = json!({
        "model": "gpt-6.1-sol", "max_completion_tokens": 1000, "stream": true,
        "stream_options": {"include_usage": true}, "prompt_cache_key": "s1",
        "tools": [{"type": "function",
            "function": {"name": "shell", "description": "runs a command", "parameters": shell().schema}}],
        "messages": [
            {"role": "developer", "content": "be brief"},
            {"role": "user", "content": "first"},
            {"role": "user", "content": parts},
            {"role": "assistant", "content": "on it", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "a", "content": "fine"},
            {"role": "tool", "tool_call_id": "b", "content": "(no output)"},
            {"role": "user", "content": "a note between the results"},
            {"role": "assistant", "content": " "},
            {"role": "user", "content": "and?"}
        ]
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_conversation_is_written_for_gemini() {
    let request = sent(GEMINI, everything()).await;
    assert_eq!(request.path, "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse");
    let text = |text: &str| json!({"text": text});
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}});
    let call = |id: &str, args: Value| json!({"id": id, "name": "shell", "args": args});
    let first =
        json!({"functionCall": call("a", json!({"x": 1})), "thoughtSignature": "skip_thought_signature_validator"});
    let second = json!({"functionCall": call("b", json!({"malformed_arguments": "{broken"}))});
    let result = |id: &str, said: Value| json!({"functionResponse": {"id": id, "name": "shell", "response": said}});
    let declared = json!({"name": "shell", "description": "runs a command", "parametersJsonSchema": shell().schema});
    let expected = json!({
        "generationConfig": {"maxOutputTokens": 1000, "thinkingConfig": {"includeThoughts": true}},
        "systemInstruction": {"parts": [text("be brief")]},
        "tools": [{"functionDeclarations": [declared]}],
        "contents": [
            {"role": "user", "parts": [text("first"), text("second"), image]},
            {"role": "model", "parts": [text("on it"), first, second]},
            {"role": "user", "parts": [result("a", json!({"output": "fine"})),
                result("b", json!({"error": "(no output)"})), text("a note between the results"), text("and?")]}
        ]
    });
    assert_eq!(request.body, expected);
}

#[tokio::test]
async fn a_conversation_is_written_for_ollama() {
    let request = sent(OLLAMA, everything()).await;
    assert_eq!(request.path, "/api/chat");
    let call = |id: &str, args: Value| json!({"id": id, "function": {"name": "shell", "arguments": args}});
    let calls = json!([call("a", json!({"x": 1})), call("b", json!({"malformed_arguments": "{broken"}))]);
    let result =
        |id: &str, said: &str| json!({"role": "tool", "tool_name": "shell", "tool_call_id": id, "content": said});
    let expected = json!({
        "model": "qwen3", "stream": true, "truncate": false, "shift": false,
        "options": {"num_ctx": 32768, "num_predict": 1000},
        "tools": [{"type": "function",
            "function": {"name": "shell", "description": "runs a command", "parameters": shell().schema}}],
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "first"},
            {"role": "user", "content": "second", "images": ["iVBORw0KGgo="]},
            {"role": "assistant", "content": "on it", "tool_calls": calls},
            result("a", "fine"),
            result("b", "(no output)"),
            {"role": "user", "content": "a note between the results"},
            {"role": "assistant", "content": " "},
            {"role": "user", "content": "and?"}
        ]
    });
    assert_eq!(request.body, expected);
}

#[tokio::test]
async fn quirks_of_a_provider_are_heeded() {
    let spoken = vec![
        Message::user("hi"),
        assistant(vec![call("functions.shell:0", "{}")]),
        result("functions.shell:0", "x", false),
    ];
    let body = sent("mistral/mistral-large-4", spoken.clone()).await.body;
    assert_eq!((&body["max_tokens"], &body["stream_options"]), (&json!(1000), &Value::Null));
    let id = body["messages"][2]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()), "{id}");
    assert_eq!(body["messages"][3]["tool_call_id"], id);
    let body = sent("deepseek/deepseek-v4-pro", spoken.clone()).await.body;
    assert_eq!(body["messages"][2]["reasoning_content"], "", "a thinking model wants the field on every message");
    let request = sent("openrouter/moonshot/kimi", spoken.clone()).await;
    assert_eq!(request.headers["x-title"], "tillerman");
    let body = sent(ANTHROPIC, spoken).await.body;
    let id = body["messages"][1]["content"][0]["id"].as_str().unwrap();
    assert!(id.starts_with("functions_shell_0_") && id.len() <= 64, "{id}");
}

fn thought(id: &str, data: Value) -> Block {
    let id = id_of(id);
    let opaque = Some(Opaque { provider: id.provider, model: id.model, data });
    Block::Thinking(Thinking { text: "hm".to_owned(), opaque })
}

#[tokio::test]
async fn reasoning_goes_back_only_to_the_model_that_wrote_it() {
    let spoken =
        |block: Block| vec![Message::user("hi"), assistant(vec![block, Block::text("so")]), Message::user("go on")];
    let cases = [
        (
            ANTHROPIC,
            json!({"signature": "s"}),
            "content",
            json!({"type": "thinking", "thinking": "hm", "signature": "s"}),
        ),
        (ANTHROPIC, json!({"redacted": "r"}), "content", json!({"type": "redacted_thinking", "data": "r"})),
        ("deepseek/deepseek-v4-pro", json!({}), "reasoning_content", json!("hm")),
        ("openrouter/a/b", json!({"details": [{"type": "x"}]}), "reasoning_details", json!([{"type": "x"}])),
    ];
    for (id, data, field, expected) in cases {
        let said = |request: Captured| {
            let messages = request.body["messages"].as_array().unwrap().clone();
            messages.into_iter().find(|message| message["role"] == "assistant").unwrap()[field].clone()
        };
        let own = said(sent(id, spoken(thought(id, data.clone()))).await);
        assert!(own == expected || own[0] == expected, "{id}: {own}");
        let other = said(sent(id, spoken(thought("anthropic/claude-other", data))).await);
        let nothing = [Value::Null, json!(""), json!([{"type": "text", "text": "so"}])];
        assert!(nothing.contains(&other), "{id}: {other}");
    }
}

/// DeepSeek, OpenRouter and Gemini get back what they sent; details that came in pieces are whole again.
#[tokio::test]
async fn reasoning_survives_a_round_trip() {
    let detail = |text: &str, more: Value| {
        let mut detail = json!({"type": "reasoning.text", "index": 0, "text": text});
        detail.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"choices": [{"delta": {"reasoning": text, "reasoning_details": [detail]}}]})
    };
    let signed = json!([{"index": 0, "id": "c", "function": {"name": "shell", "arguments": "{}"},
        "extra_content": {"google": {"thought_signature": "g"}}}]);
    let streams = [
        (
            "openrouter/a/b",
            vec![detail("h", json!({})), detail("m", json!({"signature": "s"}))],
            "/reasoning_details",
            json!([{"type": "reasoning.text", "index": 0, "text": "hm", "signature": "s"}]),
        ),
        (
            "deepseek/deepseek-v4-pro",
            vec![json!({"choices": [{"delta": {"reasoning_content": "hm"}}]})],
            "/reasoning_content",
            json!("hm"),
        ),
        (
            "openai-chat/gemini-by-its-other-door",
            vec![json!({"choices": [{"delta": {"tool_calls": signed}}]})],
            "/tool_calls/0/extra_content",
            json!({"google": {"thought_signature": "g"}}),
        ),
    ];
    for (id, chunks, field, expected) in streams {
        let mut body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        body.push_str(
            "data: {\"choices\":[{\"delta\":{\"content\":\"so\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        );
        let mut first = true;
        let server = Server::answer(move |_| {
            let stream = crate::server::Response::stream().send(&body);
            if std::mem::take(&mut first) { stream } else { says().text("ok").into() }
        });
        let model = model(&server, id);
        let mut ask = Ask::new([Message::user("hi")]);
        let message = ask.send(&model).await.0.unwrap().message;
        let calls: Vec<CallId> = message.calls().map(|call| call.id.clone()).collect();
        ask.push(message);
        calls.iter().for_each(|call| ask.push(result(&call.0, "x", false)));
        ask.push(Message::user("go on"));
        ask.send(&model).await.0.unwrap();
        let said = server.requests()[1].body["messages"][2].clone();
        assert_eq!(said.pointer(field), Some(&expected), "{id}: {said}");
    }
}

#[tokio::test]
async fn a_turn_without_tools_still_names_those_of_the_conversation() {
    let choices = [
        (ANTHROPIC, Value::Null, json!({"type": "none"})),
        (RESPONSES, json!("auto"), json!("none")),
        (CHAT, Value::Null, json!("none")),
        (GEMINI, Value::Null, json!({"functionCallingConfig": {"mode": "NONE"}})),
    ];
    for (id, free, none) in choices {
        let field = if id == GEMINI { "toolConfig" } else { "tool_choice" };
        let server = Server::answer(|_| says().text("ok").into());
        let model = model(&server, id);
        let mut ask = Ask::new([Message::user("hi")]);
        ask.send(&model).await.0.unwrap();
        ask.tools.clear();
        ask.send(&model).await.0.unwrap();
        let requests = server.requests();
        assert_eq!(requests[0].body["tools"], requests[1].body["tools"], "{id}");
        assert_eq!((&requests[0].body[field], &requests[1].body[field]), (&free, &none), "{id}");
        ask.key = "another conversation".to_owned();
        ask.send(&model).await.0.unwrap();
        assert_eq!(server.requests()[2].body.get("tools"), None, "{id}");
    }
}

/// Every request begins with all of the request before it, but for the brackets that close it.
#[tokio::test]
async fn what_was_sent_is_sent_again_byte_for_byte() {
    for id in ALL {
        let server = Server::answer(|request| match request.results().len() {
            0 => {
                let seal = format!("s{}", request.turns());
                says().thinking("hm", &seal).call("c", "shell", json!({"command": "ls", "b": [1, 2]})).into()
            }
            _ => says().text("so").into(),
        });
        let model = model(&server, id);
        let mut ask = Ask::new([Message::user("hi")]);
        for turn in 0..8 {
            let message = ask.send(&model).await.0.unwrap().message;
            let calls: Vec<CallId> = message.calls().map(|call| call.id.clone()).collect();
            ask.push(message);
            calls.iter().for_each(|call| ask.push(result(&call.0, "fine", false)));
            if calls.is_empty() {
                ask.push(Message::user(format!("and {turn}?")));
            }
        }
        let requests = server.requests();
        for pair in requests.windows(2) {
            let parts = [ANTHROPIC, GEMINI].contains(&id);
            let before = pair[0].raw.strip_suffix(if parts { b"]}]}".as_slice() } else { b"]}".as_slice() });
            assert!(pair[1].raw.starts_with(before.unwrap()), "{id}");
        }
        // A new instance, which has nothing kept, says the same.
        let fresh = super::talk::model(&server, id);
        ask.messages.truncate(ask.messages.len() - 2);
        ask.send(&fresh).await.0.unwrap();
        let last = server.requests().pop().unwrap();
        assert_eq!(requests.last().unwrap().body, last.body, "{id}");
        assert!(requests.last().unwrap().raw == last.raw, "{id}: the same, but not in its bytes");
    }
}

#[tokio::test]
async fn conversations_do_not_mix_and_a_changed_beginning_is_seen() {
    for id in ALL {
        let server = Server::answer(|_| says().text("ok").into());
        let model = model(&server, id);
        let mut one = Ask::new([Message::user("one")]);
        let mut two = Ask::new([Message::user("two")]);
        two.key = "s2".to_owned();
        for _ in 0..2 {
            for ask in [&mut one, &mut two] {
                let message = ask.send(&model).await.0.unwrap().message;
                ask.push(message);
                ask.push(Message::user("more"));
            }
        }
        let last = server.requests().pop().unwrap();
        assert!(last.contains("\"two\"") && !last.contains("\"one\""), "{id}");
        // The same name, another beginning: shortened, replaced, branched.
        for messages in [
            vec![Message::user("summary")],
            vec![Message::user("two"), assistant(vec![Block::text("no")]), Message::user("x")],
        ] {
            two.messages = messages.into_iter().map(Arc::new).collect();
            two.send(&model).await.0.unwrap();
            let seen = server.requests().pop().unwrap();
            let alone = sent(id, two.messages.iter().map(|m| (**m).clone()).collect()).await;
            assert_eq!(seen.messages(), alone.messages(), "{id}");
        }
    }
}

/// S2-22, S2-72: a conversation that begins with a summary in the model's role, merged with what the model said next.
#[tokio::test]
async fn s2_22_a_model_that_speaks_first_is_written_as_each_format_takes_it() {
    let assistant_first =
        || vec![Message::assistant("[Summary]\nx"), Message::assistant("and"), Message::user("go on")];
    let body = sent(CHAT, assistant_first()).await.body;
    let roles = |list: &Value| list.as_array().unwrap().iter().map(|m| m["role"].clone()).collect::<Vec<_>>();
    assert_eq!(roles(&body["messages"]), ["developer", "assistant", "assistant", "user"]);
    let begins = "(The beginning is summed up.)";
    let messages = &sent(ANTHROPIC, assistant_first()).await.body["messages"];
    assert_eq!(roles(messages), ["user", "assistant", "user"]);
    assert_eq!(messages[0]["content"], json!([{"type": "text", "text": begins}]));
    let contents = &sent(GEMINI, assistant_first()).await.body["contents"];
    assert_eq!(roles(contents), ["user", "model", "user"]);
    assert_eq!(contents[0]["parts"], json!([{"text": begins}]));
    for id in [RESPONSES, OLLAMA] {
        sent(id, assistant_first()).await;
    }
}
