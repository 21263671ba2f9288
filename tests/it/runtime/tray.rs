//! Notes that nobody has heard yet: shown, taken back for good, and too late to take back.

use std::fs;
use std::sync::Arc;

use tillerman::event::AgentEvent;
use tillerman::message::{NoteId, NoteKind};
use tillerman::model::Model;
use tillerman::runtime::{ControlError, Done, News, NotWithdrawn, Open, Order, Pending, Runtime, SessionGone};
use tillerman::session::fate::{self, Fate};
use tillerman::session::{Durability, Mailbox, Session};
use tillerman::task::{Brief, TaskId, TaskStatus};
use tokio::sync::Semaphore;

use super::ask::{asking, brief};
use super::{Ask, Boat, Ground, boat, played, says};

const ONE: TaskId = TaskId(1);

/// Holds every answer until the gate gives one free; what came last comes back.
fn gated(gate: &Arc<Semaphore>) -> Arc<dyn Model> {
    let gate = gate.clone();
    played("gated", move |ask: Ask| {
        let gate = gate.clone();
        async move {
            gate.acquire().await.unwrap().forget();
            says(format!("heard: {}", ask.last()))
        }
    })
}

/// A main agent and a worker that are both at work, and answer when they are let go.
async fn busy() -> (Boat, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = boat(gated(&gate)).await;
    boat.say("one").await;
    boat.runtime.dispatch(&boat.session, Brief { body: "Work.".to_owned(), ..Brief::default() }).await.unwrap();
    for _ in 0..2 {
        boat.until(|envelope| matches!(envelope.news, News::Agent(AgentEvent::TurnStarted { .. })).then_some(())).await;
    }
    (boat, gate)
}

fn pending(to: Option<TaskId>, note: u64, kind: NoteKind, text: &str) -> Pending {
    Pending { to, note: NoteId(note), kind, from: "person".to_owned(), text: text.to_owned() }
}

/// What waits by the files alone, as after a kill.
fn waiting(boat: &Boat) -> Vec<String> {
    let place = boat.ground.workspace();
    let main = place.sessions().join(format!("{}.jsonl", boat.session));
    let journals = [main, place.worker_sessions().join("t_001.jsonl")];
    let texts = journals.iter().flat_map(|journal| {
        let heard = Session::read(journal).map(|session| session.heard().clone()).unwrap_or_default();
        Mailbox::of(journal, Durability::Turn).unwrap().waiting(&heard).unwrap()
    });
    texts.map(|posted| posted.note.text).collect()
}

#[tokio::test]
async fn s1_02_notes_that_wait_are_shown_and_taken_back_for_good() {
    let (mut boat, gate) = busy().await;
    let (runtime, session) = (&boat.runtime, &boat.session);
    runtime.steer_main(session, "hurry".to_owned()).await.unwrap();
    runtime.follow_up_main(session, "then rest".to_owned()).await.unwrap();
    runtime.say(session, "two").await.unwrap();
    runtime.steer(ONE, "keep the API".to_owned()).await.unwrap();
    runtime.follow_up(ONE, "and the docs".to_owned()).await.unwrap();
    let all = [
        pending(None, 1, NoteKind::Steer, "hurry"),
        pending(None, 2, NoteKind::FollowUp, "then rest"),
        pending(None, 3, NoteKind::Line, "two"),
        pending(Some(ONE), 1, NoteKind::Steer, "keep the API"),
        pending(Some(ONE), 2, NoteKind::FollowUp, "and the docs"),
    ];
    assert_eq!(runtime.pending(session).await, all);

    for gone in [&all[0], &all[2], &all[3]] {
        assert_eq!(runtime.withdraw(session, gone.to, gone.note).await, Ok(gone.text.clone()));
    }
    assert_eq!(runtime.pending(session).await, [all[1].clone(), all[4].clone()]);
    assert_eq!(waiting(&boat), ["then rest", "and the docs"], "the files know it at once");
    let again = runtime.withdraw(session, None, NoteId(1)).await.unwrap_err().to_string();
    assert_eq!(again, "#1 does not wait for the main agent: taken back before it was seen");

    gate.add_permits(99);
    assert_eq!(boat.task_ended(1).await.answer, "heard: and the docs");
    boat.idle().await;
    let said = boat.runtime.transcript(&boat.session).await.unwrap();
    assert!(said.iter().all(|message| !["hurry", "two"].contains(&message.text().as_str())));
    let journal = boat.ground.workspace().worker_sessions().join("t_001.jsonl");
    let fates: Vec<_> =
        fate::sent(&journal).unwrap().into_iter().map(|sent| (sent.posted.note.id.0, sent.fate)).collect();
    let why = "taken back before it was seen".to_owned();
    assert_eq!(fates, [(1, Fate::Dropped { why }), (2, Fate::Seen { turn: 2 })]);
}

