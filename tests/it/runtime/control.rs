//! The crew's order: the queue and its limits, depth, ids that are unknown or over, notes for those who wait.

use std::sync::Arc;

use serde_json::json;
use tillerman::message::{Message, NoteId};
use tillerman::model::Model;
use tillerman::runtime::{ControlError, News};
use tillerman::task::{Brief, TaskId, TaskStatus};
use tokio::sync::Semaphore;

use super::{Ask, boat, boat_with, calls, played, says};

fn brief(body: &str) -> Brief {
    Brief { body: body.to_owned(), ..Brief::default() }
}

/// Workers wait for the gate and then answer with everything they were told.
fn gated(gate: &Arc<Semaphore>) -> Arc<dyn Model> {
    let gate = gate.clone();
    played("gated", move |ask: Ask| {
        let gate = gate.clone();
        async move {
            if !ask.is_worker() {
                return says("thanks");
            }
            gate.acquire().await.unwrap().forget();
            let told: Vec<String> = ask.messages.iter().map(|message: &Arc<Message>| message.text()).collect();
            says(told.join(" / "))
        }
    })
}

#[tokio::test]
async fn r06_tasks_beyond_the_places_wait_visibly_and_start_in_order() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = boat_with(gated(&gate), |config| config.crew.running = 2).await;
    for _ in 0..5 {
        boat.runtime.dispatch(&boat.session, brief("Work.")).await.unwrap();
    }
    let rows = boat.runtime.tasks().await;
    let places: Vec<_> = rows.iter().map(|row| (row.id.0, row.status, row.place_in_queue)).collect();
    let (running, queued) = (TaskStatus::Running, TaskStatus::Queued);
    let waits = |id, place| (id, queued, Some(place));
    assert_eq!(places, [(1, running, None), (2, running, None), waits(3, 1), waits(4, 2), waits(5, 3)]);

    gate.add_permits(5);
    boat.idle().await;
    let (mut told, mut started) = (Vec::new(), Vec::new());
    while let Ok(envelope) = boat.feed.try_recv() {
        match (envelope.source, envelope.news) {
            (tillerman::runtime::Source::Task(id), News::TaskQueued { ahead, .. }) => told.push((id.0, ahead)),
            (tillerman::runtime::Source::Task(id), News::TaskStarted { .. }) => started.push(id.0),
            _ => {}
        }
    }
    assert_eq!(told, [(3, 0), (4, 1), (5, 2)]);
    assert_eq!(started, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn r08_a_full_queue_is_refused_with_the_number() {
    let gate = Arc::new(Semaphore::new(0));
    let limits = |config: &mut tillerman::config::Config| (config.crew.running, config.crew.queued) = (1, 2);
    let boat = boat_with(gated(&gate), limits).await;
    for _ in 0..3 {
        boat.runtime.dispatch(&boat.session, brief("Work.")).await.unwrap();
    }
    let refused = boat.runtime.dispatch(&boat.session, brief("Work.")).await;
    assert_eq!(refused, Err(ControlError::QueueFull(2)));
    assert_eq!(boat.runtime.tasks().await.len(), 3, "and left nothing behind");
}

#[tokio::test]
async fn words_for_a_waiting_task_are_heard_when_it_starts() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = boat_with(gated(&gate), |config| config.crew.running = 1).await;
    boat.runtime.dispatch(&boat.session, brief("First.")).await.unwrap();
    boat.runtime.dispatch(&boat.session, brief("Second.")).await.unwrap();
    let (one, two) = ("use serde".to_owned(), "and be quick".to_owned());
    assert_eq!(boat.runtime.steer(TaskId(2), one).await, Ok(NoteId(1)));
    assert_eq!(boat.runtime.steer(TaskId(2), two).await, Ok(NoteId(2)));
    gate.add_permits(2);
    let answer = boat.task_ended(2).await.answer;
    assert!(answer.contains("use serde") && answer.contains("and be quick"), "{answer}");
    let progress = boat.task(2).progress_text();
    assert!(
        progress.contains("steered #1 seen at turn 1: use serde\n")
            && progress.contains("steered #2 seen at turn 1: and be quick\n"),
        "{progress}"
    );
}

