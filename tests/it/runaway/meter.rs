//! How much each turn of a worker brought: in the row of its task, in progress.jsonl, and in how it ends.

use std::sync::Arc;

use serde_json::{Value, json};
use tillerman::event::AgentEvent;
use tillerman::message::Block;
use tillerman::runtime::{News, TaskRow};
use tillerman::task::{Brief, TaskId, TaskStatus};
use tokio::sync::Semaphore;

use crate::runtime::{Ask, Boat, boat, boat_with, calls, played, read, says};

fn brief() -> Brief {
    Brief { body: "Work.".to_owned(), ..Brief::default() }
}

/// A worker that makes the same call again and again, so many times, and then waits for the gate.
async fn circling(times: usize, gate: &Arc<Semaphore>) -> Boat {
    let held = gate.clone();
    let model = played("circling", move |ask: Ask| {
        let held = held.clone();
        async move {
            let done = ask.messages.iter().filter(|message| message.results().next().is_some()).count();
            match ask.is_worker() {
                true if done < times => calls([("shell", json!({"command": "expr 6 '*' 7"}))]),
                true => {
                    held.acquire().await.unwrap().forget();
                    says(format!("after {} words about it", ask.count("You are not getting anywhere")))
                }
                false => says("noted"),
            }
        }
    });
    boat_with(model, |_| {}).await
}

async fn flat(boat: &mut Boat, turns: u32) {
    let is_it = |event: &AgentEvent| matches!(event, AgentEvent::Progressed { flat, .. } if *flat == turns);
    boat.until(|envelope| matches!(&envelope.news, News::Agent(event) if is_it(event)).then_some(())).await;
}

async fn row(boat: &Boat) -> TaskRow {
    boat.runtime.tasks().await.into_iter().find(|row| row.id == TaskId(1)).unwrap()
}

#[tokio::test]
async fn b9_the_row_of_a_task_shows_its_meter_beside_its_signs_of_life() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = circling(6, &gate).await;
    boat.runtime.dispatch(&boat.session, brief()).await.unwrap();
    flat(&mut boat, 5).await;
    let shown = row(&boat).await;
    assert_eq!((shown.score, shown.flat), (vec![2, 0, 0, 0, 0, 0], 5));
    assert!(shown.quiet.is_some() && shown.window > 0, "{:?}", (shown.quiet, shown.window));
    gate.add_permits(1);
    let report = boat.task_ended(1).await;
    assert_eq!((report.status, report.answer.as_str()), (TaskStatus::Done, "after 1 words about it"));
    let over = row(&boat).await;
    assert_eq!((over.flat, over.quiet), (0, None), "it has no run any more");
}

#[tokio::test]
async fn the_row_of_a_task_shows_what_its_worker_said_last() {
    let gate = Arc::new(Semaphore::new(0));
    let held = gate.clone();
    let mut boat = boat(played("talker", move |ask: Ask| {
        let held = held.clone();
        async move {
            if ask.messages.len() > 1 {
                held.acquire().await.unwrap().forget();
                return says("done");
            }
            let mut message = calls([("list", json!({"path": "."}))]);
            message.blocks.insert(0, Block::text("\n found 5 hot paths\nand more"));
            message
        }
    }))
    .await;
    boat.runtime.dispatch(&boat.session, brief()).await.unwrap();
    boat.until(|envelope| matches!(envelope.news, News::Agent(AgentEvent::TurnEnded { .. })).then_some(())).await;
    assert_eq!(row(&boat).await.said, "found 5 hot paths");
    gate.add_permits(1);
    boat.task_ended(1).await;
    assert_eq!(row(&boat).await.said, "");
}

#[tokio::test]
async fn b9_progress_jsonl_has_a_line_for_each_turn() {
    let gate = Arc::new(Semaphore::new(1));
    let mut boat = circling(2, &gate).await;
    boat.runtime.dispatch(&boat.session, brief()).await.unwrap();
    boat.task_ended(1).await;
    let text = read(&boat.task(1).path().join("progress.jsonl"));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let facts = |line: &Value| {
        let number = |name: &str| line[name].as_u64().unwrap();
        (number("turn"), number("score"), number("flat"), number("failed"), line["calls"].as_array().unwrap().len())
    };
    assert_eq!(lines.iter().map(facts).collect::<Vec<_>>(), [(1, 2, 0, 0, 1), (2, 0, 1, 0, 1), (3, 1, 0, 0, 0)]);
    assert_eq!(lines[0]["calls"][0], "shell expr 6 '*' 7");
}

#[tokio::test]
async fn r03_a_task_that_used_up_its_turns_can_be_gone_on_with() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = circling(3, &gate).await;
    boat.runtime.dispatch(&boat.session, Brief { max_turns: Some(2), ..brief() }).await.unwrap();
    gate.add_permits(2);
    let report = boat.task_ended(1).await;
    assert_eq!((report.status, report.attempt), (TaskStatus::LimitTurns, 1));
    boat.idle().await;
    boat.runtime.resume(TaskId(1), &boat.session).await.unwrap();
    let report = boat.task_ended(1).await;
    assert_eq!((report.status, report.attempt), (TaskStatus::Done, 2));
}

#[tokio::test]
async fn r03_a_task_that_used_up_its_turns_is_given_more_as_a_budget() {
    let gate = Arc::new(Semaphore::new(9));
    let mut boat = circling(9, &gate).await;
    boat.runtime.dispatch(&boat.session, Brief { max_turns: Some(2), ..brief() }).await.unwrap();
    assert_eq!(boat.task_ended(1).await.status, TaskStatus::LimitTurns);
    boat.idle().await;
    let told = boat.runtime.budget(TaskId(1), "+3 turns".parse().unwrap()).await.unwrap();
    assert_eq!(told.balance.words().last().unwrap(), "3 of 5 turns", "two, one that summed up, and three more");
    boat.runtime.resume(TaskId(1), &boat.session).await.unwrap();
    let report = boat.task_ended(1).await;
    assert_eq!((report.status, report.turns, report.attempt), (TaskStatus::Partial, 2, 2));
    boat.idle().await;
}
