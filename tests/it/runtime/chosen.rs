//! Another model and another effort while a conversation is open, and what fills the window.

use std::fs;
use std::sync::Arc;

use tillerman::agent::Limits;
use tillerman::config::{self, Config, Flags};
use tillerman::message::{Budget, Usd};
use tillerman::model::provider::Effort;
use tillerman::model::{Model, ModelId};
use tillerman::runtime::{Chosen, Filled, NotChosen, Open, Runtime, SessionGone};
use tillerman::task::Brief;

use super::{Ask, Ground, boat, boat_with, played, says};

fn herald(name: &'static str) -> Arc<dyn Model> {
    played(name, move |_| async move { says(format!("I am {name}.")) })
}

fn id(text: &str) -> ModelId {
    ModelId::parse(text).unwrap()
}

/// With a key for one provider; nobody is asked anything.
fn keyed(ground: &Ground) -> Config {
    let env = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "sk-test-0123456789".to_owned());
    config::load(ground.workspace(), &Flags::default(), &env).unwrap()
}

#[tokio::test]
async fn s1_44_another_model_answers_from_the_next_run_on_and_works_too() {
    let mut boat =
        boat_with(herald("main"), |config| config.models = config.models.clone().with(herald("other"))).await;
    assert_eq!(boat.answer("Who?").await, "I am main.");
    let chosen = boat.runtime.set_model(&boat.session, "played/other").await;
    assert_eq!(chosen, Ok(Chosen { model: id("played/other"), effort: None, doubt: None }));
    let status = boat.runtime.status(&boat.session).await.unwrap();
    let Limits { context_window, .. } = boat.runtime.config().main;
    assert_eq!((status.model, status.effort, status.queued), (id("played/other"), None, 0));
    assert!(status.window > 0 && context_window > 0);
    assert_eq!(boat.answer("And now?").await, "I am other.");
    let brief = Brief { body: "Say who you are.".to_owned(), ..Brief::default() };
    boat.runtime.dispatch(&boat.session, brief).await.unwrap();
    assert_eq!(boat.task_ended(1).await.answer.trim(), "I am other.");
    boat.idle().await;
    let status = boat.runtime.status(&boat.session).await.unwrap();
    assert_eq!(status.bill.models().count(), 2, "each is paid under its own name");
    let second = boat.runtime.open(Open::New).await.unwrap();
    assert_eq!(boat.runtime.status(&second).await.unwrap().model, id("played/main"), "it is this conversation's alone");
}

#[tokio::test]
async fn a_model_that_cannot_be_had_is_refused_as_on_the_command_line_and_changes_nothing() {
    let boat = boat(herald("main")).await;
    for name in ["nobody/at-all", "antropic/claude", "gpt", "anthropic/claude-sonnet-5-5"] {
        let models = &boat.runtime.config().models;
        let said = models.choose(Some(name), None).and_then(|choice| models.get(&choice.id)).map(drop).unwrap_err();
        assert_eq!(boat.runtime.set_model(&boat.session, name).await, Err(NotChosen::Model(said)), "{name}");
    }
    let near = boat.runtime.set_model(&boat.session, "antropic/claude").await.unwrap_err().to_string();
    assert!(near.contains("did you mean anthropic?"), "{near}");
    assert_eq!(boat.runtime.status(&boat.session).await.unwrap().model, id("played/main"));
}

#[tokio::test]
async fn effort_is_chosen_by_its_word_where_the_model_can_be_asked_for_it() {
    let ground = Ground::new();
    let runtime = Runtime::start(keyed(&ground)).await.unwrap();
    let session = runtime.open(Open::New).await.unwrap();
    let chosen = runtime.set_effort(&session, "high").await.unwrap();
    assert_eq!((chosen.model.provider.as_str(), chosen.effort), ("anthropic", Some(Effort::High)));
    assert_eq!(runtime.status(&session).await.unwrap().effort, Some(Effort::High));
    let wrong = runtime.set_effort(&session, "hihg").await.unwrap_err().to_string();
    assert_eq!(wrong, "\"hihg\" is no effort; say off, minimal, low, medium, high or max");
    assert_eq!(runtime.set_model(&session, "pilot").await.unwrap().effort, None, "it does not think");
    let unknown = runtime.set_effort(&session, "low").await;
    assert_eq!(unknown, Err(NotChosen::Unknown { model: id("pilot/pilot"), effort: "low" }));
}

#[tokio::test]
async fn where_dollars_are_limited_a_model_without_a_price_is_refused_and_looking_on_changes_nothing() {
    let limited = |config: &mut Config| {
        config.models = config.models.clone().with(herald("other"));
        config.whole = Budget { usd: Some(Usd(1_000_000)), ..Budget::default() };
    };
    let boat = boat_with(herald("main"), limited).await;
    let refused = boat.runtime.set_model(&boat.session, "played/other").await.unwrap_err().to_string();
    assert!(refused.contains("nobody knows the price of played/other"), "{refused}");
    boat.runtime.set_model(&boat.session, "pilot").await.unwrap();
    let nobody = played("nobody", |_: Ask| async { panic!("no model is asked") });
    let looking = Runtime::attach(Ground::at(boat.ground.path()).config(nobody)).await.unwrap();
    let session = looking.open(Open::Latest).await.unwrap();
    let refused = looking.set_model(&session, "pilot").await;
    assert!(matches!(refused, Err(NotChosen::Gone(SessionGone::Looking(_)))), "{refused:?}");
    assert!(looking.context(&session).await.is_err());
}

#[tokio::test]
async fn what_fills_the_window_is_told_part_by_part() {
    let mut boat = boat(herald("main")).await;
    fs::write(boat.ground.root().join("AGENTS.md"), "Keep the API. ".repeat(100)).unwrap();
    fs::create_dir(boat.ground.root().join("memory")).unwrap();
    fs::write(boat.ground.root().join("memory/memory.md"), "They like tea.").unwrap();
    boat.answer("Who are you?").await;
    let window = boat.runtime.context(&boat.session).await.unwrap();
    assert_eq!((window.model, window.used), (id("played/main"), 12));
    assert!(window.holds > window.reply && window.reply > 0);
    let of = |what| window.parts.iter().filter(move |part| part.what == what);
    let prompt: Vec<&str> = of(Filled::Prompt).map(|part| part.name.as_str()).collect();
    assert_eq!(prompt.first(), Some(&""), "the instructions");
    assert!(prompt.ends_with(&["Project instructions", "Memory"]), "{prompt:?}");
    let agents = of(Filled::Prompt).find(|part| part.name == "Project instructions").unwrap();
    assert_eq!(agents.path, Some(boat.ground.root().join("AGENTS.md")));
    assert!((300..900).contains(&agents.tokens), "{}", agents.tokens);
    assert!(of(Filled::Tool).any(|part| part.name == "dispatch" && part.tokens > 20));
    let said: Vec<Filled> = window.parts.iter().rev().take(2).map(|part| part.what).collect();
    assert_eq!(said, [Filled::Replies, Filled::Said]);
    assert_eq!(of(Filled::Summary).count(), 0);
}
