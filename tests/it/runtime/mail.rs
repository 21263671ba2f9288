//! Words on their way (B-4): acknowledged when they are on the disk, heard once or waiting, whatever ends the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tillerman::event::AgentEvent;
use tillerman::message::NoteId;
use tillerman::model::Model;
use tillerman::runtime::{ControlError, News, Open, Runtime, SessionGone, Steered};
use tillerman::session::fate::{self, Fate};
use tillerman::session::{Durability, Mailbox, Session};
use tillerman::task::{Brief, TaskId};
use tokio::sync::Semaphore;

use super::{Ask, Boat, Ground, boat, calls, played, says};

/// Set in the process that is killed.
const GROUND: &str = "TILLERMAN_TEST_MAIL";

fn brief(body: &str) -> Brief {
    Brief { body: body.to_owned(), ..Brief::default() }
}

/// Holds every answer until the gate gives one free; the last message comes back.
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

async fn started(boat: &mut Boat) {
    boat.until(|envelope| matches!(envelope.news, News::Agent(AgentEvent::TurnStarted { .. })).then_some(())).await;
}

/// How often each note was consumed, by the entries of a journal.
fn consumed(journal: &Path) -> BTreeMap<u64, usize> {
    let mut times = BTreeMap::new();
    for line in fs::read_to_string(journal).unwrap_or_default().lines() {
        let entry: Value = serde_json::from_str(line).unwrap_or_default();
        let data = &entry["data"];
        let one = match entry["type"].as_str() {
            Some("note") => data["note"]["id"].as_u64(),
            Some("user") => data["posted"].as_u64(),
            _ => None,
        };
        let all = data["notes"].as_array().filter(|_| entry["type"] == "dropped");
        let all = all.into_iter().flatten().filter_map(Value::as_u64);
        one.into_iter().chain(all).for_each(|id| *times.entry(id).or_default() += 1);
    }
    times
}

fn waiting(journal: &Path) -> BTreeSet<u64> {
    let heard = Session::read(journal).map(|session| session.heard().clone()).unwrap_or_default();
    let mailbox = Mailbox::of(journal, Durability::Turn).unwrap();
    mailbox.waiting(&heard).unwrap().iter().map(|posted| posted.note.id.0).collect()
}

#[tokio::test]
async fn an_acknowledged_steer_is_on_the_disk_and_says_when_it_was_seen() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = boat(gated(&gate)).await;
    boat.runtime.dispatch(&boat.session, brief("Work.")).await.unwrap();
    started(&mut boat).await;
    let note = boat.runtime.steer(TaskId(1), "keep the API".to_owned()).await.unwrap();
    let workers = boat.ground.workspace().worker_sessions();
    let inbox = fs::read_to_string(workers.join("t_001.inbox.jsonl")).unwrap();
    assert!(inbox.contains("keep the API") && inbox.contains("\"from\":\"person\""), "{inbox}");
    assert_eq!(consumed(&workers.join("t_001.jsonl")), BTreeMap::new());
    gate.add_permits(9);
    let seen = boat.until(|envelope| match &envelope.news {
        News::Agent(AgentEvent::Noted { note, turn }) => Some((note.id, *turn)),
        _ => None,
    });
    assert_eq!(seen.await, (note, 2));
    boat.task_ended(1).await;
    assert_eq!(consumed(&workers.join("t_001.jsonl")), BTreeMap::from([(1, 1)]));
}

#[tokio::test]
async fn a_steer_that_the_disk_refuses_is_refused_and_never_heard() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = boat(gated(&gate)).await;
    boat.runtime.dispatch(&boat.session, brief("Work.")).await.unwrap();
    started(&mut boat).await;
    let workers = boat.ground.workspace().worker_sessions();
    fs::create_dir(workers.join("t_001.inbox.jsonl")).unwrap();
    let refused = boat.runtime.steer(TaskId(1), "lost".to_owned()).await.unwrap_err().to_string();
    assert!(refused.contains("t_001.inbox.jsonl"), "{refused}");
    fs::remove_dir(workers.join("t_001.inbox.jsonl")).unwrap();
    assert_eq!(boat.runtime.steer(TaskId(1), "found".to_owned()).await, Ok(NoteId(2)));
    gate.add_permits(9);
    assert_eq!(boat.task_ended(1).await.answer.trim(), "heard: found");
    let journal = fs::read_to_string(workers.join("t_001.jsonl")).unwrap();
    assert!(!journal.contains("lost"), "{journal}");
}

