//! call_agent: an answer in the same turn, or the ordinary way where something else is to be heard first; never both.

use std::sync::Arc;

use serde_json::json;
use tillerman::config::AgentsFrom;
use tillerman::event::{AgentEvent, Ending};
use tillerman::message::{Message, Role};
use tillerman::model::Model;
use tillerman::runtime::{News, Source};
use tillerman::session::{Compaction, Record, Session};
use tillerman::task::{Brief, TaskId};
use tokio::sync::Semaphore;

use super::restart::{echo, start_with};
use super::{Ask, Boat, Ground, boat, boat_with, calls, endings, played, says};

/// A main agent that calls the researcher for each line and then says what came of it; its workers wait for the gate.
fn calling(gate: &Arc<Semaphore>) -> Arc<dyn Model> {
    let gate = gate.clone();
    played("calling", move |ask: Ask| {
        let gate = gate.clone();
        async move {
            match () {
                () if ask.is_worker() => {
                    gate.acquire().await.unwrap().forget();
                    says(format!("42 lines; tools {}", ask.tools.contains(&"call_agent".to_owned())))
                }
                () if !ask.outputs().is_empty() => says(ask.outputs().join("\n")),
                () if ask.last().starts_with("count") => {
                    calls([("call_agent", json!({"agent_name": "researcher", "task": ask.last(), "minutes": 1}))])
                }
                () => says(ask.last().lines().next().unwrap_or_default()),
            }
        }
    })
}

/// How often the end of t_001 is told in the conversation.
async fn times_told(boat: &Boat) -> usize {
    let said = boat.runtime.transcript(&boat.session).await.unwrap();
    let heard = said.iter().filter(|message| message.role != Role::Assistant);
    let outputs = |message: &Message| message.results().map(|result| result.output.clone()).collect::<String>();
    let texts = heard.map(|message| message.text() + &outputs(message));
    texts.filter(|text| text.starts_with("[Worker ") && text.contains(" t_001]")).count()
}

#[tokio::test]
async fn s1_36_s1_34_a_call_waits_for_the_answer_and_nobody_hears_it_twice() {
    let gate = Arc::new(Semaphore::new(1));
    let mut boat = boat(calling(&gate)).await;
    let answer = boat.answer("count the lines").await;
    assert!(answer.starts_with("[Worker completed t_001]\n"), "{answer}");
    assert!(answer.ends_with("\n> 42 lines; tools false"), "a worker calls no agents: {answer}");
    boat.idle().await;
    assert_eq!((endings(&mut boat.feed), times_told(&boat).await), (vec![], 1));
    assert!(boat.task(1).is_relayed(1));
    assert_eq!(boat.task(1).task().unwrap().brief.agent.as_deref(), Some("researcher"));
    boat.runtime.shutdown().await;

    // The mark can be lost in a crash; the answer in the journal is enough, also when a summary stands in for it.
    std::fs::remove_file(boat.task(1).path().join(".relayed")).unwrap();
    let mut boat = start_with(boat.ground, echo()).await;
    assert_eq!(boat.answer("hello").await, "hello");
    boat.runtime.shutdown().await;
    std::fs::remove_file(boat.task(1).path().join(".relayed")).unwrap_or_default();
    let path = boat.ground.workspace().sessions().join(format!("{}.jsonl", boat.session));
    let mut session = Session::open(&path).unwrap();
    let head = vec![Arc::new(Message::user("so far"))];
    session.append(Record::Compaction(Box::new(Compaction { head, ..Compaction::default() }))).unwrap();
    drop(session);
    let mut boat = start_with(boat.ground, echo()).await;
    assert_eq!(boat.answer("hello").await, "so far, hello");
}

#[tokio::test]
async fn a_steer_ends_the_wait_and_the_report_comes_by_itself() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = boat(calling(&gate)).await;
    let run = boat.say("count slowly").await;
    boat.until(|envelope| matches!(envelope.news, News::TaskStarted { .. }).then_some(())).await;
    boat.runtime.steer_main(&boat.session, "hurry".to_owned()).await.unwrap();
    assert_eq!(boat.run_ended(run).await, Ending::Completed { answer: "hurry".to_owned() });
    let said = boat.runtime.transcript(&boat.session).await.unwrap();
    let output = said.iter().flat_map(|message| message.results()).next().unwrap().output.clone();
    let expected = "t_001: it is not over, and new words wait for you. It goes on; you will be told when it ends.";
    assert_eq!(output, expected);
    gate.add_permits(1);
    boat.idle().await;
    assert_eq!(endings(&mut boat.feed), [Ending::Completed { answer: "[Worker completed t_001]".to_owned() }]);
    assert_eq!(times_told(&boat).await, 1);
}

