//! What an order looks like as a line of JSON, and what is said to one that makes no sense. Pure.

use std::path::PathBuf;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::task::{TaskId, one_line};

/// All orders, as they are written.
pub(super) const ORDERS: [&str; 14] = [
    "prompt",
    "steer",
    "follow_up",
    "abort",
    "state",
    "tasks",
    "dispatch",
    "answer",
    "approve",
    "deny",
    "set_model",
    "set_effort",
    "compact",
    "quit",
];

/// An order and who is answered.
#[derive(Debug)]
pub(super) struct Asked {
    /// As it was given; null when there is none.
    pub(super) id: Value,
    /// The order's name as it was written; `parse` when the line has none.
    pub(super) command: String,
    /// What is to be done, or what is wrong with the line.
    pub(super) order: Result<Order, String>,
}

/// What is to be done.
#[derive(Debug)]
pub(super) enum Order {
    Prompt(Prompt),
    Steer(Words),
    FollowUp(Words),
    Abort(Target),
    State,
    Tasks,
    Dispatch(Box<Dispatch>),
    Answer(Answer),
    Approve(Approve),
    Deny(Deny),
    Model(SetModel),
    Effort(SetEffort),
    Compact,
    Quit,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Prompt {
    pub(super) message: String,
    #[serde(default)]
    pub(super) images: Vec<PathBuf>,
    /// What becomes of it while a run goes on; by itself it waits for the end of that.
    #[serde(default, rename = "streamingBehavior", alias = "streaming_behavior")]
    pub(super) streaming: Option<Streaming>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Streaming {
    #[serde(rename = "steer")]
    Steer,
    #[serde(rename = "followUp", alias = "follow_up")]
    FollowUp,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    pub(super) message: String,
    #[serde(default, alias = "target")]
    pub(super) task: Option<To>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Target {
    #[serde(default, alias = "target")]
    pub(super) task: Option<To>,
}

/// The main agent, or a task's worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct To(pub(super) Option<TaskId>);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Dispatch {
    pub(super) message: String,
    #[serde(default)]
    pub(super) title: String,
    #[serde(default)]
    pub(super) agent: Option<String>,
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) touches: Vec<String>,
    #[serde(default)]
    pub(super) max_turns: Option<u32>,
    #[serde(default)]
    pub(super) after: Vec<TaskId>,
    #[serde(default)]
    pub(super) budget: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    pub(super) task: TaskId,
    pub(super) message: String,
    #[serde(default)]
    pub(super) question: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Approve {
    #[serde(default)]
    pub(super) permission: Option<u64>,
    #[serde(default)]
    pub(super) always: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Deny {
    #[serde(default)]
    pub(super) permission: Option<u64>,
    #[serde(default)]
    pub(super) message: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetModel {
    pub(super) model: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetEffort {
    pub(super) effort: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Reads a line; `None` when there is nothing on it.
pub(super) fn read(line: &[u8]) -> Option<Asked> {
    let nothing = |why: String| Asked { id: Value::Null, command: "parse".to_owned(), order: Err(why) };
    let line = match std::str::from_utf8(line) {
        Ok(line) if line.trim().is_empty() => return None,
        Ok(line) => line,
        Err(error) => {
            return Some(nothing(format!("the line is not UTF-8: byte {} is wrong", error.valid_up_to() + 1)));
        }
    };
    Some(match serde_json::from_str(line) {
        Ok(Value::Object(fields)) => asked(fields),
        Ok(_) => nothing("the line is no JSON object; write one like {\"type\":\"state\"}".to_owned()),
        Err(error) => nothing(format!("the line is not JSON: {error}")),
    })
}

fn asked(mut fields: Map<String, Value>) -> Asked {
    let id = fields.shift_remove("id").unwrap_or_default();
    match fields.shift_remove("type") {
        Some(Value::String(command)) => {
            let order = order(&command, fields);
            Asked { id, command: one_line(&command, 40), order }
        }
        Some(other) => {
            let why =
                format!("type is {}, not a name; there are {}", one_line(&other.to_string(), 40), ORDERS.join(", "));
            Asked { id, command: "parse".to_owned(), order: Err(why) }
        }
        None => {
            let why = format!("type is missing; there are {}", ORDERS.join(", "));
            Asked { id, command: "parse".to_owned(), order: Err(why) }
        }
    }
}

fn order(command: &str, fields: Map<String, Value>) -> Result<Order, String> {
    let fields = Fields { command, fields };
    match command {
        "prompt" => fields.read().map(Order::Prompt),
        "steer" => fields.read().map(Order::Steer),
        "follow_up" => fields.read().map(Order::FollowUp),
        "abort" => fields.read().map(Order::Abort),
        "state" | "get_state" => fields.read().map(|Nothing {}| Order::State),
        "tasks" => fields.read().map(|Nothing {}| Order::Tasks),
        "dispatch" => fields.read().map(|dispatch| Order::Dispatch(Box::new(dispatch))),
        "answer" => fields.read().map(Order::Answer),
        "approve" => fields.read().map(Order::Approve),
        "deny" => fields.read().map(Order::Deny),
        "set_model" => fields.read().map(Order::Model),
        "set_effort" => fields.read().map(Order::Effort),
        "compact" => fields.read().map(|Nothing {}| Order::Compact),
        "quit" => fields.read().map(|Nothing {}| Order::Quit),
        _ => {
            let command = one_line(command, 40);
            let near = ORDERS.iter().find(|order| strsim::damerau_levenshtein(order, &command) <= 2);
            let near = near.map_or_else(String::new, |near| format!("did you mean {near}? "));
            Err(format!("there is no {command}; {near}There are {}", ORDERS.join(", ")))
        }
    }
}

struct Fields<'c> {
    command: &'c str,
    fields: Map<String, Value>,
}

impl Fields<'_> {
    /// The fields of one order; the first that is wrong is named.
    fn read<T: DeserializeOwned>(self) -> Result<T, String> {
        serde_path_to_error::deserialize(Value::Object(self.fields)).map_err(|error| {
            let path = error.path().to_string();
            let at = if path == "." { String::new() } else { format!("{path}: ") };
            format!("{}: {at}{}", self.command, error.inner())
        })
    }
}

impl TryFrom<String> for To {
    type Error = crate::task::NoTaskId;

    fn try_from(text: String) -> Result<To, Self::Error> {
        if text == "main" { Ok(To(None)) } else { text.parse().map(|task| To(Some(task))) }
    }
}
