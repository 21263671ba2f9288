//! What a hand writes into the task.md of a task that waits, and what becomes of those whose forerunner failed when it
//! goes on.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use tillerman::runtime::{ControlError, News, Open, Runtime};
use tillerman::task::{Asked, Asker, TaskId, TaskStatus};
use tokio::sync::Semaphore;

use super::ask::asking as asks;
use super::order::{brief, gated, started};
use super::restart::start_with;
use super::{Boat, boat, boat_with, played, read, says};
use crate::patience::PATIENCE;

impl Boat {
    /// What a hand does to a task.md.
    fn edit(&self, id: u32, change: impl Fn(String) -> String) {
        let path = self.task(id).path().join("task.md");
        fs::write(&path, change(read(&path))).unwrap();
    }

    fn write_after(&self, id: u32, after: &str) {
        self.edit(id, |text| text.replacen("---\n", &format!("---\nafter: {after}\n"), 1));
    }

    async fn dispatched(&self, tasks: &[(&str, &[u32])]) {
        for (body, after) in tasks {
            self.runtime.dispatch(&self.session, brief(body, after)).await.unwrap();
        }
    }

    /// What is asked, by task, when so many ask.
    async fn asks(&self, count: usize) -> Vec<String> {
        let start = std::time::Instant::now();
        loop {
            let asked = self.runtime.questions().await;
            if asked.len() == count {
                return asked.into_iter().map(|question| question.text).collect();
            }
            assert!(start.elapsed() < PATIENCE, "{asked:?}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    async fn says_to(&self, id: u32, words: &str) {
        self.runtime.answer(TaskId(id), None, words.to_owned()).await.unwrap();
    }
}

const THREE: [(&str, &[u32]); 3] = [("One.", &[]), ("Two.", &[]), ("Three.", &[])];

#[tokio::test]
async fn after_that_a_hand_wrote_while_a_task_waited_holds_it_back() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = boat_with(gated(&gate), |config| config.crew.running = 1).await;
    boat.dispatched(&THREE).await;
    boat.write_after(2, "[t_003]");
    gate.add_permits(1);
    boat.task_ended(1).await;
    boat.until(|envelope| matches!(&envelope.news, News::TaskStarted { title } if title == "Three.").then_some(()))
        .await;
    let row = boat.runtime.task(TaskId(2)).await.unwrap().row;
    assert_eq!((row.status, row.place_in_queue, row.after), (TaskStatus::Queued, None, vec![TaskId(3)]));
    gate.add_permits(2);
    let answer = boat.task_ended(2).await.answer;
    assert!(answer.contains("[t_003 done] Three.\n> Three.\n"), "{answer}");
}

#[tokio::test]
async fn after_that_a_hand_took_away_holds_nothing_back() {
    let (short, long) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (gate, other) = (short.clone(), long.clone());
    let model = played("two", move |ask: super::Ask| {
        let gate = if ask.first().contains("Long.") { other.clone() } else { gate.clone() };
        async move {
            if ask.is_worker() {
                gate.acquire().await.unwrap().forget();
            }
            says("done")
        }
    });
    let mut boat = boat(model).await;
    boat.dispatched(&[("Short.", &[]), ("Long.", &[]), ("Then.", &[1, 2])]).await;
    boat.edit(3, |text| text.replace("  - t_002\n", ""));
    short.add_permits(2);
    assert_eq!(boat.task_ended(3).await.status, TaskStatus::Done);
    assert_eq!(boat.status(2).await, TaskStatus::Running, "it waited for the other alone");
    assert_eq!(boat.task(3).task().unwrap().brief.after, [TaskId(1)]);
    long.add_permits(1);
    boat.idle().await;
}

#[tokio::test]
async fn a_circle_that_a_hand_made_of_those_that_wait_is_asked_about_and_does_not_hang() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = boat_with(gated(&gate), |config| config.crew.running = 1).await;
    boat.dispatched(&[("One.", &[]), ("Two.", &[]), ("Three.", &[2])]).await;
    boat.write_after(2, "[t_003]");
    gate.add_permits(3);
    let asked = boat.asked(2).await;
    let text = "t_003 → t_002 → t_003 would never begin: each waits for the next; mend `after` in their task.md. Go on \
        without?";
    assert_eq!((asked.asker, asked.text.as_str(), asked.default.as_str()), (Asker::Dependency, text, "give up"));
    boat.says_to(2, "go on").await;
    assert_eq!(boat.task_ended(3).await.status, TaskStatus::Done);
    assert_eq!(boat.status(2).await, TaskStatus::Done, "it was asked about once");
    assert_eq!(boat.task(2).questions().len(), 1);
}

