//! What goes wrong on the model's side, and how a run ends then.

use proptest::prelude::*;
use tillerman::agent::{Outcome, RunError};
use tillerman::model::{Fault, Stop};

use super::stage::{End, Scenario, Stub, answered, millis};

#[tokio::test(start_paused = true)]
async fn a_model_error_ends_the_run_and_keeps_the_line() {
    let played = Scenario::new().fails(Fault::Auth).play().await;
    let Err(RunError::Model(error)) = &played.ended else { panic!("{:?}", played.ended) };
    assert_eq!(error.fault, Fault::Auth);
    assert_eq!(played.story(), ["run", "turn 1", "failed scripted: Auth", "ended failed scripted: Auth"]);
    assert_eq!(played.context(), ["user: hi"]);
}

/// A41.
#[tokio::test(start_paused = true)]
async fn an_empty_reply_is_asked_again_once() {
    let played = Scenario::new().says("").says("here I am").play().await;
    assert_eq!(played.outcome(), answered("here I am"));
    assert_eq!(played.requests[1], ["user: hi", "user: Your last reply was empty. Answer now, or call a tool."]);
    assert_eq!(played.session.usage().output, 10, "what was thrown away was paid all the same");
}

/// A41.
#[tokio::test(start_paused = true)]
async fn a_model_that_answers_nothing_twice_is_named() {
    let played = Scenario::new().says(" \n").says("").play().await;
    assert_eq!(
        played.ended.unwrap_err().to_string(),
        "scripted/test answered nothing, twice; say it in other words or choose another model"
    );
}

#[tokio::test(start_paused = true)]
async fn a_cut_answer_goes_on_and_is_one_answer() {
    let played = Scenario::new().replies("once upon ", &[], Stop::MaxTokens).says("a time").play().await;
    assert_eq!(played.outcome(), answered("once upon a time"));
}

/// A38.
#[tokio::test(start_paused = true)]
async fn a_cut_call_is_not_run_and_may_be_sent_again() {
    let played = Scenario::new()
        .replies("", &[("c1", "echo", "{}"), ("c2", "echo", r#"{"text": "half a fi"#)], Stop::MaxTokens)
        .calls("", &[("c3", "echo", r#"{"text":"file"}"#)])
        .says("done")
        .play()
        .await;
    assert_eq!(played.outcome(), answered("done"));
    let answers = &played.requests[1][2..];
    assert_eq!(answers[0], "c1 = {}");
    assert!(answers[1].starts_with("c2 ! the call of echo was cut off"), "{answers:?}");
}

/// A38.
#[tokio::test(start_paused = true)]
async fn replies_cut_time_after_time_end_the_run() {
    let mut scenario = Scenario::new();
    for _ in 0..4 {
        scenario = scenario.replies("", &[("c1", "echo", r#"{"text": "half"#)], Stop::MaxTokens);
    }
    let played = scenario.play().await;
    assert_eq!(
        played.ended.unwrap_err().to_string(),
        "scripted/test was cut off at 4096 tokens 4 times in a row; raise max_tokens or ask for less at once"
    );
}

/// A39.
#[tokio::test(start_paused = true)]
async fn a_model_that_pauses_is_asked_on_and_one_that_never_ends_is_given_up() {
    let scenario = Scenario::new().replies("One ", &[], Stop::Paused).replies("two.", &[], Stop::EndTurn);
    let played = scenario.play().await;
    assert_eq!(played.ended.as_ref().unwrap(), &Outcome::Answered("One two.".into()));
    assert_eq!(played.context()[1..], ["assistant: One ", "assistant: two."]);
    let mut scenario = Scenario::new();
    for _ in 0..4 {
        scenario = scenario.replies("Wait. ", &[], Stop::Paused);
    }
    assert_eq!(
        scenario.play().await.ended.unwrap_err().to_string(),
        "scripted/test paused 4 times in a row without an end; ask for less at once"
    );
}

/// A40.
#[tokio::test(start_paused = true)]
async fn a_refusal_is_surfaced_and_its_calls_are_not_run() {
    let played = Scenario::new().replies("I won't", &[("c1", "echo", "{}")], Stop::Refusal).play().await;
    assert_eq!(played.ended.as_ref().unwrap_err().to_string(), "scripted/test refused to go on: I won't");
    assert_eq!(
        played.context()[1..],
        ["assistant: I won't [c1 echo {}]", "c1 ! not run: scripted/test refused to go on: I won't"]
    );
}

/// What a scripted model may do in one turn.
fn step(scenario: Scenario, step: u8) -> Scenario {
    match step {
        0 => scenario.says("text"),
        1 => scenario.calls("", &[("a", "slow", "{}"), ("b", "writer", "{}"), ("c", "writer", "{}")]),
        2 => scenario.calls("both", &[("a", "echo", "{}"), ("b", "nope", "{}"), ("c", "echo", "{")]),
        3 => scenario.fails(Fault::Network),
        4 => scenario.says(""),
        5 => scenario.replies("cut", &[("a", "echo", "{\"x")], Stop::MaxTokens),
        6 => scenario.calls("", &[("a", "panics", "{}"), ("b", "slow", "{}")]),
        7 => scenario.replies("no", &[], Stop::Refusal),
        _ => scenario.calls("again", &[("a", "slow", "{}"), ("b", "slow", "{}")]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    /// Whatever a model does and whoever interferes: the run ends, and every call in the session is answered.
    #[test]
    fn after_any_mix_of_steers_aborts_and_faults_the_session_is_valid(
        steps in prop::collection::vec(0_u8..9, 0..8),
        acts in prop::collection::vec((0_u64..2_000, 0_u8..8), 0..6),
        parallel: bool,
        max_turns in prop::option::of(0_u32..6),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut scenario = Scenario::new()
                .tool(Stub::with("slow", millis(200), End::Echo, None))
                .tool(Stub::with("writer", millis(100), End::Echo, Some("/tmp/w")))
                .tool(Stub::with("panics", millis(50), End::Panic("ouch".into()), None))
                .limits(|limits| { limits.parallel = parallel; limits.max_turns = max_turns; });
            for kind in steps {
                scenario = step(scenario, kind);
            }
            for (at, act) in acts {
                scenario = match act {
                    0 => scenario.abort_at(millis(at)),
                    1..4 => scenario.steer_at(millis(at), "steer"),
                    _ => scenario.follow_up_at(millis(at), "follow"),
                };
            }
            // The script always has an answer at the end.
            for _ in 0..12 {
                scenario = scenario.says("end");
            }
            // `play` checks the session.
            let played = scenario.play().await;
            prop_assert_eq!(played.story().iter().filter(|line| *line == "run").count(), 1);
            Ok(())
        })?;
    }
}
