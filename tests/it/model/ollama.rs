//! Ollama's own format where it differs from the others: its options, its reasoning, its calls without ids, its lines.

use serde_json::{Value, json};
use tillerman::message::{Block, CallId, Image, Message, Opaque, RawArgs, Role, Thinking, ToolCall};
use tillerman::message::{Usage, Usd};
use tillerman::model::catalog::{Models, Settings};
use tillerman::model::http::Timeouts;
use tillerman::model::provider::Effort;
use tillerman::model::react::Protocol;
use tillerman::model::{Delta, Fault, ModelError, Reply, Stop};

use super::requests::{assistant, result};
use super::talk::{Ask, CHAT, OLLAMA, id_of, model, models, shell, told};
use crate::server::{Response, Server, says};

fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn stream(of: &[Value]) -> Response {
    Response::lines().send(lines(of)).fin()
}

fn piece(message: Value) -> Value {
    json!({"model": "qwen3", "message": message, "done": false})
}

fn done(reason: &str) -> Value {
    json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason})
}

async fn asked(responses: impl IntoIterator<Item = Response>) -> (Result<Reply, ModelError>, Vec<Delta>, usize) {
    let server = Server::list(responses);
    let (reply, deltas) = Ask::new([Message::user("hi")]).send(&model(&server, OLLAMA)).await;
    (reply, deltas, server.requests().len())
}

async fn read(of: &[Value]) -> (Vec<Block>, Stop) {
    let reply = asked([stream(of)]).await.0.unwrap();
    (reply.message.blocks, reply.stop)
}

fn thought(of: &str, text: &str) -> Block {
    let id = id_of(of);
    let opaque = Opaque { provider: id.provider, model: id.model, data: json!({}) };
    Block::Thinking(Thinking { text: text.to_owned(), opaque: Some(opaque) })
}

fn call(id: &str, name: &str, args: &str) -> Block {
    Block::Call(ToolCall { id: CallId(id.to_owned()), name: name.to_owned(), args: RawArgs(args.to_owned()) })
}

#[tokio::test]
async fn a_request_says_how_long_a_context_is_kept_and_that_nothing_is_cut() {
    let server = Server::answer(|_| says().text("ok").into());
    let settings = Settings { temperature: Some(0.5), effort: Some(Effort::High), protocol: Protocol::Native };
    let model = models(&server, Timeouts::default()).with_settings(settings).get(&id_of(OLLAMA)).unwrap();
    let mut ask = Ask::new([Message::user("hi")]);
    ask.send(&model).await.0.unwrap();
    ask.system.clear();
    ask.tools.clear();
    ask.send(&model).await.0.unwrap();
    let tool = json!({"type": "function",
        "function": {"name": "shell", "description": "runs a command", "parameters": shell().schema}});
    let mut expected = json!({"model": "qwen3", "stream": true, "truncate": false, "shift": false, "think": "high",
        "options": {"num_ctx": 32768, "num_predict": 1000, "temperature": 0.5}, "tools": [tool],
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}]});
    let requests = server.requests();
    assert_eq!(requests[0].body, expected);
    expected.as_object_mut().unwrap().remove("tools");
    expected["messages"].as_array_mut().unwrap().remove(0);
    assert_eq!(requests[1].body, expected, "no system prompt and no tools");
}

