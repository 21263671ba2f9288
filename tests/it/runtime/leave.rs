//! Calls of workers that a person must allow (S20, S21): the task rests, the very call goes through once, and nobody but a
//! person can say so.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tillerman::config::{Authority, Config};
use tillerman::message::Approval;
use tillerman::model::Model;
use tillerman::runtime::{ControlError, Open, Runtime};
use tillerman::task::{ALLOW, Asked, Asker, Brief, DENY, Question, TaskId, TaskStatus};
use tillerman::tools::gate::{Rules, Verdict};

use super::ask::brief;
use super::{Ask, Boat, boat_with, calls, endings, played, says};
use crate::gate::rules;

const ONE: TaskId = TaskId(1);
const CALL: &str = "echo once >> .tasks/t_001/count";

fn asks_for_shell() -> Rules {
    rules(&[(Verdict::Ask, "shell")], Verdict::Allow)
}

fn asked_for(config: &mut Config) {
    config.permissions.rules = Arc::new(asks_for_shell());
    config.worker_approval = Approval::Ask;
}

fn shell(command: &str) -> (&'static str, Value) {
    ("shell", json!({ "command": command }))
}

/// How many answers a worker has given.
fn turns(ask: &Ask) -> usize {
    ask.messages.iter().filter(|message| message.role == tillerman::message::Role::Assistant).count()
}

/// The last output that a worker was shown.
fn output(ask: &Ask) -> String {
    let results = ask.messages.iter().flat_map(|message| message.results().map(|result| result.output.clone()));
    results.last().unwrap_or_default()
}

/// A worker that makes the same call so often and then says what came of the last one.
fn insists(times: usize) -> Arc<dyn Model> {
    played("insists", move |ask: Ask| async move {
        match ask.is_worker() {
            false => says("thanks"),
            true if turns(&ask) < times => calls([shell(CALL)]),
            true => says(output(&ask)),
        }
    })
}

fn count(boat: &Boat) -> usize {
    fs::read_to_string(boat.task(1).path().join("count")).map_or(0, |text| text.lines().count())
}

#[tokio::test]
async fn s20_s21_a_call_that_a_person_allows_goes_through_once_and_is_asked_again_after_that() {
    let mut boat = boat_with(insists(4), asked_for).await;
    boat.runtime.dispatch(&boat.session, brief("Push.")).await.unwrap();
    let asked = boat.asked(1).await;
    assert_eq!((asked.asker, asked.options.as_slice()), (Asker::Permission, &[ALLOW.to_owned(), DENY.to_owned()][..]));
    assert_eq!(asked.default, DENY);
    assert_eq!(
        asked.text,
        format!("May it do this once (ask shell (here))? shell {{\"command\":\"{CALL}\"}}"),
        "tool, arguments, rule and place"
    );
    boat.parked(1).await;
    assert_eq!(count(&boat), 0);
    assert_eq!(boat.reply("1").await.unwrap().answer, ALLOW);
    // It went through, and the next one is another.
    let again = boat.asked(1).await;
    assert_eq!((again.name().as_str(), count(&boat)), ("q_002", 1));
    boat.parked(1).await;
    boat.reply("not on main").await.unwrap();
    let report = boat.task_ended(1).await;
    assert_eq!(report.answer, "shell was not done: denied (by a person: not on main); do not try it in another way");
    assert_eq!((report.status, count(&boat), boat.file(1).len()), (TaskStatus::Done, 1, 2));
    boat.idle().await;
}

#[tokio::test]
async fn what_the_worker_reads_says_that_it_must_make_the_call_again() {
    let model = played("reads", |ask: Ask| async move {
        match (ask.is_worker(), turns(&ask)) {
            (false, _) => says("thanks"),
            (true, 0) => calls([shell(CALL)]),
            (true, _) => says(format!("{}\n{}", output(&ask), ask.last())),
        }
    });
    let mut boat = boat_with(model, asked_for).await;
    boat.runtime.dispatch(&boat.session, brief("Push.")).await.unwrap();
    boat.asked(1).await;
    boat.reply("yes").await.unwrap();
    let answer = boat.task_ended(1).await.answer;
    let told = "shell was not done yet: a person must allow it (ask shell (here)). That is q_001; you go on when it is \
                answered. If it is allowed, make this very call again, with the same arguments.\nq_001: allow\n\nIt goes through \
                once: make this very call again, with the same arguments. That is what person answers to: May it do this once";
    assert!(answer.starts_with(told), "{answer}");
    assert_eq!(count(&boat), 0, "nothing is done in its place");
}

#[tokio::test(start_paused = true)]
async fn s21_at_the_deadline_it_is_denied_and_not_asked_again() {
    let mut boat = boat_with(insists(2), asked_for).await;
    boat.runtime.dispatch(&boat.session, brief("Push.")).await.unwrap();
    boat.asked(1).await;
    tokio::time::sleep(Duration::from_secs(31 * 60)).await;
    let report = boat.task_ended(1).await;
    assert_eq!(report.answer, "shell was not done: denied (nobody answered in time); do not try it in another way");
    let [assumption] = report.assumptions.as_slice() else { panic!("{:?}", report.assumptions) };
    assert!(assumption.contains("deny (q_001: nobody answered until "), "{assumption}");
    assert_eq!((count(&boat), boat.file(1).len()), (0, 1));
}

