//! The pilot, through its door: a conversation in, a reply out.

mod aboard;
mod arithmetic;
mod main_agent;
mod properties;
mod worker;

use std::sync::Arc;

use serde_json::{Value, json};
use tillerman::message::{CallId, Message, Role, ToolCall, ToolResult, ToolSpec};
use tillerman::model::catalog::Models;
use tillerman::model::pilot::Pilot;
use tillerman::model::{Delta, Model, Reply, Request, Stop};

const MAIN: &[&str] = &[
    "abort",
    "answer",
    "call_agent",
    "dispatch",
    "edit_file",
    "grep",
    "list",
    "load",
    "read_file",
    "resume",
    "shell",
    "steer",
    "tasks",
    "write_file",
];

/// A conversation with the pilot and the tools that it is offered.
struct Talk {
    messages: Vec<Arc<Message>>,
    tools: Vec<ToolSpec>,
}

impl Talk {
    fn with(tools: &[&str]) -> Talk {
        let spec = |name: &&str| ToolSpec {
            name: (*name).to_owned(),
            description: "".into(),
            schema: json!({"type": "object"}).into(),
            read_only: false,
        };
        Talk { messages: Vec::new(), tools: tools.iter().map(spec).collect() }
    }

    fn hears(&mut self, text: &str) {
        self.messages.push(Arc::new(Message::user(text)));
    }

    /// One reply, checked against the contract of a model and added to the conversation.
    async fn reply(&mut self) -> Message {
        let request =
            Request { system: "", messages: &self.messages, tools: &self.tools, max_tokens: 4096, cache_key: "k" };
        let mut deltas = Vec::new();
        let reply = Pilot::new().reply(request, &mut |delta| deltas.push(delta)).await.unwrap();
        self.check(&reply, &deltas);
        self.messages.push(Arc::new(reply.message.clone()));
        reply.message
    }

    fn check(&self, reply: &Reply, deltas: &[Delta]) {
        let streamed: String =
            deltas.iter().filter_map(|d| if let Delta::Text(t) = d { Some(t.as_str()) } else { None }).collect();
        let opened: Vec<&CallId> =
            deltas.iter().filter_map(|d| if let Delta::CallOpened { id, .. } = d { Some(id) } else { None }).collect();
        let calls: Vec<&ToolCall> = reply.message.calls().collect();
        assert_eq!(streamed, reply.message.text());
        assert_eq!(opened, calls.iter().map(|call| &call.id).collect::<Vec<_>>());
        assert_eq!(reply.message.role, Role::Assistant);
        assert!(!reply.message.blocks.is_empty(), "it says nothing");
        assert_eq!(reply.stop, if calls.is_empty() { Stop::EndTurn } else { Stop::ToolUse });
        for call in calls {
            assert!(self.tools.iter().any(|tool| tool.name == call.name), "{} is not on offer", call.name);
            assert!(serde_json::from_str::<serde_json::Map<String, Value>>(&call.args.0).is_ok(), "{:?}", call.args);
        }
    }

    /// Answers the latest calls, in order.
    fn results(&mut self, results: &[(&str, Value, bool)]) {
        let ids: Vec<CallId> = self.messages.last().unwrap().calls().map(|call| call.id.clone()).collect();
        assert_eq!(ids.len(), results.len(), "calls of {:?}", self.messages.last());
        for (call, (output, details, is_error)) in ids.into_iter().zip(results) {
            let result =
                ToolResult { call, output: (*output).to_owned(), details: details.clone(), is_error: *is_error };
            self.messages.push(Arc::new(Message::result(result)));
        }
    }
}

#[tokio::test]
async fn it_cannot_sum_up_a_conversation_and_says_so() {
    let messages = [Arc::new(Message::user("<transcript>\nUser: run ls\n</transcript>\n\nWrite the memory."))];
    let request = Request { system: "", messages: &messages, tools: &[], max_tokens: 9, cache_key: "k" };
    let error = Pilot::new().reply(request, &mut |_| ()).await.unwrap_err();
    assert_eq!(error.to_string(), "pilot: no language model, so it cannot sum up a conversation");
}

#[test]
fn its_conversations_are_never_shortened() {
    let models = Models::from_env(&|_| None).unwrap();
    assert_eq!(models.window(Pilot::new().id()), 100_000_000);
}

/// The calls of a message: name and arguments.
fn calls(message: &Message) -> Vec<(String, Value)> {
    message.calls().map(|call| (call.name.clone(), serde_json::from_str(&call.args.0).unwrap())).collect()
}

/// What the main agent answers to a line, when no tool is needed.
async fn says(line: &str) -> String {
    let mut talk = Talk::with(MAIN);
    talk.hears(line);
    let reply = talk.reply().await;
    assert_eq!(calls(&reply), [], "{line}");
    reply.text()
}