#[tokio::test]
async fn a_waiting_task_can_be_aborted_and_says_that_nothing_was_done() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = boat_with(gated(&gate), |config| config.crew.running = 1).await;
    for _ in 0..3 {
        boat.runtime.dispatch(&boat.session, brief("Work.")).await.unwrap();
    }
    boat.runtime.abort(TaskId(2)).await.unwrap();
    let report = boat.task_ended(2).await;
    assert_eq!((report.status, report.turns, report.started), (TaskStatus::Aborted, 0, None));
    assert_eq!(report.answer, "Ended before it was started; nothing was done.");
    gate.add_permits(2);
    boat.idle().await;
    assert_eq!(boat.status(3).await, TaskStatus::Done, "the queue goes on");
}

#[tokio::test]
async fn unknown_and_ended_tasks_are_told_apart() {
    let gate = Arc::new(Semaphore::new(1));
    let mut boat = boat(gated(&gate)).await;
    boat.runtime.dispatch(&boat.session, brief("Work.")).await.unwrap();
    boat.task_ended(1).await;
    let (over, unknown) = (TaskId(1), TaskId(9));
    assert_eq!(boat.runtime.steer(over, "x".to_owned()).await, Err(ControlError::AlreadyEnded(over)));
    assert_eq!(boat.runtime.follow_up(over, "x".to_owned()).await, Err(ControlError::AlreadyEnded(over)));
    assert_eq!(boat.runtime.abort(over).await, Err(ControlError::AlreadyEnded(over)));
    assert_eq!(boat.runtime.steer(unknown, "x".to_owned()).await, Err(ControlError::NoSuchTask(unknown)));
    assert_eq!(boat.runtime.abort(unknown).await, Err(ControlError::NoSuchTask(unknown)));
    assert_eq!(boat.runtime.task(unknown).await, Err(ControlError::NoSuchTask(unknown)));
}

#[tokio::test]
async fn a_brief_that_cannot_be_is_refused_before_it_is_a_task() {
    let boat = boat(gated(&Arc::new(Semaphore::new(0)))).await;
    let with_agent = Brief { agent: Some("nobody".to_owned()), ..brief("x") };
    let with_model = Brief { model: Some("nowhere/none".to_owned()), ..brief("x") };
    let outside = |path: &str| Brief { touches: vec![path.to_owned()], ..brief("x") };
    for (brief, words) in [
        (brief(" \n"), "the task is empty; say what is to be done"),
        (with_agent, "there is no agent nobody; there are: "),
        (with_model, "nowhere"),
        (outside("/etc"), "touches names /etc; name paths below the workspace, relative to it"),
        (outside("src/../.."), "touches names src/../..; name paths below the workspace, relative to it"),
        (outside("skills/evil"), "touches: skills/evil may not be written: it belongs to the runtime"),
        (outside(".git/hooks"), "touches: .git/hooks may not be written: git takes programs from it"),
    ] {
        let refusal = boat.runtime.dispatch(&boat.session, brief).await.unwrap_err().to_string();
        assert!(refusal.contains(words), "{refusal}");
    }
    assert_eq!(boat.runtime.tasks().await, []);
    assert!(!boat.ground.root().join(".tasks").exists());
}

#[tokio::test]
async fn r07_a_worker_that_dispatches_though_it_may_not_makes_no_task() {
    let model = played("insists", |ask: Ask| async move {
        let dispatch = || calls([("dispatch", json!({"task": "Go deeper."}))]);
        match (ask.is_worker(), ask.outputs().first()) {
            (true, None) => dispatch(),
            (false, None) if ask.last() == "go" => dispatch(),
            (_, told) => says(told.map_or("heard", String::as_str)),
        }
    });
    let mut boat = boat(model).await;
    boat.answer("go").await;
    let answer = boat.task_ended(1).await.answer;
    assert!(answer.contains("dispatch"), "the refusal names the tool: {answer}");
    boat.idle().await;
    assert_eq!(boat.runtime.tasks().await.len(), 1);
}

