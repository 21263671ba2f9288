//! A program that stood still while something was to end in time: stopped by hand, or on a machine without time for it.
//! Its clock has gone on meanwhile, and nobody else has.

use std::sync::Arc;
use std::time::Duration;

use tillerman::event::AgentEvent;
use tillerman::runtime::News;
use tillerman::task::{Brief, TaskId, TaskStatus};

use super::{Ask, Boat, boat, played, says};
use crate::patience::StoppedClock;

/// Longer than anybody is given.
const STANDSTILL: Duration = Duration::from_secs(20);

fn brief() -> Brief {
    Brief { body: "Think for ever.".to_owned(), ..Brief::default() }
}

/// Workers never get an answer.
async fn silent() -> Boat {
    let model: Arc<dyn tillerman::model::Model> = played("silent", |ask: Ask| async move {
        if ask.is_worker() {
            std::future::pending::<()>().await;
        }
        says("thanks")
    });
    boat(model).await
}

async fn asked(boat: &mut Boat) {
    boat.until(|envelope| matches!(envelope.news, News::Agent(AgentEvent::TurnStarted { .. })).then_some(())).await;
}

#[tokio::test(start_paused = true)]
async fn an_aborted_worker_still_ends_by_itself() {
    let clock = StoppedClock::new();
    let mut boat = silent().await;
    boat.runtime.dispatch(&boat.session, brief()).await.unwrap();
    asked(&mut boat).await;
    boat.runtime.abort(TaskId(1)).await.unwrap();
    clock.pass(STANDSTILL).await;
    let report = boat.task_ended(1).await;
    assert_eq!((report.status, report.answer.trim()), (TaskStatus::Aborted, "Aborted before it was done."));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_still_writes_down_what_it_interrupts() {
    let clock = StoppedClock::new();
    let mut boat = silent().await;
    boat.runtime.dispatch(&boat.session, brief()).await.unwrap();
    asked(&mut boat).await;
    tokio::join!(boat.runtime.shutdown(), clock.pass(STANDSTILL));
    let result = boat.task(1).result().unwrap().unwrap();
    assert_eq!(
        (result.status, result.answer.trim()),
        (TaskStatus::Interrupted, "The program ended before the task did.")
    );
}
