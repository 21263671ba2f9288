//! Many workers in one process: each heard, each told once, nothing left over.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tillerman::config::Durability;
use tillerman::runtime::News;
use tillerman::task::{Brief, TaskId, TaskStatus};
use tokio::sync::Semaphore;

use super::{Ask, boat_with, eventually, played, says};

const MANY: u32 = 300;

#[tokio::test]
async fn three_hundred_workers_run_at_once_are_steered_and_told_once_each() {
    let (gate, waiting) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (held, counted) = (gate.clone(), waiting.clone());
    let model = played("crowd", move |ask: Ask| {
        let (held, counted) = (held.clone(), counted.clone());
        async move {
            if !ask.is_worker() {
                return says(format!("heard {}", ask.count("[Worker completed t_")));
            }
            if ask.messages.len() == 1 {
                counted.fetch_add(1, Ordering::SeqCst);
                held.acquire().await.unwrap().forget();
                return says("first");
            }
            says(format!("told: {}", ask.last().contains("be quick")))
        }
    });
    let mut boat = boat_with(model, |config| {
        config.crew.running = MANY as usize;
        config.durability = Durability::Off;
    })
    .await;
    for _ in 0..MANY {
        let brief = Brief { body: "Work.".to_owned(), ..Brief::default() };
        boat.runtime.dispatch(&boat.session, brief).await.unwrap();
    }
    eventually("not all workers run", || waiting.load(Ordering::SeqCst) == MANY as usize).await;
    // None of them hears it before the gate opens, and nobody who steers waits for that.
    for id in 1..=MANY {
        boat.runtime.steer(TaskId(id), "be quick".to_owned()).await.unwrap();
    }
    gate.add_permits(MANY as usize);

    let mut ended = HashSet::new();
    while ended.len() < MANY as usize {
        let report = boat.until(|envelope| match &envelope.news {
            News::TaskEnded(report) => Some(report.clone()),
            _ => None,
        });
        let report = report.await;
        assert_eq!((report.status, report.answer.as_str()), (TaskStatus::Done, "told: true"));
        assert!(ended.insert(report.id), "{} ended twice", report.id);
    }
    boat.idle().await;
    let transcript = boat.runtime.transcript(&boat.session).await.unwrap();
    let told: Vec<String> =
        transcript.iter().map(|message| message.text()).filter(|text| text.starts_with("[Worker")).collect();
    assert_eq!(told.len(), MANY as usize);
    assert_eq!(told.iter().collect::<HashSet<_>>().len(), MANY as usize);
}
