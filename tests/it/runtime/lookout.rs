//! A second program in a workspace that somebody has: it looks, and changes nothing.

use std::sync::Arc;

use serde_json::json;
use tillerman::runtime::{ControlError, News, Open, Runtime, SessionGone};
use tillerman::task::{Brief, TaskId, TaskStatus};
use tokio::sync::Semaphore;

use super::{Ask, Boat, boat, calls, eventually, played, read, says};

/// Workers answer when they are let go; the main agent hands over what it is told first.
async fn busy() -> (Boat, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let held = gate.clone();
    let mut boat = boat(played("busy", move |ask: Ask| {
        let held = held.clone();
        async move {
            if ask.is_worker() {
                held.acquire().await.unwrap().forget();
                return says("worked");
            }
            let handed = ask.count("hand it over") == 1 && ask.messages.len() == 1;
            if handed { calls([("dispatch", json!({"task": "Work."}))]) } else { says("as you say") }
        }
    }))
    .await;
    assert_eq!(boat.answer("hand it over").await, "as you say");
    let dir = boat.task(1);
    let runs = || dir.task().is_ok_and(|task| task.status == TaskStatus::Running);
    eventually("the worker never begins", runs).await;
    (boat, gate)
}

async fn second(boat: &Boat) -> Runtime {
    Runtime::attach(boat.ground.config(played("nobody", |_: Ask| async { panic!("no model is asked") }))).await.unwrap()
}

#[tokio::test]
async fn c16_a_second_program_sees_what_the_first_does() {
    let (mut boat, gate) = busy().await;
    let looking = second(&boat).await;
    assert_eq!(looking.looking().unwrap().pid, Some(std::process::id()));
    assert!(!looking.is_left());
    let mut feed = looking.feed();
    let session = looking.open(Open::Latest).await.unwrap();
    assert_eq!(session, boat.session);
    let said =
        |said: &[Arc<tillerman::message::Message>]| said.iter().map(|message| message.text()).collect::<Vec<_>>();
    let seen = looking.transcript(&session).await.unwrap();
    assert_eq!(said(&seen), said(&boat.runtime.transcript(&boat.session).await.unwrap()));
    assert_eq!(looking.task(TaskId(1)).await.unwrap().row.status, TaskStatus::Running);
    assert_eq!(looking.status(&session).await.unwrap().name.as_deref(), Some("hand it over"));

    gate.add_permits(1);
    let ended = async {
        loop {
            if let News::TaskEnded(report) = feed.recv().await.unwrap().news {
                return report.status;
            }
        }
    };
    let ended = tokio::time::timeout(crate::patience::PATIENCE, ended).await.expect("the end of the task is not seen");
    assert_eq!(ended, TaskStatus::Done);
    boat.idle().await;
    boat.answer("and more").await;
    let grown = boat.runtime.transcript(&boat.session).await.unwrap();
    let start = std::time::Instant::now();
    while said(&looking.transcript(&session).await.unwrap()) != said(&grown) {
        assert!(start.elapsed() < crate::patience::PATIENCE, "what is added is not seen");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn c16_a_second_program_changes_nothing_and_says_whose_the_workspace_is() {
    let (boat, gate) = busy().await;
    let looking = second(&boat).await;
    let session = looking.open(Open::New).await.unwrap();
    let before = read(&boat.task(1).path().join("task.md"));
    let owner = looking.looking().unwrap().clone();
    assert_eq!(looking.say(&session, "hello").await, Err(SessionGone::Looking(owner.clone())));
    assert_eq!(looking.steer_main(&session, "hello".to_owned()).await, Err(SessionGone::Looking(owner.clone())));
    assert_eq!(looking.abort_main(&session).await, Err(SessionGone::Looking(owner.clone())));
    let refused = Err(ControlError::Looking(owner.clone()));
    assert_eq!(looking.abort(TaskId(1)).await, refused);
    assert_eq!(looking.steer(TaskId(1), "hello".to_owned()).await, refused.clone().map(|()| unreachable!()));
    let brief = Brief { body: "Work.".to_owned(), ..Brief::default() };
    let refused = looking.dispatch(&session, brief).await.unwrap_err().to_string();
    assert!(refused.contains(&format!("process {} since", std::process::id())), "{refused}");
    looking.idle().await;
    looking.shutdown().await;
    assert_eq!(read(&boat.task(1).path().join("task.md")), before);
    assert_eq!(boat.status(1).await, TaskStatus::Running, "the end of the second is none of the first");
    gate.add_permits(1);
    boat.idle().await;
}
