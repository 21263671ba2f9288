//! A worker that is stuck rests with a question made of the facts; it goes on when somebody says how, or gives up.

use serde_json::json;
use tillerman::runtime::News;
use tillerman::task::{Asker, Brief, GIVE_UP, Question, TaskId, TaskStatus};

use crate::runtime::{Ask, Boat, boat_with, calls, played, says};

/// A worker that makes the same call until it is told what else to do.
async fn stuck() -> (Boat, Question) {
    let model = played("stuck", |ask: Ask| async move {
        let told = ask.messages.iter().any(|message| message.text().contains("phone the yard"));
        match ask.is_worker() {
            true if told => says("It cannot be built here."),
            true => calls([("shell", json!({"command": "exit 7"}))]),
            false => says("noted"),
        }
    });
    let mut boat = boat_with(model, |_| {}).await;
    boat.runtime.dispatch(&boat.session, Brief { body: "Build it.".to_owned(), ..Brief::default() }).await.unwrap();
    let asked = boat.until(|envelope| match &envelope.news {
        News::Asked(question) => Some(question.clone()),
        _ => None,
    });
    let question = asked.await;
    (boat, question)
}

#[tokio::test]
async fn r01_b9_a_worker_that_is_stuck_rests_with_the_evidence_and_goes_on_when_it_is_told_how() {
    let (mut boat, question) = stuck().await;
    assert_eq!((question.task, question.asker, question.default.as_str()), (TaskId(1), Asker::Stuck, GIVE_UP));
    let evidence = "shell exit 7 was called 9 times with the same result: “exit code 7”";
    assert!(question.text.contains(evidence), "{}", question.text);
    assert_eq!(boat.status(1).await, TaskStatus::Parked);
    boat.runtime.answer(TaskId(1), None, "phone the yard, then say why".to_owned()).await.unwrap();
    let report = boat.task_ended(1).await;
    assert_eq!((report.status, report.attempt), (TaskStatus::Done, 1));
    assert!(report.answer.starts_with("It cannot be built here."), "{}", report.answer);
    let progress = boat.task(1).progress_text();
    assert!(progress.contains("stuck: shell exit 7 was called 9 times"), "{progress}");
    let track = std::fs::read_to_string(boat.task(1).path().join("progress.jsonl")).unwrap();
    assert!(track.contains("\"stuck\":\"shell exit 7 was called 9 times"), "{track}");
}

#[tokio::test]
async fn r02_a_worker_that_is_stuck_gives_up_without_another_call_when_it_is_told_to() {
    let (mut boat, _) = stuck().await;
    boat.runtime.answer(TaskId(1), None, GIVE_UP.to_owned()).await.unwrap();
    let report = boat.task_ended(1).await;
    assert_eq!((report.status, report.turns), (TaskStatus::Failed, 9));
    assert!(report.answer.contains("was called 9 times"), "{}", report.answer);
}
