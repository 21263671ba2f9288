//! Turns: what a run does when nothing goes wrong.

use tillerman::agent::Outcome;
use tillerman::session::{Record, Session};

use super::stage::{Scenario, answered, usage};

#[tokio::test(start_paused = true)]
async fn an_answer_without_calls_takes_one_model_call() {
    let played = Scenario::new().says("hello").costs(usage(10, 2)).play().await;
    assert_eq!(played.outcome(), answered("hello"));
    assert_eq!(
        played.story(),
        [
            "run",
            "turn 1",
            "text he",
            "text llo",
            "replied 12 tokens in 100ms: hello",
            "turn 1 ended",
            "completed hello"
        ]
    );
    assert_eq!(played.context(), ["user: hi", "assistant: hello"]);
    assert_eq!(played.session.usage().total_tokens(), 12);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_run_and_its_result_goes_back() {
    let played = Scenario::new().calls("let me see", &[("c1", "echo", r#"{"a":1}"#)]).says("it says a").play().await;
    assert_eq!(played.outcome(), answered("it says a"));
    assert_eq!(
        played.story(),
        [
            "run",
            "turn 1",
            "text let m",
            "text e see",
            "opened c1 echo",
            r#"replied 5 tokens in 100ms: let me see [c1 echo {"a":1}]"#,
            "started c1 echo",
            r#"finished c1 in 0ns: {"a":1}"#,
            "turn 1 ended",
            "turn 2",
            "text it s",
            "text ays a",
            "replied 5 tokens in 100ms: it says a",
            "turn 2 ended",
            "completed it says a"
        ]
    );
    assert_eq!(
        played.requests[1],
        ["user: hi", r#"assistant: let me see [c1 echo {"a":1}]"#, r#"c1 = {"a":1}"#],
        "details are not for the model"
    );
}

#[tokio::test(start_paused = true)]
async fn what_was_sent_once_is_sent_again_unchanged() {
    let played =
        Scenario::new().calls("", &[("c1", "echo", "{}")]).calls("", &[("c2", "echo", "{}")]).says("done").play().await;
    for pair in played.requests.windows(2) {
        assert_eq!(pair[0], pair[1][..pair[0].len()]);
    }
}

#[tokio::test(start_paused = true)]
async fn at_the_limit_one_turn_without_tools_sums_up() {
    let played = Scenario::new()
        .calls("", &[("c1", "echo", "{}")])
        .calls("", &[("c2", "echo", "{}")])
        .says("half is done")
        .limits(|limits| limits.max_turns = Some(2))
        .play()
        .await;
    assert_eq!(played.outcome(), Outcome::TurnLimit("half is done".to_owned()));
    assert_eq!(played.offered, [1, 1, 0]);
    let asked = played.requests[2].last().unwrap();
    assert!(asked.starts_with("user: All 2 turns of this run are used up"), "{asked}");
}

#[tokio::test(start_paused = true)]
async fn from_four_fifths_of_its_turns_on_a_run_knows_that_its_end_is_near() {
    let calls = |scenario: Scenario, turn: usize| scenario.calls("", &[(&format!("c{turn}"), "echo", "{}")]);
    let scenario = (1..=5).fold(Scenario::new(), calls).says("in time").limits(|limits| limits.max_turns = Some(5));
    let played = scenario.play().await;
    assert_eq!(played.outcome(), Outcome::TurnLimit("in time".to_owned()));
    let told = |request: &Vec<String>| request.iter().filter(|line| line.contains("(4 of 5 turns)")).count();
    assert_eq!(played.requests.iter().map(told).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn calls_in_the_turn_without_tools_are_not_run() {
    let played = Scenario::new()
        .calls("stubborn", &[("c1", "echo", "{}")])
        .limits(|limits| limits.max_turns = Some(0))
        .play()
        .await;
    assert_eq!(played.outcome(), Outcome::TurnLimit("stubborn".to_owned()));
    assert_eq!(played.context().last().unwrap(), "c1 ! not run: this turn has no tools");
}

#[tokio::test(start_paused = true)]
async fn a_later_run_goes_on_where_the_session_stands() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::create(dir.path()).unwrap();
    session.append(Record::user("hi")).unwrap();
    let path = session.path().unwrap().to_owned();
    let first = Scenario::new().session(session).says("hello").play().await;
    drop(first);
    let mut session = Session::open(&path).unwrap();
    session.append(Record::user("and now")).unwrap();
    let played = Scenario::new().session(session).says("bye").play().await;
    assert_eq!(played.requests, [["user: hi", "assistant: hello", "user: and now"]]);
    assert!(played.session.damage().is_empty());
}
