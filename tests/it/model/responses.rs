//! OpenAI Responses: what goes out, what comes back in all the ways that servers tell it, and what is sent again.

use serde_json::{Value, json};
use tillerman::message::{Block, CallId, Message, Opaque, RawArgs, Thinking, ToolCall, Usage};
use tillerman::model::{Fault, ModelError, Reply, Stop};

use super::requests::{assistant, call, everything, result, sent};
use super::talk::{Ask, CHAT, RESPONSES, id_of, model, shell, told};
use crate::server::{Response, Server, says};

/// A stream from the documented shapes: a summary in two parts, a comment, two calls side by side.
const TWO_CALLS: &str = include_str!("streams/responses_two_calls.sse");

fn stream(events: &[Value]) -> Response {
    let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    Response::stream().send(events)
}

/// What comes of a stream of these events, whose end follows when there is none.
async fn read(events: &[Value]) -> Result<Reply, ModelError> {
    let ends = ["completed", "incomplete", "failed"].map(|end| json!(format!("response.{end}")));
    let mut events = events.to_vec();
    if !events.iter().any(|event| ends.contains(&event["type"])) {
        events.push(json!({"type": "response.completed", "response": {"status": "completed"}}));
    }
    let server = Server::list([stream(&events), Response::status(400, r#"{"error": {"message": "once"}}"#)]);
    let model = model(&server, RESPONSES);
    let (reply, deltas) = Ask::new([Message::user("hi")]).send(&model).await;
    if let Ok(reply) = &reply {
        assert_eq!(told(&deltas), reply.message.text(), "what was told is what was said");
    }
    reply
}

async fn blocks(events: &[Value]) -> Vec<Block> {
    read(events).await.unwrap_or_else(|e| panic!("{events:?}: {e}")).message.blocks
}

fn event(kind: &str, fields: Value) -> Value {
    let mut event = json!({"type": format!("response.{kind}")});
    event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    event
}

fn done(index: usize, item: Value) -> Value {
    event("output_item.done", json!({"output_index": index, "item": item}))
}

fn text(text: &str) -> Value {
    json!({"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

fn function(call: &str, args: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{call}"), "call_id": call, "name": "shell", "arguments": args})
}

fn reasoning(seal: &str) -> Value {
    json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": seal, "status": null})
}

fn proof(text: &str, data: Value) -> Block {
    let id = id_of(RESPONSES);
    let opaque = Some(Opaque { provider: id.provider, model: id.model, data });
    Block::Thinking(Thinking { text: text.to_owned(), opaque })
}

#[tokio::test]
async fn a_conversation_is_written_for_responses() {
    let request = sent(RESPONSES, everything()).await;
    let user = |parts: Value| json!({"type": "message", "role": "user", "content": parts});
    let said = |text: &str| json!({"type": "output_text", "text": text});
    let heard = |text: &str| json!({"type": "input_text", "text": text});
    let function =
        |id: &str, args: &str| json!({"type": "function_call", "call_id": id, "name": "shell", "arguments": args});
    let output = |id: &str, text: &str| json!({"type": "function_call_output", "call_id": id, "output": text});
    let image = json!({"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw0KGgo="});
    let expected = json!({
        "model": "gpt-6.1-sol", "max_output_tokens": 1000, "stream": true, "store": false, "prompt_cache_key": "s1",
        "include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"}, "instructions": "be brief",
        "tools": [{"type": "function", "name": "shell", "description": "runs a command",
            "parameters": shell().schema, "strict": false}],
        "tool_choice": "auto", "parallel_tool_calls": true,
        "input": [
            user(json!([heard("first")])),
            user(json!([heard("second"), image])),
            {"type": "message", "role": "assistant", "content": [said("on it")]},
            function("a", r#"{"x": 1}"#),
            function("b", r#"{"malformed_arguments":"{broken"}"#),
            output("a", "fine"),
            output("b", "(no output)"),
            user(json!([heard("a note between the results")])),
            {"type": "message", "role": "assistant", "content": [said(" ")]},
            user(json!([heard("and?")])),
        ]
    });
    assert_eq!(request.body, expected);
    assert_eq!(request.path, "/v1/responses");
}

#[tokio::test]
async fn limits_of_the_provider_are_kept() {
    let server = Server::list([says().text("ok"), says().text("ok")]);
    let model = model(&server, "openai/a-model-that-nobody-listed");
    let named = ToolCall { id: CallId("c d".to_owned()), name: "multi.use".to_owned(), args: RawArgs(String::new()) };
    let mut ask = Ask::new([Message::user("hi"), assistant(vec![Block::Call(named)]), result("c d", "x", false)]);
    ask.send(&model).await.0.unwrap();
    ask.tools.clear();
    ask.key.clear();
    let request = tillerman::model::Request { max_tokens: 1, system: "", ..ask.request() };
    model.reply(request, &mut |_| {}).await.unwrap();
    let requests = server.requests();
    let item = &requests[0].body["input"][1];
    assert_eq!((&item["name"], &item["arguments"]), (&json!("multi_use"), &json!("{}")));
    assert_eq!(item["call_id"], requests[0].body["input"][2]["call_id"]);
    // What only some models take is not asked of one that nobody knows.
    assert_eq!((requests[0].body.get("include"), requests[0].body.get("reasoning")), (None, None));
    let bare = &requests[1].body;
    assert_eq!(bare["max_output_tokens"], 16);
    for field in ["instructions", "tools", "tool_choice", "parallel_tool_calls", "prompt_cache_key"] {
        assert_eq!(bare.get(field), None, "{field}");
    }
}

#[tokio::test]
async fn a_stream_is_read_and_its_items_go_back_as_they_came() {
    let server = Server::list([Response::stream().send(TWO_CALLS), says().text("ok").into()]);
    let model = model(&server, RESPONSES);
    let mut ask = Ask::new([Message::user("weather?")]);
    let (reply, deltas) = ask.send(&model).await;
    let reply = reply.unwrap();
    let thought = "**Überblick**\n\nZwei Städte, zwei Abfragen — gleichzeitig.\n\n**次の手順**\n\n結果を待つ 🛶";
    let Block::Thinking(thinking) = &reply.message.blocks[0] else { panic!("{reply:?}") };
    assert_eq!(thinking.text, thought);
    let rest = [
        proof("", json!({"phase": "commentary"})),
        Block::text("Ich schaue für Zürich und 東京 nach 🌦️."),
        call("call_Zur1", r#"{"command":"weather Zürich"}"#),
        call("call_Tok2", r#"{"command":"weather 東京 \"now\""}"#),
    ];
    assert_eq!(reply.message.blocks[1..], rest);
    assert_eq!(reply.stop, Stop::ToolUse);
    let usage = Usage { input: 128, output: 211, cache_read: 1024, cache_write: 128, reasoning: 150 };
    assert_eq!(reply.usage, usage);
    assert_eq!(told(&deltas), reply.message.text());
    ask.push(reply.message);
    ask.push(result("call_Zur1", "rain", false));
    ask.push(result("call_Tok2", "sun", false));
    ask.send(&model).await.0.unwrap();
    let input = server.requests()[1].body["input"].clone();
    let summary = ["**Überblick**\n\nZwei Städte, zwei Abfragen — gleichzeitig.", "**次の手順**\n\n結果を待つ 🛶"];
    let summary = summary.map(|text| json!({"type": "summary_text", "text": text}));
    assert_eq!(input[1], json!({"type": "reasoning", "encrypted_content": "gAAAABsealed-1==", "summary": summary}));
    assert_eq!(input[2]["phase"], "commentary");
    assert_eq!((&input[3]["call_id"], &input[4]["call_id"]), (&json!("call_Zur1"), &json!("call_Tok2")));
    assert_eq!(input.as_array().unwrap().len(), 7);
}

#[tokio::test]
async fn what_is_sealed_goes_only_to_its_own_model_and_only_before_what_it_led_to() {
    let sealed = |seal: &str| proof("hm", json!({"item": reasoning(seal)}));
    let phase = || proof("", json!({"phase": "commentary"}));
    let spoken = vec![
        Message::user("hi"),
        assistant(vec![sealed("1"), phase(), Block::text("so"), sealed("2"), call("a", "{}"), sealed("cut off")]),
        result("a", "x", false),
        assistant(vec![sealed("aborted")]),
        Message::user("go on"),
    ];
    let items = |body: &Value| {
        let items = body["input"].as_array().cloned().unwrap_or_default().into_iter();
        items.map(|item| [item["type"].clone(), item["encrypted_content"].clone(), item["phase"].clone()]).collect()
    };
    let own: Vec<[Value; 3]> = items(&sent(RESPONSES, spoken.clone()).await.body);
    let plain = |kind: &str| [json!(kind), Value::Null, Value::Null];
    let seal = |seal: &str| [json!("reasoning"), json!(seal), Value::Null];
    let comment = [json!("message"), Value::Null, json!("commentary")];
    let call = plain("function_call");
    let rest = [plain("function_call_output"), plain("message")];
    let said = [plain("message"), seal("1"), comment, seal("2"), call.clone()];
    assert_eq!(own, [&said[..], &rest].concat());
    let other: Vec<[Value; 3]> = items(&sent("openai/gpt-6-sol", spoken.clone()).await.body);
    assert_eq!(other, [&[plain("message"), plain("message"), call][..], &rest].concat());
    assert!(!sent(CHAT, spoken).await.contains("encrypted"));
}

/// Servers that leave out what the documentation promises.
#[tokio::test]
async fn a_reply_is_understood_in_whatever_form_it_comes() {
    let expected = vec![Block::text("so"), call("a", "{\"x\":1}"), call("b", "{}")];
    let whole = [text("so"), function("a", "{\"x\":1}"), function("b", "{}")];
    let completed = event("completed", json!({"response": {"status": "completed", "output": whole}}));
    assert_eq!(blocks(std::slice::from_ref(&completed)).await, expected, "only the end");
    let items: Vec<Value> = (0..).zip(whole.clone()).map(|(index, item)| done(index, item)).collect();
    assert_eq!(blocks(&items).await, expected, "only finished items");
    assert_eq!(blocks(&[&items[..], std::slice::from_ref(&completed)].concat()).await, expected, "each twice");
    let mut bare = items.clone();
    bare.iter_mut().for_each(|event| drop(event.as_object_mut().unwrap().remove("output_index")));
    assert_eq!(blocks(&[&bare[..], std::slice::from_ref(&completed)].concat()).await, expected, "without places");
    let mut zero = items.clone();
    zero.iter_mut().for_each(|event| event["output_index"] = json!(0));
    assert_eq!(blocks(&[&zero[..], std::slice::from_ref(&completed)].concat()).await, expected, "all at one place");
    let pieces = |id: &dyn Fn(usize) -> String| {
        let piece = |index: usize, kind: &str, delta: &str| {
            event(kind, json!({"output_index": index, "item_id": id(index), "delta": delta}))
        };
        let arguments = "function_call_arguments.delta";
        [
            piece(0, "output_text.delta", "s"),
            piece(0, "output_text.delta", "o"),
            piece(1, arguments, "{\"x\""),
            piece(2, arguments, "{"),
            piece(1, arguments, ":1}"),
            piece(2, arguments, "}"),
        ]
    };
    let unannounced = [&pieces(&|index| format!("i{index}"))[..], &items].concat();
    assert_eq!(blocks(&unannounced).await, expected, "nothing announced");
    let count = std::cell::Cell::new(0);
    let changing = |_: usize| {
        count.set(count.get() + 1);
        format!("other-{}", count.get())
    };
    let announced = (0..).zip(&whole).map(|(index, item)| {
        let mut item = item.clone();
        item["id"] = json!(format!("first-{index}"));
        item["arguments"] = json!("");
        event("output_item.added", json!({"output_index": index, "item": item}))
    });
    let announced: Vec<Value> = announced.collect();
    let changing = [&announced[..], &pieces(&changing), &items, std::slice::from_ref(&completed)].concat();
    assert_eq!(blocks(&changing).await, expected, "an id of its own in every event");
    assert_eq!(blocks(&[&announced[..], &pieces(&|_| String::new())].concat()).await, expected, "nothing finished");
    let mut arguments = function("a", "");
    arguments["arguments"] = json!({"x": 1});
    assert_eq!(blocks(&[done(0, arguments)]).await, [call("a", "{\"x\":1}")], "arguments as an object");
}

#[tokio::test]
async fn the_last_word_on_a_call_counts_and_what_was_told_stays() {
    let added = event("output_item.added", json!({"output_index": 0, "item": function("a", "")}));
    let piece = event("function_call_arguments.delta", json!({"output_index": 0, "delta": "{\"x\": 1"}));
    let last = event("function_call_arguments.done", json!({"output_index": 0, "arguments": "{\"x\": 2}"}));
    let cut = [added.clone(), piece.clone(), last.clone()];
    assert_eq!(blocks(&cut).await, [call("a", "{\"x\": 2}")]);
    assert_eq!(blocks(&[added, piece, last, done(0, function("a", "{\"x\": 3}"))]).await, [call("a", "{\"x\": 3}")]);
    let piece = event("output_text.delta", json!({"output_index": 0, "delta": "one two"}));
    assert_eq!(blocks(&[piece.clone(), done(0, text("one two three"))]).await, [Block::text("one two three")]);
    assert_eq!(blocks(&[piece, done(0, text("something else"))]).await, [Block::text("one two")]);
}

#[tokio::test]
async fn reasoning_comes_as_summary_or_as_text_and_what_is_unknown_is_let_by() {
    let piece = |kind: &str, index: usize, delta: &str| {
        let mut fields = json!({"output_index": 0, "delta": delta});
        fields[if kind == "reasoning_text" { "content_index" } else { "summary_index" }] = json!(index);
        event(&format!("{kind}.delta"), fields)
    };
    let open = json!({"type": "reasoning", "id": "r", "summary": [], "encrypted_content": null,
        "content": [{"type": "reasoning_text", "text": "hm"}]});
    let bare = |text: &str| Block::Thinking(Thinking { text: text.to_owned(), opaque: None });
    let said = || [done(0, open.clone()), done(1, text("so"))];
    assert_eq!(blocks(&said()).await, [bare("hm"), Block::text("so")]);
    let streamed = [&[piece("reasoning_text", 0, "h"), piece("reasoning_text", 0, "m")][..], &said()].concat();
    assert_eq!(blocks(&streamed).await, [bare("hm"), Block::text("so")]);
    let parts = [piece("reasoning_summary_text", 0, "a"), piece("reasoning_summary_text", 1, "b")];
    assert_eq!(blocks(&parts).await, [bare("a\n\nb")]);
    let silent = json!({"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"});
    let sealed = json!({"type": "compaction", "id": "c", "encrypted_content": "y"});
    let unknown = [
        event("from.the.future", json!({"delta": {"not": "a text"}})),
        done(0, json!({"type": "web_search_call", "id": "w", "action": {}})),
        done(1, silent.clone()),
        done(2, sealed.clone()),
        json!({"type": "keepalive", "item": 7}),
    ];
    assert_eq!(blocks(&unknown).await, [proof("", json!({"item": silent})), proof("", json!({"item": sealed}))]);
}

#[tokio::test]
async fn every_end_is_told_for_what_it_is() {
    let end = |kind: &str, response: Value| [done(0, text("so")), event(kind, json!({"response": response}))];
    let incomplete = |reason: &str| json!({"status": "incomplete", "incomplete_details": {"reason": reason}});
    let cases = [
        (end("completed", json!({"status": "completed"})), Stop::EndTurn),
        (end("completed", json!({})), Stop::EndTurn),
        (end("incomplete", incomplete("max_output_tokens")), Stop::MaxTokens),
        (end("incomplete", json!({})), Stop::MaxTokens),
        (end("completed", incomplete("max_output_tokens")), Stop::MaxTokens),
        (end("incomplete", incomplete("content_filter")), Stop::Refusal),
    ];
    for (events, stop) in cases {
        let reply = read(&events).await.unwrap();
        assert_eq!((reply.message, reply.stop), (Message::assistant("so"), stop), "{events:?}");
    }
    let no =
        json!({"type": "message", "id": "m", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]});
    let piece = event("refusal.delta", json!({"output_index": 0, "content_index": 0, "delta": "no"}));
    for events in [vec![done(0, no.clone())], vec![piece.clone()], vec![piece, done(0, no)]] {
        let reply = read(&events).await.unwrap();
        assert_eq!((reply.message, reply.stop), (Message::assistant("no"), Stop::Refusal), "{events:?}");
    }
    let cut = [done(0, function("a", "{\"x\": ")), event("incomplete", json!({"response": {}}))];
    assert_eq!(read(&cut).await.unwrap().message.blocks, []);
}

/// A42: also what fails after the answer began is told for what it is.
#[tokio::test]
async fn a_reply_that_fails_has_the_fault_of_its_code() {
    let failed = |code: &str, message: &str| {
        event("failed", json!({"response": {"status": "failed", "error": {"code": code, "message": message}}}))
    };
    let flat = |code: &str| json!({"type": "error", "code": code, "message": "no", "param": null});
    let nested = |code: &str| json!({"type": "error", "error": {"type": code, "code": code, "message": "no"}});
    let cases = [
        (failed("context_length_exceeded", "no"), Fault::Overflow),
        (failed("server_error", "Your input exceeds the context window of this model"), Fault::Overflow),
        (failed("insufficient_quota", "no"), Fault::Billing),
        (failed("invalid_prompt", "no"), Fault::BadRequest),
        (failed("invalid_image", "no"), Fault::BadRequest),
        (failed("image_too_large", "no"), Fault::BadRequest),
        (failed("bio_policy", "no"), Fault::BadRequest),
        (flat("context_length_exceeded"), Fault::Overflow),
        (nested("context_length_exceeded"), Fault::Overflow),
        (json!({"error": {"code": 402, "message": "no credits"}}), Fault::Billing),
    ];
    for (event, fault) in cases {
        let error = read(&[done(0, text("so")), event.clone()]).await.expect_err("it failed");
        assert_eq!(error.fault, fault, "{event}: {error}");
    }
    // What may pass is tried again; the server then says why that was the second time.
    for event in [
        failed("server_error", "no"),
        failed("rate_limit_exceeded", "Please try again in 1ms."),
        failed("of_the_future", "no"),
        event("failed", json!({"response": {"status": "failed", "error": null}})),
        event("completed", json!({"response": {"status": "cancelled"}})),
        flat("server_error"),
        nested("server_error"),
        json!({"type": "response.output_text.delta", "delta": 7}),
        json!({"type": "response.output_item.done"}),
        json!({"no": "type"}),
        json!([]),
    ] {
        let error = read(&[done(0, text("so")), event.clone()]).await.expect_err("it failed twice");
        assert!(error.fault == Fault::BadRequest && error.message.contains("once"), "{event}: {error}");
    }
    let nameless = json!({"type": "function_call", "id": "f", "call_id": "c", "arguments": "{}"});
    assert!(read(&[done(0, nameless)]).await.expect_err("it has no name").message.contains("once"));
}

#[tokio::test]
async fn usage_is_read_and_a_full_window_is_an_overflow() {
    let end = |status: &str, usage: Value| {
        event(status, json!({"response": {"status": status, "output": [], "usage": usage}}))
    };
    let usage = json!({"input_tokens": 100, "output_tokens": 30, "total_tokens": 130, "cost": 0.25,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
        "output_tokens_details": {"reasoning_tokens": 20}});
    let reply = read(&[done(0, text("so")), end("completed", usage)]).await.unwrap();
    assert_eq!(reply.usage, Usage { input: 30, output: 30, cache_read: 60, cache_write: 10, reasoning: 20 });
    assert_eq!(reply.cost.map(|cost| cost.to_string()), Some("$0.2500".to_owned()));
    for nothing in [json!(null), json!({}), json!({"input_tokens": null, "input_tokens_details": null})] {
        assert_eq!(read(&[end("completed", nothing)]).await.unwrap().usage, Usage::default());
    }
    let odd = json!({"input_tokens": 7, "cost": {"total": "free"}});
    assert_eq!(read(&[end("completed", odd)]).await.unwrap().usage, Usage { input: 7, ..Usage::default() });
    let full = |status: &str, output: u64| end(status, json!({"input_tokens": 271_900, "output_tokens": output}));
    assert_eq!(read(&[full("incomplete", 0)]).await.expect_err("it is full").fault, Fault::Overflow);
    assert_eq!(read(&[done(0, text("so")), full("incomplete", 9)]).await.unwrap().stop, Stop::MaxTokens);
    assert_eq!(read(&[full("completed", 0)]).await.unwrap().stop, Stop::EndTurn);
}

#[tokio::test]
async fn a_server_that_has_only_the_older_door_is_told_how_to_be_asked() {
    let server = Server::list([Response::status(404, r#"{"detail": "Not Found"}"#)]);
    let error = Ask::new([Message::user("hi")]).send(&model(&server, RESPONSES)).await.0.expect_err("it is not there");
    assert_eq!(error.fault, Fault::NoSuchModel);
    assert!(error.message.ends_with("does it speak Responses? if not, it is openai-chat/gpt-6.1-sol"), "{error}");
}

#[tokio::test]
async fn a_whole_reply_that_failed_is_no_reply() {
    let cases = [
        (json!({"status": "failed", "output": [], "error": {"code": "invalid_prompt", "message": "no"}}), "no"),
        (json!({"status": "completed"}), "status"),
    ];
    for (body, said) in cases {
        let server = Server::answer(move |_| Response::status(200, &body.to_string()));
        let error = Ask::new([Message::user("hi")]).send(&model(&server, RESPONSES)).await.0.expect_err("it failed");
        assert!(error.message.contains(said), "{error}");
    }
}