#[tokio::test]
async fn a_forerunner_that_there_is_not_and_one_that_is_the_task_itself_are_asked_about() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = boat_with(gated(&gate), |config| config.crew.running = 1).await;
    boat.dispatched(&THREE).await;
    boat.write_after(2, "[t_009]");
    boat.write_after(3, "[t_003]");
    gate.add_permits(1);
    let none = "after names t_009, and there is no such task; dispatch that one first. Go on without?";
    let asked = boat.asks(2).await;
    assert_eq!(asked[0], none);
    assert!(asked[1].starts_with("t_003 → t_003 would never begin: "), "{}", asked[1]);
    boat.says_to(2, "give up").await;
    assert_eq!(boat.task_ended(2).await.status, TaskStatus::Failed);
    // Mended, it needs no answer to begin; whoever answers does no harm.
    boat.edit(3, |text| text.replace("after:\n  - t_003\n", ""));
    boat.says_to(3, "go on").await;
    gate.add_permits(1);
    assert_eq!(boat.task_ended(3).await.status, TaskStatus::Done);
}

#[tokio::test]
async fn nonsense_in_the_file_of_a_task_that_waits_is_told_with_its_line_and_the_task_is_not_lost() {
    let gate = Arc::new(Semaphore::new(0));
    let boat = boat_with(gated(&gate), |config| config.crew.running = 1).await;
    boat.dispatched(&THREE).await;
    let good = read(&boat.task(3).path().join("task.md"));
    boat.write_after(2, "lots");
    boat.write_after(3, "[t_1, soon]");
    gate.add_permits(3);
    for (id, text) in [2, 3].into_iter().zip(boat.asks(2).await) {
        let path = format!("Its task.md makes no sense: task t_00{id}: ");
        assert!(text.starts_with(&path) && text.contains("line 2"), "{text}");
        assert!(text.ends_with("Mend it, then go on; or go on as it was asked at first?"), "{text}");
    }
    boat.edit(3, |_| good.replace("Three.", "Three and a half."));
    boat.says_to(2, "go on").await;
    boat.says_to(3, "go on").await;
    boat.idle().await;
    let answers = [2, 3].map(|id| boat.task(id).result().unwrap().unwrap().answer);
    assert!(answers[0].starts_with("Two.\n") && answers[1].starts_with("Three and a half.\n"), "{answers:?}");
    let progress = boat.task(2).progress_text();
    assert!(progress.contains("goes on as it was asked at first: "), "{progress}");
}

#[tokio::test]
async fn who_lacks_a_result_asks_when_it_waits_for_nothing_else() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = boat(gated(&gate)).await;
    boat.dispatched(&[("One.", &[]), ("Two.", &[]), ("Three.", &[1, 2])]).await;
    boat.runtime.abort(TaskId(1)).await.unwrap();
    boat.task_ended(1).await;
    gate.add_permits(1);
    let over = std::cell::Cell::new(false);
    let asked = boat.until(|envelope| match &envelope.news {
        News::TaskEnded(report) if report.id == TaskId(2) => {
            over.set(true);
            None
        }
        News::Asked(question) => Some(question.text.clone()),
        _ => None,
    });
    let text = "It comes after what has no result: t_001 was aborted. Go on without?";
    assert_eq!((asked.await.as_str(), over.get()), (text, true));
    boat.says_to(3, "give up").await;
    boat.idle().await;
}

/// A task whose forerunner was aborted, which asks whether to go on.
async fn asking(gate: &Arc<Semaphore>) -> Boat {
    let mut boat = boat(gated(gate)).await;
    boat.dispatched(&[("One.", &[]), ("Two.", &[1])]).await;
    boat.runtime.abort(TaskId(1)).await.unwrap();
    boat.asked(2).await;
    boat
}

