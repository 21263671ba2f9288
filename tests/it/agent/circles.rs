//! Runs that get nowhere: they are told so once, and then they end, with the evidence. Those that get on are left alone.

use std::time::Duration;

use tillerman::agent::Outcome;
use tillerman::event::AgentEvent;
use tillerman::session::{Record, Session};

use super::stage::{End, Played, Scenario, Stub, answered, millis};

/// A model that makes the same call so many times.
fn calls(scenario: Scenario, times: usize) -> Scenario {
    (0..times).fold(scenario, |scenario, at| scenario.calls("", &[(&format!("c{at}"), "echo", r#"{"a":1}"#)]))
}

/// Score and flat turns after each turn.
fn scores(played: &Played) -> Vec<(u8, u32)> {
    let score = |event: &AgentEvent| match event {
        AgentEvent::Progressed { score, flat, .. } => Some((*score, *flat)),
        _ => None,
    };
    played.events.iter().filter_map(score).collect()
}

fn reminders(played: &Played) -> usize {
    played.context().iter().filter(|line| line.starts_with("user: You are not getting anywhere")).count()
}

#[tokio::test(start_paused = true)]
async fn r01_the_same_call_is_reminded_of_and_ends_the_run_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::create(dir.path()).unwrap();
    session.append(Record::user("hi")).unwrap();
    let path = session.path().unwrap().to_owned();
    let played = calls(Scenario::new().session(session), 20).play().await;
    let evidence = "echo was called 9 times with the same result: “{\"a\":1}”";
    assert_eq!(played.outcome(), Outcome::Stuck(evidence.to_owned()));
    assert_eq!(scores(&played), (0..9).map(|flat| (u8::from(flat == 0), flat)).collect::<Vec<_>>());
    let told = "user: You are not getting anywhere: echo was called 5 times with the same result";
    assert!(played.requests[5].last().unwrap().starts_with(told), "{:?}", played.requests[5].last());
    assert_eq!((played.requests.len(), reminders(&played)), (9, 1));
    assert_eq!(played.story().last().unwrap(), &format!("stuck {evidence}"));
    drop(played);
    let mut session = Session::open(&path).unwrap();
    session.append(Record::user("do something else")).unwrap();
    let played = Scenario::new().session(session).says("done").play().await;
    assert_eq!(played.outcome(), answered("done"), "the conversation can be gone on with");
}

#[tokio::test(start_paused = true)]
async fn r01_a_model_that_heeds_the_reminder_goes_on() {
    let played = calls(calls(Scenario::new(), 5).calls("", &[("x", "more", "{}")]), 3);
    let played =
        played.tool(Stub::with("more", Duration::ZERO, End::Say("news".into()), None)).says("done").play().await;
    assert_eq!((played.outcome(), reminders(&played)), (answered("done"), 1));
}

#[tokio::test(start_paused = true)]
async fn r02_a_tool_that_does_not_exist_is_not_asked_for_ever() {
    let names: Vec<String> = (0..40).map(|at| format!("c{at}")).collect();
    let scenario = names.iter().fold(Scenario::new(), |scenario, id| scenario.calls("", &[(id, "ecco", "{}")]));
    let Outcome::Stuck(evidence) = scenario.play().await.outcome() else { panic!("it went on") };
    assert!(evidence.starts_with("ecco was called 9 times with the same result: “there is no tool ecco"), "{evidence}");
}

#[tokio::test(start_paused = true)]
async fn a_steer_begins_the_count_anew() {
    let played = calls(Scenario::new(), 12).says("done").steer_at(millis(750), "keep at it").play().await;
    assert_eq!((played.outcome(), reminders(&played)), (answered("done"), 2));
}

#[tokio::test(start_paused = true)]
async fn a_steer_that_waits_at_the_last_moment_is_heard() {
    // The ninth call is answered at 900 ms; the steer comes while it is asked for.
    let played = calls(Scenario::new(), 9).says("done").steer_at(millis(850), "stop it").play().await;
    assert_eq!(played.outcome(), answered("done"));
}

#[tokio::test(start_paused = true)]
async fn b9_a_slow_build_is_not_stuck() {
    let build = Stub::with("build", Duration::from_secs(45), End::Say("still compiling".into()), None);
    let polls = (0..60)
        .fold(Scenario::new().tool(build), |scenario, at| scenario.calls("", &[(&format!("c{at}"), "build", "{}")]));
    let played = polls.says("done").play().await;
    assert_eq!((played.outcome(), reminders(&played)), (answered("done"), 0));
    assert_eq!(scores(&played)[59], (0, 59), "the meter tells all the same");
}

#[tokio::test(start_paused = true)]
async fn nobody_is_told_where_it_is_switched_off() {
    let played = calls(Scenario::new().limits(|limits| limits.flat_turns = 0), 40).says("done").play().await;
    assert_eq!((played.outcome(), reminders(&played)), (answered("done"), 0));
}

#[tokio::test(start_paused = true)]
async fn at_the_limit_of_turns_the_run_is_summed_up_and_not_stuck() {
    let played = calls(Scenario::new().limits(|limits| limits.max_turns = Some(8)), 8).says("half").play().await;
    assert_eq!(played.outcome(), Outcome::TurnLimit("half".to_owned()));
}
