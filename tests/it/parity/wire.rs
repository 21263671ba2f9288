//! Promises about what goes over the wire to a provider, seen from the provider's side.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use tillerman::message::{Block, CallId, Message, RawArgs, Role, ToolCall, ToolResult};
use tillerman::model::catalog::Models;
use tillerman::model::{ModelId, Reply, Request};

use crate::house::source;
use crate::server::{Captured, Server, says};

const ALL: [&str; 3] = ["anthropic/claude-sonnet-5-5", "openai/gpt-6.1-sol", "openai-chat/gpt-6.1-sol"];

/// Sends the conversation to a model of the catalogue whose provider is the server.
async fn send(server: &Server, id: &str, messages: Vec<Message>) -> Reply {
    let env = |name: &str| name.ends_with("_API_KEY").then(|| "sk-test-0123456789abcdef".to_owned());
    let id = ModelId::parse(id).unwrap();
    let url = server.base_url();
    let model = Models::from_env(&env).unwrap().with_base_url(&id.provider, &url).unwrap().get(&id).unwrap();
    let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
    let request =
        Request { system: "be brief", messages: &messages, tools: &[], max_tokens: 1000, cache_key: "session-1" };
    model.reply(request, &mut |_| {}).await.unwrap_or_else(|error| panic!("{id}: {error}"))
}

/// The one request that the conversation makes.
async fn request(id: &str, messages: Vec<Message>) -> Captured {
    let server = Server::list([says().text("ok")]);
    send(&server, id, messages).await;
    server.requests().remove(0)
}

fn call(id: &str, name: &str) -> Block {
    Block::Call(ToolCall { id: CallId(id.into()), name: name.into(), args: RawArgs(r#"{"a":1}"#.into()) })
}

fn result(id: &str, output: &str) -> Message {
    let details = json!({"secret": "for-people-only"});
    Message::result(ToolResult { call: CallId(id.into()), output: output.into(), details, is_error: false })
}

fn with_a_call() -> Vec<Message> {
    let asked = Message { role: Role::Assistant, blocks: vec![Block::text("let me see"), call("c1", "shell")] };
    vec![Message::user("look"), asked, result("c1", "fine")]
}

#[tokio::test]
async fn s0_02_details_are_for_people_and_never_sent() {
    for id in ALL {
        let request = request(id, with_a_call()).await;
        assert!(request.contains("fine") && !request.contains("for-people-only"), "{id}");
    }
}

#[tokio::test]
async fn s1_21_results_have_the_role_tool_where_the_format_has_one() {
    let sent = request(ALL[2], with_a_call()).await.body["messages"].clone();
    let roles: Vec<&str> = sent.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles[1..], ["user", "assistant", "tool"]);
    assert_eq!((&sent[3]["tool_call_id"], &sent[3]["content"]), (&json!("c1"), &json!("fine")));
}

#[tokio::test]
async fn s0_06_a_provider_is_a_key_an_address_a_model_and_a_limit() {
    let request = request(ALL[0], vec![Message::user("hi")]).await;
    assert_eq!(request.headers["x-api-key"], "sk-test-0123456789abcdef");
    assert_eq!((&request.body["model"], &request.body["max_tokens"]), (&json!("claude-sonnet-5-5"), &json!(1000)));
    assert_eq!(request.path, "/v1/messages", "with_base_url is the address, the path is the format's");
}

#[tokio::test]
async fn s4_01_s4_03_s4_04_openrouter_takes_one_key_and_models_of_any_vendor() {
    let server = Server::list([says().text("ok")]);
    send(&server, "openrouter/anthropic/claude-sonnet-5.5", vec![Message::user("hi")]).await;
    let request = server.requests().remove(0);
    assert_eq!(request.body["model"], "anthropic/claude-sonnet-5.5");
    assert_eq!(request.headers["authorization"], "Bearer sk-test-0123456789abcdef");
    assert_eq!(request.headers["x-title"], "tillerman");
    assert_eq!(request.headers["http-referer"], "http://localhost/tillerman");
    assert_eq!(request.path, "/api/v1/chat/completions", "an address without a path keeps the one of the provider");
}

#[test]
fn s1_03_s2_02_s4_01_the_sources_providers_are_known() {
    let models = Models::from_env(&|_| None).unwrap();
    let known = |id: &str| {
        let provider = models.providers().find(|provider| provider.id == id).unwrap();
        (provider.base_url.as_str(), provider.keys[0].as_str())
    };
    assert_eq!(known("minimax"), ("https://api.minimax.io/anthropic", "MINIMAX_API_KEY"));
    assert_eq!(known("deepseek"), ("https://api.deepseek.com", "DEEPSEEK_API_KEY"));
    assert_eq!(known("openrouter"), ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"));
}

#[test]
fn s0_29_s3_18_only_the_model_room_knows_an_api() {
    let words = ["content_block", "tool_use_id", "chat/completions", "x-api-key", "reqwest::"];
    let sources = source::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "rs");
    // Pages of the web come by the same client, and by no model's words.
    let fetches = Path::new("tools/fetch_url/way.rs");
    // The lines of other programs have words of theirs.
    let lines = Path::new("cli/dialect");
    let others = sources.iter().filter(|source| source.room() != "model" && source.path != fetches);
    let others = others.filter(|source| !source.path.starts_with(lines));
    let knowing = others.filter(|source| words.iter().any(|word| source.text.contains(word)));
    assert_eq!(knowing.map(|source| source.path.clone()).collect::<Vec<_>>(), [""; 0].map(std::path::PathBuf::from));
}

/// A sound conversation: lines, then replies with calls, each answered by a message of its own, notes between.
fn conversation() -> impl Strategy<Value = Vec<Message>> {
    let turn = (prop::collection::vec("[a-z]{1,8}", 1..3), "[a-z]{0,8}", 0_usize..4);
    prop::collection::vec(turn, 1..6).prop_map(|turns| {
        let mut messages = vec![Message::user("begin")];
        for (number, (lines, said, calls)) in turns.into_iter().enumerate() {
            let ids: Vec<String> = (0..calls).map(|call| format!("c{number}_{call}")).collect();
            let blocks = std::iter::once(Block::text(said)).chain(ids.iter().map(|id| call(id, "shell")));
            messages.push(Message { role: Role::Assistant, blocks: blocks.collect() });
            messages.extend(ids.iter().map(|id| result(id, "done")));
            messages.extend(lines.into_iter().map(Message::user));
        }
        messages
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn s0_28_roles_alternate_and_every_call_has_its_result(messages in conversation()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let calls: usize = messages.iter().map(|message| message.calls().count()).sum();
        // The server itself refuses orphans in every format.
        for id in ALL {
            runtime.block_on(request(id, messages.clone()));
        }
        let request = runtime.block_on(request(ALL[0], messages));
        let sent = request.body["messages"].as_array().unwrap();
        for (at, message) in sent.iter().enumerate() {
            prop_assert_eq!(&message["role"], if at % 2 == 0 { "user" } else { "assistant" });
        }
        let results = sent.iter().filter(|message| message["role"] == "user");
        let results = results.flat_map(|message| message["content"].as_array().unwrap());
        prop_assert_eq!(results.filter(|block: &&Value| block["type"] == "tool_result").count(), calls);
    }
}
