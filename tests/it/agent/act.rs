//! Calls: side by side or in order, and each is answered whatever happens to it.

use std::sync::Arc;

use tillerman::agent::RunError;
use tillerman::message::Message;
use tillerman::model::Fault;
use tillerman::session::Session;

use super::stage::{End, Scenario, Stub, answered, millis};

const ARGS: &str = "{}";

#[tokio::test(start_paused = true)]
async fn calls_of_one_answer_run_side_by_side_with_results_in_call_order() {
    let played = Scenario::new()
        .tool(Stub::with("slow", millis(500), End::Say("slow".into()), None))
        .tool(Stub::with("quick", millis(100), End::Say("quick".into()), None))
        .calls("", &[("c1", "slow", ARGS), ("c2", "quick", ARGS), ("c3", "slow", ARGS)])
        .says("done")
        .play()
        .await;
    assert_eq!(played.took, millis(100 + 500 + 100));
    assert_eq!(played.requests[1][2..], ["c1 = slow", "c2 = quick", "c3 = slow"]);
    let ended: Vec<String> = played.story().into_iter().filter(|line| line.starts_with("finished")).collect();
    assert_eq!(ended, ["finished c2 in 100ms: quick", "finished c1 in 500ms: slow", "finished c3 in 500ms: slow"]);
}

