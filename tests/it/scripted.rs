//! The scripted model: replies in order, fixture files, placeholders, pace and faults.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tillerman::message::{Block, CallId, Message, Opaque, RawArgs, Thinking, ToolCall, ToolResult, ToolSpec, Usage};
use tillerman::model::scripted::{Asked, Scripted, Step};
use tillerman::model::{Delta, Fault, Model, ModelError, Reply, Request, Stop};
use tokio::time::Instant;

/// Asks a model and keeps what it streamed.
async fn ask(model: &Scripted, messages: &[Message]) -> (Vec<Delta>, Result<Reply, ModelError>) {
    let messages: Vec<Arc<Message>> = messages.iter().cloned().map(Arc::new).collect();
    let tools =
        [ToolSpec { name: "shell".into(), description: "runs".into(), schema: json!({}).into(), read_only: false }];
    let request =
        Request { system: "You are main.", messages: &messages, tools: &tools, max_tokens: 100, cache_key: "s" };
    let mut deltas = Vec::new();
    let reply = model.reply(request, &mut |delta| deltas.push(delta)).await;
    (deltas, reply)
}

/// The text of the reply, or the fault and its message.
async fn text(model: &Scripted, messages: &[Message]) -> Result<String, (Fault, String)> {
    let (_, reply) = ask(model, messages).await;
    reply.map(|reply| reply.message.text()).map_err(|error| (error.fault, error.message))
}

fn said(model: &Scripted, message: Message, usage: Usage, stop: Stop) -> Reply {
    Reply { message, usage, stop, model: model.id().clone(), cost: None }
}

fn script(fixtures: serde_json::Value) -> Scripted {
    Scripted::from_text("t.json", &json!({ "fixtures": fixtures }).to_string()).unwrap()
}

fn result(call: &str, output: &str) -> Message {
    Message::result(ToolResult {
        call: CallId(call.into()),
        output: output.into(),
        details: json!(null),
        is_error: false,
    })
}

fn call(id: &str, name: &str, args: &str) -> Block {
    Block::Call(ToolCall { id: CallId(id.into()), name: name.into(), args: RawArgs(args.into()) })
}

fn assistant(blocks: Vec<Block>) -> Message {
    Message { blocks, ..Message::assistant("") }
}

#[tokio::test]
async fn s0_62_each_call_pops_a_reply_and_the_end_is_a_clear_error() {
    let model = Scripted::replies(["one", "two"]);
    let line = [Message::user("hello")];
    assert_eq!(text(&model, &line).await, Ok("one".into()));
    assert_eq!(text(&model, &line).await, Ok("two".into()));
    let over = "the script is over: it holds 2 replies and this is call 3";
    assert_eq!(text(&model, &line).await, Err((Fault::BadRequest, over.into())));
    let shown = Asked {
        system: "You are main.".into(),
        messages: vec![Arc::new(line[0].clone())],
        tools: vec!["shell".into()],
    };
    assert_eq!(model.asked(), vec![shown.clone(), shown.clone(), shown]);
}

