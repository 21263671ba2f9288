//! Workers that rest: over a restart, beside words that come at the same moment, and after what a hand did to their files.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tillerman::message::NoteKind;
use tillerman::session::{End, Session};
use tillerman::task::{Asked, Question, TaskId, TaskStatus};

use super::ask::{asking, brief, question, told};
use super::{Ask, Boat, boat, calls, eventually, played, says};

const ONE: TaskId = TaskId(1);

/// The journal of the one worker.
fn journal(boat: &Boat) -> Session {
    Session::read(&boat.ground.workspace().worker_sessions().join("t_001.jsonl")).unwrap()
}

#[tokio::test]
async fn a_question_outlives_its_program_and_nothing_is_repeated() {
    let boat = boat(asking("10m")).await;
    boat.runtime.dispatch(&boat.session, brief("Ask.")).await.unwrap();
    boat.parked(1).await;
    boat.runtime.shutdown().await;
    assert_eq!(boat.task(1).task().unwrap().status, TaskStatus::Parked);
    assert_eq!((journal(&boat).end(), boat.task(1).result().unwrap()), (Some(&End::Parked), None));

    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let model = played("second", move |ask: Ask| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move { says(format!("{} after {}", told(&ask), ask.messages.len())) }
    });
    let mut boat = super::restart::start_with(boat.ground, model).await;
    assert_eq!(boat.asked(1).await.name(), "q_001", "it is shown again");
    assert_eq!(boat.status(1).await, TaskStatus::Parked);
    assert_eq!(count.load(Ordering::SeqCst), 0, "nobody is asked before the answer");
    boat.reply("2").await.unwrap();
    let report = boat.task_ended(1).await;
    assert_eq!((report.answer.as_str(), report.attempt, report.turns), ("q_001: cookie after 4", 1, 2));
    boat.idle().await;
}

#[tokio::test]
async fn an_answer_that_was_written_down_is_heard_by_the_next_program() {
    let mut boat = boat(asking("10m")).await;
    boat.runtime.dispatch(&boat.session, brief("Ask.")).await.unwrap();
    let asked = boat.asked(1).await;
    boat.parked(1).await;
    boat.runtime.shutdown().await;
    // As a kill leaves it between the inbox and the question's file.
    let inbox = tillerman::session::Mailbox::of(
        &boat.ground.workspace().worker_sessions().join("t_001.jsonl"),
        tillerman::session::Durability::Turn,
    )
    .unwrap();
    let note = tillerman::message::Note {
        id: inbox.next_note(),
        kind: NoteKind::Answer,
        text: asked.reply("cookie", "person"),
    };
    let posted = tillerman::session::Posted { note, from: "person".to_owned(), images: Vec::new() };
    let (done, told) = tokio::sync::oneshot::channel();
    inbox.post(posted, move |written| done.send(written.is_ok()).unwrap());
    assert!(told.await.unwrap());
    drop(inbox);

    let mut boat = super::restart::start_with(boat.ground, asking("10m")).await;
    assert_eq!(boat.task_ended(1).await.answer, "q_001: cookie");
    assert!(
        matches!(&boat.file(1)[0].state, Asked::Answered { text, from, .. } if text == "cookie" && from == "person")
    );
}

#[tokio::test]
async fn a_question_that_a_hand_has_broken_is_put_aside_and_the_worker_decides() {
    let boat = boat(asking("10m")).await;
    boat.runtime.dispatch(&boat.session, brief("Ask.")).await.unwrap();
    boat.parked(1).await;
    boat.runtime.shutdown().await;
    let file = boat.task(1).path().join("questions/q_001.md");
    fs::write(&file, "---\nstate: [\n---\nwhat?\n").unwrap();
    let mut boat = super::restart::start_with(boat.ground, asking("10m")).await;
    let answer = boat.task_ended(1).await.answer;
    assert!(answer.starts_with("What you asked cannot be answered any more:"), "{answer}");
    assert!(answer.contains("q_001.md") && answer.ends_with("Decide it yourself, and say how."), "{answer}");
    assert!(file.exists(), "and what the hand wrote is still there");
}

