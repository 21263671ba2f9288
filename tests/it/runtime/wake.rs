//! A worker's end reaches its main agent: once, soon, and never lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tillerman::event::{AgentEvent, Ending};
use tillerman::runtime::News;
use tillerman::task::Brief;
use tokio::sync::Semaphore;

use super::{Ask, boat, boat_with, calls, dispatch, endings, played, says};

fn reports(ask: &Ask) -> usize {
    ask.count("[Worker ")
}

#[tokio::test]
async fn the_end_of_a_worker_wakes_an_idle_main_agent_exactly_once() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let mut boat = boat(played("once", move |ask| {
        if !ask.is_worker() {
            counted.fetch_add(1, Ordering::SeqCst);
        }
        async move { says(if ask.is_worker() { "found 5 functions" } else { "thank you" }) }
    }))
    .await;
    let brief = Brief { title: "look".to_owned(), body: "Look for functions.".to_owned(), ..Brief::default() };
    boat.runtime.dispatch(&boat.session, brief).await.unwrap();
    boat.task_ended(1).await;
    boat.idle().await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    let transcript = boat.runtime.transcript(&boat.session).await.unwrap();
    let heard = transcript[0].text();
    assert_eq!(heard.lines().next(), Some("[Worker completed t_001]"));
    for line in ["title: look", "result: .tasks/t_001/result.md", "> found 5 functions"] {
        assert!(heard.lines().any(|heard| heard == line), "{heard}");
    }
}

#[tokio::test]
async fn twenty_workers_that_end_during_a_turn_are_told_together_and_once_each() {
    let gate = Arc::new(Semaphore::new(0));
    let held = gate.clone();
    let mut boat = boat(played("twenty", move |ask| {
        let held = held.clone();
        async move {
            match () {
                () if ask.is_worker() => says("done"),
                () if ask.last() == "go" => {
                    let task = dispatch("Do it.");
                    calls(std::array::from_fn::<_, 20, _>(|_| task.clone()))
                }
                () if reports(&ask) == 0 => {
                    held.acquire().await.unwrap().forget();
                    says("all are dispatched")
                }
                () => says(format!("heard {}", reports(&ask))),
            }
        }
    }))
    .await;
    boat.say("go").await;
    for _ in 0..20 {
        boat.until(|envelope| matches!(envelope.news, News::TaskEnded(_)).then_some(())).await;
    }
    gate.add_permits(1);
    boat.idle().await;
    let answered = |text: &str| Ending::Completed { answer: text.to_owned() };
    assert_eq!(endings(&mut boat.feed), [answered("all are dispatched"), answered("heard 20")]);
    let transcript = boat.runtime.transcript(&boat.session).await.unwrap();
    for id in 1..=20 {
        let first = format!("[Worker completed t_{id:03}]");
        assert_eq!(transcript.iter().filter(|message| message.text().starts_with(&first)).count(), 1);
    }
}

#[tokio::test]
async fn a_line_that_waits_is_told_together_with_the_reports() {
    let gate = Arc::new(Semaphore::new(0));
    let held = gate.clone();
    let mut boat = boat(played("line", move |ask| {
        let held = held.clone();
        async move {
            match () {
                () if ask.is_worker() => says("done"),
                () if ask.last() == "first" => {
                    held.acquire().await.unwrap().forget();
                    says("1")
                }
                () => says(format!("{} with {} reports", ask.last(), reports(&ask))),
            }
        }
    }))
    .await;
    boat.say("first").await;
    let brief = Brief { body: "Do it.".to_owned(), ..Brief::default() };
    boat.runtime.dispatch(&boat.session, brief).await.unwrap();
    let second = boat.say("second").await;
    boat.task_ended(1).await;
    gate.add_permits(1);
    assert_eq!(boat.run_ended(second).await, Ending::Completed { answer: "second with 1 reports".to_owned() });
    boat.idle().await;
    assert_eq!(endings(&mut boat.feed), []);
}

#[tokio::test]
async fn a_main_agent_and_its_workers_do_not_play_ping_pong_for_ever() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let mut boat = boat_with(
        played("ping", move |ask| {
            let counted = counted.clone();
            async move {
                match ask.outputs().is_empty() {
                    _ if ask.is_worker() => says("pong"),
                    true => {
                        counted.fetch_add(1, Ordering::SeqCst);
                        calls([dispatch("Ping.")])
                    }
                    false => says("ping"),
                }
            }
        }),
        |config| config.durability = tillerman::config::Durability::Off,
    )
    .await;
    let run = boat.say("go").await;
    boat.run_ended(run).await;
    let why = boat.until(|envelope| match &envelope.news {
        News::Agent(AgentEvent::Failed { why }) => Some(why.clone()),
        _ => None,
    });
    assert_eq!(why.await, "64 runs in a row were started by reports alone; the next ones wait for you");
    boat.idle().await;
    assert_eq!(runs.load(Ordering::SeqCst), 65, "the person's own run and 64 without one");
    let waits = boat.runtime.status(&boat.session).await.unwrap().queued;
    assert_eq!(waits, 1, "the last report is kept for the next line");
}

/// One after the other, so that each report starts a run of its own: they are no ping-pong and all are told.
#[tokio::test]
async fn a_main_agent_that_merely_listens_hears_of_every_task_however_many_there_are() {
    let model = played("listener", |ask: Ask| async move {
        match () {
            () if ask.is_worker() => says("done"),
            () if ask.last() == "go" && ask.outputs().is_empty() => {
                calls(std::array::from_fn::<_, 60, _>(|_| dispatch("Work.")))
            }
            () => says(format!("heard {}", ask.count("[Worker completed t_"))),
        }
    });
    let mut boat = boat_with(model, |config| {
        config.crew.running = 1;
        config.durability = tillerman::config::Durability::Off;
    })
    .await;
    for _ in 0..2 {
        boat.answer("go").await;
    }
    boat.idle().await;
    let status = boat.runtime.status(&boat.session).await.unwrap();
    let transcript = boat.runtime.transcript(&boat.session).await.unwrap();
    let told = transcript.iter().filter(|message| message.text().starts_with("[Worker completed t_")).count();
    assert_eq!((told, status.queued), (120, 0), "reports that are told, and that wait");
}

#[tokio::test]
async fn r08_more_dispatches_than_a_turn_may_hold_are_refused_with_a_reason() {
    let mut boat = boat_with(
        played("bomb", |ask| async move {
            let outputs = ask.outputs();
            match () {
                () if ask.is_worker() => says("done"),
                () if ask.last() == "go" => {
                    calls(std::array::from_fn::<_, 70, _>(|_| ("dispatch", json!({"task": "x"}))))
                }
                () if outputs.is_empty() => says("heard"),
                () => {
                    let refused = |message: &Arc<tillerman::message::Message>| {
                        message.results().filter(|result| result.is_error).count()
                    };
                    says(format!("{} refused", ask.messages.iter().map(refused).sum::<usize>()))
                }
            }
        }),
        |config| config.durability = tillerman::config::Durability::Off,
    )
    .await;
    assert_eq!(boat.answer("go").await, "6 refused");
    boat.idle().await;
    assert_eq!(boat.runtime.tasks().await.len(), 64);
}
