//! Questions of workers: asked, answered by people and by main agents, closed at their deadline; and workers that rest
//! meanwhile.

use std::sync::Arc;

use serde_json::{Value, json};
use tillerman::message::Message;
use tillerman::model::Model;
use tillerman::runtime::{ControlError, News, Replied};
use tillerman::task::{Asked, Brief, Question, TaskId, TaskStatus};
use tokio::sync::Semaphore;

use super::{Ask, Boat, boat, boat_with, calls, played, says};

const ONE: TaskId = TaskId(1);

pub(super) fn brief(body: &str) -> Brief {
    Brief { body: body.to_owned(), ..Brief::default() }
}

pub(super) fn question(deadline: &str) -> (&'static str, Value) {
    let asked = json!({
        "question": "JWT or session cookie?", "options": ["jwt", "cookie"], "default": "jwt", "deadline": deadline,
    });
    ("ask", asked)
}

/// The words of the last note or report in a conversation.
pub(super) fn told(ask: &Ask) -> String {
    ask.last().lines().next().unwrap_or_default().to_owned()
}

/// A worker asks and then says what it was told; a main agent says thanks.
pub(super) fn asking(deadline: &'static str) -> Arc<dyn Model> {
    played("asking", move |ask: Ask| async move {
        match (ask.is_worker(), ask.messages.len()) {
            (false, _) => says("thanks"),
            (true, 1) => calls([question(deadline)]),
            (true, _) => says(told(&ask)),
        }
    })
}

impl Boat {
    /// Waits until a task asks something.
    pub(super) async fn asked(&mut self, id: u32) -> Question {
        self.until(|envelope| match &envelope.news {
            News::Asked(question) if question.task == TaskId(id) => Some(question.clone()),
            _ => None,
        })
        .await
    }

    /// Waits until a question of a task is closed.
    pub(super) async fn settled(&mut self, id: u32) -> Question {
        self.until(|envelope| match &envelope.news {
            News::Settled(question) if question.task == TaskId(id) => Some(question.clone()),
            _ => None,
        })
        .await
    }

