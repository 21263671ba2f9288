//! What providers say of their own models: each list as it is written, what it changes, and how long it counts.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use tillerman::message::Message;
use tillerman::model::catalog::Models;
use tillerman::model::shelf::{Drift, Refreshed, Shown};

use super::talk::{Ask, KEY, id_of};
use crate::server::{Response, Server};

/// The catalogue with a home, in which one provider has a key and is at an address.
fn models(home: &Path, prefix: &str, url: &str) -> Models {
    let env = |name: &str| {
        let value = name.strip_prefix(prefix)?;
        match value {
            "_BASE_URL" => Some(url.to_owned()),
            "_API_KEY" => Some(KEY.to_owned()),
            _ => None,
        }
    };
    Models::from_home(home, &env).unwrap()
}

/// A provider whose list is this.
fn listing(list: Value) -> Server {
    Server::answer(move |_| Response::status(200, &list.to_string()))
}

async fn refresh(models: &Models, provider: &str) -> Result<Drift, String> {
    let Refreshed { outcome, .. } = models.refresh(Some(provider)).await.unwrap().remove(0);
    outcome
}

fn shown(models: &Models, provider: &str, id: &str) -> Shown {
    let choice = models.choose(Some("pilot"), None).unwrap();
    let shelf = models.shelves(&choice).into_iter().find(|shelf| shelf.standing.provider == provider).unwrap();
    shelf.models.into_iter().find(|model| model.id == id).unwrap()
}

fn anthropic_list() -> Value {
    let model = |id: &str, window: u64, images: bool| {
        let image = json!({"image_input": {"supported": images}});
        json!({"id": id, "max_input_tokens": window, "max_tokens": 64000, "lifecycle": "active", "capabilities": image})
    };
    let mut retired = model("claude-haiku-4-5", 200_000, true);
    retired["lifecycle"] = json!("retired");
    json!({"data": [
        model("claude-next-1", 2_000_000, true), model("claude-sonnet-5", 500_000, false),
        model("claude-opus-5-5", 1_000_000, true), retired,
    ], "has_more": false})
}

#[tokio::test]
async fn a_list_is_compared_with_what_is_written_and_counts_from_then_on() {
    let home = TempDir::new().unwrap();
    let server = listing(anthropic_list());
    let models = models(home.path(), "ANTHROPIC", &server.base_url());
    assert_eq!(models.choose(None, None).unwrap().id, id_of("anthropic/claude-sonnet-5-5"));
    let gone = [
        "claude-fable-5-2",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        "claude-opus-4-8",
        "claude-sonnet-4-6",
        "claude-haiku-4-5",
    ];
    let drift = Drift {
        listed: 3,
        new: 1,
        gone: gone.map(str::to_owned).to_vec(),
        windows: vec![("claude-sonnet-5".to_owned(), 1_000_000, 500_000)],
        not_kept: None,
    };
    assert_eq!(refresh(&models, "anthropic").await, Ok(drift));
    let asked = server.requests().remove(0);
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("GET", "/v1/models?limit=1000"));
    assert_eq!((asked.headers["x-api-key"].as_str(), asked.headers["anthropic-version"].as_str()), (KEY, "2023-06-01"));
    check_confirmed(&models);
    // Another start reads it from its file, and asks nobody.
    check_confirmed(&self::models(home.path(), "ANTHROPIC", &server.base_url()));
    assert_eq!(server.accepted(), 1);
}