#[tokio::test(start_paused = true)]
async fn calls_that_write_the_same_path_keep_their_order() {
    let played = Scenario::new()
        .tool(Stub::with("write_a", millis(100), End::Say("a".into()), Some("/tmp/a")))
        .tool(Stub::with("write_b", millis(100), End::Say("b".into()), Some("/tmp/b")))
        .calls("", &[("c1", "write_a", ARGS), ("c2", "write_b", ARGS), ("c3", "write_a", ARGS)])
        .says("done")
        .play()
        .await;
    let story: Vec<String> =
        played.story().into_iter().filter(|line| line.contains("write_") || line.contains("in 100ms: ")).collect();
    assert_eq!(
        story[4..],
        [
            "started c1 write_a",
            "started c2 write_b",
            "finished c1 in 100ms: a",
            "started c3 write_a",
            "finished c2 in 100ms: b",
            "finished c3 in 100ms: a",
            "replied 5 tokens in 100ms: done"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn one_at_a_time_when_the_limits_say_so() {
    let played = Scenario::new()
        .tool(Stub::with("slow", millis(500), End::Echo, None))
        .calls("", &[("c1", "slow", ARGS), ("c2", "slow", ARGS)])
        .says("done")
        .limits(|limits| limits.parallel = false)
        .play()
        .await;
    assert_eq!(played.took, millis(100 + 1_000 + 100));
}

/// A37.
#[tokio::test(start_paused = true)]
async fn a_failing_tool_and_an_unknown_one_are_answered_and_siblings_run() {
    let played = Scenario::new()
        .tool(Stub::with("read_file", millis(1), End::Fail("no file a; see list".into()), None))
        .calls("", &[("c1", "read_file", ARGS), ("c2", "raed_files", ARGS), ("c3", "echo", ARGS)])
        .says("done")
        .play()
        .await;
    assert_eq!(played.outcome(), answered("done"));
    assert_eq!(
        played.requests[1][2..],
        ["c1 ! no file a; see list", "c2 ! there is no tool raed_files; there are read_file, echo", "c3 = {}"]
    );
}

/// A35.
#[tokio::test(start_paused = true)]
async fn arguments_that_are_not_json_are_never_executed() {
    let played = Scenario::new()
        .calls("", &[("c1", "echo", r#"{"path": "a", "te"#), ("c2", "echo", "{\"a\":1,}"), ("c3", "echo", ARGS)])
        .says("done")
        .play()
        .await;
    let answers = &played.requests[1][2..];
    assert!(answers[0].starts_with("c1 ! the arguments of echo are not JSON: EOF"), "{answers:?}");
    assert!(answers[1].starts_with("c2 ! the arguments of echo are not JSON: key must"), "{answers:?}");
    assert_eq!(answers[2], "c3 = {}");
    assert!(!played.story().contains(&"started c1 echo".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn r15_a_panicking_tool_fails_the_run_and_leaves_the_session_valid() {
    let played = Scenario::new()
        .tool(Stub::with("bad", millis(10), End::Panic("index out of bounds".into()), None))
        .tool(Stub::with("slow", millis(60_000), End::Echo, None))
        .calls("", &[("c1", "bad", ARGS), ("c2", "slow", ARGS)])
        .play()
        .await;
    let Err(RunError::ToolPanicked { tool, message }) = &played.ended else { panic!("{:?}", played.ended) };
    assert_eq!((tool.as_str(), message.as_str()), ("bad", "index out of bounds"));
    assert_eq!(
        played.context()[2..],
        ["c1 ! tool bad panicked: index out of bounds", "c2 ! stopped: tool bad panicked"]
    );
    assert_eq!(played.story().last().unwrap(), "ended failed tool bad has a fault and panicked: index out of bounds");
    assert!(played.took < millis(200), "{:?}", played.took);
}

#[tokio::test(start_paused = true)]
async fn r15_a_tool_that_never_ends_is_stopped_and_its_run_goes_on() {
    let hours = std::time::Duration::from_secs(100 * 3_600);
    let scenario = Scenario::new().tool(Stub::with("slow", hours, End::Echo, None));
    let played = scenario.calls("", &[("c1", "slow", "{}"), ("c2", "echo", "1")]).says("done").play().await;
    assert_eq!(played.outcome(), answered("done"));
    let results = &played.context()[2..4];
    let stopped = "c1 ! slow did not end within 60 minutes and was stopped; ask for less at once";
    assert!(results.contains(&stopped.to_owned()) && results.contains(&"c2 = 1".to_owned()), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn an_output_is_cut_in_the_middle_whatever_the_tool_sends() {
    let played = Scenario::new()
        .tool(Stub::with("flood", millis(1), End::Say("ü".repeat(1 << 20)), None))
        .calls("", &[("c1", "flood", ARGS)])
        .says("done")
        .play()
        .await;
    let result = &played.requests[1][2];
    assert!(result.len() < (256 << 10) + 100, "{}", result.len());
    assert!(result.contains("\n[… 1835008 of 2097152 bytes left out …]\n"));
}

/// How many pictures each message of the conversation has.
fn pictures(session: &Session) -> Vec<usize> {
    let count = |message: &Arc<Message>| message.parts().map(|(_, own)| own.len()).sum();
    session.context().iter().map(count).collect()
}

#[tokio::test(start_paused = true)]
async fn pictures_that_tools_show_stand_with_their_results_as_many_as_go_together() {
    let played = Scenario::new()
        .tool(Stub::with("look", millis(1), End::Show(5), None))
        .calls("", &[("c1", "look", ARGS), ("c2", "look", ARGS)])
        .calls("", &[("c3", "look", ARGS)])
        .says("done")
        .play()
        .await;
    let left_out = "seen\n[image left out: the other calls showed as many as go together; ask for it again]";
    assert_eq!(played.requests[1][2..], ["c1 = seen".to_owned(), format!("c2 = {left_out}")]);
    assert_eq!(pictures(&played.session), [0, 0, 5, 3, 0, 5, 0]);
}

#[tokio::test(start_paused = true)]
async fn pictures_go_when_a_request_is_too_large() {
    let played = Scenario::new()
        .tool(Stub::with("look", millis(1), End::Show(2), None))
        .calls("", &[("c1", "look", ARGS)])
        .fails(Fault::Overflow)
        .says("done")
        .play()
        .await;
    assert_eq!(played.outcome(), answered("done"));
    let left = "c1 = seen\n[the image was left out to make room; read it again to see it]";
    assert!(played.requests[2].contains(&left.to_owned()), "{:?}", played.requests[2]);
    assert!(pictures(&played.session).iter().all(|count| *count == 0));
}
