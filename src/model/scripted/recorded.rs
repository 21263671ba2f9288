//! What a recording holds besides fixtures: its head, what people said and when, and what a player needs to tell each
//! exchange exactly as it was. Other players of the format ignore it.

use serde::{Deserialize, Serialize};

use crate::message::{Block, Image, Usd};
use crate::model::ModelId;

/// The version that is written.
pub const VERSION: u32 = 1;

/// The head of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Its version, [`VERSION`].
    pub recording: u32,
    /// Context window, in tokens, that the recorded run had.
    pub window: u64,
    /// The highest number that a task had before.
    pub tasks: u32,
}

/// Something that a person did, at its place in the course of things.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// To whom: `main`, or a task's id.
    pub to: String,
    /// Events of the recording before it: requests, ends of replies, ends of tasks and of the main agent's runs.
    #[serde(default)]
    pub after: usize,
    /// What was done.
    #[serde(rename = "do")]
    pub act: Act,
    /// The words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Pictures shown with the words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// What a person can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// A line of its own.
    Say,
    /// Words for the current run.
    Steer,
    /// Words for its end.
    FollowUp,
    /// An end to it.
    Abort,
    /// What it asked to know.
    Answer,
    /// The note of this number back, before it was heard.
    TakeBack,
}

/// One exchange as it was, where the fields that all players know say less.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::model) struct Recorded {
    /// Who asked: the name of its conversation when that is a task's, else `main`.
    pub(in crate::model) agent: String,
    /// Who answered; of a fault, only the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::model) model: Option<String>,
    /// Events of the recording before its end.
    pub(in crate::model) after: usize,
    /// The fault was not the end: the model was asked again after `retryAfter`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(in crate::model) retried: bool,
    /// Nobody waited for the end: the run was stopped here.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(in crate::model) aborted: bool,
    /// The blocks exactly, where `response` cannot say them: sealed reasoning, another order, words before a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::model) blocks: Option<Vec<Block>>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::model) cost: Option<Usd>,
}

impl Recorded {
    /// Who answered, where that is known.
    pub(in crate::model) fn model_id(&self) -> Option<ModelId> {
        ModelId::parse(self.model.as_deref()?)
    }
}

/// Who asks, by the name of the conversation: a task's is its id, and a person's is another one every time.
pub(in crate::model) fn agent(cache_key: &str) -> &str {
    let number = cache_key.strip_prefix("t_").unwrap_or_default();
    let is_task = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if is_task { cache_key } else { "main" }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}
