//! What a model without tools is sent, and when it is asked a second time.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tillerman::message::{Block, CallId, Message, Opaque, RawArgs, Role, Thinking, ToolCall, ToolResult, Usage, Usd};
use tillerman::model::react::React;
use tillerman::model::scripted::{Scripted, Step};
use tillerman::model::{Delta, Fault, Model, ModelError, ModelId, Reply, Request, Stop};

use super::{Heard, blocks, hear, question, told, tools};
use crate::model::talk::Ask;

fn call(id: &str, name: &str, args: &str) -> Block {
    Block::Call(ToolCall { id: CallId(id.into()), name: name.into(), args: RawArgs(args.into()) })
}

fn result(id: &str, output: &str, is_error: bool) -> Message {
    Message::result(ToolResult { call: CallId(id.into()), output: output.into(), details: Value::Null, is_error })
}

fn says(blocks: impl IntoIterator<Item = Block>) -> Message {
    Message { role: Role::Assistant, blocks: blocks.into_iter().collect() }
}

/// S4-08, S4-15.
#[tokio::test]
async fn s4_08_s4_15_results_come_back_as_observations() {
    let mut ask = question();
    ask.push(says([Block::text("let me see"), call("c1", "read", r#"{"path":"a"}"#)]));
    ask.push(result("c1", "one\ntwo", false));
    ask.push(says([call("c2", "now", ""), call("c3", "read", "{\"path\": ")]));
    ask.push(result("c3", "there is no such file", true));
    ask.push(result("c2", "noon", false));
    ask.push(Message::assistant("It is noon."));
    ask.push(Message::user("thanks"));
    let Heard { sent, .. } = hear([Step::says("Final Answer: welcome")], &ask).await;
    assert_eq!(
        sent[0],
        [
            "user: what is in it?",
            "assistant: Thought: let me see\nAction: read\nAction Input: {\"path\":\"a\"}",
            "user: Observation: one\ntwo",
            "assistant: Action: now\nAction Input: {}\nAction: read\nAction Input: {\"malformed_arguments\":\"{\\\"path\\\":\"}",
            "user: Observation 2: Error: there is no such file",
            "user: Observation 1: noon",
            "assistant: Final Answer: It is noon.",
            "user: thanks",
        ]
    );
}

#[tokio::test]
async fn what_it_wrote_is_what_it_reads_again() {
    let text =
        "Thought: look\nAction: now\nAction Input: {}\nThought: and\nAction: read\nAction Input: {\"path\":\"a\"}";
    let mut ask = question();
    let Heard { reply, .. } = hear([Step::says(text)], &ask).await;
    ask.push(reply.message);
    let calls: Vec<CallId> = ask.messages[1].calls().map(|call| call.id.clone()).collect();
    calls.iter().for_each(|id| ask.push(result(&id.0, "ok", false)));
    let Heard { sent, .. } = hear([Step::says("Thought: done\nFinal Answer: done")], &ask).await;
    assert_eq!(sent[0][1], format!("assistant: {text}"));
}

#[tokio::test]
async fn the_prompt_holds_the_tools_and_stays_the_same() {
    let inner = Arc::new(Scripted::replies([Step::says("Action: now"), Step::says("Final Answer: noon")]));
    let model: Arc<dyn Model> = Arc::new(React::new(Arc::clone(&inner) as Arc<dyn Model>));
    let mut ask = question();
    let reply = ask.send(&model).await.0.unwrap();
    ask.push(reply.message);
    let id = ask.messages[1].calls().next().unwrap().id.clone();
    ask.push(result(&id.0, "noon", false));
    // The last turn of a run: no tools, but the prompt goes on as it began.
    ask.tools.clear();
    ask.send(&model).await.0.unwrap();
    let asked = inner.asked();
    assert_eq!(asked[0].system, asked[1].system);
    assert!(asked[0].system.starts_with("be brief\n\n# Tools\n"), "{}", asked[0].system);
    let heads: Vec<&str> = asked[0].system.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(heads, ["count", "edit", "now", "read"]);
    assert!(asked[0].system.contains(&format!("## read\n\nThe read.\n\nJSON Schema: {}", tools()[3].schema)));
    for (before, now) in asked[0].messages.iter().zip(&asked[1].messages) {
        assert!(Arc::ptr_eq(before, now), "a message that was sent is sent again as it is");
    }
}

#[tokio::test]
async fn who_has_no_tools_is_left_alone() {
    let ask = Ask {
        tools: Vec::new(),
        ..Ask::new([Message::user("hi"), Message::assistant("yes?"), Message::user("sum up")])
    };
    let text = "Thought: none\nAction: of\nObservation: this is read";
    let Heard { reply, sent, .. } = hear([Step::says(text)], &ask).await;
    assert_eq!((blocks(&reply.message), sent[0].len()), (vec![format!("text {text}")], 3));
    assert_eq!(sent[0][1], "assistant: yes?");
}

/// S4-12.
#[tokio::test]
async fn s4_12_a_reply_without_form_is_asked_for_once_more() {
    let steps = [
        Step::says("I think it is a list.").with_usage(Usage { input: 10, output: 2, ..Usage::default() }),
        Step::says("Thought: so\nFinal Answer: It is a list.").with_usage(Usage {
            input: 20,
            output: 4,
            ..Usage::default()
        }),
    ];
    let Heard { reply, deltas, sent } = hear(steps, &question()).await;
    assert_eq!(blocks(&reply.message), ["thought so", "text It is a list."]);
    assert_eq!(told(&deltas), ["thought so", "text It is a list."]);
    assert_eq!(reply.usage, Usage { input: 20, output: 4, ..Usage::default() }, "what is in the window now");
    let discarded =
        deltas.iter().find_map(|d| if let Delta::Discarded { usage, .. } = d { Some(usage.output) } else { None });
    assert_eq!(discarded, Some(2));
    assert_eq!(sent[1][..2], ["user: what is in it?", "assistant: I think it is a list."]);
    assert!(sent[1][2].contains("`Action Input:`") && sent[1][2].contains("`Final Answer:`"), "{}", sent[1][2]);
    let why = deltas.iter().find_map(|d| if let Delta::Retrying { why, .. } = d { Some(why.as_str()) } else { None });
    assert_eq!(why, Some("the model neither called a tool nor answered; it is reminded of the form"));
}

#[tokio::test]
async fn who_never_learns_the_form_has_answered_all_the_same() {
    for (again, expected) in [
        ("It is a list.\n\nReally.", "text It is a list.\n\nReally."),
        ("Thought: It is a list.", "text It is a list."),
    ] {
        let Heard { reply, deltas, sent } = hear([Step::says("It is a list."), Step::says(again)], &question()).await;
        assert_eq!((blocks(&reply.message), sent.len()), (vec![expected.to_owned()], 2));
        assert_eq!(told(&deltas).last().map(String::as_str), Some(expected));
    }
}

#[tokio::test]
async fn a_call_in_the_last_turn_is_not_taken_at_once() {
    let mut ask = question();
    ask.push(says([call("c1", "now", "{}")]));
    ask.push(result("c1", "noon", false));
    ask.tools.clear();
    let steps = [Step::says("Action: now"), Step::says("Final Answer: It is noon.")];
    let Heard { reply, sent, .. } = hear(steps, &ask).await;
    assert_eq!((blocks(&reply.message), sent.len()), (vec!["text It is noon.".to_owned()], 2));
    let bare = hear([Step::says("It is noon.")], &ask).await;
    assert_eq!((blocks(&bare.reply.message), bare.sent.len()), (vec!["text It is noon.".to_owned()], 1));
}

#[tokio::test]
async fn an_answer_that_was_cut_goes_on_without_its_mark() {
    for (first, thoughts) in [("Thought: long\nFinal Answer: One, two,", 1), ("One, two,", 0)] {
        let mut ask = question();
        let cut = hear([Step::says(first).and_stops(Stop::MaxTokens)], &ask).await.reply;
        assert_eq!((cut.message.text(), cut.stop), ("One, two,".to_owned(), Stop::MaxTokens));
        ask.push(cut.message);
        ask.push(Message::user("go on"));
        let Heard { reply, sent, .. } = hear([Step::says("three.")], &ask).await;
        assert_eq!((reply.message.text(), sent.len()), ("three.".to_owned(), 1));
        assert_eq!(sent[0][1].matches("Thought:").count(), thoughts);
    }
}

#[tokio::test]
async fn a_refusal_is_told_as_it_is() {
    let Heard { reply, sent, .. } = hear([Step::says("I will not.").and_stops(Stop::Refusal)], &question()).await;
    assert_eq!((reply.message.text(), reply.stop, sent.len()), ("I will not.".to_owned(), Stop::Refusal, 1));
    let Heard { reply, sent, .. } = hear([Step::blocks(Vec::new())], &question()).await;
    assert_eq!((reply.message.blocks.len(), reply.stop, sent.len()), (0, Stop::EndTurn, 1), "silence is the loop's");
}

/// A model that reasons in a place of its own, whose first stream breaks, and that knows what it costs.
struct Reasons(ModelId, Mutex<Vec<Vec<Arc<Message>>>>);

impl Model for Reasons {
    fn id(&self) -> &ModelId {
        &self.0
    }

    fn reply<'a>(
        &'a self,
        request: Request<'a>,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        self.1.lock().unwrap().push(request.messages.to_vec());
        Box::pin(async move {
            on_delta(Delta::Text("Final Answer: wro".to_owned()));
            on_delta(Delta::Retrying { attempt: 2, wait: std::time::Duration::ZERO, why: "cut".to_owned() });
            on_delta(Delta::Thinking("hm".to_owned()));
            // It does not stream its words.
            let opaque = Some(Opaque { provider: "r".to_owned(), model: "m".to_owned(), data: json!("sealed") });
            let blocks = vec![
                Block::Thinking(Thinking { text: "hm".to_owned(), opaque }),
                Block::text("Thought: t\nAction: now"),
                call("x", "read", r#"{"path":"native"}"#),
            ];
            let message = Message { role: Role::Assistant, blocks };
            let usage = Usage::default();
            Ok(Reply { message, usage, stop: Stop::ToolUse, model: self.0.clone(), cost: Some(Usd(7)) })
        })
    }
}

#[tokio::test]
async fn the_models_own_reasoning_calls_and_retries_go_through() {
    let id = ModelId { provider: "r".to_owned(), model: "m".to_owned() };
    let inner = Arc::new(Reasons(id.clone(), Mutex::default()));
    let model: Arc<dyn Model> = Arc::new(React::new(Arc::clone(&inner) as Arc<dyn Model>));
    let mut ask = question();
    let (reply, deltas) = ask.send(&model).await;
    let reply = reply.unwrap();
    assert_eq!(blocks(&reply.message), ["thought hm", "thought t", "now {}", r#"read {"path":"native"}"#]);
    assert_eq!(told(&deltas), ["thought hmt", "now", "read"]);
    assert_eq!((reply.model, reply.cost, reply.stop), (id, Some(Usd(7)), Stop::ToolUse));
    ask.push(reply.message);
    let calls: Vec<CallId> = ask.messages[1].calls().map(|call| call.id.clone()).collect();
    calls.iter().for_each(|id| ask.push(result(&id.0, "ok", false)));
    ask.send(&model).await.0.unwrap();
    let sent = inner.1.lock().unwrap()[1][1].clone();
    assert_eq!(
        blocks(&sent),
        [
            "thought hm",
            "text Thought: t\nAction: now\nAction Input: {}\nAction: read\nAction Input: {\"path\":\"native\"}"
        ]
    );
}

/// S4-16: how long one waits is the transport's; what it says is passed on.
#[tokio::test]
async fn s4_16_a_model_that_fails_fails_in_words_too() {
    let inner = Scripted::replies([Step::fails(Fault::Network, "127.0.0.1 did not answer for 60 s")]);
    let model: Arc<dyn Model> = Arc::new(React::new(Arc::new(inner)));
    let error = question().send(&model).await.0.expect_err("a fault");
    assert_eq!((error.fault, error.message.as_str()), (Fault::Network, "127.0.0.1 did not answer for 60 s"));
}
