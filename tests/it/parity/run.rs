//! Promises about one run of the loop: when the model is called, what it is shown, and what observers see.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tillerman::agent::inbox::Tiller;
use tillerman::agent::{Limits, Outcome, RunError};
use tillerman::event::{AgentEvent, Ending};
use tillerman::message::{Message, NoteId, RawArgs, ToolSpec};
use tillerman::model::Fault;
use tillerman::model::scripted::Step;
use tillerman::session::Session;
use tillerman::tool::{FnTool, Tool, ToolContext, ToolError, ToolOutput};

use super::scene::{Scene, tool};

fn bell() -> Arc<dyn Tool> {
    tool("bell", || Ok(ToolOutput::new("ding", json!({"volume": 3}))))
}

fn ring() -> Step {
    Step::calls("bell", json!({}))
}

/// A tool that uses the tiller of its own run.
fn steering(act: impl Fn(&Tiller) + Send + Sync + 'static) -> (Arc<dyn Tool>, Arc<OnceLock<Tiller>>) {
    let cell: Arc<OnceLock<Tiller>> = Arc::default();
    let (own, act) = (Arc::clone(&cell), Arc::new(act));
    let tool = tool("bell", move || {
        act(own.get().unwrap());
        Ok(ToolOutput::text("ding"))
    });
    (tool, cell)
}

/// Plays with a tool that steers while it runs.
async fn steered(replies: Vec<Step>, act: impl Fn(&Tiller) + Send + Sync + 'static) -> super::scene::Played {
    let (tool, cell) = steering(act);
    let scene = Scene::new(replies, vec![tool]);
    cell.set(scene.tiller.clone()).ok().unwrap();
    scene.play().await
}

#[tokio::test]
async fn s0_01_an_answer_without_tools_is_one_model_call() {
    let played = Scene::new([Step::says("hello")], vec![bell()]).play().await;
    assert_eq!((played.answer(), played.asked.len()), ("hello", 1));
}

#[tokio::test]
async fn s0_01_results_are_fed_back_until_no_tool_is_asked_for() {
    let played = Scene::new([ring(), ring(), Step::says("rung")], vec![bell()]).play().await;
    assert_eq!((played.answer(), played.asked.len()), ("rung", 3));
    assert_eq!([played.news(0), played.news(1), played.news(2)], [["go"], ["ding"], ["ding"]]);
}

#[tokio::test]
async fn s0_15_to_s0_23_observers_see_a_run_in_order() {
    let replies = [Step::says("let me ring").and_calls("bell", json!({})), Step::says("rung")];
    let played = Scene::new(replies, vec![bell()]).play().await;
    let expected = [
        "run_started",
        "turn_started",
        "text",
        "call_opened",
        "replied",
        "tool_started",
        "tool_finished",
        "progressed",
        "turn_ended",
        "turn_started",
        "text",
        "replied",
        "progressed",
        "turn_ended",
        "run_ended",
    ];
    assert_eq!(played.kinds(), expected);
    assert_eq!(
        played.events.last(),
        Some(&AgentEvent::RunEnded { ending: Ending::Completed { answer: "rung".into() } })
    );
}

#[tokio::test]
async fn s0_18_s0_20_a_tool_is_told_with_its_input_its_details_and_how_long_it_took() {
    let played = Scene::new([ring(), Step::says("rung")], vec![bell()]).play().await;
    let started = played.events.iter().find_map(|event| match event {
        AgentEvent::ToolStarted { call } => Some((call.name.clone(), call.args.0.clone())),
        _ => None,
    });
    assert_eq!(started, Some(("bell".into(), "{}".into())));
    let finished = played.events.iter().find_map(|event| match event {
        AgentEvent::ToolFinished { result, .. } => Some((result.is_error, result.details.clone())),
        _ => None,
    });
    assert_eq!(finished, Some((false, json!({"volume": 3}))));
}

#[tokio::test]
async fn s0_21_s0_23_s4_16_a_model_that_fails_is_an_event_an_ending_and_an_error() {
    let played = Scene::new([Step::fails(Fault::Billing, "no credit left")], vec![]).play().await;
    assert!(matches!(&played.outcome, Err(RunError::Model(error)) if error.fault == Fault::Billing));
    assert_eq!(played.kinds(), ["run_started", "turn_started", "failed", "run_ended"]);
    assert!(
        matches!(played.events.last(), Some(AgentEvent::RunEnded { ending: Ending::Failed { why } }) if why.contains("no credit left"))
    );
}

