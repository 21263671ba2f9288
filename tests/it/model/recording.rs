//! What a recorder writes, and that a player gives it back.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tillerman::message::{Block, CallId, Message, Opaque, RawArgs, Thinking, ToolCall, Usage};
use tillerman::model::catalog::Models;
use tillerman::model::recording::{RecordError, Recorder};
use tillerman::model::retry::Retry;
use tillerman::model::scripted::recorded::{Act, Header, Line, VERSION};
use tillerman::model::scripted::{Scripted, Step};
use tillerman::model::{Delta, Fault, Model, ModelError, Reply, Request, Stop};

const HEADER: Header = Header { recording: VERSION, window: 1000, tasks: 0 };

struct Desk {
    dir: TempDir,
}

impl Desk {
    fn new() -> Desk {
        Desk { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn recorder(&self, name: &str) -> Recorder {
        Recorder::create(&self.path(name), &HEADER, &Models::from_env(&|_| None).unwrap()).unwrap()
    }
}

/// Asks for an answer to a line of the main agent; answers what streamed and what came.
async fn ask(model: &dyn Model, line: &str) -> (Vec<Delta>, Result<Reply, ModelError>) {
    let messages = [Arc::new(Message::user(line))];
    let request = Request { system: "s", messages: &messages, tools: &[], max_tokens: 9, cache_key: "01ARZ" };
    let mut deltas = Vec::new();
    let reply = model.reply(request, &mut |delta| deltas.push(delta)).await;
    (deltas, reply)
}

fn parsed(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn thinking(text: &str, provider: &str, data: Value) -> Block {
    let opaque = Some(Opaque { provider: provider.into(), model: "m".into(), data });
    Block::Thinking(Thinking { text: text.into(), opaque })
}

fn call(id: &str, args: &str) -> Block {
    Block::Call(ToolCall { id: CallId(id.into()), name: "shell".into(), args: RawArgs(args.into()) })
}

/// The same without where it came from: a replay answers under the name of the recorded model.
fn said(reply: Result<Reply, ModelError>) -> Result<(Vec<Block>, Usage, Stop), (Fault, String)> {
    reply.map(|reply| (reply.message.blocks, reply.usage, reply.stop)).map_err(|error| (error.fault, error.message))
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_reply_comes_back_exactly() {
    let usage = Usage { input: 1, output: 2, cache_read: 3, cache_write: 4, reasoning: 5 };
    let own = |data| thinking("hm", "scripted", data);
    let replies = [
        Step::says("plain {{result}}").with_usage(usage),
        Step::blocks(vec![own(json!("sig")), Block::text("then"), call("c1", "{\"a\": 1}"), call("c2", "no json")]),
        Step::blocks(vec![Block::text("a"), call("c", "{}"), Block::text("b"), thinking("", "x", json!({"k": [1]}))]),
        Step::blocks(vec![]).and_stops(Stop::MaxTokens),
        Step::says("no").and_stops(Stop::Refusal),
        Step::says("wait").and_stops(Stop::Paused),
        Step::blocks(vec![call("c", "")]).and_stops(Stop::EndTurn),
    ];
    let desk = Desk::new();
    let model = desk.recorder("a.json").watch(Arc::new(Scripted::replies(replies.clone())));
    let mut before = Vec::new();
    for _ in &replies {
        before.push(ask(model.as_ref(), "hello").await);
    }
    let (player, tape) = Scripted::from_recording(&desk.path("a.json"), true).unwrap();
    assert_eq!((tape.exchanges(), tape.header()), (replies.len(), HEADER));
    for (deltas, reply) in before {
        let (again, replayed) = ask(&player, "hello").await;
        assert_eq!(said(replayed), said(reply));
        assert_eq!(again, deltas);
    }
    assert!(tape.is_given());
}

#[tokio::test(start_paused = true)]
async fn faults_come_back_with_their_kind_their_wait_and_what_was_said_before() {
    let faults = [
        Fault::Auth,
        Fault::Billing,
        Fault::NoSuchModel,
        Fault::BadRequest,
        Fault::NoTools,
        Fault::Overflow,
        Fault::RateLimited,
        Fault::Unavailable,
        Fault::Network,
        Fault::Garbled,
    ];
    let desk = Desk::new();
    let cut = Step::says("half an answer").in_chunks(5).cut_after(2);
    let steps = faults.map(|fault| Step::fails(fault, "it says 529")).into_iter().chain([cut]);
    let model = desk.recorder("a.json").watch(Arc::new(Scripted::replies(steps)));
    let mut before = Vec::new();
    for _ in 0..=faults.len() {
        before.push(ask(model.as_ref(), "hello").await);
    }
    let player = Scripted::from_file(&desk.path("a.json")).unwrap();
    for (deltas, reply) in before {
        let (again, replayed) = ask(&player, "hello").await;
        assert_eq!((again, said(replayed)), (deltas, said(reply)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_fault_that_was_tried_again_is_played_with_its_wait() {
    let asked = ModelError {
        fault: Fault::Unavailable,
        provider: "p".into(),
        message: "529 from h: overloaded".into(),
        retry_after: Some(Duration::from_secs(7)),
    };
    let desk = Desk::new();
    let steps = Scripted::replies([Step::from(asked), Step::says("at last")]);
    let model = desk.recorder("a.json").watch(Arc::new(Retry::new(Arc::new(steps))));
    let (deltas, reply) = ask(model.as_ref(), "hello").await;
    let fixture = &parsed(&desk.path("a.json"))["fixtures"][0];
    assert_eq!(fixture["response"]["status"], 529);
    let (player, _) = Scripted::from_recording(&desk.path("a.json"), false).unwrap();
    let began = tokio::time::Instant::now();
    let (again, replayed) = ask(&player, "hello").await;
    assert!(began.elapsed() >= Duration::from_secs(7), "{:?}", began.elapsed());
    assert_eq!((again, said(replayed)), (deltas, said(reply)));
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_nobody_waited_for_stands_where_it_was_stopped() {
    let desk = Desk::new();
    let slow = Step::says("one two three").in_chunks(4).paced(Duration::from_secs(1));
    let recorder = desk.recorder("a.json");
    recorder.line(Line { to: "main".into(), after: 99, act: Act::Say, text: "hello".into(), images: vec![] });
    let model = recorder.watch(Arc::new(Scripted::replies([slow])));
    let stopped = tokio::time::timeout(Duration::from_millis(2500), ask(model.as_ref(), "hello")).await;
    assert!(stopped.is_err());
    let recording = parsed(&desk.path("a.json"));
    let exchange = &recording["fixtures"][0];
    assert_eq!(exchange["response"], json!({"content": "one two "}));
    assert_eq!(exchange["recorded"]["aborted"], true);
    assert_eq!(exchange["lines"], json!([{"to": "main", "after": 0, "do": "say", "text": "hello"}]));
    let (player, tape) = Scripted::from_recording(&desk.path("a.json"), true).unwrap();
    let mut asked = Box::pin(ask(&player, "hello"));
    let over = tokio::select! { _ = &mut asked => false, () = tape.over() => true };
    assert!(over && tape.is_given());
}

#[tokio::test]
async fn the_file_is_whole_after_every_exchange_and_a_torn_one_is_played_up_to_the_tear() {
    let desk = Desk::new();
    let path = desk.path("a.json");
    let model = desk.recorder("a.json").watch(Arc::new(Scripted::replies(["one", "two", "three"])));
    assert_eq!(parsed(&path)["fixtures"], json!([]));
    for count in 1..=3 {
        ask(model.as_ref(), "hello").await.1.unwrap();
        assert_eq!(parsed(&path)["fixtures"].as_array().unwrap().len(), count);
    }
    let whole = fs::read(&path).unwrap();
    let third = whole.iter().rposition(|byte| *byte == b'{').unwrap();
    for end in third..whole.len() - 2 {
        fs::write(&path, &whole[..end]).unwrap();
        let (player, tape) = Scripted::from_recording(&path, true).unwrap();
        assert_eq!(tape.exchanges(), 2, "cut at {end}");
        assert_eq!(ask(&player, "hello").await.1.unwrap().message.text(), "one");
    }
}

#[test]
fn nothing_is_ever_overwritten_and_another_name_is_offered() {
    let desk = Desk::new();
    fs::write(desk.path("a.json"), "mine").unwrap();
    fs::write(desk.path("a-2.json"), "mine").unwrap();
    let models = Models::from_env(&|_| None).unwrap();
    let error = Recorder::create(&desk.path("a.json"), &HEADER, &models).unwrap_err();
    assert!(matches!(&error, RecordError::Exists { free, .. } if *free == desk.path("a-3.json")), "{error}");
    assert_eq!(fs::read_to_string(desk.path("a.json")).unwrap(), "mine");
    assert!(Recorder::create(desk.dir.path(), &HEADER, &models).is_err());
}

#[test]
fn a_script_is_no_recording() {
    let desk = Desk::new();
    fs::write(desk.path("s.json"), r#"{"fixtures":[]}"#).unwrap();
    let error = Scripted::from_recording(&desk.path("s.json"), true).err().unwrap().to_string();
    assert!(error.contains("is no recording") && error.contains("-m scripted/FILE"), "{error}");
}