#[tokio::test]
async fn who_asks_because_its_forerunner_failed_goes_on_by_itself_when_that_ends_well() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = asking(&gate).await;
    boat.runtime.resume(TaskId(1), &boat.session).await.unwrap();
    let settled = boat.settled(2).await;
    assert_eq!(settled.state, Asked::Moot { why: "nothing is missing any more".to_owned() });
    let held = boat.until(|envelope| match &envelope.news {
        News::TaskHeld { after, .. } => Some(after.clone()),
        _ => None,
    });
    assert_eq!(held.await, [TaskId(1)], "it waits for it again");
    assert_eq!(boat.runtime.questions().await, []);
    let late = boat.runtime.answer(TaskId(2), None, "go on".to_owned()).await;
    assert!(matches!(late, Err(ControlError::Closed { .. })), "{late:?}");
    gate.add_permits(2);
    let answer = boat.task_ended(2).await.answer;
    assert!(answer.contains("[t_001 done] One.\n"), "the new result: {answer}");
    boat.idle().await;
    let file = boat.task(2).questions().remove(0).unwrap();
    assert_eq!(file.state, settled.state, "and the file says so");
}

#[tokio::test]
async fn who_asks_because_its_forerunner_failed_asks_again_when_that_fails_again() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = asking(&gate).await;
    boat.runtime.resume(TaskId(1), &boat.session).await.unwrap();
    boat.settled(2).await;
    boat.runtime.abort(TaskId(1)).await.unwrap();
    assert_eq!(boat.asked(2).await.number, 2);
    boat.says_to(2, "give up").await;
    assert_eq!(boat.task_ended(2).await.status, TaskStatus::Failed);
}

#[tokio::test]
async fn who_was_told_to_go_on_without_its_forerunner_does_so_once() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = asking(&gate).await;
    boat.says_to(2, "go on").await;
    boat.until(|envelope| matches!(&envelope.news, News::TaskStarted { title } if title == "Two.").then_some(())).await;
    boat.runtime.resume(TaskId(1), &boat.session).await.unwrap();
    gate.add_permits(2);
    boat.idle().await;
    assert_eq!(started(&mut boat), [1], "the other had begun and begins no more");
    let report = boat.task(2).result().unwrap().unwrap();
    assert_eq!((report.status, report.turns), (TaskStatus::Done, 1));
}

#[tokio::test]
async fn who_asked_under_an_earlier_program_goes_on_when_its_forerunner_ends_well_under_this_one() {
    let gate = Arc::new(Semaphore::new(0));
    let boat = asking(&gate).await;
    boat.runtime.shutdown().await;
    let mut boat = start_with(boat.ground, gated(&gate)).await;
    boat.runtime.resume(TaskId(1), &boat.session).await.unwrap();
    gate.add_permits(2);
    let answer = boat.task_ended(2).await.answer;
    assert!(answer.starts_with("Two.\n") && answer.contains("[t_001 done] One.\n"), "{answer}");
    assert!(!answer.contains("cannot be answered"), "{answer}");
    assert!(matches!(boat.task(2).questions()[0].as_ref().unwrap().state, Asked::Moot { .. }));
}

#[tokio::test]
async fn who_comes_after_one_that_rests_in_a_closed_conversation_asks_and_waits_once_that_is_open() {
    let Boat { ground, runtime, session: first, .. } = {
        let boat = boat(asks("10m")).await;
        boat.dispatched(&[("Ask.", &[])]).await;
        boat.parked(1).await;
        boat
    };
    runtime.shutdown().await;
    let runtime = Runtime::start(ground.config(asks("10m"))).await.unwrap();
    let feed = runtime.feed();
    let session = runtime.open(Open::New).await.unwrap();
    let mut boat = Boat { ground, runtime, session, feed };
    boat.dispatched(&[("Then.", &[1])]).await;
    assert_eq!(boat.asked(2).await.text, "It comes after what nobody is at: t_001. Go on without?");
    boat.runtime.open(Open::Named(first.to_string())).await.unwrap();
    assert_eq!(boat.settled(2).await.state, Asked::Moot { why: "nothing is missing any more".to_owned() });
    boat.says_to(1, "2").await;
    let answer = boat.task_ended(2).await.answer;
    assert!(answer.starts_with("What the tasks that this one comes after came to."), "{answer}");
}