#[tokio::test]
async fn s0_24_the_conversation_only_grows_and_can_be_read() {
    let played = Scene::new([ring(), Step::says("rung")], vec![bell()]).play().await;
    let context: Vec<Message> = played.session.context().iter().map(|message| (**message).clone()).collect();
    for asked in &played.asked {
        let shown: Vec<Message> = asked.messages.iter().map(|message| (**message).clone()).collect();
        assert_eq!(context[..shown.len()], shown);
    }
    assert_eq!(context.iter().map(Message::text).collect::<Vec<_>>(), ["go", "", "", "rung"]);
}

#[tokio::test]
async fn s2_51_a_line_and_each_segment_of_the_answer_are_entries_of_their_own() {
    let played = Scene::new([ring(), Step::says("rung")], vec![bell()]).play().await;
    let flat = serde_json::to_value(played.session.flat().unwrap().messages).unwrap();
    let rings = json!([{"tool": "bell", "input": {}, "output": "ding"}]);
    let expected = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "", "tool_calls": rings},
        {"role": "assistant", "content": "rung"},
    ]);
    assert_eq!(flat, expected);
}

/// Two calls in one answer: how many were running at once.
async fn most_at_once(parallel: bool) -> usize {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let slow = FnTool::new("slow", "Takes its time.", true, move |_: Map<String, Value>, _cx| {
        let (now, most) = (Arc::clone(&now), Arc::clone(&seen));
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(1)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, ToolError>("done".to_owned())
        }
    });
    let two = Step::calls("slow", json!({})).and_calls("slow", json!({}));
    let mut scene = Scene::new([two, Step::says("both")], vec![Arc::new(slow)]);
    scene.agent.limits.parallel = parallel;
    assert_eq!(scene.play().await.answer(), "both");
    most.load(Ordering::SeqCst)
}

#[tokio::test(start_paused = true)]
async fn s0_25_calls_of_one_answer_run_side_by_side_or_one_by_one_as_set() {
    assert_eq!((most_at_once(true).await, most_at_once(false).await), (2, 1));
}

#[tokio::test]
async fn s0_26_s0_46_s3_41_a_steer_is_heard_after_the_tool_and_before_the_next_call() {
    let said = |tiller: &Tiller| assert_eq!(tiller.steer("louder"), Ok(NoteId(1)));
    let played = steered(vec![ring(), Step::says("LOUD")], said).await;
    assert_eq!(played.news(1)[0], "ding");
    assert!(played.news(1)[1].contains("louder"), "{:?}", played.news(1));
    assert_eq!((played.answer(), played.asked.len()), ("LOUD", 2));
}

#[tokio::test]
async fn s0_47_a_steer_clears_the_follow_ups_before_it() {
    let said = |tiller: &Tiller| {
        tiller.follow_up("later").unwrap();
        tiller.steer("now").unwrap();
    };
    let played = steered(vec![ring(), Step::says("done")], said).await;
    assert_eq!((played.answer(), played.asked.len()), ("done", 2));
    assert!(!played.news(1).join(" ").contains("later"), "{:?}", played.news(1));
}

#[tokio::test]
async fn s0_48_a_follow_up_is_heard_when_the_run_would_have_ended() {
    let said = |tiller: &Tiller| assert_eq!(tiller.follow_up("and then?"), Ok(NoteId(1)));
    let played = steered(vec![ring(), Step::says("first"), Step::says("second")], said).await;
    assert_eq!((played.answer(), played.asked.len()), ("second", 3));
    assert_eq!(played.news(1), ["ding"]);
    assert!(played.news(2).join(" ").contains("and then?"));
}

#[tokio::test]
async fn s0_14_an_abort_is_heeded_before_the_first_turn() {
    let scene = Scene::new([Step::says("never")], vec![]);
    scene.tiller.abort();
    let played = scene.play().await;
    assert_eq!((played.outcome.unwrap(), played.asked.len()), (Outcome::Aborted, 0));
}

