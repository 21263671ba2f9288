//! The fixture file as it is written: fields, aliases and what is refused. Matching and playing are not here.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::recorded::{Header, Line, Recorded};
use super::template;
use crate::message::Usage;
use crate::model::{Fault, Stop};

/// Types of errors that no provider sends, for faults that have no status.
pub(in crate::model) const NETWORK: &str = "network_error";
pub(in crate::model) const GARBLED: &str = "garbled_reply";
pub(in crate::model) const NO_TOOLS: &str = "no_tools";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// Only a recording has one.
    pub(super) tillerman: Option<Header>,
    pub(super) fixtures: Vec<Fixture>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Fixture {
    #[serde(default, rename = "match")]
    pub(super) when: When,
    pub(super) response: Response,
    #[serde(default)]
    pub(super) latency: u64,
    pub(super) chunk_size: Option<NonZeroUsize>,
    pub(super) truncate_after_chunks: Option<usize>,
    /// What people did after the exchange before this one had ended.
    #[serde(default)]
    pub(super) lines: Vec<Line>,
    pub(super) recorded: Option<Recorded>,
}

#[derive(Serialize, Deserialize, Default, Clone, PartialEq, Eq, Hash)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(in crate::model) struct When {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::model) user_message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::model) system_message: Option<OneOrMore>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::model) has_tool_result: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::model) tool_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::model) tool_result_contains: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::model) turn_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::model) sequence_index: Option<u64>,
}

#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Hash)]
#[serde(untagged)]
pub(in crate::model) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    pub(super) fn parts(&self) -> &[String] {
        match self {
            OneOrMore::One(part) => std::slice::from_ref(part),
            OneOrMore::More(parts) => parts,
        }
    }
}