#[tokio::test]
async fn an_answer_that_a_hand_wrote_into_the_file_counts_at_the_next_start() {
    let mut boat = boat(asking("10m")).await;
    boat.runtime.dispatch(&boat.session, brief("Ask.")).await.unwrap();
    let asked = boat.asked(1).await;
    boat.parked(1).await;
    boat.runtime.shutdown().await;
    let state = Asked::Answered { text: "cookie".to_owned(), from: "person".to_owned(), at: asked.asked };
    boat.task(1).settle(&Question { state, ..asked }).unwrap();
    let mut boat = super::restart::start_with(boat.ground, asking("10m")).await;
    assert_eq!(boat.task_ended(1).await.answer, "q_001: cookie");
}

#[tokio::test]
async fn a_task_file_that_a_hand_has_broken_meanwhile_stops_nothing() {
    let mut boat = boat(asking("10m")).await;
    boat.runtime.dispatch(&boat.session, brief("Ask.")).await.unwrap();
    boat.parked(1).await;
    let nonsense = "---\ntitle: [\nbudget: lots\n---\n";
    fs::write(boat.task(1).path().join("task.md"), nonsense).unwrap();
    boat.reply("2").await.unwrap();
    let report = boat.task_ended(1).await;
    assert_eq!((report.status, report.answer.as_str()), (TaskStatus::Done, "q_001: cookie"));
    assert_eq!(super::read(&boat.task(1).path().join("task.md")), nonsense, "it is left as it is");
    let progress = boat.task(1).progress_text();
    assert!(progress.contains("goes on as it was asked at first: task t_001:"), "{progress}");
}

/// Words that come while a run goes to rest are heard once: no order of the two loses or repeats one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_that_race_with_a_rest_are_heard_once() {
    let model = played("race", |ask: Ask| async move {
        if !ask.is_worker() {
            return says("thanks");
        }
        let steers = ask.messages.iter().filter(|said| said.text().starts_with("word ")).count();
        match steers {
            40.. => says(steers.to_string()),
            _ => calls([question("10m")]),
        }
    });
    let mut boat = boat(model).await;
    boat.runtime.dispatch(&boat.session, brief("Ask.")).await.unwrap();
    let runtime = boat.runtime.clone();
    let sender = tokio::spawn(async move {
        for number in 0..40 {
            runtime.steer(ONE, format!("word {number}")).await.unwrap();
        }
    });
    let answerer = boat.runtime.clone();
    let answers = tokio::spawn(async move {
        // Eight may be open at a time; they are closed as they come.
        loop {
            for question in answerer.questions().await {
                let _ = answerer.answer(ONE, Some(question.number), "1".to_owned()).await;
            }
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    });
    sender.await.unwrap();
    assert_eq!(boat.task_ended(1).await.answer, "40");
    answers.abort();
    let heard: Vec<String> = journal(&boat).context().iter().map(|said| said.text()).collect();
    for number in 0..40 {
        let word = format!("word {number}");
        assert_eq!(heard.iter().filter(|text| **text == word).count(), 1, "{word}");
    }
}

#[tokio::test]
async fn a_rest_holds_no_task_no_file_and_no_place() {
    let boat = boat(asking("10m")).await;
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    for id in 1..=20 {
        boat.runtime.dispatch(&boat.session, brief("Ask.")).await.unwrap();
        boat.parked(id).await;
        // A note for later opens the inbox, and closes it again.
        boat.runtime.follow_up(TaskId(id), "and the docs".to_owned()).await.unwrap();
        if [1, 20].contains(&id) {
            // One timer for all deadlines, however many rest.
            eventually("workers are left", || metrics.num_alive_tasks() <= before + 1).await;
        }
    }
    let open = || {
        let entries = fs::read_dir("/proc/self/fd").unwrap().flatten();
        let root = boat.ground.workspace().worker_sessions();
        entries.filter_map(|entry| fs::read_link(entry.path()).ok()).filter(|path| path.starts_with(&root)).count()
    };
    eventually("files are left", || open() == 0).await;
    for id in 1..=20 {
        boat.runtime.answer(TaskId(id), None, "2".to_owned()).await.unwrap();
    }
    boat.idle().await;
    for id in 1..=20 {
        let told = super::read(&boat.task(id).result_path());
        assert!(told.contains("and the docs"), "{told}");
    }
}
