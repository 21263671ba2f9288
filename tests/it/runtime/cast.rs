//! Which model does what in the running program: whose word counts for a worker, who sums up, who cannot be had.

use std::sync::Arc;

use serde_json::json;
use tillerman::agent::Keep;
use tillerman::config::{Config, Named, Place};
use tillerman::model::Model;
use tillerman::runtime::ControlError;
use tillerman::task::Brief;

use super::{Ask, Boat, boat_with, calls, dispatch, played, says};

fn named(key: &'static str, model: &str) -> Option<Named> {
    let id = tillerman::model::ModelId::parse(model).unwrap();
    Some(Named { key, id, from: Place::Variable("HERE".to_owned()) })
}

/// A model that says its own name and how many messages it was shown.
fn herald(name: &'static str) -> Arc<dyn Model> {
    played(name, move |_| async move { says(format!("I am {name}.")) })
}

/// With the models main, crew, brief and role within reach, of which the first is the main agent's.
async fn four(change: impl FnOnce(&mut Config)) -> Boat {
    boat_with(herald("main"), |config| {
        for name in ["crew", "brief", "role"] {
            config.models = config.models.clone().with(herald(name));
        }
        change(config);
    })
    .await
}

/// What the worker of a brief answers.
async fn worker(boat: &mut Boat, id: u32, brief: Brief) -> String {
    let brief = Brief { body: "Say who you are.".to_owned(), ..brief };
    boat.runtime.dispatch(&boat.session, brief).await.unwrap();
    boat.task_ended(id).await.answer.trim().to_owned()
}

#[tokio::test]
async fn the_brief_goes_before_the_role_that_before_the_setting_and_that_before_the_main_agents_model() {
    let mut boat = four(|_| {}).await;
    assert_eq!(worker(&mut boat, 1, Brief::default()).await, "I am main.");

    let mut boat = four(|config| config.cast.worker = named("worker_model", "played/crew")).await;
    let role = boat.ground.root().join("agents/speaker.md");
    std::fs::create_dir_all(role.parent().unwrap()).unwrap();
    std::fs::write(&role, "---\ndescription: Speaks.\nmodel: played/role\n---\nSpeak.\n").unwrap();
    let agent = || Some("speaker".to_owned());
    let model = || Some("played/brief".to_owned());
    assert_eq!(worker(&mut boat, 1, Brief::default()).await, "I am crew.");
    assert_eq!(worker(&mut boat, 2, Brief { agent: agent(), ..Brief::default() }).await, "I am role.");
    assert_eq!(worker(&mut boat, 3, Brief { agent: agent(), model: model(), ..Brief::default() }).await, "I am brief.");
    assert_eq!(boat.answer("And you?").await, "I am main.");
}

#[tokio::test]
async fn without_its_model_a_task_is_refused_where_it_is_dispatched() {
    let model = played("main", |ask: Ask| async move {
        match ask.outputs().first() {
            Some(output) => says(output),
            None => calls([dispatch("look around")]),
        }
    });
    let mut boat = boat_with(model, |config| config.cast.worker = named("worker_model", "anthropic/claude-x")).await;
    let refusal = "anthropic needs a key; set ANTHROPIC_API_KEY (worker_model is named in HERE)";
    assert_eq!(boat.answer("go").await, refusal);
    assert_eq!(boat.runtime.tasks().await, []);
    let brief = Brief { body: "look".to_owned(), ..Brief::default() };
    let refused = boat.runtime.dispatch(&boat.session, brief.clone()).await;
    assert_eq!(refused, Err(ControlError::Unfit(refusal.to_owned())));
    let brief = Brief { model: Some("played/main".to_owned()), ..brief };
    assert!(boat.runtime.dispatch(&boat.session, brief).await.is_ok(), "another model is named");
}

/// A model that reads until it is told that its memory is a summary; `summary` is what it sums up, if it may.
fn reader(summary: &'static str) -> Arc<dyn Model> {
    played("main", move |ask: Ask| async move {
        match ask.first() {
            first if first.starts_with("[Previous conversation summary]") => says(first),
            first if first.starts_with("<transcript>") => says(summary),
            _ => {
                let last = if ask.messages.len() == 1 { 600 } else { 3_000 };
                calls([("shell", json!({"command": format!("seq {last}")}))])
            }
        }
    })
}

#[tokio::test]
async fn the_model_that_is_named_for_it_sums_up() {
    let cases =
        [(Some("played/scribe"), "By the scribe."), (Some("anthropic/claude-x"), "By myself."), (None, "By myself.")];
    for (model, expected) in cases {
        let mut boat = boat_with(reader("By myself."), |config| {
            config.models = config.models.clone().with(played("scribe", |_| async { says("By the scribe.") }));
            config.cast.compaction = model.and_then(|model| named("compaction_model", model));
            config.main.context_window = 6_000;
            config.main.max_tokens = 1_000;
            config.main.compacting.keep = Keep::Recent(100);
        })
        .await;
        let answer = boat.answer("read on").await;
        assert!(answer.contains(expected), "{model:?}: {answer}");
    }
}