    /// Waits until a task rests.
    pub(super) async fn parked(&self, id: u32) {
        let start = std::time::Instant::now();
        while self.status(id).await != TaskStatus::Parked || self.task(id).task().unwrap().status != TaskStatus::Parked
        {
            assert!(start.elapsed() < crate::patience::PATIENCE, "it never rested");
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    }

    pub(super) async fn reply(&self, words: &str) -> Result<Replied, ControlError> {
        self.runtime.answer(ONE, None, words.to_owned()).await
    }

    pub(super) fn file(&self, id: u32) -> Vec<Question> {
        self.task(id).questions().into_iter().map(Result::unwrap).collect()
    }
}

#[tokio::test]
async fn b6_a_worker_that_asks_rests_and_goes_on_with_the_answer() {
    let mut boat = boat(asking("10m")).await;
    boat.runtime.dispatch(&boat.session, brief("Build the login.")).await.unwrap();
    let asked = boat.asked(1).await;
    assert_eq!((asked.name().as_str(), asked.text.as_str()), ("q_001", "JWT or session cookie?"));
    assert_eq!((asked.options.len(), asked.default.as_str()), (2, "jwt"));
    boat.parked(1).await;
    let row = boat.runtime.task(ONE).await.unwrap().row;
    assert_eq!((row.status, row.turn, row.questions), (TaskStatus::Parked, 1, vec![asked.clone()]));
    assert_eq!(boat.runtime.questions().await, vec![asked]);

    let replied = boat.reply("2").await.unwrap();
    assert_eq!((replied.question, replied.answer.as_str(), replied.late), (1, "cookie", false));
    let report = boat.task_ended(1).await;
    assert_eq!((report.status, report.answer.as_str()), (TaskStatus::Done, "q_001: cookie"));
    assert_eq!((report.attempt, report.turns, report.assumptions.len()), (1, 2, 0));
    let file = boat.file(1);
    assert!(matches!(&file[0].state, Asked::Answered { text, from, .. } if text == "cookie" && from == "person"));
    let again = boat.reply("1").await.unwrap_err();
    assert_eq!(again, ControlError::AlreadyEnded(ONE));
    boat.idle().await;
}

#[tokio::test(start_paused = true)]
async fn b6_at_the_deadline_the_default_is_taken_and_named_as_an_assumption() {
    let mut boat = boat(asking("20s")).await;
    boat.runtime.dispatch(&boat.session, brief("Build the login.")).await.unwrap();
    let report = boat.task_ended(1).await;
    assert_eq!((report.status, report.answer.as_str()), (TaskStatus::Done, "q_001: jwt"));
    let [assumption] = report.assumptions.as_slice() else { panic!("{:?}", report.assumptions) };
    assert!(assumption.starts_with("JWT or session cookie? jwt (q_001: nobody answered until "), "{assumption}");
    assert!(super::read(&boat.task(1).result_path()).contains("\nassumptions:\n"));
    assert!(matches!(boat.file(1)[0].state, Asked::Defaulted { .. }));
}

#[tokio::test(start_paused = true)]
async fn b6_a_late_answer_becomes_a_steer() {
    let gate = Arc::new(Semaphore::new(0));
    let held = gate.clone();
    let model = played("late", move |ask: Ask| {
        let gate = held.clone();
        async move {
            match (ask.is_worker(), ask.messages.len()) {
                (false, _) => says("thanks"),
                (true, 1) => calls([question("20s")]),
                // The default is heard; it works on.
                (true, 4) => {
                    gate.acquire().await.unwrap().forget();
                    calls([("list", json!({}))])
                }
                (true, _) => says(told(&ask)),
            }
        }
    });
    let mut boat = boat(model).await;
    boat.runtime.dispatch(&boat.session, brief("Build the login.")).await.unwrap();
    assert!(matches!(boat.settled(1).await.state, Asked::Defaulted { .. }));
    let replied = boat.reply("cookie").await.unwrap();
    assert_eq!((replied.answer.as_str(), replied.late), ("cookie", true));
    gate.add_permits(1);
    let report = boat.task_ended(1).await;
    assert_eq!(report.answer, "A late answer of person to q_001: cookie");
    assert_eq!(report.assumptions.len(), 1, "it was assumed all the same");
}

#[tokio::test]
async fn an_answer_to_a_closed_question_says_who_answered_it_and_what_to_do() {
    let gate = Arc::new(Semaphore::new(0));
    let held = gate.clone();
    let model = played("closed", move |ask: Ask| {
        let gate = held.clone();
        async move {
            match (ask.is_worker(), ask.messages.len()) {
                (false, _) => says("thanks"),
                (true, 1) => calls([question("10m")]),
                (true, _) => {
                    gate.acquire().await.unwrap().forget();
                    says(told(&ask))
                }
            }
        }
    });
    let mut boat = boat(model).await;
    boat.runtime.dispatch(&boat.session, brief("Build the login.")).await.unwrap();
    boat.asked(1).await;
    assert_eq!(
        boat.reply("3").await.unwrap_err().to_string(),
        "q_001 of t_001 has options 1 to 2; answer with one of them or in your own words"
    );
    let (unknown, other) = (TaskId(7), Some(9));
    assert_eq!(boat.runtime.answer(unknown, None, "1".to_owned()).await, Err(ControlError::NoSuchTask(unknown)));
    assert_eq!(boat.runtime.answer(ONE, other, "1".to_owned()).await, Err(ControlError::NoQuestion(ONE)));
    assert_eq!(boat.reply("both, as RFC 6749 has it").await.unwrap().answer, "both, as RFC 6749 has it");
    assert_eq!(
        boat.reply("1").await.unwrap_err().to_string(),
        "q_001 of t_001 is closed: person answered both, as RFC 6749 has it; steer t_001 to change its course"
    );
    gate.add_permits(1);
    assert_eq!(boat.task_ended(1).await.answer, "q_001: both, as RFC 6749 has it");
}

#[tokio::test]
async fn a_worker_that_rests_leaves_its_place_to_others() {
    let mut boat = boat_with(
        played("places", |ask: Ask| async move {
            match (ask.is_worker(), ask.first().contains("Ask"), ask.messages.len()) {
                (true, true, 1) => calls([question("10m")]),
                (true, ..) => says(told(&ask)),
                (false, ..) => says("thanks"),
            }
        }),
        |config| config.crew.running = 1,
    )
    .await;
    boat.runtime.dispatch(&boat.session, brief("Ask.")).await.unwrap();
    boat.runtime.dispatch(&boat.session, brief("Do.")).await.unwrap();
    assert_eq!(boat.task_ended(2).await.status, TaskStatus::Done);
    boat.reply("jwt").await.unwrap();
    assert_eq!(boat.task_ended(1).await.answer, "q_001: jwt");
}

#[tokio::test]
async fn a_steer_wakes_a_worker_and_a_follow_up_waits() {
    let mut boat = boat(played("woken", |ask: Ask| async move {
        match (ask.is_worker(), ask.messages.len()) {
            (false, _) => says("thanks"),
            (true, 1) => calls([question("10m")]),
            (true, _) => {
                let since: Vec<String> = ask.messages.iter().skip(3).map(|said: &Arc<Message>| said.text()).collect();
                says(since.join(" / "))
            }
        }
    }))
    .await;
    boat.runtime.dispatch(&boat.session, brief("Ask.")).await.unwrap();
    boat.parked(1).await;
    boat.runtime.follow_up(ONE, "and the docs".to_owned()).await.unwrap();
    assert_eq!(boat.status(1).await, TaskStatus::Parked);
    boat.runtime.steer(ONE, "never mind, no login".to_owned()).await.unwrap();
    let report = boat.task_ended(1).await;
    assert!(report.answer.contains("never mind, no login"), "{}", report.answer);
    assert!(matches!(&boat.file(1)[0].state, Asked::Moot { why } if why == "the task has ended: done"));
}

#[tokio::test]
async fn a_worker_that_rests_can_be_aborted_and_its_question_is_closed() {
    let mut boat = boat(asking("10m")).await;
    boat.runtime.dispatch(&boat.session, brief("Ask.")).await.unwrap();
    boat.parked(1).await;
    assert_eq!(boat.runtime.resume(ONE, &boat.session).await.unwrap_err(), ControlError::GoesOn(ONE));
    boat.runtime.abort(ONE).await.unwrap();
    assert!(matches!(boat.settled(1).await.state, Asked::Moot { .. }));
    let report = boat.task_ended(1).await;
    assert_eq!((report.status, report.turns), (TaskStatus::Aborted, 1));
    assert!(report.answer.starts_with("Ended while it waited for an answer."), "{}", report.answer);
    assert!(report.started.is_some());
    boat.idle().await;
    assert_eq!(boat.runtime.questions().await, vec![]);
}

#[tokio::test]
async fn turns_are_counted_over_rests() {
    let mut boat = boat_with(
        played("turns", |ask: Ask| async move {
            match (ask.is_worker(), ask.tools.is_empty()) {
                (false, _) => says("thanks"),
                (true, true) => says("out of turns"),
                (true, false) => calls([question("10m")]),
            }
        }),
        |config| config.worker.max_turns = Some(3),
    )
    .await;
    boat.runtime.dispatch(&boat.session, brief("Ask again and again.")).await.unwrap();
    for _ in 0..3 {
        boat.asked(1).await;
        boat.reply("1").await.unwrap();
    }
    let report = boat.task_ended(1).await;
    assert_eq!((report.status, report.turns, report.answer.as_str()), (TaskStatus::LimitTurns, 4, "out of turns"));
}

#[tokio::test]
async fn a_main_agent_with_authority_is_asked_and_answers() {
    let model = played("authority", |ask: Ask| async move {
        let last = ask.last();
        match ask.is_worker() {
            true if ask.messages.len() == 1 => calls([question("10m")]),
            true => says(told(&ask)),
            false if last.starts_with("[Question t_001 q_001]") => {
                assert!(last.contains("> JWT or session cookie?") && last.contains("\n2. cookie"), "{last}");
                calls([("answer", json!({"id": "t_001", "answer": "2"}))])
            }
            false => says("thanks"),
        }
    });
    let only = |words: &str| tillerman::config::Authority::over([words.to_owned()]);
    let mut boat = boat_with(model, |config| config.authority = only("session")).await;
    boat.runtime.dispatch(&boat.session, brief("Ask.")).await.unwrap();
    let report = boat.task_ended(1).await;
    assert_eq!(report.answer, "q_001: cookie");
    assert!(matches!(&boat.file(1)[0].state, Asked::Answered { from, .. } if from == "main"));
    boat.idle().await;
}

#[tokio::test]
async fn a_main_agent_without_authority_answers_only_for_a_person() {
    let (said, tells) = std::sync::mpsc::channel();
    let said = std::sync::Mutex::new(said);
    let model = played("no authority", move |ask: Ask| {
        let (last, outputs) = (ask.last(), ask.outputs());
        if !ask.is_worker() && !outputs.is_empty() {
            said.lock().unwrap().send(outputs[0].clone()).unwrap();
        }
        async move {
            match ask.is_worker() {
                true if ask.first().contains("Ask") && ask.messages.len() == 1 => calls([question("10m")]),
                true => says(told(&ask)),
                // A report is no word of a person.
                false if last.starts_with("[Worker completed t_002]") || last == "take the cookie" => {
                    calls([("answer", json!({"id": "t_001", "answer": "cookie"}))])
                }
                false => says("thanks"),
            }
        }
    });
    let mut boat = boat(model).await;
    boat.runtime.dispatch(&boat.session, brief("Ask.")).await.unwrap();
    boat.parked(1).await;
    boat.runtime.dispatch(&boat.session, brief("Do.")).await.unwrap();
    boat.task_ended(2).await;
    let refused = || tells.try_recv().ok();
    let mut first = None;
    let start = std::time::Instant::now();
    while first.is_none() {
        assert!(start.elapsed() < crate::patience::PATIENCE);
        first = refused();
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    assert_eq!(first.unwrap(), "q_001 of t_001 is not yours to answer: leave it to the person, who has been told");
    boat.say("take the cookie").await;
    assert_eq!(boat.task_ended(1).await.answer, "q_001: cookie");
    boat.idle().await;
    assert_eq!(tells.try_recv().unwrap(), "q_001 of t_001: cookie (#1)");
}
