//! The list of providers and models: the one that is built in, and what a person's own file adds to it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;
use tillerman::message::{Message, Usage};
use tillerman::model::catalog::Models;
use tillerman::model::price::Price;
use tillerman::model::provider::{Effort, KnownModel, Lists, Provider, Wire};

use super::talk::{Ask, id_of};
use crate::server::{Server, says};

fn built_in() -> Models {
    Models::from_env(&|name| name.ends_with("_API_KEY").then(|| "k".to_owned())).unwrap()
}

/// The catalogue with a person's own file beside it.
fn with_own(text: &str) -> Result<Models, String> {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("models.yaml"), text).unwrap();
    let models = Models::from_home(home.path(), &|name| name.ends_with("_API_KEY").then(|| "k".to_owned()));
    models.map_err(|error| error.to_string().replace(&format!("{}/", home.path().display()), ""))
}

fn refusal(text: &str) -> String {
    with_own(text).map(|_| String::new()).unwrap_or_else(|error| error)
}

fn provider<'a>(models: &'a Models, id: &str) -> &'a Provider {
    models.providers().find(|provider| provider.id == id).unwrap()
}

#[test]
fn the_providers_of_the_field_are_built_in_and_can_be_opened() {
    let models = built_in();
    let ids: Vec<&str> = models.providers().map(|provider| provider.id.as_str()).collect();
    let expected = "anthropic openai gemini openrouter deepseek groq xai mistral minimax moonshot zai qwen ollama \
                    lmstudio llamacpp vllm openai-chat";
    assert_eq!(ids.join(" "), expected);
    for provider in models.providers() {
        let model = provider.prefer.first().map_or("whatever", String::as_str);
        let id = id_of(&format!("{}/{model}", provider.id));
        assert_eq!(models.get(&id).map(|model| model.id().clone()), Ok(id));
        let local = provider.base_url.starts_with("http://127.0.0.1:");
        assert_eq!((provider.local, provider.keys.is_empty(), provider.prefer.is_empty()), (local, local, local));
        assert_ne!(provider.name, "");
    }
}

/// A figure without a source is a rumour; a wish that no entry explains cannot be confirmed.
#[test]
fn every_figure_of_the_built_in_list_is_sound_and_says_where_it_is_from() {
    for provider in built_in().providers() {
        for wished in &provider.prefer {
            assert!(provider.model(wished).is_some(), "{}: {wished} is preferred and not known", provider.id);
        }
        let ids: BTreeSet<&str> = provider.models.iter().map(|model| model.id.as_str()).collect();
        assert_eq!(ids.len(), provider.models.len(), "{}: an id twice", provider.id);
        for model in &provider.models {
            let at = format!("{}/{}", provider.id, model.id);
            assert!(model.source.as_ref().or(provider.source.as_ref()).is_some_and(|source| source.len() > 4), "{at}");
            assert!(model.date.or(provider.date).is_some_and(|date| date.year() >= 2026), "{at}");
            check_figures(&at, model);
            for (effort, body) in model.effort.as_ref().unwrap_or(&provider.effort) {
                assert!(!body.is_empty(), "{at}: {effort:?} says nothing");
            }
        }
    }
}

fn check_figures(at: &str, model: &KnownModel) {
    let KnownModel { window, max_out, price, .. } = model;
    assert!(window.is_none_or(|window| (32_768..=2_000_000).contains(&window)), "{at}: {window:?}");
    assert!(max_out.is_none_or(|out| (4096..=window.unwrap_or(0)).contains(&out)), "{at}: {max_out:?}");
    let Some(Price { input, output, cache_read, cache_write, above }) = price else { return };
    assert!(*input > 0.0 && input < output && *output < 100.0, "{at}: {price:?}");
    assert!(cache_read.is_none_or(|read| read > 0.0 && read < *input), "{at}: {price:?}");
    assert!(cache_write.is_none_or(|write| write >= *input && write < 2.0 * input), "{at}: {price:?}");
    let Some(above) = above else { return };
    assert!(above.input > *input && above.output > *output && above.tokens < window.unwrap_or(0) + 1, "{at}");
    assert_eq!(
        (above.cache_read.is_some(), above.cache_write.is_some()),
        (cache_read.is_some(), cache_write.is_some())
    );
}

