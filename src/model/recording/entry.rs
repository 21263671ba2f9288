//! An exchange as it is written: the fields of the fixture format that every player knows where they say it exactly,
//! and our own beside them where they do not.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::message::{Block, Opaque, Thinking, ToolCall, Usage};
use crate::model::scripted::format::{GARBLED, NETWORK, NO_TOOLS, When};
use crate::model::scripted::recorded::{Line, Recorded};
use crate::model::{Fault, ModelId, Stop};

/// One line of the file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) lines: Vec<Line>,
    #[serde(rename = "match")]
    pub(super) when: When,
    pub(super) response: Value,
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) latency: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) chunk_size: Option<usize>,
    pub(super) recorded: Recorded,
}

impl Entry {
    /// It as JSON; texts of a program always are.
    pub(super) fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The response of a reply, and the blocks where they are more than it says.
pub(super) fn says(blocks: &[Block], model: &ModelId, usage: &Usage, stop: Stop) -> (Value, Option<Vec<Block>>) {
    let mut response = spoken(blocks);
    response.insert("usage".to_owned(), figures(usage));
    let calls = blocks.iter().any(|block| matches!(block, Block::Call(_)));
    let word = match stop {
        Stop::EndTurn => "stop",
        Stop::ToolUse => "tool_calls",
        Stop::MaxTokens => "length",
        Stop::Refusal => "content_filter",
        Stop::Paused => "pause_turn",
    };
    if stop != if calls { Stop::ToolUse } else { Stop::EndTurn } {
        response.insert("finishReason".to_owned(), word.into());
    }
    let exact = (!is_plain(blocks, model)).then(|| blocks.to_vec());
    (response.into(), exact)
}

/// The response of a reply that was stopped.
pub(super) fn part(blocks: &[Block]) -> Value {
    spoken(blocks).into()
}

/// The response of a fault, with the status that stands for it where its words name none.
pub(super) fn fails(fault: Fault, message: &str, retry_after: Option<Duration>) -> Value {
    let (kind, status) = match fault {
        Fault::Auth => ("authentication_error", 401),
        Fault::Billing => ("billing_error", 402),
        Fault::NoSuchModel => ("not_found_error", 404),
        Fault::BadRequest => ("invalid_request_error", 400),
        Fault::NoTools => (NO_TOOLS, 400),
        Fault::Overflow => ("context_length_exceeded", 400),
        Fault::RateLimited => ("rate_limit_error", 429),
        Fault::Unavailable => ("overloaded_error", status_in(message).unwrap_or(503)),
        Fault::Network => (NETWORK, 502),
        Fault::Garbled => (GARBLED, 502),
    };
    let mut response = Map::new();
    response.insert("error".to_owned(), json!({"message": message, "type": kind}));
    response.insert("status".to_owned(), status.into());
    if let Some(wait) = retry_after {
        response.insert("retryAfter".to_owned(), seconds(wait));
    }
    response.into()
}

/// The status of a server's fault that a message names: `529 from api.anthropic.com: overloaded`.
pub(super) fn status_in(message: &str) -> Option<u16> {
    let words = message.split(|c: char| !c.is_ascii_alphanumeric());
    let number = |word: &str| (word.len() == 3).then(|| word.parse().ok()).flatten();
    words.filter_map(number).find(|status| *status == 429 || *status == 408 || (500..600).contains(status))
}

/// Reasoning, text and calls in the fields that other players know.
fn spoken(blocks: &[Block]) -> Map<String, Value> {
    let (mut content, mut reasoning, mut calls, mut signature) = (String::new(), String::new(), Vec::new(), None);
    for block in blocks {
        match block {
            Block::Text { text } => content.push_str(text),
            Block::Thinking(Thinking { text, opaque }) => {
                reasoning.push_str(text);
                let data = opaque.as_ref().map(|opaque| &opaque.data);
                signature = signature.or(data.and_then(|data| data.as_str().or_else(|| data["signature"].as_str())));
            }
            Block::Call(ToolCall { id, name, args }) => {
                calls.push(json!({"id": id, "name": name, "arguments": args.0}));
            }
            Block::Image(_) | Block::Result(_) => {}
        }
    }
    let mut response = Map::new();
    if !reasoning.is_empty() {
        response.insert("reasoning".to_owned(), reasoning.into());
        response.extend(signature.map(|signature| ("reasoningSignature".to_owned(), signature.into())));
    }
    if !content.is_empty() || calls.is_empty() {
        response.insert("content".to_owned(), content.into());
    }
    if !calls.is_empty() {
        response.insert("toolCalls".to_owned(), calls.into());
    }
    response
}

/// Whether those fields give the blocks back as they are: reasoning first, then a text, then calls.
fn is_plain(blocks: &[Block], model: &ModelId) -> bool {
    let own =
        |opaque: &Opaque| opaque.data.is_string() && opaque.provider == model.provider && opaque.model == model.model;
    let rest = match blocks {
        [Block::Thinking(thinking), rest @ ..]
            if !thinking.text.is_empty() && thinking.opaque.as_ref().is_none_or(own) =>
        {
            rest
        }
        rest => rest,
    };
    let calls = match rest {
        [Block::Text { text }, calls @ ..] if !text.is_empty() || calls.is_empty() => calls,
        [] => return false,
        calls => calls,
    };
    calls.iter().all(|block| matches!(block, Block::Call(_)))
}

/// The same figures once for each wire format, because every player reads its own.
fn figures(usage: &Usage) -> Value {
    let mut figures = Map::new();
    for name in ["input_tokens", "prompt_tokens", "promptTokenCount"] {
        figures.insert(name.to_owned(), usage.input.into());
    }
    for name in ["output_tokens", "completion_tokens", "candidatesTokenCount"] {
        figures.insert(name.to_owned(), usage.output.into());
    }
    let rest = [
        ("cache_read_input_tokens", usage.cache_read),
        ("cache_creation_input_tokens", usage.cache_write),
        ("reasoning_tokens", usage.reasoning),
    ];
    let told = rest.into_iter().filter(|(_, figure)| *figure > 0);
    figures.extend(told.map(|(name, figure)| (name.to_owned(), figure.into())));
    figures.into()
}

/// Whole seconds as such, because other players read no others.
fn seconds(wait: Duration) -> Value {
    if wait.subsec_nanos() == 0 { wait.as_secs().into() } else { wait.as_secs_f64().into() }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
