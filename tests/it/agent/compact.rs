//! Making room: when, what stays, and what happens when it does not help.

use std::sync::Arc;

use tillerman::agent::{Keep, Limits, RunError, Summariser};
use tillerman::event::AgentEvent;
use tillerman::model::scripted::{Scripted, Step};
use tillerman::model::{Fault, Model};
use tillerman::session::{Kind, Session};

use super::stage::{End, Scenario, Stub, answered, millis, usage};

fn small(limits: &mut Limits) {
    limits.context_window = 10_000;
    limits.max_tokens = 1_000;
    limits.compacting.keep = Keep::Recent(100);
}

/// A run that reads a file of 9,000 bytes before its window is full.
fn long() -> Scenario {
    Scenario::new()
        .tool(Stub::with("read_file", millis(1), End::Say("x".repeat(9_000)), None))
        .limits(small)
        .calls("reading", &[("c1", "read_file", r#"{"path":"src/a.rs"}"#)])
        .calls("again", &[("c2", "echo", "{}")])
        .costs(usage(7_600, 10))
}

#[tokio::test(start_paused = true)]
async fn at_three_quarters_of_the_window_the_older_part_becomes_a_summary() {
    let played = long().says("We read a.rs.").says("done").play().await;
    assert_eq!(played.outcome(), answered("done"));
    let summary = "user: [Previous conversation summary]\nWe read a.rs.\n\n\
                   [What people said, word for word]\n- hi\n\n[Files read]\nsrc/a.rs";
    assert_eq!(played.requests[3], [summary, "assistant: again [c2 echo {}]", "c2 = {}"]);
    assert_eq!(played.offered, [2, 2, 0, 2], "the summary is asked for without tools");
    let asked = &played.requests[2][0];
    assert!(asked.contains("User: hi") && asked.contains("[calls read_file") && asked.len() < 4_000, "{asked}");
    assert!(played.story().contains(&"compacted true".to_owned()));
    assert_eq!(played.session.origins()[0].kind, Kind::Compaction);
}

#[tokio::test(start_paused = true)]
async fn a_shortened_conversation_is_the_same_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::create(dir.path()).unwrap();
    session.append(tillerman::session::Record::user("hi")).unwrap();
    let path = session.path().unwrap().to_owned();
    let played = long().session(session).says("We read a.rs.").says("done").play().await;
    let before = played.session.context().to_vec();
    let origins = played.session.origins().to_vec();
    drop(played);
    let session = Session::open(&path).unwrap();
    assert_eq!(session.context(), before);
    assert_eq!(session.origins(), origins);
}

#[tokio::test(start_paused = true)]
async fn a_failing_summary_costs_one_try_and_the_run_goes_on() {
    let played = long().fails(Fault::Unavailable).says("done").play().await;
    assert_eq!(played.outcome(), answered("done"));
    let begin = &played.requests[3][0];
    assert!(begin.contains("there is no summary of them") && begin.contains("- hi"), "{begin}");
    assert_eq!(played.requests.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn an_overflow_makes_room_once_and_asks_again() {
    let played = Scenario::new()
        .tool(Stub::with("flood", millis(1), End::Say("y".repeat(60_000)), None))
        .calls("", &[("c1", "flood", "{}")])
        .fails(Fault::Overflow)
        .says("done")
        .play()
        .await;
    assert_eq!(played.outcome(), answered("done"));
    assert!(played.requests[2].iter().all(|line| line.len() < 5_000));
    assert_eq!(played.requests.len(), 3, "what is left is one turn, which is cut and not summed up");
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_cannot_be_shortened_says_so() {
    let played = Scenario::new().fails(Fault::Overflow).play().await;
    let Err(RunError::NoRoom { window, .. }) = &played.ended else { panic!("{:?}", played.ended) };
    assert_eq!(*window, 200_000);
}

#[tokio::test(start_paused = true)]
async fn an_overflow_after_making_room_ends_the_run() {
    let played = Scenario::new()
        .tool(Stub::with("flood", millis(1), End::Say("y".repeat(60_000)), None))
        .calls("", &[("c1", "flood", "{}")])
        .fails(Fault::Overflow)
        .fails(Fault::Overflow)
        .play()
        .await;
    assert!(matches!(played.ended, Err(RunError::NoRoom { .. })), "{:?}", played.ended);
}

#[tokio::test(start_paused = true)]
async fn a_long_run_is_shortened_again_and_again_and_forgets_no_line_of_a_person() {
    let mut scenario =
        Scenario::new().tool(Stub::with("read_file", millis(1), End::Say("z".repeat(6_000)), None)).limits(small);
    let names: Vec<String> = (0..40).map(|turn| format!(r#"{{"path":"f{turn}.rs"}}"#)).collect();
    for args in &names {
        // Every call fills more of the window; a summary is asked for in between, with the same text.
        scenario = scenario.calls("next", &[("c", "read_file", args)]);
    }
    let played = scenario.says("done").says("end").steer_at(millis(250), "keep the API").play().await;
    assert!(played.ended.is_ok(), "{:?}", played.ended);
    let compactions = played.story().iter().filter(|line| line.starts_with("compacted")).count();
    assert!((3..20).contains(&compactions), "{compactions}");
    let begin = &played.context()[0];
    assert!(begin.contains("\n- hi\n- keep the API\n"), "{begin}");
    let largest = played.requests.iter().map(|lines| lines.iter().map(String::len).sum::<usize>()).max().unwrap();
    assert!(largest < 45_000, "{largest}");
}

/// The long run with another model that sums up, and that model.
fn summed_by(steps: Vec<Step>, context_window: u64) -> (Scenario, Arc<Scripted>) {
    let scripted = Arc::new(Scripted::replies(steps));
    let model = Arc::clone(&scripted) as Arc<dyn Model>;
    let mut scenario = long();
    scenario.summariser = Some(Summariser { model, context_window });
    (scenario, scripted)
}

#[tokio::test(start_paused = true)]
async fn another_model_sums_up_within_its_own_window_and_its_tokens_count() {
    let (scenario, summariser) = summed_by(vec![Step::says("We read a.rs.").with_usage(usage(700, 30))], 1_500);
    let played = scenario.says("done").play().await;
    assert_eq!(played.outcome(), answered("done"));
    assert!(played.requests[2][0].starts_with("user: [Previous conversation summary]\nWe read a.rs."));
    assert_eq!(played.requests.len(), 3, "the model that thinks is not asked for it");
    let asked = summariser.asked();
    assert_eq!((asked.len(), asked[0].tools.len()), (1, 0));
    let transcript = asked[0].messages[0].text();
    assert!(transcript.contains("User: hi") && transcript.len() < 1_700, "{}: {transcript}", transcript.len());
    assert_eq!(played.session.usage(), tillerman::message::Usage { input: 8_300, output: 50, ..usage(0, 0) });
}

#[tokio::test(start_paused = true)]
async fn when_the_other_model_cannot_sum_up_the_one_that_thinks_does() {
    for broken in [vec![Step::fails(Fault::Unavailable, "down")], vec![Step::says(" ")]] {
        let (scenario, summariser) = summed_by(broken, 200_000);
        let played = scenario.says("We read a.rs.").says("done").play().await;
        assert_eq!(played.outcome(), answered("done"));
        assert!(played.requests[3][0].starts_with("user: [Previous conversation summary]\nWe read a.rs."));
        assert_eq!((played.requests.len(), summariser.asked().len()), (4, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn after_an_overflow_the_summary_is_made_of_less_than_did_not_fit() {
    let big = || Stub::with("flood", millis(1), End::Say("y".repeat(1_900)), None);
    let mut scenario = Scenario::new().tool(big()).limits(|limits| limits.flat_turns = 0);
    for _ in 0..30 {
        scenario = scenario.calls("more", &[("c", "flood", "{}")]);
    }
    let played = scenario.fails(Fault::Overflow).says("Floods.").says("done").play().await;
    assert_eq!(played.outcome(), answered("done"));
    let refused: usize = played.requests[30].iter().map(String::len).sum();
    let transcript = played.requests[31][0].len();
    assert!(transcript < refused / 2, "{transcript} of {refused}");
}

#[tokio::test(start_paused = true)]
async fn what_a_summary_took_is_told_and_one_that_helps_nothing_is_paid_too() {
    let played = long().says("We read a.rs.").costs(usage(2_000, 7)).says("done").play().await;
    let told = played.events.iter().find_map(|event| match event {
        AgentEvent::Compacted { model, usage, cost, .. } => Some((model.clone(), *usage, *cost)),
        _ => None,
    });
    assert_eq!(told, Some((Some("scripted/test".to_owned()), usage(2_000, 7), None)));
    let calls = played.session.bill().total();
    assert_eq!((calls.calls, calls.usage), (4, usage(9_600, 27)));
}
