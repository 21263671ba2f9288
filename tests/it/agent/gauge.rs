//! How full the window is: what the provider says, what is guessed of the rest, and when that is not enough.

use std::sync::Arc;

use tillerman::agent::{Count, Keep, Limits, Trigger};
use tillerman::message::{Message, Usage};
use tillerman::session::{Record, Session};

use super::stage::{End, Played, Scenario, Stub, millis, usage};

/// Room is made from 7,500 tokens on.
fn small(limits: &mut Limits) {
    limits.context_window = 10_000;
    limits.max_tokens = 1_000;
    limits.compacting.keep = Keep::Recent(100);
}

/// A provider reports a request of about so many tokens, then a tool says something.
fn told(reported: Usage, output: String) -> Scenario {
    then(reported, End::Say(output))
}

/// The same with whatever the tool does.
fn then(reported: Usage, end: End) -> Scenario {
    let words = usize::try_from(reported.prompt().max(900)).unwrap();
    Scenario::new()
        .tool(Stub::with("old", millis(1), End::Say("word ".repeat(words)), None))
        .tool(Stub::with("read", millis(1), end, None))
        .limits(small)
        .calls("", &[("c0", "old", "{}")])
        .calls("", &[("c1", "read", "{}")])
        .costs(reported)
}

fn was_shortened(played: &Played) -> bool {
    assert!(played.ended.is_ok(), "{:?}", played.ended);
    played.story().iter().any(|line| line.starts_with("compacted"))
}

#[tokio::test(start_paused = true)]
async fn where_a_guess_says_too_long_and_a_count_does_not_nothing_is_shortened() {
    // Guessed as 2,200 tokens, counted as 550.
    let played = told(usage(5_500, 10), "A".repeat(4_000)).says("done").play().await;
    assert!(!was_shortened(&played));
    let sure = told(usage(7_500, 10), "A".repeat(4_000)).says("sum").says("done").play().await;
    assert!(was_shortened(&sure));
}

#[tokio::test(start_paused = true)]
async fn where_a_guess_says_short_enough_and_a_count_does_not_room_is_made() {
    // A rare character, guessed as less than a token and counted as three.
    let played = told(usage(6_700, 10), "龘".repeat(800)).says("sum").says("done").play().await;
    assert!(was_shortened(&played));
    let far = told(usage(3_000, 10), "龘".repeat(800)).says("done").play().await;
    assert!(!was_shortened(&far));
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_reports_nothing_is_counted_for() {
    // A piece of code, always the same length.
    let code = include_str!("../../../src/agent/run.rs");
    let text = &code[..code.floor_char_boundary(7_000)];
    let long = told(usage(0, 5), text.repeat(5)).says("sum").says("done").play().await;
    assert!(was_shortened(&long), "about 9,500 tokens");
    let short = told(usage(0, 5), text.repeat(3)).says("done").play().await;
    assert!(!was_shortened(&short), "about 5,700 tokens");
}

#[tokio::test(start_paused = true)]
async fn a_report_that_cannot_be_of_the_whole_request_is_not_believed() {
    let flood = || Stub::with("flood", millis(1), End::Say("twelve small words ".repeat(2_000)), None);
    let played = Scenario::new()
        .tool(flood())
        .limits(small)
        .calls("", &[("c1", "flood", "{}")])
        .calls("", &[("c2", "flood", "{}")])
        // What a local server says that has the rest in its cache.
        .costs(usage(40, 5))
        .says("sum")
        .says("done")
        .play()
        .await;
    assert!(was_shortened(&played));
}

/// A session in which somebody reported so many tokens.
fn earlier(model: &str, reported: Usage) -> Session {
    let mut session = Session::in_memory();
    let message = Arc::new(Message::assistant("yes"));
    session.append(Record::user("hello again ".repeat(500))).unwrap();
    session.append(Record::Assistant { message, usage: reported, model: model.into(), cost: None }).unwrap();
    session.append(Record::user("hi")).unwrap();
    session
}

#[tokio::test(start_paused = true)]
async fn what_the_model_reported_in_an_earlier_run_holds() {
    let session = earlier("scripted/test", usage(7_600, 10));
    let played = Scenario::new().session(session).limits(small).says("sum").says("done").play().await;
    assert!(was_shortened(&played));
    for (model, reported) in [("scripted/other", usage(7_600, 10)), ("scripted/test", usage(0, 10))] {
        let session = earlier(model, reported);
        let played = Scenario::new().session(session).limits(small).says("done").play().await;
        assert!(!was_shortened(&played), "{model}");
    }
}

/// 1,600 tokens each, by whichever figure: a tool may show more of them in one turn than the window has room for.
#[tokio::test(start_paused = true)]
async fn pictures_that_tools_show_fill_the_window() {
    let tokens = |count| Trigger::Tokens(7_500, count);
    let triggers = [Trigger::Window(75), tokens(Count::Gauge), tokens(Count::Characters), tokens(Count::Cl100k)];
    for trigger in triggers {
        for (pictures, fills) in [(3, false), (5, true)] {
            let scenario = then(usage(1_000, 10), End::Show(pictures)).limits(move |limits| {
                small(limits);
                limits.compacting.trigger = trigger;
            });
            let scenario = if fills { scenario.says("sum") } else { scenario };
            let played = scenario.says("done").play().await;
            assert_eq!(was_shortened(&played), fills, "{trigger:?}, {pictures} pictures");
        }
    }
}