#[tokio::test]
async fn r07_the_crew_refuses_what_is_too_deep_whatever_tools_there_are() {
    let boat = boat_with(gated(&Arc::new(Semaphore::new(0))), |config| config.crew.depth = 0).await;
    let refused = boat.runtime.dispatch(&boat.session, brief("Work.")).await;
    assert_eq!(refused, Err(ControlError::TooDeep { depth: 1, limit: 0 }));
    assert_eq!(boat.runtime.tasks().await, []);
}

/// Answers with the tools it has; a main agent dispatches first, and so does a worker that can.
fn dispatches_if_it_can() -> Arc<dyn Model> {
    played("depth", |ask: Ask| async move {
        match ask.tools.iter().any(|tool| tool == "dispatch") {
            true if ask.outputs().is_empty() && !ask.last().starts_with("[Worker") => {
                calls([("dispatch", json!({"task": "Go deeper."}))])
            }
            can => says(format!("dispatches: {can}")),
        }
    })
}

#[tokio::test]
async fn r07_workers_dispatch_only_as_deep_as_is_allowed() {
    for (depth, tasks) in [(1, 1), (2, 2), (3, 3)] {
        let mut boat = boat_with(dispatches_if_it_can(), |config| config.crew.depth = depth).await;
        boat.answer("go").await;
        boat.idle().await;
        let results: Vec<String> =
            (1..=tasks).map(|id| boat.task(id).result().unwrap().unwrap().answer.trim().to_owned()).collect();
        assert_eq!(boat.runtime.tasks().await.len(), tasks as usize);
        assert_eq!(results.last().unwrap(), "dispatches: false");
        let told = boat.runtime.transcript(&boat.session).await.unwrap();
        let told = told.iter().filter(|message| message.text().starts_with("[Worker completed")).count();
        assert_eq!(told, tasks as usize, "reports of every depth reach the main agent");
    }
}

#[tokio::test]
async fn the_main_agent_sees_steers_and_aborts_tasks_by_tool() {
    let (gate, asked) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (held, thinks) = (gate.clone(), asked.clone());
    let mut boat = boat(played("tools", move |ask: Ask| {
        let (held, thinks) = (held.clone(), thinks.clone());
        async move {
            if ask.is_worker() {
                thinks.add_permits(1);
                held.acquire().await.unwrap().forget();
                return says("done");
            }
            match ask.last().split_once(' ') {
                _ if !ask.outputs().is_empty() => says(ask.outputs().join("\n")),
                Some((tool @ ("steer" | "abort" | "tasks" | "dispatch"), args)) => {
                    calls([(tool, serde_json::from_str(args).unwrap())])
                }
                _ => says("heard"),
            }
        }
    }))
    .await;
    let dispatched = boat.answer(r#"dispatch {"task": "Count the lines.", "title": "count"}"#).await;
    assert_eq!(dispatched, "t_001 is dispatched; its files are in .tasks/t_001/. You will be told when it ends.");
    assert_eq!(boat.answer(r#"steer {"id": "t_001", "message": "words too"}"#).await, "queued #1 for t_001");
    asked.acquire().await.unwrap().forget();
    let list = boat.answer("tasks {}").await;
    assert!(list.starts_with("t_001 running — count (turn 1, ") && list.ends_with(": thinking"), "{list}");
    let whole = boat.answer(r#"tasks {"id": "t_001"}"#).await;
    assert!(whole.contains("## Brief\nCount the lines."), "{whole}");
    assert_eq!(boat.answer(r#"abort {"id": "t_001"}"#).await, "t_001 is being aborted");
    boat.idle().await;
    assert!(boat.answer("tasks {}").await.starts_with("t_001 aborted — count"));
    for (line, answer) in [
        (r#"steer {"id": "t_001", "message": "x"}"#, "task t_001 has already ended; its answer is in result.md"),
        (r#"abort {"id": "t_007"}"#, "no task t_007; the list of tasks shows those that exist"),
        (r#"abort {"id": "seven"}"#, "`seven` is no task id; write it like t_001"),
    ] {
        assert_eq!(boat.answer(line).await, answer);
    }
}