/// Whole replies too: a server that does not stream is told of the same context.
#[tokio::test]
async fn a_whole_reply_is_asked_for_in_the_same_way() {
    let whole = json!({"model": "qwen3", "message": {"role": "assistant", "content": "so", "thinking": "hm",
        "tool_calls": [{"function": {"name": "shell", "arguments": {"command": "ls"}}}]},
        "done": true, "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 3});
    let refused = Response::status(400, &json!({"error": "this server does not stream"}).to_string());
    let server = Server::list([refused, Response::status(200, &whole.to_string())]);
    let reply = Ask::new([Message::user("hi")]).send(&model(&server, OLLAMA)).await.0.unwrap();
    let blocks = vec![thought(OLLAMA, "hm"), Block::text("so"), call("call_1_2", "shell", r#"{"command":"ls"}"#)];
    let usage = Usage { input: 7, output: 3, ..Usage::default() };
    let message = assistant(blocks);
    assert_eq!(reply, Reply { message, usage, stop: Stop::ToolUse, model: id_of(OLLAMA), cost: Some(Usd(0)) });
    let mut bodies: Vec<Value> = server.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(std::mem::replace(&mut bodies[1]["stream"], json!(true)), false);
    assert_eq!(bodies[0], bodies[1]);
}

/// A server that does not name the kind of its stream.
#[tokio::test]
async fn lines_that_come_as_one_body_are_read_one_by_one() {
    let all = [piece(json!({"content": "so "})), piece(json!({"content": "it is"})), done("stop")];
    let reply = asked([Response::status(200, &lines(&all))]).await.0.unwrap();
    assert_eq!((reply.message, reply.stop), (Message::assistant("so it is"), Stop::EndTurn));
    let cut = Response::status(200, &lines(&all[..2]));
    let error = asked([cut.clone(), cut]).await.0.expect_err("it has no end");
    assert_eq!(error.fault, Fault::Garbled, "{error}");
}

#[tokio::test]
async fn reasoning_goes_back_to_the_model_that_wrote_it_and_to_no_other() {
    let blocks = |of: &str| vec![thought(of, "let me see"), Block::text("so"), thought(of, ", hm")];
    let loose = Block::Thinking(Thinking { text: "loose".to_owned(), opaque: None });
    let said = [blocks(OLLAMA), blocks("ollama/other"), blocks(CHAT), vec![loose, Block::text("so")]];
    let mut ask = Ask::new([Message::user("hi")]);
    for blocks in said {
        ask.push(assistant(blocks));
        ask.push(Message::user("and?"));
    }
    let server = Server::list([says().text("ok")]);
    ask.send(&model(&server, OLLAMA)).await.0.unwrap();
    let messages = server.requests()[0].messages();
    let spoken: Vec<&Value> = messages.iter().filter(|message| message["role"] == "assistant").collect();
    let plain = json!({"role": "assistant", "content": "so"});
    let own = json!({"role": "assistant", "content": "so", "thinking": "let me see, hm"});
    assert_eq!(spoken, [&own, &plain, &plain, &plain]);
}

/// The words of two kinds of servers for reasoning, said in pieces, with text between.
#[tokio::test]
async fn reasoning_and_text_are_read_in_their_order() {
    for word in ["thinking", "reasoning_content"] {
        let thinks = |text: &str| piece(json!({"role": "assistant", "content": "", word: text}));
        let says = |text: &str| piece(json!({"role": "assistant", "content": text}));
        let all = [thinks("let "), thinks("me"), says("hel"), says("lo"), thinks("hm"), says("!"), done("stop")];
        let (reply, deltas, _) = asked([stream(&all)]).await;
        let blocks = vec![thought(OLLAMA, "let me"), Block::text("hello"), thought(OLLAMA, "hm"), Block::text("!")];
        assert_eq!(reply.unwrap().message.blocks, blocks, "{word}");
        assert_eq!((told(&deltas).as_str(), deltas.len()), ("hello!", 6), "{word}");
    }
}

/// Its calls are whole, have no ids in most versions, and come all at once or line by line.
#[tokio::test]
async fn calls_get_ids_of_their_own_and_results_name_their_tool() {
    let function = |name: &str, args: Value| json!({"function": {"name": name, "arguments": args}});
    let first = [
        piece(json!({"content": "", "tool_calls": [function("shell", json!({"command": "ls", "n": 1.0})),
            function("read_file", json!({"path": "ü"}))]})),
        piece(json!({"content": "", "tool_calls": [function("shell", json!({})), function("shell", Value::Null)]})),
        piece(json!({"content": "", "tool_calls": [function("shell", json!("{\"command\": \"pwd\"}"))]})),
        done("stop"),
    ];
    let same = piece(json!({"tool_calls": [{"id": "call_1_0", "function": {"name": "shell", "arguments": {}}}]}));
    let server = Server::list([stream(&first), stream(&[same, done("stop")]), says().text("ok").into()]);
    let model = model(&server, OLLAMA);
    let mut ask = Ask::new([Message::user("hi")]);
    let reply = ask.send(&model).await.0.unwrap();
    let calls = vec![
        call("call_1_0", "shell", r#"{"command":"ls","n":1.0}"#),
        call("call_1_1", "read_file", r#"{"path":"ü"}"#),
        call("call_1_2", "shell", "{}"),
        call("call_1_3", "shell", "{}"),
        call("call_1_4", "shell", r#"{"command": "pwd"}"#),
    ];
    assert_eq!((&reply.message.blocks, reply.stop), (&calls, Stop::ToolUse));
    ask.push(reply.message);
    // Tools end in any order.
    (0..5).rev().for_each(|n| ask.push(result(&format!("call_1_{n}"), &format!("result {n}"), false)));
    let picture = Image { media_type: "image/png".to_owned(), data: "iVBORw0KGgo=".to_owned() };
    ask.push(Message { role: Role::User, blocks: vec![Block::Image(picture.clone()), Block::Image(picture)] });
    let again = ask.send(&model).await.0.unwrap().message;
    assert_eq!(again.blocks, [call("call_1_0_2", "shell", "{}")], "an id that was used is changed");
    let messages = server.requests()[1].messages();
    let spoken = |call: &ToolCall| json!({"id": call.id.0, "function": {"name": call.name, "arguments": serde_json::from_str::<Value>(&call.args.0).unwrap()}});
    let calls = ask.messages[1].calls().map(spoken).collect::<Vec<Value>>();
    assert_eq!(messages[2], json!({"role": "assistant", "content": "", "tool_calls": calls}));
    let names = ["shell", "read_file", "shell", "shell", "shell"];
    let results = [4, 3, 2, 1, 0].map(|n| {
        json!({"role": "tool", "tool_name": names[n], "tool_call_id": format!("call_1_{n}"), "content": format!("result {n}")})
    });
    assert_eq!(messages[3..8], results);
    assert_eq!(messages[8], json!({"role": "user", "content": "", "images": ["iVBORw0KGgo=", "iVBORw0KGgo="]}));
}

#[tokio::test]
async fn its_reasons_to_stop_are_read() {
    let so = piece(json!({"content": "so"}));
    let text = vec![Block::text("so")];
    for reason in ["stop", "load", "unload", "from_the_future"] {
        assert_eq!(read(&[so.clone(), done(reason)]).await, (text.clone(), Stop::EndTurn), "{reason}");
    }
    assert_eq!(read(&[so.clone(), json!({"done": true})]).await, (text.clone(), Stop::EndTurn), "older ones say none");
    assert_eq!(read(&[so, done("length")]).await, (text, Stop::MaxTokens));
    let nameless = piece(json!({"tool_calls": [{"function": {"arguments": {}}}]}));
    // Only its model came into memory or left it: that is no reply.
    for all in [vec![done("load")], vec![done("unload")], vec![nameless, done("stop")]] {
        let (reply, _, requests) = asked([stream(&all), stream(&all)]).await;
        assert_eq!((reply.expect_err("no reply").fault, requests), (Fault::Garbled, 2), "{all:?}");
    }
}

/// What nobody sells costs nothing, also when nothing was counted: what its cache served it does not count.
#[tokio::test]
async fn its_counts_are_read_and_cost_nothing() {
    let mut end = done("stop");
    let so = piece(json!({"content": "so"}));
    let free = async |of: &[Value]| asked([stream(of)]).await.0.map(|reply| (reply.usage, reply.cost)).unwrap();
    assert_eq!(free(&[so.clone(), end.clone()]).await, (Usage::default(), Some(Usd(0))));
    end["eval_count"] = json!(20);
    assert_eq!(free(&[so.clone(), end.clone()]).await, (Usage { output: 20, ..Usage::default() }, Some(Usd(0))));
    end["prompt_eval_count"] = json!(1200);
    assert_eq!(free(&[so, end]).await, (Usage { input: 1200, output: 20, ..Usage::default() }, Some(Usd(0))));
}

/// A13, A14, A29: a line of an error, or no last line, and what was said before counts for nothing.
#[tokio::test]
async fn a_reply_that_breaks_off_is_no_reply() {
    let half = [piece(json!({"content": "half"})), piece(json!({"content": " of it"}))];
    let error = |text: &str| lines(&half) + &lines(&[json!({"error": text})]);
    let passing = "an error was encountered while running the model: unexpected EOF";
    for broken in [error(passing), lines(&half), lines(&half).trim_end().to_owned()] {
        let broken = Response::lines().send(&broken).fin();
        let (reply, deltas, requests) = asked([broken, says().text("whole").into()]).await;
        assert_eq!((reply.unwrap().message, requests), (Message::assistant("whole"), 2));
        assert!(deltas.iter().any(|delta| matches!(delta, Delta::Retrying { attempt: 2, .. })), "{deltas:?}");
    }
    let (reply, _, requests) = asked([Response::lines().send(error("input exceeds the context length")).fin()]).await;
    let refused = reply.expect_err("it is too long");
    assert_eq!((refused.fault, requests), (Fault::Overflow, 1), "{refused}");
}

#[tokio::test]
async fn a_model_that_was_not_pulled_is_told_with_what_gets_it() {
    let absent = json!({"error": "model \"qwen3\" not found, try pulling it first"}).to_string();
    let (reply, _, requests) = asked([Response::status(404, &absent)]).await;
    let error = reply.expect_err("it is not there");
    assert_eq!((error.fault, error.provider.as_str(), requests), (Fault::NoSuchModel, "ollama", 1));
    for words in ["not found", "`ollama pull qwen3` gets the model"] {
        assert!(error.message.contains(words), "{error}");
    }
}

/// The base of its OpenAI-compatible door is what people have at hand.
#[tokio::test]
async fn every_base_leads_to_its_own_door() {
    for (base, path) in [("", ""), ("/", ""), ("/v1", ""), ("/v1/", ""), ("/api", ""), ("/gate/v1", "/gate")] {
        let server = Server::list([says().text("ok")]);
        let url = server.base_url() + base;
        let env = |name: &str| (name == "OLLAMA_BASE_URL").then(|| url.clone());
        let model = Models::from_env(&env).unwrap().get(&id_of(OLLAMA)).unwrap();
        Ask::new([Message::user("hi")]).send(&model).await.0.unwrap();
        assert_eq!(server.requests()[0].path, format!("{path}/api/chat"), "{base}");
    }
}

#[tokio::test]
async fn a_model_that_cannot_think_is_not_told_how_hard() {
    let server = Server::answer(|request| match request.body["think"].is_null() {
        true => says().text("ok").into(),
        false => Response::status(400, r#"{"error": "\"qwen3\" does not support thinking"}"#),
    });
    let settings = Settings { effort: Some(Effort::High), ..Settings::default() };
    let model = models(&server, Timeouts::default()).with_settings(settings).get(&id_of(OLLAMA)).unwrap();
    for _ in 0..2 {
        let reply = Ask::new([Message::user("hi")]).send(&model).await.0.unwrap();
        assert_eq!(reply.message, Message::assistant("ok"));
    }
    let told: Vec<Value> = server.requests().iter().map(|request| request.body["think"].clone()).collect();
    assert_eq!(told, [json!("high"), Value::Null, Value::Null]);
    // Agents may share a model, and be refused side by side before one of them has heard of it.
    let model = models(&server, Timeouts::default()).with_settings(settings).get(&id_of(OLLAMA)).unwrap();
    let ask = Ask::new([Message::user("hi")]);
    for (reply, _) in futures_util::future::join_all((0..3).map(|_| ask.send(&model))).await {
        assert_eq!(reply.unwrap().message, Message::assistant("ok"));
    }
}
