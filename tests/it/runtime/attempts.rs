//! Tasks that go on after an end: which may, from where, and who is told.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tillerman::event::{AgentEvent, Ending};
use tillerman::message::{Message, Usage};
use tillerman::model::Model;
use tillerman::runtime::{ControlError, News, Open, Resumed, Source};
use tillerman::session::{End, Record, Session, SessionId};
use tillerman::task::{Brief, TaskId, TaskReport, TaskStatus};

use super::restart::{echo, left, start_with};
use super::{Ask, Boat, Ground, calls, endings, played, says};

/// Workers call a tool and then think for ever, unless they are at a later attempt.
fn slow() -> Arc<dyn Model> {
    played("slow", |ask: Ask| async move {
        let line = ask.last().lines().next().unwrap_or_default().to_owned();
        match ask.is_worker() {
            true if line.starts_with("This is attempt ") => says(format!("done after {} messages", ask.messages.len())),
            true if ask.messages.len() == 1 => calls([("load_skill", json!({"name": "coding"}))]),
            true => std::future::pending().await,
            false => says(line),
        }
    })
}

fn journal(ground: &Ground, id: u32) -> PathBuf {
    ground.workspace().worker_sessions().join(format!("{}.jsonl", TaskId(id)))
}

/// A program that ended while t_001 thought about the answer of its tool.
async fn interrupted() -> Boat {
    let mut boat = start_with(Ground::new(), slow()).await;
    let brief = Brief { body: "Go on.".to_owned(), ..Brief::default() };
    boat.runtime.dispatch(&boat.session, brief).await.unwrap();
    boat.until(|envelope| match &envelope.news {
        News::Agent(AgentEvent::TurnStarted { turn: 2 }) => Some(()),
        _ => None,
    })
    .await;
    boat.runtime.shutdown().await;
    boat
}

/// The end of an attempt; that of the one before it is told at the start.
async fn ended(boat: &mut Boat, id: u32, attempt: u32) -> TaskReport {
    boat.until(|envelope| match &envelope.news {
        News::TaskEnded(report) if (report.id, report.attempt) == (TaskId(id), attempt) => Some(report.clone()),
        _ => None,
    })
    .await
}

#[tokio::test]
async fn an_interrupted_task_goes_on_from_its_journal_and_each_attempt_is_told_once() {
    let Boat { ground, session, .. } = interrupted().await;
    let read = Session::read(&journal(&ground, 1)).unwrap();
    assert_eq!((read.attempt(), read.end()), (1, Some(&End::Interrupted)));
    let before = read.context().len();

    let mut boat = start_with(ground, slow()).await;
    let resumed = boat.runtime.resume(TaskId(1), &boat.session).await.unwrap();
    assert_eq!(resumed, Resumed { task: TaskId(1), attempt: 2, session, gone: None });
    let report = ended(&mut boat, 1, 2).await;
    let found = (report.attempt, report.status, report.turns, report.usage.total_tokens());
    assert_eq!(found, (2, TaskStatus::Done, 1, 12), "what an attempt took is its own");
    assert_eq!(report.answer, format!("done after {} messages", before + 1), "nothing was said again");
    let earlier = boat.task(1).earlier(2);
    let before: Vec<_> = earlier.iter().map(|report| (report.attempt, report.status, report.turns)).collect();
    assert_eq!(before, [(1, TaskStatus::Interrupted, 2)]);

    boat.idle().await;
    let said = boat.runtime.transcript(&boat.session).await.unwrap();
    let said: Vec<String> = said.iter().map(|message| message.text().lines().next().unwrap().to_owned()).collect();
    assert_eq!(said, ["[Worker interrupted t_001]", "[Worker completed t_001]", "[Worker completed t_001]"]);
    boat.runtime.shutdown().await;
    for mark in [".relayed", ".relayed-2"] {
        fs::remove_file(boat.task(1).path().join(mark)).unwrap();
    }
    let mut boat = start_with(boat.ground, echo()).await;
    assert_eq!(boat.answer("hello").await, "hello", "the journal knows what was told; the marks are a shortcut");
}

#[tokio::test]
async fn c20_what_a_tool_did_before_a_crash_is_unknown_and_it_is_not_run_again() {
    let ground = Ground::new();
    let dirs = left(&ground, &[TaskStatus::Running]);
    let mut session = Session::create_named(&journal(&ground, 1)).unwrap();
    session.append(Record::Attempt { number: 1 }).unwrap();
    session.append(Record::user("Task t_001: work")).unwrap();
    let message = Arc::new(calls([("shell", json!({"command": "touch twice"}))]));
    let call = message.calls().next().unwrap().id.clone();
    let record = Record::Assistant { message, usage: Usage::default(), model: "a/b".to_owned(), cost: None };
    session.append(record).unwrap();
    session.append(Record::ToolStarted { call }).unwrap();
    drop(session);

    let mut boat = start_with(
        ground,
        played("reads", |ask: Ask| async move {
            let answered =
                ask.messages.iter().flat_map(|message| message.results()).map(|result| result.output.clone());
            if ask.is_worker() { says(answered.collect::<Vec<_>>().join("; ")) } else { says("thanks") }
        }),
    )
    .await;
    boat.runtime.resume(TaskId(1), &boat.session).await.unwrap();
    let report = ended(&mut boat, 1, 2).await;
    assert!(report.answer.starts_with("interrupted, effects unknown: "), "{}", report.answer);
    assert!(!boat.ground.root().join("twice").exists());
    assert_eq!(dirs[0].earlier(2)[0].status, TaskStatus::Interrupted);
}

