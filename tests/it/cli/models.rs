//! `tillerman models` and what the doctor says of providers, through the real program.

use serde_json::{Value, json};

use super::Place;
use crate::server::{Response, Server};

#[test]
fn the_models_that_can_be_used_are_listed_with_their_figures_and_the_reason() {
    let place = Place::new();
    let done = place.tillerman_with(&["models"], &[("XAI_API_KEY", "sk-canary-1"), ("GROQ_API_KEY", "k")], "");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let has = |line: &str| assert!(done.stdout.lines().any(|found| found.contains(line)), "{line}\n{}", done.stdout);
    has("groq/openai/gpt-oss-120b answers (GROQ_API_KEY is set)");
    has("xai · xAI · XAI_API_KEY is set; groq/openai/gpt-oss-120b goes before it");
    has("* openai/gpt-oss-120b");
    has("anthropic · Anthropic · ANTHROPIC_API_KEY is not set");
    has("ollama · Ollama · not looked for");
    has("figures of 2026-11-21: litellm 1.106.2");
    assert!(!done.stdout.contains("canary"));
    let one = place.tillerman(&["models", "openrouter"]).stdout;
    let auto = one.lines().find(|line| line.contains("openrouter/auto")).unwrap();
    assert_eq!(auto.split_whitespace().collect::<Vec<_>>(), ["openrouter/auto", "-", "-", "-", "-", "-", "-", "-"]);
    let strange = place.tillerman(&["models", "antropic"]);
    assert_eq!(strange.code, Some(2));
    assert!(strange.stderr.contains("no provider antropic (did you mean anthropic?)"), "{}", strange.stderr);
}

#[test]
fn refreshing_asks_the_provider_and_json_tells_what_it_confirmed() {
    let place = Place::new();
    let server =
        Server::answer(|_| Response::status(200, r#"{"data": [{"id": "grok-4.6", "context_length": 250000}]}"#));
    let url = server.base_url();
    let env = [("XAI_API_KEY", "k"), ("XAI_BASE_URL", url.as_str())];
    let done = place.tillerman_with(&["models", "--refresh", "--json", "xai"], &env, "");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("xai: 1 models, 0 of them not in the catalogue; gone: grok-4.7; grok-4.6 has a window of 250,000, not 500,000"), "{}", done.stderr);
    let said: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(said["chosen"]["model"], "grok-4.6", "what was asked now counts for the next choice: {said}");
    let model = &said["providers"][0]["models"][1];
    assert_eq!(
        (&model["id"], &model["window"], &model["confirmed"]),
        (&json!("grok-4.6"), &json!(250_000), &json!(true))
    );
    let gone = Server::answer(|_| Response::status(401, r#"{"error": {"message": "bad key"}}"#));
    let url = gone.base_url();
    let done =
        place.tillerman_with(&["models", "--refresh", "xai"], &[("XAI_API_KEY", "k"), ("XAI_BASE_URL", &url)], "");
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("answered 401 bad key; check the key in XAI_API_KEY"), "{}", done.stderr);
}

#[test]
fn the_doctor_says_of_every_provider_why_it_was_or_was_not_taken() {
    let place = Place::new();
    let done = place.tillerman_with(&["doctor"], &[("DEEPSEEK_API_KEY", "k"), ("GROQ_API_KEY", "k")], "");
    let has = |line: &str| assert!(done.stdout.lines().any(|found| found.contains(line)), "{line}\n{}", done.stdout);
    has("deepseek/deepseek-v4-pro (DEEPSEEK_API_KEY is set), window 1000000 tokens");
    has("DeepSeek: answers, DEEPSEEK_API_KEY is set");
    has("Groq: GROQ_API_KEY is set; deepseek/deepseek-v4-pro goes before it");
    has("Mistral: MISTRAL_API_KEY is not set");
}

#[test]
fn a_slip_in_ones_own_list_of_models_ends_with_the_code_of_a_slip() {
    let place = Place::new();
    std::fs::write(place.home.path().join("models.yaml"), "providers:\n  - id: corp\n    wiree: chat\n").unwrap();
    let done = place.tillerman(&["run", "hi"]);
    assert_eq!(done.code, Some(2));
    assert!(
        done.stderr
            .contains("models.yaml is wrong at line 3: providers[0]: unknown field `wiree`; did you mean `wire`?"),
        "{}",
        done.stderr
    );
}
