//! The story that everything is built for: dispatch, answer at once, steer, completion relayed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tillerman::event::AgentEvent;
use tillerman::message::NoteId;
use tillerman::runtime::{News, Source, Steered};
use tillerman::task::{TaskId, TaskStatus};
use tokio::sync::Semaphore;

use super::{Ask, boat, calls, dispatch, endings, eventually, played, read, says};

/// The main agent dispatches, then loads what the report names; the worker works in two steps.
async fn play(ask: Ask, gate: Arc<Semaphore>, asked: Arc<AtomicBool>) -> tillerman::message::Message {
    if ask.is_worker() {
        if ask.messages.len() == 1 {
            asked.store(true, Ordering::SeqCst);
            gate.acquire().await.unwrap().forget();
            return calls([("shell", json!({ "command": "echo one; echo two" }))]);
        }
        let steered = ask.messages.iter().any(|message| message.text().contains("keep the public API"));
        return says(format!("Refactored. Steered: {steered}."));
    }
    match ask.last() {
        line if line == "refactor main.rs" => calls([dispatch("Refactor src/main.rs and run the tests.")]),
        line if line.starts_with("[Worker completed t_001]") => {
            assert!(line.contains("> Refactored. Steered: true."), "the words are quoted as data: {line}");
            calls([("load", json!({ "path": ".tasks/t_001/result.md" }))])
        }
        _ if ask.outputs()[0].contains("t_001 is dispatched") => says("On it."),
        _ => says(format!("It is done: {}", ask.outputs()[0].contains("Refactored. Steered: true."))),
    }
}

#[tokio::test]
async fn a_dispatched_task_is_steered_finished_and_relayed() {
    let gate = Arc::new(Semaphore::new(0));
    let asked = Arc::new(AtomicBool::new(false));
    let (held, told) = (gate.clone(), asked.clone());
    let mut boat = boat(played("story", move |ask| play(ask, held.clone(), told.clone()))).await;

    assert_eq!(boat.answer("refactor main.rs").await, "On it.", "the person has an answer while the worker works");
    assert_eq!(boat.status(1).await, TaskStatus::Running);
    eventually("the worker's model is never asked", || asked.load(Ordering::SeqCst)).await;
    let note = boat.runtime.steer(TaskId(1), "keep the public API".to_owned()).await.unwrap();
    assert_eq!(note, NoteId(1));
    gate.add_permits(1);

    let seen = boat.until(|envelope| match &envelope.news {
        News::Agent(AgentEvent::Noted { note, .. }) => Some((envelope.source.clone(), note.id)),
        _ => None,
    });
    assert_eq!(seen.await, (Source::Task(TaskId(1)), note));
    let report = boat.task_ended(1).await;
    assert_eq!((report.status, report.turns), (TaskStatus::Done, 2));
    assert_eq!(report.usage.total_tokens(), 24);
    boat.idle().await;
    let relayed = endings(&mut boat.feed);
    assert_eq!(relayed.len(), 1, "one report, one run: {relayed:?}");
    assert!(format!("{relayed:?}").contains("It is done: true"));

    let dir = boat.task(1);
    let progress = dir.progress_text();
    let words: Vec<&str> = progress.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    assert!(
        words[0].starts_with("shell echo one; echo two (")
            && words[1..] == ["steered #1 seen at turn 2: keep the public API", "done"]
    );
    assert_eq!(dir.result().unwrap().unwrap().answer.trim(), "Refactored. Steered: true.");
    let task = dir.task().unwrap();
    assert_eq!((task.status, task.brief.title.as_str()), (TaskStatus::Done, "Refactor src/main.rs and run the tests."));

    let workspace = boat.ground.workspace();
    let journal = read(&workspace.worker_sessions().join("t_001.jsonl"));
    assert!(journal.contains("keep the public API") && journal.contains("echo one; echo two"));
    boat.runtime.shutdown().await;
    let trace = read(&workspace.traces().join(format!("{}.jsonl", boat.session)));
    assert!(trace.contains("\"agent\":\"main\"") && trace.contains("\"agent\":\"t_001\""), "{trace}");
}

#[tokio::test]
async fn words_for_a_main_agent_are_a_note_while_it_runs_and_a_line_when_it_does_not() {
    let gate = Arc::new(Semaphore::new(0));
    let held = gate.clone();
    let mut boat = boat(played("notes", move |ask| {
        let held = held.clone();
        async move {
            if ask.messages.len() == 1 {
                held.acquire().await.unwrap().forget();
            }
            says(format!("{} messages", ask.messages.len()))
        }
    }))
    .await;
    let run = boat.say("begin").await;
    boat.until(|envelope| matches!(envelope.news, News::Agent(AgentEvent::TurnStarted { .. })).then_some(())).await;
    let steer = boat.runtime.steer_main(&boat.session, "and this".to_owned()).await.unwrap();
    let follow_up = boat.runtime.follow_up_main(&boat.session, "then that".to_owned()).await.unwrap();
    assert!(matches!((steer, follow_up), (Steered::Noted(_), Steered::Noted(_))));
    gate.add_permits(1);
    boat.run_ended(run).await;
    boat.idle().await;

    let Steered::Said(next) = boat.runtime.steer_main(&boat.session, "hello".to_owned()).await.unwrap() else {
        panic!("nothing was running");
    };
    boat.run_ended(next).await;
    let transcript = boat.runtime.transcript(&boat.session).await.unwrap();
    let lines: Vec<String> = transcript.iter().map(|message| message.text()).collect();
    assert!(lines.iter().any(|line| line.contains("and this")) && lines.iter().any(|line| line.contains("hello")));
    let status = boat.runtime.status(&boat.session).await.unwrap();
    assert_eq!((status.busy, status.queued), (false, 0));
    assert!(status.since_open.usage.total_tokens() >= 24 && status.context == 12);
}