#[test]
fn a_long_input_has_its_own_price() {
    let models = built_in();
    let price = provider(&models, "openai").model("gpt-6.1-sol").unwrap().price.clone().unwrap();
    let cost = |input, cache_read| {
        let usage = Usage { input, cache_read, cache_write: 1_000, output: 10_000, ..Usage::default() };
        price.of(&usage).unwrap().dollars()
    };
    assert_eq!(cost(100_000, 50_000), 0.2 + 0.005 + 0.0025 + 0.1);
    assert_eq!(cost(100_000, 200_000), 0.4 + 0.04 + 0.005 + 0.15);
}

/// The promise of the table: who speaks a format that is known needs one entry.
#[tokio::test]
async fn a_new_provider_is_one_entry_and_answers() {
    let server = Server::list([says().text("at your service")]);
    let text = format!(
        "providers:\n  - id: corp\n    wire: chat\n    base_url: {}/llm/v1\n    keys: [CORP_API_KEY]\n    prefer: [large]\n    \
         headers: {{ X-Team: crew }}\n    quirks: {{ max_tokens: max_tokens }}\n    models:\n      \
         - {{ id: large, window: 50000, max_out: 800, body: {{ seed: 7 }} }}\n",
        server.base_url()
    );
    let models = with_own(&text).unwrap();
    let id = models.read("corp").unwrap();
    assert_eq!((id.to_string().as_str(), models.window(&id)), ("corp/large", 50_000));
    let (reply, _) = Ask::new([Message::user("hi")]).send(&models.get(&id).unwrap()).await;
    assert_eq!(reply.unwrap().message.text(), "at your service");
    let request = server.requests().remove(0);
    assert_eq!(
        (request.path.as_str(), request.headers["authorization"].as_str()),
        ("/llm/v1/chat/completions", "Bearer k")
    );
    assert_eq!(request.headers["x-team"], "crew");
    assert_eq!((&request.body["max_tokens"], &request.body["seed"]), (&json!(800), &json!(7)));
}

#[test]
fn an_own_entry_changes_what_it_names_and_nothing_else() {
    let before = built_in();
    let models = with_own(
        "providers:\n  - id: anthropic\n    prefer: [claude-opus-5-5]\n    models:\n      \
         - { id: claude-opus-5-5, window: 400000 }\n      - { id: claude-next, window: 2000000, images: false }\n  \
         - { id: deepseek, quirks: { usage: false } }\n",
    )
    .unwrap();
    let (old, new) = (provider(&before, "anthropic"), provider(&models, "anthropic"));
    let opus = old.model("claude-opus-5-5").unwrap().clone();
    assert_eq!(new.model("claude-opus-5-5"), Some(&KnownModel { window: Some(400_000), ..opus }));
    assert_eq!(new.models.len(), old.models.len() + 1);
    assert_eq!(models.read("anthropic").unwrap().model, "claude-opus-5-5");
    assert_eq!((new.base_url.as_str(), new.wire, &new.quirks), (old.base_url.as_str(), old.wire, &old.quirks));
    let (old, new) = (provider(&before, "deepseek"), provider(&models, "deepseek"));
    assert_eq!((new.quirks.reasoning, new.quirks.usage, old.quirks.usage), (old.quirks.reasoning, false, true));
    assert_eq!(models.providers().count(), before.providers().count());
}

#[test]
fn a_gateway_may_have_the_models_of_a_provider_that_is_known() {
    let models = with_own(
        "providers:\n  - { id: gate, wire: anthropic, base_url: 'https://gate.example', like: anthropic }\n  \
         - { id: bridge, wire: chat, base_url: 'https://bridge.example/v1', like: anthropic }\n",
    )
    .unwrap();
    let sonnet = |id: &str| provider(&models, id).model("claude-sonnet-5-5").unwrap().clone();
    assert_eq!(sonnet("gate").effort, Some(provider(&models, "anthropic").effort.clone()));
    assert_eq!(sonnet("gate").body, sonnet("anthropic").body);
    // What is said to a model holds only in the format in which it is said.
    assert_eq!((sonnet("bridge").effort, sonnet("bridge").body.len()), (None, 0));
    assert_eq!((sonnet("bridge").window, sonnet("bridge").price), (Some(1_000_000), sonnet("anthropic").price));
    assert_eq!(provider(&models, "bridge").list, Lists::Models);
    assert!(models.knows_effort(&id_of("gate/claude-sonnet-5-5"), Effort::High));
    assert!(!models.knows_effort(&id_of("bridge/claude-sonnet-5-5"), Effort::High));
}

