//! A model for each part of the work, at providers of their own: who is asked for what, with limits that fit.

use std::fs;

use serde_json::json;

use super::KEY;
use crate::cli::Place;
use crate::server::{Server, says};

#[test]
fn workers_ask_their_own_model_within_its_window_and_the_main_agent_asks_its_own() {
    let main = Server::answer(|request| match request.last_user().contains("[Worker completed t_001]") {
        true => says().text("It is done.").into(),
        false if request.results().is_empty() => says().call("d1", "dispatch", json!({"task": "count"})).into(),
        false => says().text("On it.").into(),
    });
    let crew = Server::answer(|_| says().text("Counted.").into());
    let place = Place::new();
    let entry = format!(
        "providers:\n- {{ id: crew, name: Crew, wire: chat, base_url: \"{}/v1\", source: me, date: 2026-11-21, \
         models: [{{ id: small, window: 6000, max_out: 6000 }}] }}\n",
        crew.base_url()
    );
    fs::write(place.home.path().join("models.yaml"), entry).unwrap();
    fs::write(place.home.path().join("config.yaml"), "worker_model: crew/small\n").unwrap();
    let url = main.base_url();
    let args = ["run", "--wait", "-m", "anthropic/claude-test", "--base-url", &url, "count"];
    let done = place.tillerman_with(&args, &[("ANTHROPIC_API_KEY", KEY)], "");
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "On it.\nIt is done.\n"), "{}", done.stderr);
    let asked =
        |server: &Server| server.requests().iter().map(|request| request.body["model"].clone()).collect::<Vec<_>>();
    assert_eq!((asked(&main), asked(&crew)), (vec![json!("claude-test"); 3], vec![json!("small")]));
    let most = &crew.requests()[0].body["max_completion_tokens"];
    assert_eq!(
        (&main.requests()[0].body["max_tokens"], most),
        (&json!(4096), &json!(3000)),
        "half of the small window"
    );
    assert!(!crew.requests()[0].headers.contains_key("authorization"), "no key goes to a provider that has none");
}

#[test]
fn whoever_cannot_be_had_is_told_before_the_answer_and_by_doctor() {
    let place = Place::new();
    fs::write(place.home.path().join("config.yaml"), "title_model: anthropic/x\nfallback: [openai/y]\n").unwrap();
    let done = place.tillerman(&["run", "-m", "pilot", "hello"]);
    assert_eq!(done.code, Some(0));
    for words in [
        "title_model anthropic/x in ",
        "anthropic needs a key; set ANTHROPIC_API_KEY; until then conversations get no titles",
        "openai needs a key; set OPENAI_API_KEY; until then it does not stand in",
    ] {
        assert!(done.stderr.contains(words), "{words}: {}", done.stderr);
    }
    let doctor = place.tillerman(&["doctor"]).stdout;
    assert!(doctor.contains("⚠ title_model: anthropic/x (named in "), "{doctor}");
}
