//! What a main agent knows after its conversation was shortened, and what it finds when it looks.

use std::sync::Arc;

use serde_json::json;
use tillerman::agent::{Compacting, Keep};
use tillerman::event::Ending;
use tillerman::message::{Message, Role};
use tillerman::runtime::Open;

use super::{Ask, Boat, boat, boat_with, calls, dispatch, played, says};

/// U4, U15, B-5: three workers run, the summary lies, and the next request names them all, and what was forbidden.
#[tokio::test]
async fn u4_after_a_summary_that_lies_the_workers_and_the_wishes_are_told_from_the_disk() {
    let model = played("main", |ask: Ask| async move {
        if ask.is_worker() {
            return std::future::pending().await;
        }
        let ledger = ask.messages.iter().map(|message| message.text()).find(|text| text.starts_with("[Kept by"));
        match (ask.first(), ledger) {
            (first, _) if first.starts_with("<transcript>") => says("Nothing is running. Push as you like."),
            (_, Some(ledger)) => says(ledger),
            _ if ask.messages.len() == 1 => calls([dispatch("one"), dispatch("two"), dispatch("three")]),
            _ => calls([("shell", json!({"command": "seq 2500"}))]),
        }
    });
    let mut boat = boat_with(model, |config| {
        config.main.context_window = 6_000;
        config.main.max_tokens = 1_000;
        config.main.compacting.keep = Keep::Recent(100);
    })
    .await;
    let ledger = boat.answer("Look into three things. Never push to the remote.").await;
    for (task, title) in [("t_001", "one"), ("t_002", "two"), ("t_003", "three")] {
        let line = ledger.lines().find(|line| line.starts_with(&format!("- {task} "))).expect(&ledger);
        assert!(line.ends_with(&format!(": {title}")), "{line}");
    }
    assert!(ledger.ends_with("- m1: \"Never push to the remote.\""), "{ledger}");
}

/// S2-71: by hand; what was left out can be said again, and stays.
#[tokio::test]
async fn a_conversation_is_shortened_by_hand_and_an_entry_of_it_said_again() {
    let model = played("main", |ask: Ask| async move {
        let heard = |message: &&Arc<Message>| message.role == Role::User || message.text().starts_with("[Summary");
        let heard: Vec<String> = ask.messages.iter().filter(heard).map(|message| message.text()).collect();
        match ask.first().starts_with("<transcript>") {
            true => says("They talked of boats."),
            false => says(heard.join(" | ")),
        }
    });
    let mut boat = boat_with(model, |config| config.main.compacting = Compacting::S2).await;
    let shorten = async |boat: &mut Boat| {
        let run = boat.runtime.compact(&boat.session.clone()).await.unwrap();
        match boat.run_ended(run).await {
            Ending::Completed { answer } => answer,
            other => panic!("it says what came of it, not {other:?}"),
        }
    };
    boat.answer("the plum is under the third board").await;
    assert_eq!(shorten(&mut boat).await, "It stays as it is: too little was said, or no summary made it shorter.");
    for line in ["two", "three", "four"] {
        boat.answer(line).await;
    }
    let told = shorten(&mut boat).await;
    assert!(told.starts_with("About ") && told.contains(" tokens of conversation became "), "{told}");
    let heard = boat.answer("five").await;
    assert!(heard.contains("They talked of boats.") && !heard.contains("plum"), "{heard}");

    boat.runtime.restore(&boat.session, "m1").await.unwrap();
    let heard = boat.answer("six").await;
    assert!(heard.contains("the plum is under the third board"), "{heard}");
    let again = boat.runtime.restore(&boat.session, "m99").await.unwrap_err().to_string();
    assert!(again.contains("m99"), "{again}");
}

#[tokio::test]
async fn what_was_said_is_found_by_words_and_read_by_name() {
    let model = played("main", |ask: Ask| async move {
        let outputs = ask.outputs();
        match (ask.last(), outputs.first()) {
            (_, Some(output)) if output.starts_with("Found") => calls([("history_read", json!({"entries": "m1-m2"}))]),
            (_, Some(output)) => says(output),
            (last, None) if last == "what was it?" => calls([("history_search", json!({"words": "PLUM harbour"}))]),
            (_, None) => says("noted"),
        }
    });
    let mut boat = boat(model).await;
    boat.answer("the harbour is plum").await;
    let read = boat.answer("what was it?").await;
    let lines: Vec<&str> = read.lines().collect();
    assert!(lines[0].starts_with("[m1 line of a person, ") && lines[1] == "the harbour is plum", "{read}");
    assert!(lines[3].starts_with("[m2 reply, ") && lines[4] == "noted", "{read}");
}

#[tokio::test]
async fn a_conversation_without_a_file_is_not_looked_through() {
    let mut boat = boat(played("main", |ask: Ask| async move { says(ask.tools.join(" ")) })).await;
    let tools = boat.answer("tools?").await;
    assert!(tools.contains("history_search") && tools.contains("history_read"), "{tools}");
    let session = boat.runtime.open(Open::Ephemeral).await.unwrap();
    let run = boat.runtime.say(&session, "tools?".to_owned()).await.unwrap();
    let Ending::Completed { answer } = boat.run_ended(run).await else { panic!("it ends with an answer") };
    assert!(!answer.contains("history"), "{answer}");
}
