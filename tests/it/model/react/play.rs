//! The loop cannot tell: the same scenario with a model that gets tools and with one that is told of them.

use std::time::Duration;

use tillerman::event::AgentEvent;
use tillerman::model::{Fault, Stop};

use crate::agent::stage::{End, Played, Scenario, Stub, millis, usage};

/// What the model does in a turn.
#[derive(Clone, Copy)]
enum Turn<'a> {
    /// Calls these tools with these arguments.
    Calls(&'a [(&'a str, &'a str)]),
    Answers(&'a str),
    /// Is cut off in its answer.
    IsCut(&'a str),
    /// Refuses.
    Refuses(&'a str),
    Fails(Fault),
}

/// Plays the turns with the wire's own calls, or in words. The ids are those that a model without ids is given.
async fn play(turns: &[Turn<'_>], in_words: bool, set: impl Fn(Scenario) -> Scenario) -> Played {
    let mut scenario = set(Scenario::new());
    let mut messages = 1;
    for turn in turns {
        scenario = match (*turn, in_words) {
            (Turn::Fails(fault), _) => scenario.fails(fault),
            (Turn::Answers(text), false) => scenario.says(text),
            (Turn::Answers(text), true) => scenario.says(&format!("Final Answer: {text}")),
            (Turn::IsCut(text), false) => scenario.replies(text, &[], Stop::MaxTokens),
            (Turn::IsCut(text), true) => scenario.replies(&format!("**Final Answer:** {text}"), &[], Stop::MaxTokens),
            (Turn::Refuses(text), false) => scenario.replies(text, &[], Stop::Refusal),
            (Turn::Refuses(text), true) => scenario.replies(&format!("Final Answer: {text}"), &[], Stop::Refusal),
            (Turn::Calls(calls), false) => {
                let ids: Vec<String> = (0..calls.len()).map(|at| format!("call_{messages}_{at}")).collect();
                let calls: Vec<_> =
                    calls.iter().zip(&ids).map(|((tool, args), id)| (id.as_str(), *tool, *args)).collect();
                scenario.calls("", &calls)
            }
            (Turn::Calls(calls), true) => {
                let words = calls.iter().map(|(tool, args)| format!("Action: {tool}\nAction Input: {args}\n"));
                scenario.says(&words.collect::<String>())
            }
        };
        messages += match turn {
            Turn::Calls(calls) => 1 + calls.len(),
            Turn::IsCut(_) => 2,
            Turn::Answers(_) | Turn::Refuses(_) | Turn::Fails(_) => 1,
        };
    }
    let scenario = if in_words { scenario.in_words() } else { scenario };
    scenario.play().await
}

/// The events with pieces of an answer joined: in words the marks stream too, so that pieces are others. When in a
/// reply a call was opened is the model's own affair.
fn events(played: &Played) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for line in played.story() {
        match (line.strip_prefix("text "), joined.last_mut()) {
            (Some(piece), Some(last)) if last.starts_with("text ") => last.push_str(piece),
            _ => joined.push(line),
        }
    }
    joined
}

async fn check(turns: &[Turn<'_>], set: impl Fn(Scenario) -> Scenario) -> Played {
    let (native, words) = (play(turns, false, &set).await, play(turns, true, &set).await);
    assert_eq!(events(&words), events(&native));
    assert_eq!(words.context(), native.context());
    assert_eq!(format!("{:?}", words.ended), format!("{:?}", native.ended));
    assert_eq!(words.took, native.took);
    assert_eq!(words.session.usage(), native.session.usage());
    assert_eq!(words.offered.iter().sum::<usize>(), 0, "no tools are sent");
    assert_eq!(words.requests.len(), native.requests.len());
    words
}

fn as_it_is(scenario: Scenario) -> Scenario {
    scenario
}

/// S4-05.
#[tokio::test(start_paused = true)]
async fn s4_05_calls_and_answers_go_the_same_way() {
    let turns = [
        Turn::Calls(&[("echo", r#"{"a":1}"#)]),
        Turn::Calls(&[("echo", "{}"), ("echo", r#"{"b":[2]}"#)]),
        Turn::Answers("all echoed"),
    ];
    let played = check(&turns, as_it_is).await;
    assert_eq!(
        played.requests[2][1..],
        [
            "assistant: Action: echo\nAction Input: {\"a\":1}",
            "user: Observation: {\"a\":1}",
            "assistant: Action: echo\nAction Input: {}\nAction: echo\nAction Input: {\"b\":[2]}",
            "user: Observation 1: {}",
            "user: Observation 2: {\"b\":[2]}",
        ]
    );
}

/// S4-14, S4-15.
#[tokio::test(start_paused = true)]
async fn s4_14_s4_15_strange_tools_and_failing_tools_are_observations() {
    let broken =
        |scenario: Scenario| scenario.tool(Stub::with("bell", millis(5), End::Fail("no clapper".into()), None));
    let turns = [Turn::Calls(&[("gong", "{}"), ("bell", "{}")]), Turn::Answers("quiet")];
    let played = check(&turns, broken).await;
    assert_eq!(
        played.requests[1][2..],
        [
            "user: Observation 1: Error: there is no tool gong; there are bell, echo",
            "user: Observation 2: Error: no clapper"
        ]
    );
}

/// S4-13.
#[tokio::test(start_paused = true)]
async fn s4_13_the_turns_of_a_run_end_with_a_summing_up() {
    let turns = [Turn::Calls(&[("echo", "{}")]), Turn::Calls(&[("echo", "{}")]), Turn::Answers("two echoes")];
    check(&turns, |scenario| scenario.limits(|limits| limits.max_turns = Some(2))).await;
}

#[tokio::test(start_paused = true)]
async fn whatever_else_happens_happens_in_words_too() {
    check(&[Turn::Answers("at once")], as_it_is).await;
    check(&[Turn::IsCut("one, "), Turn::Answers("two")], as_it_is).await;
    check(&[Turn::Refuses("not that")], as_it_is).await;
    check(&[Turn::Calls(&[("echo", "{}")]), Turn::Fails(Fault::Unavailable)], as_it_is).await;
    let slow = |scenario: Scenario| scenario.tool(Stub::with("slow", Duration::from_secs(9), End::Echo, None));
    let calls = [Turn::Calls(&[("slow", "{}"), ("echo", "{}")]), Turn::Answers("steered")];
    check(&calls, |scenario| slow(scenario).steer_at(millis(500), "hurry")).await;
    let and_more = [calls[0], calls[1], Turn::Answers("later too")];
    check(&and_more, |scenario| slow(scenario).follow_up_at(millis(500), "later")).await;
    check(&calls[..1], |scenario| slow(scenario).abort_at(millis(500))).await;
    check(&calls[..1], |scenario| scenario.tool(Stub::with("slow", millis(5), End::Panic("ouch".into()), None))).await;
}

#[tokio::test(start_paused = true)]
async fn a_reminder_of_the_form_is_one_turn() {
    let scenario = Scenario::new().says("hello").costs(usage(10, 2)).says("Final Answer: Hello.").costs(usage(30, 4));
    let played = scenario.in_words().play().await;
    let turns = played.events.iter().filter(|event| matches!(event, AgentEvent::TurnStarted { .. }));
    assert_eq!((turns.count(), played.context()), (1, vec!["user: hi".to_owned(), "assistant: Hello.".to_owned()]));
    let replied = played.events.iter().find_map(|event| match event {
        AgentEvent::Replied { usage, .. } => Some(*usage),
        _ => None,
    });
    assert_eq!((replied, played.session.usage()), (Some(usage(40, 6)), usage(40, 6)), "both were paid for");
    assert_eq!(played.session.reported().map(|last| last.usage), Some(usage(30, 4)), "one of them is in the window");
}
