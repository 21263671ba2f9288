//! The sources' ways of shortening a conversation, each with the whole conversation that comes of it.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tillerman::agent::{self, Agent, Compacting, Limits, Shortened, Trigger, inbox};
use tillerman::event::Events;
use tillerman::message::{Block, CallId, Message, RawArgs, Role, ToolCall, ToolResult, Usage};
use tillerman::model::Model;
use tillerman::model::scripted::{Scripted, Step};
use tillerman::model::tokens::{Counter, Size};
use tillerman::session::{Kind, Record, Session};
use tillerman::tool::Toolbox;

use super::shown::lines;
use super::stage::{End, Scenario, Stub, answered, millis, usage};

fn by(compacting: Compacting) -> impl FnOnce(&mut Limits) {
    move |limits| limits.compacting = compacting
}

fn reply(message: Message) -> Record {
    Record::Assistant { message: Arc::new(message), usage: Usage::default(), model: "a/b".into(), cost: None }
}

fn say(session: &mut Session, lines: &[&str]) {
    for (at, line) in lines.iter().enumerate() {
        let record = if at % 2 == 0 { Record::user(*line) } else { reply(Message::assistant(*line)) };
        session.append(record).unwrap();
    }
}

/// A call of a tool and what it answered.
fn call(session: &mut Session, id: &str, output: &str) {
    let args = RawArgs(r#"{"path":"a.rs"}"#.to_owned());
    let block = Block::Call(ToolCall { id: CallId(id.to_owned()), name: "read_file".to_owned(), args });
    session.append(reply(Message { role: Role::Assistant, blocks: vec![block] })).unwrap();
    let (call, output) = (CallId(id.to_owned()), output.to_owned());
    let result = ToolResult { call, output, details: Value::Null, is_error: false };
    session.append(Record::ToolResult { message: Arc::new(Message::result(result)) }).unwrap();
}

/// Characters of all texts of a conversation.
fn characters(session: &Session) -> usize {
    session.context().iter().map(|message| message.text().chars().count()).sum()
}

/// S0-50, S0-51, S0-52: after the answer, beyond 100,000 tokens of four characters, the last four messages stay.
#[tokio::test(start_paused = true)]
async fn s0_50_s0_51_s0_52_after_the_answer_the_last_four_messages_stay() {
    for (extra, shortened) in [(0, false), (4, true)] {
        let mut session = Session::in_memory();
        say(&mut session, &["one", "a", "two", "b"]);
        // With the answer to come it is 400,000 characters, and four more.
        let rest = 400_000 - characters(&session) - "three".len() - "c".len() + extra;
        say(&mut session, &[&"x".repeat(rest), "y", "three"]);
        session.append(Record::user("")).unwrap();
        let played = Scenario::new().session(session).limits(by(Compacting::S0)).says("c").says(" All. ").play();
        let played = played.await;
        assert_eq!(played.outcome(), answered("c"));
        assert_eq!(played.requests.len(), if shortened { 2 } else { 1 }, "the answer comes first");
        if shortened {
            let expected = [
                "user: [Previous conversation summary]\nAll.",
                "assistant: y",
                "user: three",
                "user: ",
                "assistant: c",
            ];
            assert_eq!(played.context(), expected);
        }
    }
}

/// A call is not parted from its answer, so five stay where the fourth from the end is an answer.
#[tokio::test(start_paused = true)]
async fn s0_51_an_answer_keeps_its_call() {
    let mut session = Session::in_memory();
    say(&mut session, &["one", &"x".repeat(400_000), "two"]);
    call(&mut session, "c1", "out");
    session.append(reply(Message::assistant("b"))).unwrap();
    say(&mut session, &["three"]);
    let played = Scenario::new().session(session).limits(by(Compacting::S0)).says("c").says("Sum").play().await;
    let called = "assistant: [c1 read_file {\"path\":\"a.rs\"}]";
    let summary = "user: [Previous conversation summary]\nSum";
    assert_eq!(played.context(), [summary, called, "c1 = out", "assistant: b", "user: three", "assistant: c"]);
}

/// S1-12, S1-13, S1-14: beyond 80,000 tokens of cl100k_base all that people said stays, and what was done is summed up.
#[tokio::test]
async fn s1_12_s1_13_s1_14_beyond_80_000_tokens_all_user_messages_stay() {
    let fill = |tokens: usize| {
        let mut session = Session::in_memory();
        say(&mut session, &["first"]);
        call(&mut session, "c1", &" word".repeat(tokens));
        say(&mut session, &["second", "said", "third"]);
        session
    };
    let rest = usize::try_from(Size::cl100k(fill(0).context()).text).unwrap();
    let session = fill(80_000 - rest);
    assert_eq!(Size::cl100k(session.context()).text, 80_000);
    let played = Scenario::new().session(session).limits(by(Compacting::S1)).says("ok").play().await;
    assert_eq!((played.requests.len(), played.outcome()), (1, answered("ok")));
    let session = fill(80_001 - rest);
    let scenario = Scenario::new().session(session).limits(by(Compacting::S1));
    let played = scenario.says("read a.rs").says("spoke").says("ok").play().await;
    let expected = [
        "user: first",
        "user: [Assistant Execution Summary]\nread a.rs",
        "user: second",
        "user: [Assistant Execution Summary]\nspoke",
        "user: third",
    ];
    assert_eq!(played.requests[2], expected);
    assert_eq!(played.context().last().unwrap(), "assistant: ok");
    let kinds: Vec<Kind> = played.session.origins().iter().map(|origin| origin.kind).collect();
    use Kind::{Assistant, Compaction, User};
    assert_eq!(kinds, [User, Compaction, User, Compaction, User, Assistant]);
}

/// What is summed up once is not summed up again, also in the middle of a run.
#[tokio::test]
async fn s1_13_a_run_that_goes_on_is_summed_up_up_to_now() {
    let policy = Compacting { trigger: Trigger::Tokens(1_000, agent::Count::Cl100k), ..Compacting::S1 };
    let played = Scenario::new()
        .tool(Stub::with("read_file", millis(1), End::Say(" word".repeat(900)), None))
        .limits(by(policy))
        .calls("", &[("c1", "read_file", "{}")])
        .calls("more", &[("c2", "read_file", "{}")])
        .says("read twice")
        .says("done")
        .play()
        .await;
    assert_eq!(played.requests[3], ["user: hi", "user: [Assistant Execution Summary]\nread twice"]);
    assert_eq!(played.context(), ["user: hi", "user: [Assistant Execution Summary]\nread twice", "assistant: done"]);
}

/// `u1`, `a1`, … so many messages, beginning with a person.
fn chat(session: &mut Session, messages: usize) {
    let lines: Vec<String> = (0..messages).map(|at| format!("{}{}", ["u", "a"][at % 2], at / 2 + 1)).collect();
    say(session, &lines.iter().map(String::as_str).collect::<Vec<_>>());
}

/// S2-17, S2-25, S2-72, S2-26: at 40 messages, before the call, the oldest 20 become 500 characters in the model's role.
#[tokio::test]
async fn s2_17_s2_25_s2_72_at_40_messages_the_older_half_is_summed_up() {
    let mut session = Session::in_memory();
    chat(&mut session, 39);
    let played = Scenario::new().session(session).limits(by(Compacting::S2)).says("ok").play().await;
    assert_eq!((played.requests.len(), played.outcome()), (1, answered("ok")));
    let mut session = Session::in_memory();
    chat(&mut session, 39);
    session.append(Record::user("u21")).unwrap();
    let scenario = Scenario::new().session(session).limits(by(Compacting::S2));
    let played = scenario.says(&"s".repeat(600)).says("ok").play().await;
    assert!(played.requests[0][0].contains("Use at most 500 characters."), "{}", played.requests[0][0]);
    let summary = format!("assistant: [Summary of previous conversation]\n{}…", "s".repeat(499));
    let mut expected = vec![summary];
    expected.extend((20..39).map(|at| {
        let who = ["user: u", "assistant: a"][at % 2];
        format!("{who}{}", at / 2 + 1)
    }));
    expected.push("user: u21".to_owned());
    assert_eq!(played.requests[1], expected);
}

/// S2-25: the threshold is a setting. Calls and their outputs belong to the message that made them.
#[tokio::test]
async fn s2_25_another_threshold_and_messages_with_calls() {
    let policy = Compacting { trigger: Trigger::Messages(4), ..Compacting::S2 };
    let mut session = Session::in_memory();
    say(&mut session, &["u1"]);
    call(&mut session, "c1", "out");
    say(&mut session, &["u2", "a2"]);
    let played = Scenario::new().session(session).limits(by(policy)).says("sum").says("ok").play().await;
    assert_eq!(played.requests[1], ["assistant: [Summary of previous conversation]\nsum", "user: u2", "assistant: a2"]);
}

/// S2-26: what was summed up is kept as a file in the source's form.
#[tokio::test]
async fn s2_26_a_copy_of_what_was_summed_up_is_in_the_archive() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::create(dir.path()).unwrap();
    say(&mut session, &["u1"]);
    call(&mut session, "c1", "out");
    chat(&mut session, 38);
    let id = session.id().to_string();
    let scenario = Scenario::new().session(session).limits(by(Compacting::S2));
    let played = scenario.says("sum").says("ok").play().await;
    let compaction = played.session.compaction().unwrap();
    let path = dir.path().join(compaction.archive.as_ref().unwrap());
    assert!(path.starts_with(dir.path().join("archive").join(&id)), "{}", path.display());
    let copy: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!((&copy["session_id"], copy["messages"].as_array().unwrap().len()), (&json!(id), 20));
    let calls = json!([{"tool": "read_file", "input": {"path": "a.rs"}, "output": "out"}]);
    let first = json!([
        {"role": "user", "content": "u1"}, {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "user", "content": "u1"}, {"role": "assistant", "content": "a1"},
    ]);
    assert_eq!(copy["messages"].as_array().unwrap()[..4], first.as_array().unwrap()[..]);
}