/// C26: whoever is told of a run finds the words in the journal, whatever the model does then.
#[tokio::test]
async fn a_line_is_in_the_journal_before_its_run_is_named() {
    let gate = Arc::new(Semaphore::new(0));
    let boat = boat(gated(&gate)).await;
    boat.say("remember this").await;
    let journal = boat.ground.workspace().sessions().join(format!("{}.jsonl", boat.session));
    assert!(fs::read_to_string(journal).unwrap().contains("remember this"));
}

#[tokio::test]
async fn lines_that_wait_are_posted_and_heard_in_order_once_each() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = boat(gated(&gate)).await;
    boat.say("one").await;
    let (two, three) = (boat.say("two").await, boat.say("three").await);
    let journal = boat.ground.workspace().sessions().join(format!("{}.jsonl", boat.session));
    let inbox = fs::read_to_string(journal.with_extension("inbox.jsonl")).unwrap();
    assert!(inbox.contains("\"two\"") && inbox.contains("\"three\""), "{inbox}");
    assert_eq!(consumed(&journal), BTreeMap::new());
    gate.add_permits(9);
    boat.run_ended(two).await;
    boat.run_ended(three).await;
    boat.idle().await;
    let said = boat.runtime.transcript(&boat.session).await.unwrap();
    let said: Vec<String> = said.iter().map(|message| message.text()).collect();
    assert_eq!(said, ["one", "heard: one", "two", "heard: two", "three", "heard: three"]);
    assert_eq!(consumed(&journal), BTreeMap::from([(1, 1), (2, 1)]));
}

#[tokio::test]
async fn what_a_shutdown_leaves_waits_and_is_told_once_with_the_next_line() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = boat(gated(&gate)).await;
    boat.say("one").await;
    started(&mut boat).await;
    boat.say("two").await;
    let noted = boat.runtime.steer_main(&boat.session, "hurry".to_owned()).await.unwrap();
    assert_eq!(noted, Steered::Noted(NoteId(2)));
    boat.runtime.follow_up_main(&boat.session, "then rest".to_owned()).await.unwrap();
    let Boat { ground, runtime, session, .. } = boat;
    runtime.shutdown().await;
    drop(runtime);
    let journal = ground.workspace().sessions().join(format!("{session}.jsonl"));
    assert_eq!(waiting(&journal), BTreeSet::from([1, 2, 3]));

    let echo = || played("echo", |ask: Ask| async move { says(format!("heard: {}", ask.last())) });
    for (left, told) in [(vec!["two", "hurry", "then rest"], 1), (vec![], 1)] {
        let runtime = Runtime::start(ground.config(echo())).await.unwrap();
        let feed = runtime.feed();
        let session = runtime.open(Open::Latest).await.unwrap();
        let mut boat = Boat { ground: Ground::at(ground.path()), runtime, session, feed };
        let status = boat.runtime.status(&boat.session).await.unwrap();
        let waits: Vec<&str> = status.left.iter().map(|posted| posted.note.text.as_str()).collect();
        assert_eq!((waits, status.busy), (left, false), "no model is asked before a person speaks");
        assert_eq!(boat.answer("and now?").await, "heard: and now?");
        let said = boat.runtime.transcript(&boat.session).await.unwrap();
        for words in ["two", "hurry", "then rest"] {
            assert_eq!(said.iter().filter(|message| message.text() == words).count(), told, "{words}");
        }
        boat.runtime.shutdown().await;
        assert_eq!(waiting(&journal), BTreeSet::new());
    }
    assert_eq!(consumed(&journal), BTreeMap::from([(1, 1), (2, 1), (3, 1)]));
    assert_eq!(Mailbox::of(&journal, Durability::Turn).unwrap().next_note(), NoteId(4), "ids never repeat");
}