/// What a fixture answers, checked: texts still hold their placeholders.
#[derive(Deserialize)]
#[serde(try_from = "RawResponse")]
pub(super) enum Response {
    Says { blocks: Vec<RawBlock>, usage: Usage, stop: Option<Stop> },
    Fails { fault: Fault, status: u16, message: String, retry_after: Option<Duration> },
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum RawBlock {
    Text {
        text: String,
    },
    #[serde(alias = "thinking")]
    Reasoning {
        #[serde(alias = "reasoning", alias = "thinking")]
        text: String,
        signature: Option<String>,
    },
    #[serde(alias = "tool_use")]
    ToolCall(RawCall),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCall {
    #[serde(default)]
    pub(super) id: String,
    pub(super) name: String,
    /// A text is taken as it is, valid JSON or not; anything else is written as JSON.
    #[serde(alias = "input", default = "no_arguments")]
    pub(super) arguments: Value,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
struct RawResponse {
    content: Option<String>,
    reasoning: Option<String>,
    reasoning_signature: Option<String>,
    tool_calls: Option<Vec<RawCall>>,
    blocks: Option<Vec<RawBlock>>,
    usage: HashMap<String, u64>,
    finish_reason: Option<Finish>,
    error: Option<RawError>,
    status: Option<u16>,
    retry_after: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Finish {
    #[serde(alias = "end_turn")]
    Stop,
    #[serde(alias = "max_tokens")]
    Length,
    #[serde(alias = "tool_use")]
    ToolCalls,
    #[serde(alias = "refusal")]
    ContentFilter,
    #[serde(alias = "pause_turn")]
    Paused,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawError {
    message: String,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    code: String,
}

impl TryFrom<RawResponse> for Response {
    type Error = String;

    fn try_from(mut raw: RawResponse) -> Result<Response, String> {
        if let Some(error) = raw.error.take() {
            return raw.fails(error);
        }
        if raw.status.is_some() || raw.retry_after.is_some() {
            return Err("`status` and `retryAfter` belong beside `error`".to_owned());
        }
        let usage = usage(&raw.usage)?;
        let stop = raw.finish_reason.take().map(Finish::stop);
        let blocks = raw.into_blocks()?;
        blocks.iter().try_for_each(RawBlock::check)?;
        Ok(Response::Says { blocks, usage, stop })
    }
}

impl RawResponse {
    fn fails(self, error: RawError) -> Result<Response, String> {
        if self.content.is_some() || self.tool_calls.is_some() || self.blocks.is_some() {
            return Err("`error` stands alone: no `content`, `toolCalls` or `blocks` beside it".to_owned());
        }
        let status = self.status.unwrap_or(500);
        let fault = error.fault(status)?;
        let wait = |seconds| Duration::try_from_secs_f64(seconds).map_err(|_| format!("`retryAfter` is {seconds}"));
        let retry_after = self.retry_after.map(wait).transpose()?;
        Ok(Response::Fails { fault, status, message: error.message, retry_after })
    }

    fn into_blocks(self) -> Result<Vec<RawBlock>, String> {
        if let Some(blocks) = self.blocks {
            let beside = self.content.is_some() || self.tool_calls.is_some() || self.reasoning.is_some();
            return match beside {
                true => Err("`blocks` stands alone: no `content`, `reasoning` or `toolCalls` beside it".to_owned()),
                false => Ok(blocks),
            };
        }
        if self.content.is_none() && self.tool_calls.is_none() {
            return Err("it answers nothing: give `content`, `toolCalls`, `blocks` or `error`".to_owned());
        }
        let signature = self.reasoning_signature;
        let thinking = self.reasoning.map(|text| RawBlock::Reasoning { text, signature });
        let text = self.content.map(|text| RawBlock::Text { text });
        let calls = self.tool_calls.into_iter().flatten().map(RawBlock::ToolCall);
        Ok(thinking.into_iter().chain(text).chain(calls).collect())
    }
}

impl RawBlock {
    fn check(&self) -> Result<(), String> {
        let checked = match self {
            RawBlock::Text { text } | RawBlock::Reasoning { text, .. } => template::check(text),
            RawBlock::ToolCall(call) => template::check_json(&call.arguments),
        };
        checked.map_err(|placeholder| placeholder.to_string())
    }
}

impl RawError {
    /// What a real provider's status and error type mean.
    fn fault(&self, status: u16) -> Result<Fault, String> {
        let says = |word: &str| self.kind.contains(word) || self.code.contains(word);
        Ok(match status {
            _ if says("context_length") || says("prompt_too_long") => Fault::Overflow,
            _ if says("insufficient_quota") || says("billing") => Fault::Billing,
            _ if self.kind == NETWORK => Fault::Network,
            _ if self.kind == GARBLED => Fault::Garbled,
            _ if self.kind == NO_TOOLS => Fault::NoTools,
            401 | 403 => Fault::Auth,
            402 => Fault::Billing,
            404 => Fault::NoSuchModel,
            413 => Fault::Overflow,
            429 => Fault::RateLimited,
            408 | 409 | 500..=599 => Fault::Unavailable,
            400..=499 => Fault::BadRequest,
            other => return Err(format!("`status` {other} is no error; give one from 400 to 599")),
        })
    }
}

impl Finish {
    fn stop(self) -> Stop {
        match self {
            Finish::Stop => Stop::EndTurn,
            Finish::Length => Stop::MaxTokens,
            Finish::ToolCalls => Stop::ToolUse,
            Finish::ContentFilter => Stop::Refusal,
            Finish::Paused => Stop::Paused,
        }
    }
}

/// The same figures may stand there once for each wire format; they are not added up.
fn usage(figures: &HashMap<String, u64>) -> Result<Usage, String> {
    let mut usage = Usage::default();
    for (name, figure) in figures {
        match name.as_str() {
            "input_tokens" | "prompt_tokens" | "promptTokenCount" => usage.input = *figure,
            "output_tokens" | "completion_tokens" | "candidatesTokenCount" => usage.output = *figure,
            "cache_read_input_tokens" => usage.cache_read = *figure,
            "cache_creation_input_tokens" => usage.cache_write = *figure,
            "reasoning_tokens" => usage.reasoning = *figure,
            "total_tokens" | "totalTokenCount" => {}
            other => return Err(format!("`usage` has no figure called `{other}`")),
        }
    }
    Ok(usage)
}

fn no_arguments() -> Value {
    Value::Object(serde_json::Map::new())
}
