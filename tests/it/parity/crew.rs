//! Promises about main agent and workers together, with a played model in a real runtime.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tillerman::model::Model;
use tillerman::runtime::Open;
use tillerman::task::Brief;
use tillerman::workspace::policy::Profile;

use crate::runtime::{Ask, boat, boat_with, calls, dispatch, played, says};

/// What one ask showed.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) is_worker: bool,
    pub(super) system: String,
    pub(super) tools: Vec<String>,
    /// Its messages as one text.
    pub(super) text: String,
}

impl Seen {
    pub(super) fn of(ask: &Ask) -> Seen {
        let text = ask.messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n");
        Seen { is_worker: ask.is_worker(), system: ask.system.clone(), tools: ask.tools.clone(), text }
    }
}

/// What each ask showed.
pub(super) type Shown = Arc<Mutex<Vec<Seen>>>;

/// Keeps what it is shown and answers by the function.
pub(super) fn showing(
    shown: &Shown,
    answer: impl Fn(&Ask) -> tillerman::message::Message + Clone + Send + Sync + 'static,
) -> Arc<dyn Model> {
    let shown = Arc::clone(shown);
    played("showing", move |ask: Ask| {
        shown.lock().unwrap().push(Seen::of(&ask));
        let answer = answer.clone();
        async move { answer(&ask) }
    })
}

#[tokio::test]
async fn s1_35_a_role_restricts_the_skills() {
    let shown = Shown::default();
    let boat = boat(showing(&shown, |_| says("done"))).await;
    let agents = boat.ground.root().join("agents");
    std::fs::create_dir_all(&agents).unwrap();
    std::fs::write(agents.join("poet.md"), "---\nname: poet\ndescription: d\nskills: [writing]\n---\nWrite.\n")
        .unwrap();
    let brief = Brief { body: "a poem".into(), agent: Some("poet".into()), ..Brief::default() };
    boat.runtime.dispatch(&boat.session, brief).await.unwrap();
    boat.runtime.idle().await;
    let asks = shown.lock().unwrap().clone();
    let Seen { system, .. } = asks.iter().find(|seen| seen.is_worker).unwrap();
    let own = system.contains("\n# Skills\nSkill writing, built in.\n");
    assert!(own && !system.contains("- writing: ") && !system.contains("coding"), "{system}");
}

#[tokio::test]
async fn s1_37_a_worker_knows_its_brief_and_nothing_of_the_conversation() {
    let shown = Shown::default();
    let answer = |ask: &Ask| match ask.last().as_str() {
        "the password is swordfish" => calls([dispatch("count to three")]),
        _ => says("fine"),
    };
    let mut boat = boat(showing(&shown, answer)).await;
    let run = boat.say("the password is swordfish").await;
    boat.run_ended(run).await;
    boat.runtime.idle().await;
    let asks = shown.lock().unwrap().clone();
    let Seen { system, tools, text, .. } = asks.iter().find(|seen| seen.is_worker).unwrap();
    assert!(text.contains("count to three"), "{text}");
    assert!(!text.contains("swordfish") && !system.contains("swordfish"));
    assert!(!tools.contains(&"dispatch".to_owned()), "{tools:?}");
}

#[tokio::test]
async fn s2_45_s2_46_the_agent_writes_skills_and_memory_that_the_next_run_knows() {
    let shown = Shown::default();
    let skill = "---\nname: knots\ndescription: how to tie knots\n---\nOver, under.\n";
    let answer = move |ask: &Ask| match ask.last().as_str() {
        "learn" => calls([
            ("write_file", json!({"path": "skills/knots.md", "content": skill})),
            ("write_file", json!({"path": "memory/memory.md", "content": "The captain likes tea."})),
        ]),
        _ => says("learnt"),
    };
    // As in its source: only there may an agent write what later agents are told to do.
    let mut boat = boat_with(showing(&shown, answer), |config| config.profile = Profile::Curated).await;
    let run = boat.say("learn").await;
    boat.run_ended(run).await;
    boat.session = boat.runtime.open(Open::New).await.unwrap();
    let run = boat.say("what do you know?").await;
    boat.run_ended(run).await;
    let last = shown.lock().unwrap().last().unwrap().system.clone();
    assert!(last.contains("how to tie knots") && last.contains("The captain likes tea."), "{last}");
}