#[tokio::test]
async fn a_step_streams_what_its_reply_holds() {
    let usage = Usage { input: 10, output: 5, ..Usage::default() };
    let step = Step::says("hellö world").after_thinking("hm").and_calls("shell", json!({"command": "ls"}));
    let model = Scripted::replies([step.in_chunks(6).with_usage(usage)]);
    let (deltas, reply) = ask(&model, &[Message::user("x"), Message::assistant("y"), Message::user("z")]).await;
    let opened = Delta::CallOpened { id: CallId("call_1_2".into()), name: "shell".into() };
    assert_eq!(
        deltas,
        [Delta::Thinking("hm".into()), Delta::Text("hellö ".into()), Delta::Text("world".into()), opened]
    );
    let blocks = vec![
        Block::Thinking(Thinking { text: "hm".into(), opaque: None }),
        Block::text("hellö world"),
        call("call_1_2", "shell", r#"{"command":"ls"}"#),
    ];
    assert_eq!(reply.unwrap(), said(&model, assistant(blocks), usage, Stop::ToolUse));
}

#[tokio::test(start_paused = true)]
async fn latency_is_waited_before_each_piece() {
    let model = script(json!([{ "latency": 40, "chunkSize": 2, "response": { "content": "abcdef" } }]));
    let start = Instant::now();
    let (deltas, _) = ask(&model, &[Message::user("x")]).await;
    assert_eq!((deltas.len(), start.elapsed()), (3, Duration::from_millis(120)));
}

#[tokio::test]
async fn a_truncated_reply_ends_as_a_lost_connection() {
    let model = script(json!([{ "chunkSize": 2, "truncateAfterChunks": 2, "response": { "content": "abcdef" } }]));
    let (deltas, reply) = ask(&model, &[Message::user("x")]).await;
    assert_eq!(deltas, [Delta::Text("ab".into()), Delta::Text("cd".into())]);
    assert_eq!(reply.unwrap_err().fault, Fault::Network);
}

#[tokio::test]
async fn the_example_of_the_format_plays_turn_by_turn() {
    let model = script(json!([
        {"match": {"userMessage": "read notes", "hasToolResult": false},
         "response": {"reasoning": "Look first.", "reasoningSignature": "sig-abc",
            "toolCalls": [{"id": "call_1", "name": "read_file", "arguments": {"path": "notes.txt"}}],
            "usage": {"prompt_tokens": 111, "completion_tokens": 22, "input_tokens": 111, "output_tokens": 22,
                "promptTokenCount": 111, "candidatesTokenCount": 22}}},
        {"match": {"userMessage": "read notes", "hasToolResult": true}, "response": {"content": "They say: {{result}}."}}
    ]));
    let (_, reply) = ask(&model, &[Message::user("please read notes")]).await;
    let opaque = Opaque { provider: "scripted".into(), model: "t.json".into(), data: json!("sig-abc") };
    let blocks = vec![
        Block::Thinking(Thinking { text: "Look first.".into(), opaque: Some(opaque) }),
        call("call_1", "read_file", r#"{"path":"notes.txt"}"#),
    ];
    let usage = Usage { input: 111, output: 22, ..Usage::default() };
    let reply = reply.unwrap();
    assert_eq!(reply, said(&model, assistant(blocks), usage, Stop::ToolUse));
    let on = [Message::user("please read notes"), reply.message, result("call_1", "buy milk")];
    assert_eq!(text(&model, &on).await, Ok("They say: buy milk.".into()));
}

#[tokio::test]
async fn every_field_of_a_match_decides() {
    let user = Message::user("hello");
    let first = [user.clone()];
    let ended = [user, assistant(vec![call("c", "shell", "{}")]), result("c", "exit 0")];
    let noted = [ended.to_vec(), vec![Message::user("and now?")]].concat();
    let table = [
        (json!({}), &first[..], true),
        (json!({"userMessage": "ell"}), &first, true),
        (json!({"userMessage": "ELL"}), &first, false),
        (json!({"systemMessage": ["You", "main"]}), &first, true),
        (json!({"systemMessage": ["You", "worker"]}), &first, false),
        (json!({"systemMessage": "worker"}), &first, false),
        (json!({"toolName": "shell"}), &first, true),
        (json!({"toolName": "sh"}), &first, false),
        (json!({"turnIndex": 0}), &first, true),
        (json!({"turnIndex": 1}), &first, false),
        (json!({"hasToolResult": true}), &ended, true),
        (json!({"hasToolResult": false}), &ended, false),
        (json!({"toolResultContains": "exit 0"}), &ended, true),
        (json!({"toolResultContains": "exit 1"}), &ended, false),
        (json!({"hasToolResult": true}), &noted, false),
        (json!({"toolResultContains": "exit 0"}), &noted, false),
    ];
    for (when, messages, fits) in table {
        let model = script(json!([{ "match": when, "response": { "content": "yes" } }]));
        assert_eq!(text(&model, messages).await.is_ok(), fits, "{when} on {} messages", messages.len());
    }
}

#[tokio::test]
async fn a_sequence_counts_for_all_fixtures_with_the_same_match() {
    let model = script(json!([
        {"match": {"userMessage": "flaky", "sequenceIndex": 0},
         "response": {"error": {"message": "overloaded", "type": "overloaded_error"}, "status": 529}},
        {"match": {"userMessage": "flaky", "sequenceIndex": 1}, "response": {"content": "recovered"}}
    ]));
    let line = [Message::user("a flaky one")];
    assert_eq!(text(&model, &line).await, Err((Fault::Unavailable, "overloaded (status 529)".into())));
    assert_eq!(text(&model, &line).await, Ok("recovered".into()));
    let (fault, why) = text(&model, &line).await.unwrap_err();
    assert_eq!(fault, Fault::BadRequest);
    assert_eq!(
        why,
        "none of the 2 fixtures of t.json fits (user text \"a flaky one\", 0 tool results since, turnIndex 0); \
         2 would, but their sequenceIndex has passed or is yet to come"
    );
}

#[tokio::test]
async fn a_status_means_what_it_means_at_a_provider() {
    let table = [
        (401, "", Fault::Auth),
        (402, "", Fault::Billing),
        (404, "", Fault::NoSuchModel),
        (400, "", Fault::BadRequest),
        (400, "context_length_exceeded", Fault::Overflow),
        (429, "rate_limit_error", Fault::RateLimited),
        (429, "insufficient_quota", Fault::Billing),
        (503, "", Fault::Unavailable),
        (529, "overloaded_error", Fault::Unavailable),
    ];
    for (status, kind, fault) in table {
        let error = json!({"error": {"message": "no", "type": kind}, "status": status, "retryAfter": 3});
        let (_, reply) = ask(&script(json!([{ "response": error }])), &[Message::user("x")]).await;
        let error = reply.unwrap_err();
        assert_eq!((error.fault, error.retry_after), (fault, Some(Duration::from_secs(3))), "{status} {kind}");
    }
}

#[tokio::test]
async fn placeholders_quote_the_conversation_also_inside_arguments() {
    let model = script(json!([{ "response": {
        "content": "{{ user | /t_\\d+/ }}: {{result.0}} {{result.1 | /exit (\\d)/}} {{other}}",
        "toolCalls": [{"name": "load", "arguments": {"path": ["{{user | /t_\\d+/}}/\"r\""]}}, {"name": "x", "arguments": "{oops"}]
    }}]));
    let calls = assistant(vec![call("a", "shell", "{}"), call("b", "shell", "{}")]);
    let (_, reply) = ask(&model, &[calls, result("a", "fine"), result("b", "exit 3")]).await;
    assert_eq!(
        reply.unwrap_err().message,
        "fixtures[0] of t.json: {{ user | /t_\\d+/ }} matches nothing in the text it quotes"
    );
    let messages = [
        Message::user("[Worker completed t_007]"),
        assistant(vec![call("a", "shell", "{}"), call("b", "shell", "{}")]),
        result("a", "fine"),
        result("b", "exit 3"),
    ];
    let (_, reply) = ask(&model, &messages).await;
    let expected = vec![
        Block::text("t_007: fine 3 {{other}}"),
        call("call_1_1", "load", r#"{"path":["t_007/\"r\""]}"#),
        call("call_1_2", "x", "{oops"),
    ];
    assert_eq!(reply.unwrap().message, assistant(expected));
    let (fault, why) =
        text(&script(json!([{ "response": {"content": "{{result.4}}"} }])), &messages).await.unwrap_err();
    assert_eq!(
        (fault, why.as_str()),
        (
            Fault::BadRequest,
            "fixtures[0] of t.json: {{result.4}} has no value: the latest tool results are 2, counted from 0"
        )
    );
}

#[tokio::test]
async fn a_finish_reason_and_blocks_are_taken_as_written() {
    let model = script(json!([{ "response": { "finishReason": "length", "blocks": [
        {"type": "text", "text": "a"}, {"type": "toolCall", "name": "shell", "arguments": {}}, {"type": "text", "text": "b"}
    ]}}]));
    let (_, reply) = ask(&model, &[Message::user("x")]).await;
    let blocks = vec![Block::text("a"), call("call_0_1", "shell", "{}"), Block::text("b")];
    assert_eq!(reply.unwrap(), said(&model, assistant(blocks), Usage::default(), Stop::MaxTokens));
}

#[test]
fn a_broken_file_is_named_with_line_column_and_field() {
    let table = [
        (
            "{\"fixtures\":[\n {\"response\":{\"content\":1}}]}",
            "bad.json:2:25: fixtures[0].response.content: invalid type",
        ),
        ("{\"fixtures\":[\n {\"response\":{}}]}", "bad.json:2:16: fixtures[0].response: it answers nothing"),
        (
            "{\"fixtures\":[{\"match\":{\"usermessage\":\"x\"},\"response\":{\"content\":\"\"}}]}",
            "bad.json:1:36: fixtures[0].match.usermessage: unknown field `usermessage`",
        ),
        (
            "{\"fixtures\":[{\"response\":{\"content\":\"{{user | /(/}}\"}}]}",
            "bad.json:1:54: fixtures[0].response: {{user | /(/}} has a pattern",
        ),
        (
            "{\"fixtures\":[{\"response\":{\"error\":{\"message\":\"x\"},\"status\":200}}]}",
            "bad.json:1:64: fixtures[0].response: `status` 200 is no error",
        ),
        (
            "{\"fixtures\":[{\"chunkSize\":0,\"response\":{\"content\":\"\"}}]}",
            "bad.json:1:27: fixtures[0].chunkSize: ",
        ),
        ("{\"fixtures\":[", "bad.json:1:13: fixtures: EOF"),
        ("", "bad.json:1:0: the file: EOF"),
        ("{\"fixtures\":[]} x", "bad.json:1:17: the end: trailing characters"),
    ];
    for (text, expected) in table {
        let error = Scripted::from_text("bad.json", text).err().unwrap().to_string();
        assert!(error.starts_with(expected), "{text}\n is: {error}\nnot: {expected}");
    }
}

#[test]
fn a_script_that_is_not_there_or_no_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("none.json");
    let error = Scripted::from_file(&missing).err().unwrap().to_string();
    assert!(error.starts_with(&format!("cannot read the script {}: ", missing.display())), "{error}");
    let error = Scripted::from_file(dir.path()).err().unwrap().to_string();
    assert_eq!(error, format!("cannot read the script {}: it is not a regular file", dir.path().display()));
}
