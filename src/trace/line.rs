//! One line of a trace: `{"event":"tool_start","tool":"shell",…,"at":…,"trace_id":…,"span":…,"parent":…}`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{CallId, NoteId, NoteKind, Spent, Usage};

/// A place in another trace: the tool call that a run grew from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The other trace.
    pub trace: String,
    /// The call within it.
    pub call: CallId,
}

/// A line: what happened, when, and in which span.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    #[serde(flatten)]
    pub(super) event: Event,
    /// RFC 3339 in UTC with microseconds.
    pub(super) at: String,
    pub(super) trace_id: String,
    /// 16 hexadecimal digits.
    pub(super) span: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<String>,
}

/// Tokens under the names that OpenTelemetry gives them (semantic conventions for generative AI), and the cost, for
/// which it has no name. There cached tokens are part of the input, and reasoning is part of the output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Attributes {
    /// Who answered, `provider/model`; empty of a whole run.
    #[serde(rename = "gen_ai.response.model", skip_serializing_if = "String::is_empty")]
    pub(super) model: String,
    #[serde(rename = "gen_ai.usage.input_tokens")]
    pub(super) input: u64,
    #[serde(rename = "gen_ai.usage.output_tokens")]
    pub(super) output: u64,
    #[serde(rename = "gen_ai.usage.cache_read.input_tokens")]
    pub(super) cache_read: u64,
    #[serde(rename = "gen_ai.usage.cache_creation.input_tokens")]
    pub(super) cache_write: u64,
    #[serde(rename = "gen_ai.usage.reasoning.output_tokens")]
    pub(super) reasoning: u64,
    /// US dollars; null when nothing of it is known.
    pub(super) cost_usd: Option<f64>,
    pub(super) cost_unknown_calls: u32,
}

impl Attributes {
    pub(super) fn of(model: &str, usage: &Usage, spent: Spent) -> Attributes {
        Attributes {
            model: model.to_owned(),
            input: usage.prompt(),
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            reasoning: usage.reasoning,
            cost_usd: spent.dollars(),
            cost_unknown_calls: spent.unknown,
        }
    }
}

/// What happened. A `_start` opens the line's span and an `_end` closes it; the others happen inside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Event {
    RunStart {
        agent: String,
        model: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        link: Option<Link>,
    },
    RunEnd {
        reason: String,
        ms: f64,
        turns: u32,
        usage: Usage,
        #[serde(flatten)]
        told: Attributes,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    TurnStart {
        turn: u32,
    },
    TurnEnd {
        turn: u32,
        ms: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    ModelStart {
        model: String,
    },
    ModelEnd {
        ms: f64,
        /// To the first piece of text, reasoning or call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first_ms: Option<f64>,
        usage: Usage,
        #[serde(flatten)]
        told: Attributes,
        text: String,
        calls: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    ToolStart {
        tool: String,
        call: CallId,
        args: String,
    },
    ToolEnd {
        tool: String,
        call: CallId,
        ms: f64,
        output: String,
        output_bytes: usize,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        details: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    Note {
        id: NoteId,
        kind: NoteKind,
        /// The model call that answers it; 0 where an early version did not write it down.
        #[serde(default)]
        turn: u32,
        text: String,
    },
    Retry {
        attempt: u32,
        wait_ms: f64,
        why: String,
    },
    Compaction {
        before: u64,
        after: u64,
        #[serde(flatten)]
        told: Attributes,
    },
    Error {
        why: String,
    },
    /// So many lines before this one were not written, because writing fell behind.
    Dropped {
        lines: u64,
    },
}