#[tokio::test]
async fn a_task_that_never_began_begins_from_its_brief() {
    let ground = Ground::new();
    left(&ground, &[TaskStatus::Queued]);
    let mut boat = start_with(ground, played("brief", |ask: Ask| async move { says(ask.first()) })).await;
    boat.runtime.resume(TaskId(1), &boat.session).await.unwrap();
    let report = ended(&mut boat, 1, 2).await;
    assert_eq!((report.attempt, report.answer.as_str()), (2, "Task t_001: work\n\nWork."));
}

#[tokio::test]
async fn an_attempt_that_was_ordered_and_never_began_is_one_too() {
    let ground = Ground::new();
    let dirs = left(&ground, &[TaskStatus::Running]);
    let boat = start_with(ground, echo()).await;
    boat.runtime.shutdown().await;
    dirs[0].begin_attempt(2, "before").unwrap();
    let mut boat = start_with(boat.ground, echo()).await;
    assert_eq!(boat.status(1).await, TaskStatus::Interrupted);
    let told = "[Worker interrupted t_001], [Worker interrupted t_001], hello";
    assert_eq!(boat.answer("hello").await, told, "each attempt once");
    assert_eq!(boat.runtime.resume(TaskId(1), &boat.session).await.unwrap().attempt, 3);
    ended(&mut boat, 1, 3).await;
}

#[tokio::test]
async fn what_is_done_or_goes_on_or_does_not_exist_is_not_resumed() {
    let ground = Ground::new();
    let dirs = left(&ground, &[TaskStatus::Running, TaskStatus::Running]);
    let mut boat = start_with(ground, slow()).await;
    let done = TaskReport { status: TaskStatus::Done, ..dirs[1].result().unwrap().unwrap() };
    dirs[1].finish(&done).unwrap();
    let resume = |id| {
        let (runtime, session) = (boat.runtime.clone(), boat.session.clone());
        async move { runtime.resume(TaskId(id), &session).await.map(|resumed| resumed.attempt) }
    };
    assert_eq!(resume(9).await, Err(ControlError::NoSuchTask(TaskId(9))));
    assert_eq!(resume(2).await, Err(ControlError::IsDone(TaskId(2))));
    let (one, other) = tokio::join!(resume(1), resume(1));
    let (one, other) = if one.is_ok() { (one, other) } else { (other, one) };
    assert_eq!((one, other), (Ok(2), Err(ControlError::GoesOn(TaskId(1)))));
    boat.runtime.abort(TaskId(1)).await.unwrap();
    assert_eq!(ended(&mut boat, 1, 2).await.status, TaskStatus::Aborted);
    assert!(dirs[0].is_aborted(2) && !dirs[0].is_aborted(1));
    assert_eq!(boat.runtime.resume_all(&boat.session).await, [], "an aborted one waits for a person's word");
}

#[tokio::test]
async fn a_task_whose_conversation_is_gone_is_told_to_another() {
    let ground = Ground::new();
    left(&ground, &[TaskStatus::Running]);
    fs::remove_file(ground.workspace().sessions().join("before.jsonl")).unwrap();
    let mut boat = start_with(ground, echo()).await;
    let resumed = boat.runtime.resume_all(&boat.session).await;
    let here = Resumed { task: TaskId(1), attempt: 2, session: boat.session.clone(), gone: Some("before".to_owned()) };
    assert_eq!(resumed, [(TaskId(1), Ok(here))]);
    ended(&mut boat, 1, 2).await;
    boat.idle().await;
    assert_eq!(endings(&mut boat.feed), [Ending::Completed { answer: "[Worker completed t_001]".to_owned() }]);
}

#[tokio::test]
async fn a_task_of_another_conversation_opens_it_and_is_told_there() {
    let ground = Ground::new();
    left(&ground, &[TaskStatus::Running]);
    let mut boat = start_with(ground, echo()).await;
    let other = boat.runtime.open(Open::New).await.unwrap();
    let resumed = boat.runtime.resume(TaskId(1), &other).await.unwrap();
    assert_eq!(resumed.session, SessionId::new("before"));
    let told = boat.until(|envelope| match (&envelope.source, &envelope.news) {
        (Source::Main { session, .. }, News::Agent(AgentEvent::RunEnded { .. })) => Some(session.clone()),
        _ => None,
    });
    assert_eq!(told.await, SessionId::new("before"));
}

#[tokio::test]
async fn c22_c23_a_report_is_told_once_whatever_was_lost() {
    let ground = Ground::new();
    let dirs = left(&ground, &[TaskStatus::Running, TaskStatus::Running]);
    let mut boat = start_with(ground, echo()).await;
    boat.runtime.shutdown().await;
    // The journal of the conversation has the first report, and the mark beside the task was lost.
    let path = boat.ground.workspace().sessions().join("before.jsonl");
    let mut session = Session::open(&path).unwrap();
    let message = Arc::new(Message::user("told in other words"));
    session.append(Record::Report { task: "t_001".to_owned(), attempt: 1, message }).unwrap();
    drop(session);
    boat = start_with(boat.ground, echo()).await;
    assert_eq!(boat.answer("hello").await, "told in other words, [Worker interrupted t_002], hello");
    boat.idle().await;
    assert!(dirs[1].is_relayed(1));
    boat.runtime.shutdown().await;
    fs::remove_file(dirs[1].path().join(".relayed")).unwrap();
    boat = start_with(boat.ground, echo()).await;
    assert_eq!(boat.answer("again").await, "again");
}