#[tokio::test]
async fn s0_49_s3_40_an_abort_from_another_thread_ends_a_run_that_waits_for_its_model() {
    let scene = Scene::new([Step::says("never").paced(Duration::from_secs(3600))], vec![]);
    let tiller = scene.tiller.clone();
    let from_outside = std::thread::spawn(move || tiller.abort());
    let played = scene.play().await;
    from_outside.join().unwrap();
    assert_eq!(played.outcome.unwrap(), Outcome::Aborted);
    assert_eq!(played.events.last(), Some(&AgentEvent::RunEnded { ending: Ending::Aborted }));
}

#[tokio::test]
async fn s1_01_s4_13_at_the_turn_limit_one_turn_without_tools_sums_up() {
    let mut scene = Scene::new([ring(), ring(), Step::says("so far: two rings")], vec![bell()]);
    scene.agent.limits = Limits { max_turns: Some(2), ..Limits::default() };
    let played = scene.play().await;
    assert_eq!(played.outcome.unwrap(), Outcome::TurnLimit("so far: two rings".into()));
    assert_eq!(played.asked.iter().map(|asked| asked.tools.len()).collect::<Vec<_>>(), [1, 1, 0]);
}

#[tokio::test]
async fn s4_14_an_unknown_tool_is_answered_with_the_tools_there_are() {
    let replies = [Step::calls("gong", json!({})), Step::says("sorry")];
    let played = Scene::new(replies, vec![bell(), tool("horn", || Ok(ToolOutput::text("toot")))]).play().await;
    let said = played.news(1).remove(0);
    assert!(["gong", "bell", "horn"].iter().all(|name| said.contains(name)), "{said}");
}

#[tokio::test]
async fn s4_15_a_tool_that_fails_is_an_error_result_and_the_run_goes_on() {
    let broken = tool("bell", || Err(ToolError::new("the bell has no clapper; hang one first")));
    let played = Scene::new([ring(), Step::says("no bell then")], vec![broken]).play().await;
    assert_eq!(
        (played.answer(), played.news(1)),
        ("no bell then", vec!["the bell has no clapper; hang one first".to_owned()])
    );
}

/// Replaces the result of the tool inside.
struct Muffled(Arc<dyn Tool>);

impl Tool for Muffled {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move { self.0.call(args, cx).await.map(|output| ToolOutput { text: "(muffled)".into(), ..output }) }
            .boxed()
    }
}

#[tokio::test]
async fn s3_08_a_tool_around_a_tool_replaces_its_result() {
    let played = Scene::new([ring(), Step::says("quiet")], vec![Arc::new(Muffled(bell()))]).play().await;
    assert_eq!(played.news(1), ["(muffled)"]);
}

/// A tool that notes what is in the journal while it runs.
fn reader(path: std::path::PathBuf, seen: Arc<Mutex<String>>) -> Arc<dyn Tool> {
    tool("bell", move || {
        *seen.lock().unwrap() = std::fs::read_to_string(&path).unwrap();
        Ok(ToolOutput::text("ding"))
    })
}

#[tokio::test]
async fn s0_13_what_was_said_is_written_before_it_has_consequences() {
    let folder = tempfile::tempdir().unwrap();
    let session = Session::create(folder.path()).unwrap();
    let path = session.path().unwrap().to_owned();
    let seen = Arc::new(Mutex::new(String::new()));
    let tool = reader(path.clone(), Arc::clone(&seen));
    let played = Scene::on(session, [ring(), Step::says("rung")], vec![tool]).play().await;
    assert_eq!(played.answer(), "rung");
    let types = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|line| line["type"].as_str().unwrap().to_owned()).collect()
    };
    let at_the_tool = types(&seen.lock().unwrap());
    let after = types(&std::fs::read_to_string(path).unwrap());
    assert!(at_the_tool.contains(&"assistant".to_owned()) && !at_the_tool.contains(&"tool_result".to_owned()));
    let said: Vec<&String> =
        after.iter().filter(|kind| ["user", "assistant", "tool_result"].contains(&kind.as_str())).collect();
    assert_eq!(said, ["user", "assistant", "tool_result", "assistant"]);
}
