//! A conversation in words: calls and results become text, tools a part of the system prompt. What is rewritten once
//! stays the same message, so that it is encoded once too and the provider's cache knows it again.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::json;

use crate::message::{Block, CallId, Message, Opaque, Role, ToolSpec};
use crate::model::draft::sendable;
use crate::model::kept::Made;

/// How a model is told to call tools.
const INSTRUCTIONS: &str = include_str!("instructions.md");

/// Marks reasoning that stood behind `Thought:`, and not in the model's own place for it.
pub(super) const THOUGHT: &str = "thought";
/// Marks a message whose answer was cut, so that the next one goes on with it.
pub(super) const CUT: &str = "cut";
/// The provider whose these marks are; no model has it, so none is sent them.
const OURS: &str = "react";

/// A conversation in words, so far.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// As many as there were messages.
    pub(super) messages: Arc<Vec<Arc<Message>>>,
    /// The tools of the last request that had some. Without them in its prompt, a model that may no longer call them
    /// would not know what its own calls were.
    pub(super) tools: String,
    /// The calls of the assistant's last message.
    calls: Vec<CallId>,
    bytes: usize,
}

impl Made for Told {
    fn bytes(&self) -> usize {
        self.bytes + self.tools.len()
    }
}

impl Told {
    /// Adds the next message of the conversation.
    pub(super) fn append(&mut self, message: &Arc<Message>) {
        let told = match message.role {
            Role::User if message.results().next().is_none() => Arc::clone(message),
            Role::User => self.keep(self.observed(message)),
            Role::Assistant => {
                self.calls = message.calls().map(|call| call.id.clone()).collect();
                self.keep(acted(message))
            }
        };
        Arc::make_mut(&mut self.messages).push(told);
    }

    /// The system prompt with the tools of a request in it.
    pub(super) fn system(&mut self, system: &str, tools: &[ToolSpec]) -> String {
        if !tools.is_empty() {
            self.tools = described(tools);
        }
        match (system.is_empty(), self.tools.is_empty()) {
            (_, true) => system.to_owned(),
            (true, false) => self.tools.clone(),
            (false, false) => format!("{system}\n\n{}", self.tools),
        }
    }

    fn keep(&mut self, message: Message) -> Arc<Message> {
        self.bytes += message.text().len();
        Arc::new(message)
    }

    /// Results as `Observation:`, with a number where there are several.
    fn observed(&self, message: &Message) -> Message {
        let blocks = message.blocks.iter().map(|block| match block {
            Block::Result(result) => {
                let number = self.calls.iter().position(|call| *call == result.call).filter(|_| self.calls.len() > 1);
                let number = number.map_or(String::new(), |at| format!(" {}", at + 1));
                let error = if result.is_error { "Error: " } else { "" };
                Block::text(format!("Observation{number}: {error}{}", result.output))
            }
            other => other.clone(),
        });
        Message { role: Role::User, blocks: blocks.collect() }
    }
}

/// What the assistant said and did, in the form that it is asked for.
fn acted(message: &Message) -> Message {
    let answers = message.calls().next().is_none();
    let mut text = String::new();
    let mut blocks = Vec::new();
    for block in &message.blocks {
        // Writing to a string cannot fail.
        let _ = match block {
            Block::Text { text: said } if answers => writeln!(text, "Final Answer: {said}"),
            Block::Text { text: said } => writeln!(text, "Thought: {said}"),
            Block::Thinking(thinking) => match (thought(block), &thinking.opaque) {
                (Some(said), _) => writeln!(text, "Thought: {said}"),
                (None, Some(opaque)) if opaque.provider == OURS => Ok(()),
                (None, _) => {
                    blocks.push(block.clone());
                    Ok(())
                }
            },
            Block::Call(call) => writeln!(text, "Action: {}\nAction Input: {}", call.name, sendable(&call.args)),
            Block::Image(_) | Block::Result(_) => Ok(()),
        };
    }
    text.truncate(text.trim_end().len());
    if !text.is_empty() {
        blocks.push(Block::text(text));
    }
    Message { role: Role::Assistant, blocks }
}

/// Tools as a part of the system prompt.
fn described(tools: &[ToolSpec]) -> String {
    let mut text = INSTRUCTIONS.trim_end().to_owned();
    for tool in tools {
        let _ = write!(text, "\n\n## {}\n\n{}\n\nJSON Schema: {}", tool.name, tool.description, tool.schema);
    }
    text
}

/// The reasoning in a block that stood behind `Thought:`.
pub(super) fn thought(block: &Block) -> Option<&str> {
    match block {
        Block::Thinking(thinking) if is_marked(block, THOUGHT) => Some(&thinking.text),
        Block::Thinking(_) | Block::Text { .. } | Block::Image(_) | Block::Call(_) | Block::Result(_) => None,
    }
}

/// The answer was cut in the assistant's last message.
pub(super) fn is_cut(messages: &[Arc<Message>]) -> bool {
    let last = messages.iter().rev().find(|message| message.role == Role::Assistant);
    last.is_some_and(|message| message.blocks.iter().any(|block| is_marked(block, CUT)))
}

/// A mark on a block of reasoning.
pub(super) fn mark(kind: &str) -> Opaque {
    Opaque { provider: OURS.to_owned(), model: String::new(), data: json!(kind) }
}

fn is_marked(block: &Block, kind: &str) -> bool {
    let Block::Thinking(thinking) = block else { return false };
    thinking.opaque.as_ref().is_some_and(|opaque| opaque.provider == OURS && opaque.data == kind)
}
