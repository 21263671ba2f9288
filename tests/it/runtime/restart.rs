//! What a program that starts makes of what an earlier one left open.

use std::fs;
use std::sync::Arc;

use serde_json::json;
use tillerman::message::{Message, Usage};
use tillerman::model::Model;
use tillerman::runtime::{News, Open, Runtime};
use tillerman::session::{End, Record, Session};
use tillerman::task::{Brief, TaskDir, TaskId, TaskStatus};

use super::{Ask, Boat, Ground, calls, played, says};
use crate::patience::PATIENCE;

/// Says what it was told since its last answer.
pub(super) fn echo() -> Arc<dyn Model> {
    played("echo", |ask: Ask| async move {
        let fresh = ask.messages.iter().rev().take_while(|message| message.role == tillerman::message::Role::User);
        let mut told: Vec<String> =
            fresh.map(|message| message.text().lines().next().unwrap_or_default().to_owned()).collect();
        told.reverse();
        says(told.join(", "))
    })
}

async fn start(ground: Ground) -> Boat {
    start_with(ground, echo()).await
}

pub(super) async fn start_with(ground: Ground, model: Arc<dyn Model>) -> Boat {
    let runtime = Runtime::start(ground.config(model)).await.unwrap();
    let feed = runtime.feed();
    let session = runtime.open(Open::Latest).await.unwrap();
    Boat { ground, runtime, session, feed }
}

/// A conversation that an earlier program had, and tasks that it left.
pub(super) fn left(ground: &Ground, tasks: &[TaskStatus]) -> Vec<TaskDir> {
    let workspace = ground.workspace();
    let mut session = Session::create_named(&workspace.sessions().join("before.jsonl")).unwrap();
    session.append(Record::user("go")).unwrap();
    let message = Arc::new(Message::assistant("on it"));
    session
        .append(Record::Assistant { message, usage: Usage::default(), model: "played/echo".to_owned(), cost: None })
        .unwrap();
    let brief = Brief {
        title: "work".to_owned(),
        body: "Work.".to_owned(),
        session: Some("before".to_owned()),
        ..Brief::default()
    };
    let leave = |status: &TaskStatus| {
        let dir = TaskDir::create(&workspace.tasks(), &brief).unwrap();
        dir.set_status(*status).unwrap();
        dir
    };
    tasks.iter().map(leave).collect()
}

#[tokio::test]
async fn c19_tasks_that_were_running_or_waiting_are_interrupted_and_told_once() {
    let ground = Ground::new();
    let dirs = left(&ground, &[TaskStatus::Running, TaskStatus::Running, TaskStatus::Queued]);
    let mut boat = start(ground).await;
    let mut told = Vec::new();
    while let Ok(envelope) = boat.feed.try_recv() {
        if let News::TaskEnded(report) = envelope.news {
            told.push((report.id.0, report.status));
        }
    }
    assert_eq!(told, [1, 2, 3].map(|id| (id, TaskStatus::Interrupted)));
    for dir in &dirs {
        assert_eq!(dir.task().unwrap().status, TaskStatus::Interrupted);
    }
    let words = |dir: &TaskDir| dir.result().unwrap().unwrap().answer;
    assert!(words(&dirs[0]).starts_with("The program ended while the task was running."), "{}", words(&dirs[0]));
    assert!(words(&dirs[2]).starts_with("The program ended before the task was started"), "{}", words(&dirs[2]));

    boat.idle().await;
    assert_eq!(boat.runtime.status(&boat.session).await.unwrap().queued, 3, "no model is asked before a person speaks");
    let heard = boat.answer("hello").await;
    assert_eq!(heard, "[Worker interrupted t_001], [Worker interrupted t_002], [Worker interrupted t_003], hello");
    assert_eq!(boat.answer("again").await, "again");
    boat.runtime.shutdown().await;

    let mut boat = start(boat.ground).await;
    assert_eq!(boat.answer("hello").await, "hello", "not a second time after another start");
}

#[tokio::test]
async fn a_report_whose_mark_was_lost_is_found_in_the_conversation() {
    let ground = Ground::new();
    let dirs = left(&ground, &[TaskStatus::Running]);
    let mut boat = start(ground).await;
    assert_eq!(boat.answer("hello").await, "[Worker interrupted t_001], hello");
    boat.runtime.shutdown().await;
    fs::remove_file(dirs[0].path().join(".relayed")).unwrap();
    let mut boat = start(boat.ground).await;
    assert_eq!(boat.answer("again").await, "again");
}

#[tokio::test]
async fn a_report_waits_for_its_own_conversation() {
    let ground = Ground::new();
    left(&ground, &[TaskStatus::Running]);
    let mut boat = start(ground).await;
    let other = boat.runtime.open(Open::New).await.unwrap();
    let own = std::mem::replace(&mut boat.session, other);
    assert_eq!(boat.answer("hello").await, "hello");
    boat.session = own;
    assert_eq!(boat.answer("hello").await, "[Worker interrupted t_001], hello");
}

