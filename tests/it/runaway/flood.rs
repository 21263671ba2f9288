//! A hundred thousand steers at a worker that does not listen.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tillerman::agent::inbox::CAPACITY;
use tillerman::config::Durability;
use tillerman::runtime::ControlError;
use tillerman::task::{Brief, TaskId, TaskStatus};
use tokio::sync::Semaphore;

use crate::runtime::{Ask, boat_with, eventually, played, says};

#[tokio::test]
async fn r14_a_flood_of_steers_is_refused_when_the_inbox_is_full_and_the_worker_hears_the_rest() {
    let (gate, asked) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (held, counted) = (gate.clone(), asked.clone());
    let model = played("deaf", move |ask: Ask| {
        let (held, counted) = (held.clone(), counted.clone());
        async move {
            match ask.is_worker() {
                true if counted.fetch_add(1, Ordering::SeqCst) == 0 => {
                    held.acquire().await.unwrap().forget();
                    says("first")
                }
                true => says(format!("heard {}", ask.count("flood "))),
                false => says("noted"),
            }
        }
    });
    let mut boat = boat_with(model, |config| config.durability = Durability::Off).await;
    boat.runtime.dispatch(&boat.session, Brief { body: "Work.".to_owned(), ..Brief::default() }).await.unwrap();
    eventually("the worker does not run", || asked.load(Ordering::SeqCst) == 1).await;
    let (mut taken, mut refused) = (0, 0);
    for at in 0..100_000 {
        match boat.runtime.steer(TaskId(1), format!("flood {at}")).await {
            Ok(_) => taken += 1,
            Err(ControlError::NotesFull(TaskId(1))) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!((taken, refused), (CAPACITY, 100_000 - CAPACITY));
    gate.add_permits(1);
    let report = boat.task_ended(1).await;
    assert_eq!((report.status, report.answer), (TaskStatus::Done, format!("heard {CAPACITY}")));
}