#[tokio::test]
async fn an_abort_of_the_caller_ends_the_wait_and_not_the_worker() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = boat(calling(&gate)).await;
    let run = boat.say("count slowly").await;
    boat.until(|envelope| matches!(envelope.news, News::TaskStarted { .. }).then_some(())).await;
    assert!(boat.runtime.abort_main(&boat.session).await.unwrap());
    assert_eq!(boat.run_ended(run).await, Ending::Aborted);
    gate.add_permits(1);
    boat.idle().await;
    assert_eq!(endings(&mut boat.feed), [Ending::Completed { answer: "[Worker completed t_001]".to_owned() }]);
    assert_eq!(times_told(&boat).await, 1);
}

#[tokio::test]
async fn a_worker_that_is_aborted_answers_the_call_as_that() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = boat(calling(&gate)).await;
    let run = boat.say("count slowly").await;
    boat.until(|envelope| matches!(envelope.news, News::TaskStarted { .. }).then_some(())).await;
    boat.runtime.abort(TaskId(1)).await.unwrap();
    let Ending::Completed { answer } = boat.run_ended(run).await else { panic!("it answers") };
    assert!(answer.starts_with("[Worker aborted t_001]\n"), "{answer}");
    boat.idle().await;
    assert_eq!(times_told(&boat).await, 1);
}