#[tokio::test]
async fn c21_an_ending_that_only_the_journal_knows_becomes_the_result() {
    let ground = Ground::new();
    let dirs = left(&ground, &[TaskStatus::Running, TaskStatus::Running]);
    let journal = |id: u32| ground.workspace().worker_sessions().join(format!("{}.jsonl", TaskId(id)));
    for (id, end) in [(1, End::Completed), (2, End::Failed { why: "anthropic: wrong key".to_owned() })] {
        let mut session = Session::create_named(&journal(id)).unwrap();
        session.append(Record::user("Task")).unwrap();
        let message = Arc::new(Message::assistant("42 lines"));
        let usage = Usage { input: 7, ..Usage::default() };
        session.append(Record::Assistant { message, usage, model: "a/b".to_owned(), cost: None }).unwrap();
        session.append(Record::Ended { end }).unwrap();
    }
    let boat = start(ground).await;
    let result = |index: usize| dirs[index].result().unwrap().unwrap();
    assert_eq!((result(0).status, result(0).answer.as_str(), result(0).turns), (TaskStatus::Done, "42 lines", 1));
    assert_eq!(result(0).usage.input, 7);
    assert_eq!((result(1).status, result(1).answer.as_str()), (TaskStatus::Failed, "anthropic: wrong key"));
    assert_eq!(boat.status(1).await, TaskStatus::Done);
}

#[tokio::test]
async fn c27_numbers_of_deleted_tasks_are_not_given_again() {
    let ground = Ground::new();
    let dirs = left(&ground, &[TaskStatus::Done, TaskStatus::Done]);
    Session::create_named(&ground.workspace().worker_sessions().join("t_005.jsonl")).unwrap();
    fs::remove_dir_all(dirs[1].path()).unwrap();
    let boat = start(ground).await;
    let brief = Brief { body: "Work.".to_owned(), ..Brief::default() };
    assert_eq!(boat.runtime.dispatch(&boat.session, brief).await, Ok(TaskId(6)));
}

#[tokio::test]
async fn a_broken_task_stops_nothing() {
    let ground = Ground::new();
    let dirs = left(&ground, &[TaskStatus::Running, TaskStatus::Running]);
    fs::write(dirs[0].path().join("task.md"), "---\ntitle: [\n---\n").unwrap();
    let boat = start(ground).await;
    assert_eq!(boat.status(2).await, TaskStatus::Interrupted);
    let error = boat.runtime.task(TaskId(1)).await.unwrap_err().to_string();
    assert!(error.contains("t_001/task.md") && error.contains("line"), "{error}");
    assert_eq!(boat.runtime.tasks().await.len(), 1);
}

#[tokio::test]
async fn c16_a_second_program_that_would_work_there_is_refused_by_name() {
    let boat = start(Ground::new()).await;
    let refused = Runtime::start(boat.ground.config(echo())).await.err().unwrap().to_string();
    assert!(refused.contains(&std::process::id().to_string()), "{refused}");
}

#[tokio::test]
async fn a_conversation_goes_on_where_it_was() {
    let mut boat = start(Ground::new()).await;
    boat.answer("one").await;
    let (first, prefix) = (boat.session.clone(), boat.session.as_str()[..12].to_owned());
    assert_eq!(boat.runtime.open(Open::Named(prefix.clone())).await.unwrap(), first, "it is open already");
    boat.runtime.shutdown().await;
    let mut boat = start(boat.ground).await;
    assert_eq!(boat.session, first);
    assert_eq!(boat.runtime.transcript(&first).await.unwrap().len(), 2);
    assert_eq!(boat.answer("two").await, "two");
    let error = boat.runtime.open(Open::Named("nothing".to_owned())).await.unwrap_err().to_string();
    assert!(error.contains("nothing"), "{error}");
    let ephemeral = boat.runtime.open(Open::Ephemeral).await.unwrap();
    boat.session = ephemeral;
    assert_eq!(boat.answer("three").await, "three");
    let files = fs::read_dir(boat.ground.workspace().sessions()).unwrap();
    assert_eq!(files.filter(|file| file.as_ref().unwrap().path().is_file()).count(), 1, "it left no file");
}

#[tokio::test]
async fn a_worker_that_was_running_when_its_program_was_dropped_is_interrupted() {
    let ground = Ground::new();
    let model = played("held", |ask: Ask| async move {
        match ask.is_worker() {
            true => std::future::pending().await,
            false if ask.outputs().is_empty() => calls([("dispatch", json!({"task": "Wait."}))]),
            false => says("on it"),
        }
    });
    let runtime = Runtime::start(ground.config(model)).await.unwrap();
    let feed = runtime.feed();
    let session = runtime.open(Open::New).await.unwrap();
    let mut boat = Boat { ground, runtime, session, feed };
    assert_eq!(boat.answer("go").await, "on it");
    let Boat { ground, runtime, .. } = boat;
    drop(runtime);
    let start = std::time::Instant::now();
    let again = loop {
        // The lock goes with the last handle; the actors let go of theirs a moment later.
        match Runtime::start(ground.config(echo())).await {
            Ok(runtime) => break runtime,
            Err(error) => assert!(start.elapsed() < PATIENCE, "{error}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    };
    assert_eq!(again.task(TaskId(1)).await.unwrap().row.status, TaskStatus::Interrupted);
}