#[tokio::test]
async fn an_abort_drops_steers_for_good_and_makes_lines_of_follow_ups() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = boat(gated(&gate)).await;
    let run = boat.say("one").await;
    started(&mut boat).await;
    boat.runtime.steer_main(&boat.session, "too late".to_owned()).await.unwrap();
    boat.runtime.follow_up_main(&boat.session, "afterwards".to_owned()).await.unwrap();
    boat.runtime.abort_main(&boat.session).await.unwrap();
    boat.run_ended(run).await;
    gate.add_permits(9);
    boat.idle().await;
    let said = boat.runtime.transcript(&boat.session).await.unwrap();
    let said: Vec<String> = said.iter().map(|message| message.text()).collect();
    assert_eq!(said, ["one", "afterwards", "heard: afterwards"]);
    let journal = boat.ground.workspace().sessions().join(format!("{}.jsonl", boat.session));
    assert_eq!(consumed(&journal), BTreeMap::from([(1, 1), (2, 1)]), "one was dropped, one was a line");
}

/// What a worker was told and did not hear before its program ended is heard first when it goes on, and once.
#[tokio::test]
async fn notes_that_a_worker_did_not_hear_are_heard_when_it_goes_on() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = boat(gated(&gate)).await;
    boat.runtime.dispatch(&boat.session, brief("Work.")).await.unwrap();
    started(&mut boat).await;
    boat.runtime.steer(TaskId(1), "keep the API".to_owned()).await.unwrap();
    boat.runtime.follow_up(TaskId(1), "then the docs".to_owned()).await.unwrap();
    let journal = boat.ground.workspace().worker_sessions().join("t_001.jsonl");
    let Boat { ground, runtime, .. } = boat;
    runtime.shutdown().await;
    drop(runtime);
    assert_eq!(waiting(&journal), BTreeSet::from([1, 2]));

    gate.add_permits(99);
    let runtime = Runtime::start(ground.config(gated(&gate))).await.unwrap();
    let feed = runtime.feed();
    let session = runtime.open(Open::Latest).await.unwrap();
    let boat = Boat { ground, runtime, session, feed };
    boat.runtime.resume(TaskId(1), &boat.session).await.unwrap();
    boat.idle().await;
    let heard: Vec<_> =
        fate::sent(&journal).unwrap().into_iter().map(|sent| (sent.posted.note.id.0, sent.fate)).collect();
    assert_eq!(heard, [(1, Fate::Seen { turn: 1 }), (2, Fate::Seen { turn: 2 })]);
    assert_eq!(boat.runtime.steer(TaskId(1), "late".to_owned()).await, Err(ControlError::AlreadyEnded(TaskId(1))));
}

/// Steers race with the ends of tasks, also with that at the limit of turns: each is heard, named in the report as too
/// late, or refused; none is acknowledged and lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_steer_to_a_task_that_is_ending_is_heard_named_or_refused() {
    let boat = boat(played("quick", |ask: Ask| async move { says(format!("heard: {}", ask.last())) })).await;
    let workers = boat.ground.workspace().worker_sessions();
    for round in 1..=20_u32 {
        let id = boat.runtime.dispatch(&boat.session, brief("Work.")).await.unwrap();
        let mut taken = Vec::new();
        loop {
            match boat.runtime.steer(id, "quick".to_owned()).await {
                Ok(note) => taken.push(note.0),
                Err(ControlError::AlreadyEnded(_)) => break,
                Err(error) => panic!("round {round}: {error}"),
            }
            if taken.len() > 200 {
                break;
            }
        }
        boat.runtime.idle().await;
        let heard = consumed(&workers.join(format!("{id}.jsonl")));
        let answer = boat.task(id.0).result().unwrap().unwrap().answer;
        let (_, late) = answer.split_once("Notes that came too late").unwrap_or_default();
        let is_known = |note: &u64| heard.get(note) == Some(&1) || late.contains(&format!("- #{note} "));
        assert!(taken.iter().all(is_known), "round {round}: {taken:?} {heard:?} {late}");
    }
}