/// S3-43, S3-44: at 75 % of the window, at the end of the turn; the files are told below the summary by the program.
#[tokio::test(start_paused = true)]
async fn s3_43_s3_44_at_the_end_of_a_turn_with_the_files() {
    let read = Stub::with("read_file", millis(1), End::Say("x".repeat(9_000)), None);
    let edit = Stub::with("edit_file", millis(1), End::Say("edited".to_owned()), Some("src/b.rs"));
    let played = Scenario::new()
        .tool(read)
        .tool(edit)
        .limits(|limits| {
            (limits.context_window, limits.max_tokens) = (10_000, 1_000);
            limits.compacting = Compacting { keep: agent::Keep::Recent(100), ..Compacting::S3 };
        })
        .calls("", &[("c1", "read_file", r#"{"path":"src/a.rs"}"#), ("c2", "edit_file", r#"{"path":"src/b.rs"}"#)])
        .calls("again", &[("c3", "echo", "{}")])
        .costs(usage(7_600, 10))
        .says("We edited.")
        .says("done")
        .play()
        .await;
    let summary =
        "user: [Previous conversation summary]\nWe edited.\n\n[Files read]\nsrc/a.rs\n\n[Files changed]\nsrc/b.rs";
    assert_eq!(played.requests[3], [summary, "assistant: again [c3 echo {}]", "c3 = {}"]);
    let story = played.story();
    let at = |what: &str| story.iter().position(|line| line == what).unwrap();
    assert!(at("turn 2 ended") < at("compacted true") && at("compacted true") < at("turn 3"), "{story:?}");
}

/// Shortens a chat of so many messages by hand.
async fn by_hand(messages: usize, compacting: Compacting, steps: Vec<Step>) -> (Shortened, Session, usize) {
    let mut session = Session::in_memory();
    chat(&mut session, messages);
    let scripted = Arc::new(Scripted::replies(steps));
    let agent = Agent {
        model: Arc::clone(&scripted) as Arc<dyn Model>,
        summariser: None,
        counter: Counter::default(),
        tools: Toolbox::new(Vec::new()).unwrap(),
        system: String::new(),
        limits: Limits { compacting, ..Limits::default() },
        artifacts: PathBuf::from("/nonexistent"),
        ledger: None,
        account: None,
    };
    let (_tiller, mut inbox) = inbox::channel(session.next_note());
    let done = agent::compact_now(&agent, &mut session, &mut inbox, &Events::none()).await.unwrap();
    (done, session, scripted.asked().len())
}

/// S2-24, S2-71: by hand the first half goes, at least four messages; fewer than four are left alone.
#[tokio::test]
async fn s2_24_s2_71_by_hand_the_first_half_is_summed_up_but_at_least_four() {
    for (messages, gone) in [(4, 4), (6, 4), (10, 5), (20, 10)] {
        let (done, session, _) = by_hand(messages, Compacting::S2, vec![Step::says("sum")]).await;
        let Shortened::Done(compaction) = done else { panic!("{messages}: {done:?}") };
        let mut whole = Session::in_memory();
        chat(&mut whole, messages);
        let mut expected = vec!["assistant: [Summary of previous conversation]\nsum".to_owned()];
        expected.extend(lines(&whole.context()[gone..]));
        assert_eq!(lines(session.context()), expected, "{messages}");
        assert_eq!((compaction.dropped.len(), compaction.kept.len()), (gone, messages - gone));
        assert_eq!((compaction.why.as_str(), compaction.model.is_some()), ("asked for", true));
    }
    let (done, session, asked) = by_hand(3, Compacting::S2, vec![]).await;
    assert_eq!((done, lines(session.context()).len(), asked), (Shortened::Not, 3, 0));
}

/// A summary that cannot be had, or that is longer than what it stands for, changes nothing when nobody needs the room.
#[tokio::test]
async fn by_hand_nothing_goes_without_a_summary() {
    let fails = Step::fails(tillerman::model::Fault::Unavailable, "down");
    let (done, session, _) = by_hand(20, Compacting::S2, vec![fails]).await;
    assert_eq!((done, session.context().len()), (Shortened::Not, 20));
    let (done, session, _) = by_hand(20, Compacting::DEFAULT, vec![Step::says("long ".repeat(500))]).await;
    assert_eq!((done, session.context().len()), (Shortened::Not, 20));
    assert_eq!(session.bill().total().calls, 11, "ten replies, and what was paid for");
}