fn check_confirmed(models: &Models) {
    let choice = models.choose(None, None).unwrap();
    assert_eq!(choice.id, id_of("anthropic/claude-sonnet-5"), "the first of the preferred that is confirmed");
    assert_eq!(choice.why, "ANTHROPIC_API_KEY is set, and it no longer lists claude-sonnet-5-5");
    assert_eq!(models.window(&choice.id), 500_000, "what the provider says goes before what is written");
    let sonnet = shown(models, "anthropic", "claude-sonnet-5");
    assert_eq!((sonnet.window, sonnet.max_out, sonnet.images), (Some(500_000), Some(64_000), Some(false)));
    assert_eq!((sonnet.confirmed, sonnet.price.unwrap().input), (Some(true), 2.0));
    assert_eq!(shown(models, "anthropic", "claude-opus-4-8").confirmed, Some(false));
    let next = shown(models, "anthropic", "claude-next-1");
    assert_eq!((next.window, next.price, next.source), (Some(2_000_000), None, None));
    let doubt = models.doubt(&id_of("anthropic/claude-next-2")).unwrap();
    assert_eq!(doubt, "anthropic lists no model claude-next-2; near are claude-next-1");
    assert_eq!(models.doubt(&id_of("anthropic/claude-next-1")), None);
}

#[tokio::test]
async fn every_provider_has_its_own_words_for_the_same_figures() {
    let openrouter = json!({"data": [{
        "id": "anthropic/claude-sonnet-5.5", "context_length": 900_000, "top_provider": {"max_completion_tokens": 100_000},
        "architecture": {"input_modalities": ["text", "image"]},
        "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003", "input_cache_write": "0"},
    }, {"id": "openrouter/auto", "context_length": 2_000_000, "pricing": {"prompt": "-1", "completion": "-1"}}]});
    let groq = json!({"object": "list", "data": [
        {"id": "openai/gpt-oss-120b", "context_window": 65_536, "max_completion_tokens": 32_768, "max_tokens": 5},
    ]});
    let mistral = json!({"data": [
        {"id": "mistral-large-4", "max_context_length": 524_288, "capabilities": {"vision": false}},
    ]});
    let openai = json!({"object": "list", "data": [{"id": "gpt-6.1-sol", "created": 1, "owned_by": "openai"}]});
    let cases = [
        (
            "openrouter",
            "OPENROUTER",
            openrouter,
            "anthropic/claude-sonnet-5.5",
            (Some(900_000), Some(100_000), Some(true)),
            Some(3.0),
        ),
        ("groq", "GROQ", groq, "openai/gpt-oss-120b", (Some(65_536), Some(32_768), Some(false)), Some(0.15)),
        ("mistral", "MISTRAL", mistral, "mistral-large-4", (Some(524_288), Some(262_144), Some(false)), Some(0.68)),
        ("openai", "OPENAI", openai, "gpt-6.1-sol", (Some(272_000), Some(128_000), Some(true)), Some(2.0)),
    ];
    for (provider, prefix, list, id, figures, input) in cases {
        let home = TempDir::new().unwrap();
        let server = listing(list);
        let models = models(home.path(), prefix, &server.base_url());
        refresh(&models, provider).await.unwrap();
        let asked = server.requests().remove(0);
        assert_eq!(
            (asked.method.as_str(), asked.headers["authorization"].as_str()),
            ("GET", format!("Bearer {KEY}").as_str())
        );
        assert!(asked.path.ends_with("/models"), "{provider}: {}", asked.path);
        let shown = shown(&models, provider, id);
        assert_eq!((shown.window, shown.max_out, shown.images), figures, "{provider}");
        assert_eq!((shown.price.map(|price| price.input), shown.confirmed), (input, Some(true)), "{provider}");
    }
}

#[tokio::test]
async fn a_price_that_depends_on_the_route_is_no_price() {
    let home = TempDir::new().unwrap();
    let server = listing(json!({"data": [{"id": "openrouter/auto", "pricing": {"prompt": "-1", "completion": "-1"}}]}));
    let models = models(home.path(), "OPENROUTER", &server.base_url());
    refresh(&models, "openrouter").await.unwrap();
    assert_eq!(shown(&models, "openrouter", "openrouter/auto").price, None);
    assert_eq!(models.choose(None, None).unwrap().id, id_of("openrouter/openrouter/auto"));
}

