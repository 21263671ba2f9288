//! How tasks and runs end that do not simply finish: abort, panic, turn limit, shutdown; and what their files say.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde_json::json;
use tillerman::event::{AgentEvent, Ending};
use tillerman::message::{RawArgs, ToolSpec};
use tillerman::runtime::{ControlError, News, Open, Runtime, SessionGone, Source};
use tillerman::task::{Brief, TaskId, TaskStatus};
use tillerman::tool::{Tool, ToolContext, ToolError, ToolOutput};
use tokio::sync::Semaphore;

use super::{Ask, Boat, Ground, boat, calls, endings, eventually, played, says};
use crate::patience::PATIENCE;

fn brief(body: &str) -> Brief {
    Brief { body: body.to_owned(), ..Brief::default() }
}

/// Workers never get an answer; the main agent says "thanks".
fn silent() -> Arc<dyn tillerman::model::Model> {
    played("silent", |ask: Ask| async move {
        if ask.is_worker() {
            std::future::pending::<()>().await;
        }
        says("thanks")
    })
}

async fn asked(boat: &mut Boat, id: u32) {
    boat.until(|envelope| match (&envelope.source, &envelope.news) {
        (Source::Task(task), News::Agent(AgentEvent::TurnStarted { .. })) if task.0 == id => Some(()),
        _ => None,
    })
    .await;
}

#[tokio::test]
async fn an_abort_during_a_model_call_ends_it_and_says_so() {
    let mut boat = boat(silent()).await;
    boat.runtime.dispatch(&boat.session, brief("Think for ever.")).await.unwrap();
    asked(&mut boat, 1).await;
    boat.runtime.abort(TaskId(1)).await.unwrap();
    boat.until(|envelope| match &envelope.news {
        News::Agent(AgentEvent::RunEnded { ending: Ending::Aborted }) => Some(()),
        _ => None,
    })
    .await;
    let report = boat.task_ended(1).await;
    assert_eq!((report.status, report.turns), (TaskStatus::Aborted, 1));
    assert_eq!(boat.task(1).result().unwrap().unwrap().answer.trim(), "Aborted before it was done.");
    assert_eq!(boat.task(1).task().unwrap().status, TaskStatus::Aborted);
    assert_eq!(boat.runtime.abort(TaskId(1)).await, Err(ControlError::AlreadyEnded(TaskId(1))));
    boat.idle().await;
    let heard = boat.runtime.transcript(&boat.session).await.unwrap()[0].text();
    assert!(heard.starts_with("[Worker aborted t_001]\n"), "{heard}");
}

#[tokio::test]
async fn notes_that_an_abort_overtook_are_named_in_the_result() {
    let mut boat = boat(silent()).await;
    boat.runtime.dispatch(&boat.session, brief("Think for ever.")).await.unwrap();
    asked(&mut boat, 1).await;
    boat.runtime.steer(TaskId(1), "use serde".to_owned()).await.unwrap();
    boat.runtime.abort(TaskId(1)).await.unwrap();
    let answer = boat.task_ended(1).await.answer;
    assert!(answer.ends_with("Notes that came too late to be heard:\n\n- #1 use serde\n"), "{answer}");
}

#[tokio::test]
async fn an_abort_of_the_main_agent_leaves_workers_and_waiting_lines_alone() {
    let gate = Arc::new(Semaphore::new(0));
    let held = gate.clone();
    let mut boat = boat(played("main", move |ask: Ask| {
        let held = held.clone();
        async move {
            match ask.last().as_str() {
                "for ever" => std::future::pending().await,
                _ if ask.is_worker() => {
                    held.acquire().await.unwrap().forget();
                    says("worked on")
                }
                line => says(line.lines().next().unwrap_or_default()),
            }
        }
    }))
    .await;
    assert!(!boat.runtime.abort_main(&boat.session).await.unwrap(), "nothing runs yet");
    boat.runtime.dispatch(&boat.session, brief("Work.")).await.unwrap();
    let (first, second) = (boat.say("for ever").await, boat.say("next").await);
    let session = boat.session.clone();
    boat.until(|envelope| match (&envelope.source, &envelope.news) {
        (Source::Main { session: this, .. }, News::Agent(AgentEvent::TurnStarted { .. })) if *this == session => {
            Some(())
        }
        _ => None,
    })
    .await;
    assert!(boat.runtime.abort_main(&boat.session).await.unwrap());
    assert_eq!(boat.run_ended(first).await, Ending::Aborted);
    assert_eq!(boat.run_ended(second).await, Ending::Completed { answer: "next".to_owned() });
    assert_eq!(boat.status(1).await, TaskStatus::Running);
    gate.add_permits(1);
    assert_eq!(boat.task_ended(1).await.status, TaskStatus::Done);
    boat.idle().await;
    assert_eq!(endings(&mut boat.feed), [Ending::Completed { answer: "[Worker completed t_001]".to_owned() }]);
}