#[test]
fn a_slip_in_an_entry_is_told_with_its_place_and_what_was_meant() {
    let cases = [
        (
            "providers:\n  - id: corp\n    wiree: chat\n",
            "models.yaml is wrong at line 3: providers[0]: unknown field `wiree`; did you mean `wire`?",
        ),
        (
            "providers:\n  - id: corp\n    wire: chatt\n",
            "models.yaml is wrong at line 3: providers[0].wire: unknown variant `chatt`; did you mean `chat`?",
        ),
        (
            "providers:\n  - id: openai\n    models:\n      - id: x\n        windw: 5\n",
            "models.yaml is wrong at line 5: providers[0].models[0]: unknown field `windw`; did you mean `window`?",
        ),
        (
            "providers:\n  - id: openai\n    quirks: { cahce: top }\n",
            "models.yaml is wrong at line 3: providers[0]: unknown field `cahce`; did you mean `cache`?",
        ),
        ("provider: []\n", "models.yaml is wrong at line 1: unknown field `provider`; did you mean `providers`?"),
        (
            "providers:\n  - id: corp\n    wire: chat\n",
            "models.yaml is wrong at line 2: provider corp: is new and needs base_url",
        ),
        (
            "providers:\n  - id: corp\n    base_url: http://x/v1\n",
            "models.yaml is wrong at line 2: provider corp: is new and needs wire (anthropic, responses, chat, gemini or ollama)",
        ),
        (
            "providers:\n  - { id: xai }\n  - { id: xai }\n",
            "models.yaml is wrong at line 2: provider xai: is written twice",
        ),
        ("providers:\n  - { id: pilot }\n", "models.yaml is wrong at line 2: provider pilot: that id is taken"),
        (
            "providers:\n  - { id: xai, base_url: api.x.ai }\n",
            "models.yaml is wrong at line 2: provider xai: base_url api.x.ai is not like https://host/v1, without a slash at its end",
        ),
        (
            "providers:\n  - { id: xai, models: [{ id: a, price: { input: -1, output: 2 } }] }\n",
            "models.yaml is wrong at line 2: provider xai: model a: a price is in US dollars per million tokens, from 0 to 10000",
        ),
        (
            "providers:\n  - { id: xai, models: [{ id: a, window: 128 }] }\n",
            "models.yaml is wrong at line 2: provider xai: model a: a window is in tokens, 1024 at least",
        ),
        (
            "providers:\n  - { id: x, wire: chat, base_url: 'http://x', like: antropic }\n",
            "models.yaml is wrong at line 2: provider x: like: antropic is no provider that stands before it",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal(text), expected);
    }
    assert!(refusal("providers: [\n").starts_with("models.yaml is wrong at line "));
    assert_eq!(refusal(""), "");
    assert_eq!(refusal("# nothing yet\n"), "");
}

#[test]
fn a_home_without_a_file_has_the_built_in_list() {
    let models = Models::from_home(Path::new("/nowhere/at/all"), &|_| None).unwrap();
    assert_eq!(provider(&models, "xai"), provider(&built_in(), "xai"));
    assert_eq!(provider(&models, "xai").wire, Wire::Chat);
}

#[test]
fn a_server_that_is_asked_for_a_context_is_not_asked_for_more_than_that() {
    let models = with_own(
        "providers:\n  - { id: ollama, models: [{ id: tiny, window: 4096 }, { id: huge, window: 262144 }] }\n",
    );
    let models = models.unwrap();
    let windows = ["ollama/tiny", "ollama/huge", "ollama/who-knows"].map(|id| models.window(&id_of(id)));
    assert_eq!(windows, [4096, 32_768, 32_768]);
    assert_eq!((models.window(&id_of("who/knows")), models.window(&id_of("xai/unheard-of"))), (128_000, 128_000));
}