#[tokio::test]
async fn a_provider_that_tells_nothing_says_why_and_changes_nothing() {
    let page = Response::with(200, &[("content-type", "text/html")], "<html>");
    let denied = Response::status(401, &format!(r#"{{"error":{{"message":"no such key: {KEY}"}}}}"#));
    let cases = [
        (page, " answered no JSON".to_owned()),
        (denied, " answered 401 no such key: [key]; check the key in XAI_API_KEY".to_owned()),
        (Response::status(200, r#"{"oops": 1}"#), " answered no list of models".to_owned()),
        (Response::raw().rst(), ": connection ".to_owned()),
    ];
    for (response, expected) in cases {
        let home = TempDir::new().unwrap();
        let server = Server::answer(move |_| response.clone());
        let models = models(home.path(), "XAI", &server.base_url());
        let said = refresh(&models, "xai").await.unwrap_err();
        assert!(said.starts_with(&format!("{}/v1{expected}", server.base_url())), "{said}");
        assert_eq!((shown(&models, "xai", "grok-4.7").confirmed, home.path().join("models").exists()), (None, false));
    }
    let unknown = Models::from_env(&|_| None).unwrap().refresh(Some("xaii")).await.unwrap_err().to_string();
    assert!(unknown.starts_with("no provider xaii (did you mean xai?)"), "{unknown}");
}

#[tokio::test]
async fn a_list_that_is_torn_old_or_of_another_address_counts_as_absent() {
    let home = TempDir::new().unwrap();
    let server = listing(json!({"data": [{"id": "grok-4.6", "context_length": 131_072}]}));
    let at = server.base_url();
    refresh(&models(home.path(), "XAI", &at), "xai").await.unwrap();
    let file = home.path().join("models/xai.json");
    let whole = fs::read_to_string(&file).unwrap();
    let chosen = |url: &str| models(home.path(), "XAI", url).choose(None, None).unwrap().id.model;
    assert_eq!(chosen(&at), "grok-4.6");
    assert_eq!(chosen("https://elsewhere.example"), "grok-4.7");
    let mut old: Value = serde_json::from_str(&whole).unwrap();
    old["at"] = json!("2026-01-01T00:00:00Z");
    let mut ahead = old.clone();
    ahead["at"] = json!("2226-01-01T00:00:00Z");
    let mut foreign: Value = serde_json::from_str(&whole).unwrap();
    foreign["v"] = json!(2);
    let texts =
        [old.to_string(), ahead.to_string(), foreign.to_string(), whole[..whole.len() / 2].to_owned(), String::new()];
    for text in texts {
        fs::write(&file, &text).unwrap();
        assert_eq!(chosen(&at), "grok-4.7", "{text}");
    }
    fs::write(&file, &whole).unwrap();
    assert_eq!(chosen(&at), "grok-4.6");
    let beside: Vec<_> =
        fs::read_dir(home.path().join("models")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(beside, ["xai.json"], "nothing is left of writing");
}

/// A 404 names what was probably meant, from what is written and what the provider told.
#[tokio::test]
async fn a_model_that_the_provider_does_not_know_is_answered_with_those_that_are_near() {
    let server = Server::answer(|_| Response::status(404, r#"{"error":{"message":"model not found"}}"#));
    let home = TempDir::new().unwrap();
    let models = models(home.path(), "ANTHROPIC", &server.base_url());
    let ask = Ask::new([Message::user("hi")]);
    let error = ask.send(&models.get(&id_of("anthropic/claude-sonet-5-5")).unwrap()).await.0.unwrap_err().to_string();
    assert!(
        error.contains("does it have the model claude-sonet-5-5")
            && error.ends_with("(near are claude-sonnet-5-5, claude-sonnet-4-6, claude-sonnet-5)"),
        "{error}"
    );
    let error = ask.send(&models.get(&id_of("anthropic/nothing-like-it")).unwrap()).await.0.unwrap_err().to_string();
    assert!(error.ends_with("is its base URL right?"), "{error}");
}