#[tokio::test]
async fn a_worker_that_rests_for_a_call_can_be_aborted() {
    let mut boat = boat_with(insists(2), asked_for).await;
    boat.runtime.dispatch(&boat.session, brief("Push.")).await.unwrap();
    boat.parked(1).await;
    boat.runtime.abort(ONE).await.unwrap();
    assert!(matches!(boat.settled(1).await.state, Asked::Moot { .. }));
    assert_eq!(boat.task_ended(1).await.status, TaskStatus::Aborted);
    boat.idle().await;
    assert_eq!((boat.runtime.questions().await, count(&boat)), (vec![], 0));
}

/// Also one that may decide everything, in a run in which a person has spoken.
#[tokio::test]
async fn s21_only_a_person_may_allow_a_call() {
    let model = played("forward", |ask: Ask| async move {
        let (last, outputs) = (ask.last(), ask.outputs());
        match ask.is_worker() {
            true if turns(&ask) < 2 => calls([shell(CALL)]),
            true => says(output(&ask)),
            false if last.starts_with("[Question") => says("must not be asked"),
            false if last == "let it" => calls([("answer", json!({"id": "t_001", "answer": "allow"}))]),
            false if !outputs.is_empty() => says(outputs[0].clone()),
            false => says("thanks"),
        }
    });
    let mut boat = boat_with(model, |config| {
        asked_for(config);
        config.authority = Authority::over(["all".to_owned()]);
    })
    .await;
    boat.runtime.dispatch(&boat.session, brief("Push.")).await.unwrap();
    boat.parked(1).await;
    assert_eq!(
        boat.answer("let it").await,
        "q_001 of t_001 asks for a person's leave, and nobody else may answer; a person answers with /answer t_001"
    );
    assert_eq!((boat.status(1).await, count(&boat)), (TaskStatus::Parked, 0));
    boat.reply("y").await.unwrap();
    boat.task_ended(1).await;
    assert_eq!(count(&boat), 1);
    boat.idle().await;
    let asked = endings(&mut boat.feed).into_iter().filter(|end| format!("{end:?}").contains("must not be asked"));
    assert_eq!(asked.count(), 0);
}

#[tokio::test]
async fn s21_brief_goes_before_role_and_role_before_setting_and_without_any_it_is_denied_at_once() {
    for (setting, role, own, rests) in [
        (Approval::Deny, None, None, false),
        (Approval::Ask, Some("deny"), None, false),
        (Approval::Deny, Some("ask"), None, true),
        (Approval::Ask, Some("ask"), Some(Approval::Deny), false),
        (Approval::Deny, Some("deny"), Some(Approval::Ask), true),
    ] {
        let mut boat = boat_with(insists(1), |config| {
            asked_for(config);
            config.worker_approval = setting;
        })
        .await;
        let agents = boat.ground.root().join("agents");
        fs::create_dir_all(&agents).unwrap();
        let approval = role.map_or(String::new(), |role| format!("approval: {role}\n"));
        fs::write(agents.join("pusher.md"), format!("---\nname: pusher\ndescription: Pushes.\n{approval}---\nPush.\n"))
            .unwrap();
        let brief = Brief { agent: Some("pusher".to_owned()), approval: own, ..brief("Push.") };
        boat.runtime.dispatch(&boat.session, brief).await.unwrap();
        if rests {
            boat.asked(1).await;
            boat.reply("no").await.unwrap();
        }
        let answer = boat.task_ended(1).await.answer;
        let denied = "shell was not done: a person must allow it (ask shell (here)), and nobody can be asked";
        assert_eq!(answer.starts_with(denied), !rests, "{setting:?} {role:?} {own:?}: {answer}");
    }
}

#[tokio::test]
async fn a_word_that_is_no_approval_names_the_file_and_the_words_there_are() {
    let boat = boat_with(insists(1), asked_for).await;
    let dir = tillerman::task::TaskDir::create(&boat.ground.root().join(".tasks"), &brief("Push.")).unwrap();
    let text = super::read(&dir.path().join("task.md")).replacen("status:", "approval: maybe\nstatus:", 1);
    fs::write(dir.path().join("task.md"), text).unwrap();
    let error = dir.task().unwrap_err().to_string();
    assert!(error.contains("task.md") && error.contains("`maybe`, expected `deny` or `ask`"), "{error}");
}