#[tokio::test]
async fn a_call_that_was_cut_off_by_the_end_of_the_program_is_told_after_the_next_start() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = boat(calling(&gate)).await;
    boat.say("count slowly").await;
    boat.until(|envelope| matches!(envelope.news, News::TaskStarted { .. }).then_some(())).await;
    boat.runtime.shutdown().await;
    let mut boat = start_with(boat.ground, echo()).await;
    let told = boat.answer("hello").await;
    assert!(told.ends_with("[Worker interrupted t_001], hello"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn c13_after_its_minutes_the_wait_ends_and_the_task_goes_on() {
    let gate = Arc::new(Semaphore::new(0));
    let mut boat = boat(calling(&gate)).await;
    let run = boat.say("count slowly").await;
    // Its minute is longer than the patience of a test, by the clock that jumps.
    let ending = loop {
        let envelope = boat.feed.recv().await.unwrap();
        match (envelope.source, envelope.news) {
            (Source::Main { run: this, .. }, News::Agent(AgentEvent::RunEnded { ending })) if this == run => {
                break ending;
            }
            _ => {}
        }
    };
    let answer = "t_001: it is not over after 1 min. It goes on; you will be told when it ends.".to_owned();
    assert_eq!(ending, Ending::Completed { answer });
    gate.add_permits(1);
    boat.idle().await;
    assert_eq!(times_told(&boat).await, 1);
}

#[tokio::test]
async fn an_agent_that_works_in_the_background_is_not_waited_for_and_an_unknown_one_is_refused() {
    let gate = Arc::new(Semaphore::new(0));
    let ground = Ground::new();
    std::fs::create_dir(ground.root().join("agents")).unwrap();
    let file = "---\nname: researcher\ndescription: d\nbackground: true\n---\n";
    std::fs::write(ground.root().join("agents/r.md"), file).unwrap();
    let mut boat = start_with(ground, calling(&gate)).await;
    let answer = boat.answer("count").await;
    assert_eq!(answer, "t_001: researcher works in the background. It goes on; you will be told when it ends.");
    std::fs::write(boat.ground.root().join("agents/r.md"), file.replace("background", "model: nowhere/m\nbackground"))
        .unwrap();
    let answer = boat.answer("count").await;
    assert!(answer.contains("nowhere"), "{answer}");
}

#[tokio::test]
async fn s1_38_an_agent_notes_for_its_later_tasks_and_knows_what_another_program_noted() {
    let model = played("notes", |ask: Ask| async move {
        match ask.outputs().first() {
            Some(output) => says(output.clone()),
            None if ask.is_worker() && ask.tools.contains(&"note".to_owned()) => {
                let known = ask.system.split("# Your notes").nth(1).unwrap_or_default().to_owned();
                calls([("note", json!({"text": format!("knew {} lines\nof notes", known.matches("\n- ").count())}))])
            }
            None => says("thanks"),
        }
    });
    let mut boat = boat(model).await;
    let foreign = json!([{"timestamp": "2025-03-01T10:00:00", "category": "style", "content": "tabs"}]);
    std::fs::write(boat.ground.root().join(".agent_memory_reviewer.json"), foreign.to_string()).unwrap();
    for agent in ["researcher", "researcher", "reviewer"] {
        let brief = Brief { body: "Look.".into(), agent: Some(agent.into()), ..Brief::default() };
        let task = boat.runtime.dispatch(&boat.session, brief).await.unwrap();
        assert_eq!(boat.task_ended(task.0).await.answer, format!("noted in memory/agents/{agent}.md"));
    }
    let notes = |agent: &str| super::read(&boat.ground.root().join(format!("memory/agents/{agent}.md")));
    let undated = |text: String| text.lines().map(|line| line.chars().skip(13).collect()).collect::<Vec<String>>();
    assert_eq!(undated(notes("researcher")), ["knew 0 lines of notes", "knew 1 lines of notes"]);
    assert_eq!(undated(notes("reviewer")), ["[style] tabs", "knew 1 lines of notes"]);
    let plain = Brief { body: "Look.".into(), ..Brief::default() };
    let task = boat.runtime.dispatch(&boat.session, plain).await.unwrap();
    assert_eq!(boat.task_ended(task.0).await.answer, "thanks", "a plain worker has no name to note under");
}

#[tokio::test]
async fn a_task_of_an_agent_has_its_budget_where_the_brief_has_none() {
    let ground = Ground::new();
    std::fs::create_dir(ground.root().join("agents")).unwrap();
    std::fs::write(ground.root().join("agents/b.md"), "---\ndescription: d\nbudget: 90k 7 turns\n---\n").unwrap();
    let boat = start_with(ground, played("plain", |_| async { says("done") })).await;
    let budget = "5 turns".parse().unwrap();
    let brief = Brief { body: "Look.".into(), agent: Some("b".into()), budget, ..Brief::default() };
    boat.runtime.dispatch(&boat.session, brief).await.unwrap();
    assert_eq!(boat.task(1).task().unwrap().brief.budget, "90k 5 turns".parse().unwrap());
}

#[tokio::test]
async fn s1_32_agents_can_be_switched_off() {
    let tools = |from: AgentsFrom| async move {
        let model = played("tools", |ask: Ask| async move {
            says(format!("{} {}", ask.tools.contains(&"call_agent".to_owned()), ask.system.contains("- researcher: ")))
        });
        boat_with(model, |config| config.agents.from = from).await.answer("?").await
    };
    assert_eq!(tools(AgentsFrom::Everywhere).await, "true true");
    assert_eq!(tools(AgentsFrom::Nowhere).await, "false false");
}

#[tokio::test]
async fn every_tool_that_agents_have_can_be_named_in_a_file_of_an_agent() {
    let model = played("names", |ask: Ask| async move { says(ask.tools.join(", ")) });
    let mut boat = boat(model).await;
    let mut names = boat.answer("?").await;
    boat.runtime.dispatch(&boat.session, Brief { body: "?".into(), ..Brief::default() }).await.unwrap();
    names.push_str(&format!(", {}", boat.task_ended(1).await.answer));
    std::fs::create_dir(boat.ground.root().join("agents")).unwrap();
    let file = format!("---\ndescription: d\ntools: [{names}]\n---\n");
    std::fs::write(boat.ground.root().join("agents/all.md"), file).unwrap();
    let skills = tillerman::skill::Skills::discover(&boat.ground.workspace());
    let roles = tillerman::runtime::named_agents(boat.runtime.config(), &skills, &[]);
    assert_eq!(roles.notices(), []);
}
