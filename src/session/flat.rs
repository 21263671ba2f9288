//! A session as one flat JSON object, the form of another program: title, times, a summary of what was compacted, and
//! messages with their calls. A session shows itself in this form, and one can be begun from it. What the object cannot
//! say (branches, ids, costs) stays in the journal.

mod read;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::read::{NotFlat, NotImported};
use super::record::{Kind, Record};
use super::{Compaction, Session, SessionError};
use crate::message::{Block, CallId, Message, RawArgs, Role, ToolCall, ToolResult, Usage, Usd};

/// Stands before a summary when it is shown to a model (S2-72).
const SUMMARY: &str = "[Summary of previous conversation]\n";

/// Who spoke in what was taken over from elsewhere; asking nobody cost nothing.
const IMPORTED: &str = "imported/imported";

/// A conversation (S2-18).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Flat {
    /// Its name; empty when it has none.
    #[serde(default)]
    pub title: String,
    /// When it began; as other programs write it, so it is kept as it is.
    #[serde(default)]
    pub created_at: Value,
    /// When something was last said.
    #[serde(default)]
    pub updated_at: Value,
    /// Summary of what was said before the messages; `None` or empty when nothing was.
    #[serde(default)]
    pub compressed_context: Option<String>,
    /// What was said, oldest first.
    pub messages: Vec<Line>,
}

/// A message (S2-19).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Who says it.
    pub role: Role,
    /// The words; empty when there are calls only.
    #[serde(default)]
    pub content: String,
    /// What the assistant called, with the outcome.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<Used>,
}

/// A call and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Used {
    /// The tool's name.
    pub tool: String,
    /// Its arguments; text when the model wrote no JSON.
    #[serde(default)]
    pub input: Value,
    /// What it answered; empty when it has not.
    #[serde(default)]
    pub output: String,
}

impl Flat {
    /// What a model is to see of it (S2-22): the summary first, as words of the assistant; then the messages, those of
    /// the assistant that follow each other as one.
    pub fn for_agent(&self) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        for line in &self.messages {
            match lines.last_mut().filter(|last| last.role == Role::Assistant && line.role == Role::Assistant) {
                Some(last) => {
                    if !last.content.is_empty() && !line.content.is_empty() {
                        last.content.push('\n');
                    }
                    last.content.push_str(&line.content);
                    last.tool_calls.extend(line.tool_calls.iter().cloned());
                }
                None => lines.push(line.clone()),
            }
        }
        let summary = self.compressed_context.as_ref().filter(|summary| !summary.is_empty());
        lines.splice(0..0, summary.map(|summary| Line::says(Role::Assistant, &format!("{SUMMARY}{summary}"))));
        lines
    }
}

impl Line {
    /// Words without calls.
    pub fn says(role: Role, content: &str) -> Line {
        Line { role, content: content.to_owned(), tool_calls: Vec::new() }
    }
}

impl Session {
    /// The conversation up to the leaf, as it stands (S2-21): each message of the assistant by itself (S2-51), and of
    /// what a compaction replaced only its summary.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn flat(&self) -> Result<Flat, SessionError> {
        let (created, updated) = self.begun_and_changed()?;
        let mut summary = Vec::new();
        let mut messages: Vec<Line> = Vec::new();
        let mut calls: Vec<CallId> = Vec::new();
        for (message, origin) in self.context().iter().zip(self.origins()) {
            if origin.kind == Kind::Compaction {
                let text = message.text();
                summary.push(text.strip_prefix(SUMMARY).unwrap_or(&text).to_owned());
            } else if message.results().next().is_some() {
                // Results stand right behind the reply with their calls.
                let used = messages.last_mut().map(|last| &mut last.tool_calls);
                answer(used.unwrap_or(&mut Vec::new()), &calls, message);
            } else {
                calls = message.calls().map(|call| call.id.clone()).collect();
                messages.push(line(message));
            }
        }
        Ok(Flat {
            title: self.title().unwrap_or_default().to_owned(),
            created_at: created.into(),
            updated_at: updated.into(),
            compressed_context: (!summary.is_empty()).then(|| summary.join("\n\n")),
            messages,
        })
    }

    /// Adds a message (S2-23): of a person, or of the assistant with its calls and what came of them.
    ///
    /// # Errors
    /// As [`Session::append`].
    pub fn save_message(&mut self, line: &Line) -> Result<(), SessionError> {
        if line.role == Role::User {
            self.append(Record::user(line.content.clone()))?;
            return Ok(());
        }
        // Ids of calls must differ within a conversation; the number of the entry does.
        let id = |at: usize| CallId(format!("call_{}_{at}", self.entries()));
        let calls: Vec<(CallId, &Used)> = line.tool_calls.iter().enumerate().map(|(at, used)| (id(at), used)).collect();
        let words = (!line.content.is_empty() || calls.is_empty()).then(|| Block::text(line.content.clone()));
        let asked = calls.iter().map(|(id, used)| Block::Call(used.call(id)));
        let message = Arc::new(Message { role: Role::Assistant, blocks: words.into_iter().chain(asked).collect() });
        let cost = Some(Usd::default());
        self.append(Record::Assistant { message, usage: Usage::default(), model: IMPORTED.to_owned(), cost })?;
        for (call, used) in calls {
            let output = used.output.clone();
            let result = ToolResult { call, output, details: Value::Null, is_error: false };
            self.append(Record::ToolResult { message: Arc::new(Message::result(result)) })?;
        }
        Ok(())
    }

    /// Puts a summary in the place of the first `n` messages, counted as [`Session::flat`] shows them (S2-24), and of the
    /// summary that stood before them. Nothing is deleted; the journal still has them.
    ///
    /// # Errors
    /// As [`Session::append`].
    pub fn compress_history(&mut self, summary: &str, n: usize) -> Result<(), SessionError> {
        let said = self.context().iter().zip(self.origins());
        let mut said =
            said.filter(|(message, origin)| origin.kind != Kind::Compaction && message.results().next().is_none());
        let kept_from = said.nth(n).map(|(_, origin)| origin.entry);
        let head = vec![Arc::new(Message::assistant(format!("{SUMMARY}{summary}")))];
        let cost = Some(Usd::default());
        let compaction = Compaction { head, kept_from, cost, ..Compaction::default() };
        self.append(Record::Compaction(Box::new(compaction)))?;
        Ok(())
    }
}

impl Used {
    fn call(&self, id: &CallId) -> ToolCall {
        // Text that was no JSON when it was written is none now.
        let args = match &self.input {
            Value::String(text) => text.clone(),
            Value::Null => "{}".to_owned(),
            json => json.to_string(),
        };
        ToolCall { id: id.clone(), name: self.tool.clone(), args: RawArgs(args) }
    }
}

fn line(message: &Message) -> Line {
    let words = message.blocks.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::Image(_) => Some("[a picture]"),
        Block::Thinking(_) | Block::Call(_) | Block::Result(_) => None,
    });
    let calls = message.calls().map(|call| Used {
        tool: call.name.clone(),
        input: serde_json::from_str(&call.args.0).unwrap_or_else(|_| call.args.0.clone().into()),
        output: String::new(),
    });
    Line { role: message.role, content: words.collect(), tool_calls: calls.collect() }
}

fn answer(used: &mut [Used], calls: &[CallId], message: &Message) {
    for result in message.results() {
        let at = calls.iter().position(|call| *call == result.call);
        if let Some(used) = at.and_then(|at| used.get_mut(at)) {
            used.output.clone_from(&result.output);
        }
    }
}