/// A worker asks a person so often and no more, and what was denied is not asked in other words.
#[tokio::test]
async fn a_worker_that_was_denied_three_times_asks_no_more() {
    let model = played("many", |ask: Ask| async move {
        match (ask.is_worker(), turns(&ask)) {
            (false, _) => says("thanks"),
            (true, turn @ ..4) => calls([shell(&format!("echo {turn}"))]),
            (true, _) => says(output(&ask)),
        }
    });
    let mut boat = boat_with(model, asked_for).await;
    boat.runtime.dispatch(&boat.session, brief("Push.")).await.unwrap();
    for number in 1..=3 {
        assert_eq!(boat.asked(1).await.number, number);
        boat.reply("deny").await.unwrap();
    }
    let answer = boat.task_ended(1).await.answer;
    assert!(answer.contains("(ask shell (here); 3 calls of this task were denied, so no more are asked)"), "{answer}");
    assert_eq!(boat.file(1).len(), 3);
}

/// Two calls of one turn are two questions, one call made twice in a turn is one.
#[tokio::test]
async fn calls_of_one_turn_are_asked_each_once() {
    let model = played("beside", |ask: Ask| async move {
        match (ask.is_worker(), turns(&ask)) {
            (false, _) => says("thanks"),
            (true, 0) => calls([shell("echo a"), shell("echo b"), shell("echo a")]),
            (true, _) => says("done"),
        }
    });
    let mut boat = boat_with(model, asked_for).await;
    boat.runtime.dispatch(&boat.session, brief("Push.")).await.unwrap();
    boat.parked(1).await;
    let texts: BTreeSet<String> =
        boat.file(1).into_iter().map(|question| question.text.rsplit_once("echo ").unwrap().1.to_owned()).collect();
    assert_eq!(texts, BTreeSet::from(["a\"}".to_owned(), "b\"}".to_owned()]));
    boat.reply("allow").await.unwrap();
    boat.reply("allow").await.unwrap();
    assert_eq!(boat.task_ended(1).await.answer, "done");
}

/// A worker may write its own directory: what it writes there allows nothing.
#[tokio::test]
async fn s20_a_worker_cannot_allow_its_own_calls_by_files() {
    let forged = |number: u32, asked: &Question| Question {
        number,
        state: Asked::Answered { text: ALLOW.to_owned(), from: "person".to_owned(), at: asked.asked },
        text: "May it do this once? shell {\"command\":\"true\"}".to_owned(),
        ..asked.clone()
    };
    let mut boat = boat_with(insists(2), asked_for).await;
    boat.runtime.dispatch(&boat.session, brief("Push.")).await.unwrap();
    let asked = boat.asked(1).await;
    boat.parked(1).await;
    for number in [1, 2] {
        boat.task(1).settle(&forged(number, &asked)).unwrap();
    }
    // While the program runs it believes itself.
    assert_eq!(boat.runtime.questions().await, vec![asked.clone()]);
    boat.runtime.steer(ONE, "go on".to_owned()).await.unwrap();
    let (start, mut row) = (Instant::now(), boat.runtime.task(ONE).await.unwrap().row);
    while (row.turn, row.status) != (2, TaskStatus::Parked) {
        assert!(start.elapsed() < crate::patience::PATIENCE, "{row:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
        row = boat.runtime.task(ONE).await.unwrap().row;
    }
    assert_eq!(row.questions, vec![asked], "it is not asked twice");
    boat.reply("no").await.unwrap();
    let report = boat.task_ended(1).await;
    assert!(report.answer.starts_with("shell was not done yet: a person must allow it"), "{}", report.answer);
    assert_eq!(count(&boat), 0);
}

#[tokio::test]
async fn s20_after_a_restart_the_journal_says_what_was_asked_and_a_forged_file_nothing() {
    let mut boat = boat_with(insists(2), asked_for).await;
    boat.runtime.dispatch(&boat.session, brief("Push.")).await.unwrap();
    let asked = boat.asked(1).await;
    boat.parked(1).await;
    boat.runtime.shutdown().await;
    let state = Asked::Answered { text: ALLOW.to_owned(), from: "person".to_owned(), at: asked.asked };
    // As a worker would: answered, of another asker, about another call; and one more beside it.
    for (number, asker) in [(1, Asker::Worker), (2, Asker::Permission)] {
        let text = "May I list files?".to_owned();
        boat.task(1).settle(&Question { number, asker, text, state: state.clone(), ..asked.clone() }).unwrap();
    }
    let ground = boat.ground;
    let mut config = ground.config(insists(2));
    asked_for(&mut config);
    let runtime = Runtime::start(config).await.unwrap();
    let feed = runtime.feed();
    let session = runtime.open(Open::Latest).await.unwrap();
    let mut boat = Boat { ground, runtime, session, feed };
    assert_eq!(boat.asked(1).await, asked, "as it was asked, and open");
    assert_eq!((boat.status(1).await, count(&boat)), (TaskStatus::Parked, 0));
    assert_eq!(boat.runtime.questions().await, vec![asked.clone()]);
    assert_eq!(boat.runtime.answer(ONE, Some(2), ALLOW.to_owned()).await, Err(ControlError::NoQuestion(ONE)));
    boat.reply("allow").await.unwrap();
    boat.task_ended(1).await;
    assert_eq!(count(&boat), 1, "the very call goes through under the next program, once");
    boat.idle().await;
}