#[tokio::test]
async fn after_a_run_has_ended_there_is_nothing_to_abort() {
    let mut boat = boat(played("quick", |_: Ask| async { says("done") })).await;
    for _ in 0..10 {
        // The run that tells of a task marks it as told when its end has been heard already.
        boat.runtime.dispatch(&boat.session, brief("Be quick.")).await.unwrap();
        boat.until(|envelope| match (&envelope.source, &envelope.news) {
            (Source::Main { .. }, News::Agent(AgentEvent::RunEnded { .. })) => Some(()),
            _ => None,
        })
        .await;
        assert!(!boat.runtime.abort_main(&boat.session).await.unwrap(), "whoever heard the end is told so");
        boat.idle().await;
        assert!(!boat.runtime.status(&boat.session).await.unwrap().busy);
    }
}

#[tokio::test]
async fn a_panic_in_a_run_becomes_a_failed_report_and_the_program_lives() {
    let mut boat = boat(played("panics", |ask: Ask| async move {
        assert!(!ask.is_worker() && ask.last() != "panic", "out of cheese");
        says(ask.last().lines().next().unwrap_or_default())
    }))
    .await;
    boat.runtime.dispatch(&boat.session, brief("Panic.")).await.unwrap();
    let report = boat.task_ended(1).await;
    assert_eq!(report.status, TaskStatus::Failed);
    assert!(report.answer.contains("out of cheese"), "{}", report.answer);
    boat.idle().await;
    assert_eq!(endings(&mut boat.feed), [Ending::Completed { answer: "[Worker failed t_001]".to_owned() }]);

    let run = boat.say("panic").await;
    let Ending::Failed { why } = boat.run_ended(run).await else { panic!("it did panic") };
    assert!(why.contains("out of cheese"), "{why}");
    assert_eq!(boat.answer("still there?").await, "still there?");
    let transcript = boat.runtime.transcript(&boat.session).await.unwrap();
    let lines: Vec<String> = transcript.iter().map(|message| message.text()).collect();
    assert_eq!(lines[2..], ["panic", "still there?", "still there?"], "nothing that was said is lost");
}

/// A tool with a fault of the test's choice.
struct Faulty {
    spec: ToolSpec,
    fault: Box<dyn Fn() + Send + Sync>,
}

impl Tool for Faulty {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _: RawArgs, _: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async {
            (self.fault)();
            Ok(ToolOutput::text("ok"))
        })
    }
}

fn faulty(fault: impl Fn() + Send + Sync + 'static) -> Arc<dyn Tool> {
    let spec = ToolSpec {
        name: "faulty".to_owned(),
        description: "Has a fault.".into(),
        schema: json!({"type": "object"}).into(),
        read_only: true,
    };
    Arc::new(Faulty { spec, fault: Box::new(fault) })
}

async fn faulty_boat(fault: impl Fn() + Send + Sync + 'static) -> Boat {
    let ground = Ground::new();
    let model = played("calls", |ask: Ask| async move {
        if ask.is_worker() { calls([("faulty", json!({}))]) } else { says("thanks") }
    });
    let runtime = Runtime::start_with(ground.config(model), vec![faulty(fault)]).await.unwrap();
    let feed = runtime.feed();
    let session = runtime.open(Open::New).await.unwrap();
    Boat { ground, runtime, session, feed }
}

#[tokio::test]
async fn a_panicking_tool_fails_its_task_and_not_the_program() {
    let mut boat = faulty_boat(|| panic!("the tool is broken")).await;
    boat.runtime.dispatch(&boat.session, brief("Call it.")).await.unwrap();
    let report = boat.task_ended(1).await;
    assert_eq!(report.status, TaskStatus::Failed);
    assert!(report.answer.contains("the tool is broken"), "{}", report.answer);
    assert_eq!(boat.answer("still there?").await, "thanks");
}

/// A boat with a worker in a tool that hears nothing until it is released.
async fn stuck_boat() -> (Boat, Arc<AtomicBool>) {
    let release = Arc::new(AtomicBool::new(false));
    let held = release.clone();
    let mut boat = faulty_boat(move || {
        while !held.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
    })
    .await;
    boat.runtime.dispatch(&boat.session, brief("Call it.")).await.unwrap();
    boat.until(|envelope| matches!(envelope.news, News::Agent(AgentEvent::ToolStarted { .. })).then_some(())).await;
    (boat, release)
}

/// Two seconds long, because that is the grace that a run gets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_ignores_its_abort_is_killed_after_its_grace() {
    let (mut boat, release) = stuck_boat().await;
    let start = Instant::now();
    boat.runtime.abort(TaskId(1)).await.unwrap();
    let report = boat.task_ended(1).await;
    release.store(true, Ordering::SeqCst);
    assert_eq!(report.status, TaskStatus::Aborted);
    assert!(report.answer.starts_with("Aborted; it did not end by itself in time"), "{}", report.answer);
    assert!(start.elapsed() >= Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(boat.task(1).task().unwrap().status, TaskStatus::Aborted);
}

