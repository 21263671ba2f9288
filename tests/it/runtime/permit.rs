//! Calls that wait for a person's word, and who may ask for wider rights (S20, S21).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tillerman::config::Config;
use tillerman::message::Message;
use tillerman::model::Model;
use tillerman::runtime::{News, NoPermission, Open, Permission, Word};
use tillerman::task::Brief;
use tillerman::tools::Enabled;
use tillerman::tools::gate::{Ground, Rule, Rules, Verdict};
use tillerman::workspace::policy::Profile;

use super::{Ask, Boat, boat_with, calls, played, says};

/// A main agent that runs each command of a line, and says what came of it.
fn runs() -> Arc<dyn Model> {
    let wide = |command: &str| json!({"why": "needed", "tool": "shell", "args": { "command": command }});
    let call = move |command: &str| match command.strip_prefix("outside ") {
        Some(command) => ("escalate", wide(command)),
        None => ("shell", json!({ "command": command })),
    };
    let reply = move |ask: &Ask| -> Message {
        let said = ask.messages.iter().rev().take_while(|message| message.results().next().is_some());
        let outputs: Vec<String> = said.flat_map(|message| message.results()).map(|done| done.output.clone()).collect();
        if !outputs.is_empty() {
            return says(outputs.join(" | "));
        }
        match ask.last().split_once(" & ") {
            Some((one, other)) => calls([call(one), call(other)]),
            None => calls([call(&ask.last())]),
        }
    };
    played("runs", move |ask: Ask| {
        let reply = reply(&ask);
        async { reply }
    })
}

/// Every command is asked.
fn asked(config: &mut Config) {
    let ground = Ground { root: config.workspace.root().to_owned(), home: None };
    let rule = Rule::read("shell", Verdict::Ask, "here".to_owned(), &ground).unwrap();
    config.permissions.rules = Arc::new(Rules::new(vec![rule], Verdict::Allow, ground));
}

async fn attended() -> Boat {
    let boat = boat_with(runs(), asked).await;
    boat.runtime.can_ask(true);
    boat
}

impl Boat {
    async fn question(&mut self) -> Permission {
        self.until(|envelope| match &envelope.news {
            News::Permission(permission) if permission.settled.is_none() => Some(permission.clone()),
            _ => None,
        })
        .await
    }