/// The process that is killed: a main agent that is busy for ever, and a worker that goes on turn by turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_is_killed() {
    let Some(place) = std::env::var_os(GROUND).map(PathBuf::from) else { return };
    let model = played("endless", |ask: Ask| async move {
        if !ask.is_worker() {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
        calls([("list", json!({"path": "."}))])
    });
    let runtime = Runtime::start(Ground::at(place.clone()).config(model)).await.unwrap();
    let session = runtime.open(Open::Latest).await.unwrap();
    let task = runtime.dispatch(&session, brief("Work for ever.")).await.unwrap();
    runtime.say(&session, "begin").await.unwrap();
    println!("task {task}");
    for round in 0.. {
        let main = match round % 3 {
            0 => runtime.steer_main(&session, format!("steer {round}")).await,
            1 => runtime.follow_up_main(&session, format!("follow-up {round}")).await,
            _ => runtime.say(&session, format!("line {round}")).await.map(Steered::Said),
        };
        match main {
            Ok(Steered::Noted(note)) => println!("main {} {round}", note.0),
            Ok(Steered::Said(_)) => println!("line {round}"),
            Err(SessionGone::Full(_)) => {}
            Err(error) => panic!("{error}"),
        }
        let note = runtime.steer(task, format!("to the worker {round}")).await.unwrap();
        println!("worker {} {round}", note.0);
    }
}

/// What a program that was killed had acknowledged, line by line as it said so.
fn killed_after(place: &Path, acknowledged: usize) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "runtime::mail::one_that_is_killed", "--nocapture"])
        .env(GROUND, place)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let told = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let is_told = |line: &String| ["main ", "line ", "worker ", "task "].iter().any(|word| line.starts_with(word));
    let mut told = told.filter(is_told);
    let mut lines: Vec<String> = told.by_ref().take(acknowledged).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    // What it still said before it died.
    lines.extend(told.filter(|line| line.matches(' ').count() > 1 || line.starts_with("line ")));
    lines
}

/// kill -9 at points of a life with words on all ways: what was acknowledged was heard once or waits, and after the next
/// start everything was heard once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_loses_and_repeats_no_acknowledged_word() {
    let ground = Ground::new();
    let place = ground.path();
    for (round, acknowledged) in [3, 17, 40, 80].into_iter().enumerate() {
        let told = killed_after(&place, acknowledged);
        let sessions = ground.workspace().sessions();
        let main = fs::read_dir(&sessions).unwrap().flatten().map(|file| file.path()).find(|path| {
            path.is_file()
                && path.extension().is_some_and(|end| end == "jsonl")
                && !path.to_string_lossy().contains("inbox")
        });
        let main = main.expect("the conversation has a file");
        let worker = sessions.join("workers").join(format!("{}.jsonl", TaskId(round as u32 + 1)));
        for journal in [&main, &worker] {
            let (heard, waits) = (consumed(journal), waiting(journal));
            assert!(heard.values().all(|times| *times == 1), "round {round}, {}: {heard:?}", journal.display());
            let who = if journal == &main { "main" } else { "worker" };
            for line in told.iter().filter(|line| line.starts_with(who)) {
                let id: u64 = line.split(' ').nth(1).unwrap().parse().unwrap();
                assert!(heard.contains_key(&id) != waits.contains(&id), "round {round}: {line}");
            }
        }
        let kept = [fs::read_to_string(&main), fs::read_to_string(main.with_extension("inbox.jsonl"))];
        let kept = kept.map(Result::unwrap_or_default).concat();
        for line in told.iter().filter(|line| line.starts_with("line ")) {
            assert!(kept.contains(&format!("\"{line}\"")), "round {round}: {line}");
        }

        let echo = played("echo", |ask: Ask| async move { says(ask.last()) });
        let runtime = Runtime::start(Ground::at(place.clone()).config(echo)).await.unwrap();
        let feed = runtime.feed();
        let session = runtime.open(Open::Latest).await.unwrap();
        let mut boat = Boat { ground: Ground::at(place.clone()), runtime, session, feed };
        boat.answer("what did I miss?").await;
        boat.runtime.shutdown().await;
        assert_eq!(waiting(&main), BTreeSet::new());
        assert!(consumed(&main).values().all(|times| *times == 1), "round {round}: {:?}", consumed(&main));
    }
}
