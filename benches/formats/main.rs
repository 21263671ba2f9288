//! Measures every wire format on the loopback and prints a Markdown table: `cargo bench --bench formats`. How fast a
//! stream becomes a reply, what a turn costs after 50 and after 500, and what of a request is not sent again with the next.
//! See docs/numbers.md for how each figure comes about.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a measurement that cannot be made should stop, loudly")]

mod server;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tillerman::message::{Block, CallId, Message, RawArgs, Role, ToolCall, ToolResult, ToolSpec};
use tillerman::model::catalog::Models;
use tillerman::model::{Model, ModelId, Request};

use server::{Server, Stream};

type Render = fn(&Stream) -> String;

/// One model for each format, the path that its provider's base URL has, and how a reply looks in it.
const FORMATS: [(&str, &str, Render); 5] = [
    ("anthropic/claude-sonnet-5-5", "", server::anthropic),
    ("openai/gpt-6.1-sol", "/v1", server::responses),
    ("openai-chat/gpt-6.1-sol", "/v1", server::chat),
    ("gemini/gemini-3.8-flash", "/v1beta", server::gemini),
    ("ollama/any", "", server::ollama),
];
const TURNS: usize = 500;
const PIECE: &str = "the quick brown fox jump";

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    println!(
        "| format | stream read | a million pieces of one letter | own time at turn 50 | at turn 500 | growth per turn | of a request, not in the next |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (id, path, render) in FORMATS {
        runtime.block_on(measure(id, path, render));
    }
}

async fn measure(id: &str, path: &str, render: Render) {
    let server = Server::start(render);
    let model = model(id, &format!("{}{path}", server.url));
    let mut rates = Vec::new();
    for _ in 0..5 {
        let (took, bytes) = stream(&server, &model, Stream { pieces: 200_000, piece: PIECE }).await;
        rates.push(bytes as f64 / took.as_secs_f64() / 1e6);
    }
    rates.sort_by(f64::total_cmp);
    let (letters, _) = stream(&server, &model, Stream { pieces: 1_000_000, piece: "x" }).await;
    let talk = talk(&server, &model).await;
    let around = |turn: usize| median(&talk.own[turn - 20..turn]);
    let growth = (around(TURNS).as_secs_f64() - around(50).as_secs_f64()) * 1e6 / (TURNS - 50) as f64;
    let (at_50, at_500) = (around(50).as_secs_f64() * 1e3, around(TURNS).as_secs_f64() * 1e3);
    println!(
        "| {id} | {:.0} MB/s | {:.2} s | {at_50:.3} ms | {at_500:.3} ms | {growth:.2} µs | {} bytes |",
        rates[2],
        letters.as_secs_f64(),
        talk.changed
    );
}

fn model(id: &str, url: &str) -> Arc<dyn Model> {
    let id = ModelId::parse(id).expect("an id");
    let env = |name: &str| name.ends_with("_API_KEY").then(|| "sk-bench-0123456789".to_owned());
    let models = Models::from_env(&env).expect("the catalogue");
    models.with_base_url(&id.provider, url).expect("a base URL").get(&id).expect("a model")
}

/// How long a reply of so many pieces took from the call to the reply, and how many bytes it had on the wire.
async fn stream(server: &Server, model: &Arc<dyn Model>, stream: Stream) -> (Duration, usize) {
    server.answer_with(&stream);
    let messages = [Arc::new(Message::user("go"))];
    let mut said = 0;
    let since = Instant::now();
    let request = Request { system: "s", messages: &messages, tools: &[], max_tokens: 1000, cache_key: "stream" };
    let reply = model.reply(request, &mut |_| said += 1).await.expect("a reply");
    let took = since.elapsed();
    assert_eq!(reply.message.text().len(), stream.pieces * stream.piece.len(), "every letter is there");
    assert!(said >= stream.pieces, "every piece was told");
    (took, server.last().answer)
}

/// What a long conversation costs besides waiting.
struct Talk {
    /// From the call until the server has the whole request, for each turn.
    own: Vec<Duration>,
    /// Most bytes at the end of a request, its closing brackets, that the next one does not begin with.
    changed: usize,
}

async fn talk(server: &Server, model: &Arc<dyn Model>) -> Talk {
    server.answer_with(&Stream { pieces: 1, piece: "ok" });
    let schema = Arc::new(json!({"type": "object", "properties": {"command": {"type": "string"}}}));
    let tools = [ToolSpec { name: "shell".to_owned(), description: "runs a command".into(), schema, read_only: false }];
    let mut messages = vec![Arc::new(Message::user("do it step by step"))];
    let (mut own, mut changed, mut last) = (Vec::new(), 0, Vec::new());
    for turn in 0..TURNS {
        let request =
            Request { system: "be brief", messages: &messages, tools: &tools, max_tokens: 1000, cache_key: "talk" };
        let since = Instant::now();
        model.reply(request, &mut |_| {}).await.expect("a reply");
        let asked = server.last();
        own.push(asked.at - since);
        if turn > 0 {
            let same = last.iter().zip(&asked.body).take_while(|(before, now)| before == now).count();
            changed = changed.max(last.len() - same);
        }
        last = asked.body;
        let id = CallId(format!("call_{turn}"));
        let call =
            ToolCall { id: id.clone(), name: "shell".to_owned(), args: RawArgs(r#"{"command":"true"}"#.to_owned()) };
        let blocks = vec![Block::text("Next step."), Block::Call(call)];
        messages.push(Arc::new(Message { role: Role::Assistant, blocks }));
        let output = format!("step {turn} went well: {}", "output of a command, ".repeat(10));
        messages.push(Arc::new(Message::result(ToolResult {
            call: id,
            output,
            details: json!(null),
            is_error: false,
        })));
    }
    Talk { own, changed }
}

fn median(values: &[Duration]) -> Duration {
    let mut sorted = values.to_vec();
    sorted.sort();
    sorted[sorted.len() / 2]
}