    /// Says a line whose call must be asked, answers, and waits for the end.
    async fn with_word(&mut self, line: &str, id: u64, word: Word) -> String {
        let run = self.say(line).await;
        assert_eq!(self.question().await.id, id, "{line}");
        assert_eq!(self.runtime.permit(None, word), Ok(id));
        match self.run_ended(run).await {
            tillerman::event::Ending::Completed { answer } => answer,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn s20_a_word_for_good_holds_for_the_same_call_only() {
    let mut boat = attended().await;
    assert_eq!(boat.with_word("echo one", 1, Word::Once).await, "one\n");
    assert_eq!(boat.with_word("echo one", 2, Word::Always).await, "one\n");
    assert_eq!(boat.answer("echo one").await, "one\n", "it is not asked again");
    assert_eq!(boat.with_word("echo  one", 3, Word::Once).await, "one\n", "other arguments");
    assert_eq!(boat.with_word("outside echo one", 4, Word::Always).await, "one\n", "another mode");
    assert_eq!(boat.answer("outside echo one").await, "one\n");
    let why = "shell was not done: wider rights were denied (by the person: no); go on without, or say what is missing";
    assert_eq!(boat.with_word("outside echo two", 5, Word::No("no".to_owned())).await, why);
    // The same folder, variables and rights: only where temporary files are differs.
    boat.session = boat.runtime.open(Open::New).await.unwrap();
    assert_eq!(boat.answer("echo one").await, "one\n", "in another conversation");
}

#[tokio::test]
async fn two_calls_that_wait_at_once_are_answered_by_number() {
    let mut boat = attended().await;
    let run = boat.say("echo one & outside echo two").await;
    let mut both = [boat.question().await, boat.question().await];
    both.sort_by_key(|permission| permission.escalated);
    let [inside, outside] = both;
    assert_eq!((inside.why.as_str(), inside.escalated), ("ask shell (here)", false));
    assert_eq!((outside.tool.as_str(), outside.why.as_str(), outside.escalated), ("shell", "needed", true));
    assert_eq!(boat.runtime.permit(Some(9), Word::Once), Err(NoPermission(Some(9))));
    assert_eq!(boat.runtime.permit(Some(outside.id), Word::No("not two".to_owned())), Ok(outside.id));
    assert!(boat.runtime.is_asking());
    assert_eq!(boat.runtime.permit(Some(inside.id), Word::Once), Ok(inside.id));
    let told = "shell was not done: wider rights were denied (by the person: not two); go on without, or say what is missing \
                | one\n";
    let tillerman::event::Ending::Completed { answer } = boat.run_ended(run).await else {
        panic!("it did not end well")
    };
    assert_eq!(answer, told);
    assert_eq!(boat.runtime.permit(None, Word::Once), Err(NoPermission(None)));
}

#[tokio::test(start_paused = true)]
async fn silence_is_no_permission() {
    let mut boat = attended().await;
    let run = boat.say("echo one & outside echo two").await;
    boat.question().await;
    boat.question().await;
    tokio::time::sleep(Duration::from_secs(599)).await;
    assert!(boat.runtime.is_asking());
    tokio::time::sleep(Duration::from_secs(2)).await;
    let tillerman::event::Ending::Completed { answer } = boat.run_ended(run).await else {
        panic!("it did not end well")
    };
    let silence = "denied (nobody answered within 10 minutes); ";
    assert_eq!(answer.matches(silence).count(), 2, "{answer}");
    assert!(!boat.runtime.is_asking());
}

#[tokio::test]
async fn an_abort_ends_the_wait_for_a_word() {
    let mut boat = attended().await;
    let run = boat.say("outside echo one").await;
    boat.question().await;
    boat.runtime.abort_main(&boat.session).await.unwrap();
    assert_eq!(boat.run_ended(run).await, tillerman::event::Ending::Aborted);
    assert!(!boat.runtime.is_asking());
}

/// Whether it was a worker, and the tools that its model was told of.
type Shown = Arc<Mutex<Vec<(bool, Vec<String>)>>>;

/// What the main agent and a worker can call.
async fn tools_of(attended: bool, change: impl FnOnce(&mut Config)) -> [Vec<String>; 2] {
    let shown = Shown::default();
    let seen = shown.clone();
    let model = played("shown", move |ask: Ask| {
        seen.lock().unwrap().push((ask.is_worker(), ask.tools.clone()));
        async { says("ok") }
    });
    let mut boat = boat_with(model, change).await;
    boat.runtime.can_ask(attended);
    boat.answer("hello").await;
    let brief = Brief { body: "Count.".to_owned(), ..Brief::default() };
    boat.runtime.dispatch(&boat.session, brief).await.unwrap();
    boat.idle().await;
    let shown = shown.lock().unwrap();
    [false, true].map(|worker| shown.iter().find(|(of, _)| *of == worker).unwrap().1.clone())
}

#[tokio::test]
async fn only_a_main_agent_with_a_person_and_with_walls_can_ask_for_more() {
    let can = |tools: &[String]| tools.iter().any(|tool| tool == "escalate");
    let [main, worker] = tools_of(true, |_| {}).await;
    assert_eq!((can(&main), can(&worker)), (true, false));
    let without: [fn(&mut Config); 3] = [
        |config| config.profile = Profile::Full,
        |config| config.tools = Enabled::read(&["default", "-escalate"]).unwrap(),
        |config| config.tools = Enabled::read(&["list", "escalate"]).unwrap(),
    ];
    for change in without {
        assert!(!tools_of(true, change).await.iter().any(|tools| can(tools)));
    }
    assert!(!tools_of(false, |_| {}).await.iter().any(|tools| can(tools)));
}