#[tokio::test]
async fn a_note_that_was_seen_is_not_taken_back() {
    let (mut boat, gate) = busy().await;
    let note = boat.runtime.steer(ONE, "keep the API".to_owned()).await.unwrap();
    gate.add_permits(99);
    boat.task_ended(1).await;
    boat.idle().await;
    let late = boat.runtime.withdraw(&boat.session, Some(ONE), note).await;
    assert_eq!(late, Err(NotWithdrawn::Seen { note, turn: 2 }));
    assert_eq!(late.unwrap_err().to_string(), "#1 was already seen at turn 2; send another that corrects it");
    let none = boat.runtime.withdraw(&boat.session, None, NoteId(7)).await.unwrap_err().to_string();
    assert_eq!(none, "#7 does not wait for the main agent: it was seen already, or nobody sent it");
}

#[tokio::test]
async fn what_was_taken_back_does_not_come_back_with_the_next_program() {
    let (boat, _) = busy().await;
    boat.runtime.steer_main(&boat.session, "hurry".to_owned()).await.unwrap();
    boat.runtime.steer_main(&boat.session, "gently".to_owned()).await.unwrap();
    boat.runtime.withdraw(&boat.session, None, NoteId(1)).await.unwrap();
    boat.runtime.shutdown().await;
    let Boat { ground, runtime, .. } = boat;
    drop(runtime);
    let echo = played("echo", |ask: Ask| async move { says(format!("heard: {}", ask.last())) });
    let runtime = Runtime::start(ground.config(echo)).await.unwrap();
    let session = runtime.open(Open::Latest).await.unwrap();
    assert_eq!(runtime.pending(&session).await, [pending(None, 2, NoteKind::Steer, "gently")]);
    assert_eq!(runtime.withdraw(&session, None, NoteId(2)).await, Ok("gently".to_owned()));
    assert_eq!(runtime.status(&session).await.unwrap().left, []);
}

/// A steer wakes a task that rests; taken back before it begins, the task rests on.
#[tokio::test]
async fn a_task_that_only_a_steer_had_woken_rests_on_and_a_disk_that_refuses_leaves_the_note() {
    let boat = super::boat_with(asking("10m"), |config| config.crew.running = 1).await;
    boat.runtime.dispatch(&boat.session, brief("Ask.")).await.unwrap();
    boat.parked(1).await;
    let note = boat.runtime.follow_up(ONE, "and the docs".to_owned()).await.unwrap();
    let inbox = boat.ground.workspace().worker_sessions().join("t_001.inbox.jsonl");
    let aside = inbox.with_extension("aside");
    fs::rename(&inbox, &aside).unwrap();
    fs::create_dir(&inbox).unwrap();
    let refused = boat.runtime.withdraw(&boat.session, Some(ONE), note).await.unwrap_err();
    assert!(matches!(&refused, NotWithdrawn::Unwritten(why) if why.contains("t_001.inbox.jsonl")), "{refused}");
    assert_eq!(boat.runtime.pending(&boat.session).await.len(), 1, "it waits still");
    fs::remove_dir(&inbox).unwrap();
    fs::rename(&aside, &inbox).unwrap();
    assert_eq!(boat.runtime.withdraw(&boat.session, Some(ONE), note).await, Ok("and the docs".to_owned()));
    assert_eq!(boat.status(1).await, TaskStatus::Parked);
}

#[tokio::test]
async fn who_only_looks_on_takes_nothing_back_and_the_socket_does() {
    let (boat, _gate) = busy().await;
    boat.runtime.steer(ONE, "keep the API".to_owned()).await.unwrap();
    boat.runtime.attend(&boat.session);
    let nobody = played("nobody", |_: Ask| async { panic!("no model is asked") });
    let looking = Runtime::attach(Ground::at(boat.ground.path()).config(nobody)).await.unwrap();
    let session = looking.open(Open::Latest).await.unwrap();
    let refused = looking.withdraw(&session, Some(ONE), NoteId(1)).await;
    assert!(matches!(refused, Err(NotWithdrawn::Gone(SessionGone::Looking(_)))), "{refused:?}");
    assert_eq!(looking.pending(&session).await, []);

    let waits = vec![pending(Some(ONE), 1, NoteKind::Steer, "keep the API")];
    assert_eq!(boat.runtime.obey(Order::Pending { session: None }).await, Ok(Done::Pending { notes: waits }));
    let order = Order::Withdraw { session: None, task: Some(ONE), note: NoteId(1) };
    assert_eq!(boat.runtime.obey(order).await, Ok(Done::Withdrawn { text: "keep the API".to_owned() }));
    let again = boat.runtime.withdraw(&boat.session, Some(TaskId(9)), NoteId(1)).await.unwrap_err();
    assert!(!matches!(again, NotWithdrawn::Control(ControlError::NoAnswer(_))), "{again}");
}