#[tokio::test]
async fn a_worker_at_its_turn_limit_reports_what_it_has() {
    let mut boat = boat(played("turns", |ask: Ask| async move {
        match ask.is_worker() {
            true if ask.tools.is_empty() => says("half of it is done"),
            true => calls([("load_skill", json!({"name": "coding"}))]),
            false => says(ask.last().lines().next().unwrap_or_default()),
        }
    }))
    .await;
    let brief = Brief { max_turns: Some(2), ..brief("Go on.") };
    boat.runtime.dispatch(&boat.session, brief).await.unwrap();
    let report = boat.task_ended(1).await;
    assert_eq!((report.status, report.answer.as_str()), (TaskStatus::LimitTurns, "half of it is done"));
    boat.idle().await;
    assert_eq!(endings(&mut boat.feed), [Ending::Completed { answer: "[Worker limited t_001]".to_owned() }]);
}

#[tokio::test]
async fn an_answer_that_cannot_be_written_is_in_the_report() {
    let gate = Arc::new(Semaphore::new(0));
    let held = gate.clone();
    let mut boat = boat(played("gone", move |ask: Ask| {
        let held = held.clone();
        async move {
            if ask.is_worker() {
                held.acquire().await.unwrap().forget();
            }
            says("42 lines")
        }
    }))
    .await;
    boat.runtime.dispatch(&boat.session, brief("Count.")).await.unwrap();
    asked(&mut boat, 1).await;
    std::fs::remove_dir_all(boat.task(1).path()).unwrap();
    gate.add_permits(1);
    let answer = boat.task_ended(1).await.answer;
    assert!(answer.starts_with("42 lines\n\n(result.md could not be written: "), "{answer}");
    boat.idle().await;
}

#[tokio::test]
async fn a_shutdown_interrupts_what_runs_and_frees_the_workspace() {
    let mut boat = boat(silent()).await;
    for _ in 0..10 {
        boat.runtime.dispatch(&boat.session, brief("Think for ever.")).await.unwrap();
    }
    asked(&mut boat, 8).await;
    tokio::time::timeout(PATIENCE, boat.runtime.shutdown()).await.unwrap();
    for id in 1..=10 {
        let result = boat.task(id).result().unwrap().unwrap();
        let words = if id <= 8 { "The program ended before the task did." } else { "Ended before it was started" };
        assert_eq!(result.status, TaskStatus::Interrupted);
        assert!(result.answer.starts_with(words), "{id}: {}", result.answer);
    }
    let said = boat.runtime.say(&boat.session, "hello".to_owned()).await;
    assert_eq!(said, Err(SessionGone::ShuttingDown));
    let again = Runtime::start(boat.ground.config(silent())).await.unwrap();
    assert_eq!(again.tasks().await.len(), 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_writes_down_also_what_does_not_end_in_time() {
    let (boat, release) = stuck_boat().await;
    boat.runtime.shutdown().await;
    let result = boat.task(1).result();
    release.store(true, Ordering::SeqCst);
    assert_eq!(result.unwrap().unwrap().status, TaskStatus::Interrupted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abort_by_a_person_stays_one_when_the_program_ends_before_the_task_does() {
    let (boat, release) = stuck_boat().await;
    boat.runtime.abort(TaskId(1)).await.unwrap();
    boat.runtime.shutdown().await;
    let result = boat.task(1).result();
    release.store(true, Ordering::SeqCst);
    assert_eq!(result.unwrap().unwrap().status, TaskStatus::Aborted);
}

#[tokio::test]
async fn a_workspace_that_is_deleted_fails_tasks_by_name_and_the_program_lives() {
    let mut boat = boat(played("talks", |ask: Ask| async move { says(ask.last()) })).await;
    assert_eq!(boat.answer("before").await, "before");
    std::fs::remove_dir_all(boat.ground.root()).unwrap();
    let refused = boat.runtime.dispatch(&boat.session, brief("Work.")).await.unwrap_err();
    assert!(matches!(&refused, ControlError::Files(why) if why.contains(".tasks")), "{refused}");
    let run = boat.say("after").await;
    // Answered or failed with a sentence: it ends.
    boat.run_ended(run).await;
    assert!(boat.runtime.tasks().await.is_empty());
    boat.runtime.shutdown().await;
}

#[tokio::test]
async fn what_a_dropped_runtime_started_ends_with_it() {
    let alive = Arc::new(());
    let held = alive.clone();
    let mut boat = boat(played("held", move |ask: Ask| {
        let held = held.clone();
        async move {
            let _held = held;
            if ask.is_worker() { std::future::pending().await } else { says("thanks") }
        }
    }))
    .await;
    boat.runtime.dispatch(&boat.session, brief("Think for ever.")).await.unwrap();
    asked(&mut boat, 1).await;
    drop(boat);
    eventually("the run goes on without its runtime", || Arc::strong_count(&alive) == 1).await;
}
