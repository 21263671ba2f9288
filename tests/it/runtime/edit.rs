//! Changes to conversations between runs: gone back, gone across, renamed, forked; and what can be seen meanwhile.

use std::sync::Arc;

use tillerman::runtime::{EditError, Open, SessionGone};
use tillerman::session::{Session, SessionId};
use tokio::sync::Semaphore;

use super::{Ask, Boat, boat, played, says};

/// With a model that says what it was told so far.
async fn echoing() -> Boat {
    boat(played("main", |ask: Ask| async move {
        let said: Vec<String> = ask.messages.iter().step_by(2).map(|message| message.text()).collect();
        says(format!("heard {}", said.join(" ")))
    }))
    .await
}

async fn branches(boat: &Boat) -> Vec<String> {
    let branches = boat.runtime.branches(&boat.session).await.unwrap();
    let mark = |current| if current { "*" } else { " " };
    branches.iter().map(|branch| format!("{} m{} {}", mark(branch.is_current), branch.number, branch.words)).collect()
}

#[tokio::test]
async fn the_next_line_goes_on_where_a_person_went_back_to() {
    let mut boat = echoing().await;
    boat.answer("one").await;
    boat.answer("two").await;
    let turns = boat.runtime.turns(&boat.session, 5).await.unwrap();
    let two = turns.last().unwrap();
    assert_eq!((two.words.as_str(), turns.len()), ("two", 2));
    let at = format!("m{}", two.before);
    assert_eq!(boat.runtime.branch(&boat.session, &at).await.unwrap(), two.before);
    assert_eq!(boat.runtime.transcript(&boat.session).await.unwrap().len(), 2);
    assert_eq!(boat.answer("three").await, "heard one three");
    let listed = branches(&boat).await;
    assert!(listed[0].ends_with("heard one two") && listed[1].ends_with("heard one three"), "{listed:?}");

    let back = listed[0].trim().split(' ').next().unwrap().to_owned();
    boat.runtime.switch(&boat.session, &back).await.unwrap();
    assert_eq!(boat.answer("four").await, "heard one two four");
    let tree = boat.runtime.tree(&boat.session, 100, None).await.unwrap();
    assert_eq!((tree.rows.len(), tree.rows.last().unwrap().is_here), (8, true));
    let error = boat.runtime.branch(&boat.session, "m99").await.unwrap_err().to_string();
    assert!(error.contains("m99"), "{error}");
    let status = boat.runtime.status(&boat.session).await.unwrap();
    assert_eq!(status.bill.total().calls, 4, "what was paid on a branch stays paid");
}

#[tokio::test]
async fn a_change_is_on_the_disk_when_it_is_answered() {
    let mut boat = echoing().await;
    boat.answer("one").await;
    boat.answer("two").await;
    assert_eq!(boat.runtime.rename(&boat.session, " \"Counting\"\nboats").await.unwrap(), "Counting");
    assert!(matches!(boat.runtime.rename(&boat.session, " \n").await, Err(EditError::NoTitle)));
    boat.runtime.branch(&boat.session, "m0").await.unwrap();
    let journal = boat.ground.workspace().sessions().join(format!("{}.jsonl", boat.session));
    let session = Session::read(&journal).unwrap();
    assert_eq!((session.title(), session.context().len()), (Some("Counting"), 0));
    let status = boat.runtime.status(&boat.session).await.unwrap();
    assert_eq!(status.name.as_deref(), Some("Counting"));
}

#[tokio::test]
async fn while_a_run_goes_on_nothing_is_changed_and_everything_seen() {
    let gate = Arc::new(Semaphore::new(0));
    let held = gate.clone();
    let model = played("main", move |ask: Ask| {
        let held = held.clone();
        async move {
            if ask.last() == "wait" {
                held.acquire().await.unwrap().forget();
            }
            says("ok")
        }
    });
    let mut boat = boat(model).await;
    boat.answer("one").await;
    let run = boat.say("wait").await;
    for done in [
        boat.runtime.branch(&boat.session, "m0").await.map(drop),
        boat.runtime.rename(&boat.session, "x").await.map(drop),
    ] {
        assert!(matches!(done, Err(EditError::Busy)), "{done:?}");
    }
    assert_eq!(branches(&boat).await.len(), 1);
    let fork = boat.runtime.fork(&boat.session, Some("m2")).await.unwrap();
    gate.add_permits(1);
    boat.run_ended(run).await;
    assert_eq!(boat.runtime.open(Open::Named(fork.to_string())).await.unwrap(), fork);
    assert_eq!(boat.runtime.transcript(&fork).await.unwrap().len(), 2);
    assert_eq!(boat.runtime.sessions().await.unwrap().len(), 2);
    let nobody = SessionId::new("nobody");
    let gone = boat.runtime.branches(&nobody).await;
    assert!(matches!(gone, Err(EditError::Gone(SessionGone::NotOpen(id))) if id == nobody));
}

/// A line that comes during a change waits for it.
#[tokio::test]
async fn a_line_said_after_a_change_is_answered_behind_it() {
    let mut boat = echoing().await;
    boat.answer("one").await;
    boat.answer("two").await;
    let (changed, run) = tokio::join!(boat.runtime.branch(&boat.session, "m0"), boat.say("three"));
    changed.unwrap();
    let ended = boat.run_ended(run).await;
    assert_eq!(ended, tillerman::event::Ending::Completed { answer: "heard three".into() });
}

#[tokio::test]
async fn a_conversation_that_leaves_no_file_has_a_tree_too() {
    let mut boat = echoing().await;
    boat.session = boat.runtime.open(Open::Ephemeral).await.unwrap();
    boat.answer("one").await;
    boat.answer("two").await;
    let first = boat.runtime.turns(&boat.session, 5).await.unwrap()[1].before;
    boat.runtime.branch(&boat.session, &format!("m{first}")).await.unwrap();
    assert_eq!(boat.answer("three").await, "heard one three");
    let fork = boat.runtime.fork(&boat.session, None).await.unwrap();
    boat.runtime.open(Open::Named(fork.to_string())).await.unwrap();
    assert_eq!(boat.runtime.transcript(&fork).await.unwrap().len(), 4);
}
