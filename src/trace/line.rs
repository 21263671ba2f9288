//! One line of a trace: `{"event":"tool_start","tool":"shell",…,"at":…,"trace_id":…,"span":…,"parent":…}`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{CallId, NoteId, NoteKind, Usage};

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
    },
    Error {
        why: String,
    },
    /// So many lines before this one were not written, because writing fell behind.
    Dropped {
        lines: u64,
    },
}
