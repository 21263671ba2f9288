//! A question of a task, as a file: `.tasks/t_004/questions/q_001.md`. Who is asked, who answers and what happens then
//! is decided in `runtime`.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::TaskId;

/// A question that rests a task until it is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Whose.
    pub task: TaskId,
    /// Counts from 1 within the task.
    pub number: u32,
    /// One line or a few.
    pub text: String,
    /// What may be chosen, by its number from 1; empty when any words will do.
    pub options: Vec<String>,
    /// What is taken at the deadline; one of the options if there are any.
    pub default: String,
    /// When it was asked.
    pub asked: Timestamp,
    /// When the default is taken.
    pub deadline: Timestamp,
    /// Who asks.
    pub asker: Asker,
    /// What became of it.
    pub state: Asked,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asker {
    /// The worker itself.
    Worker,
    /// The runtime: the worker goes round in circles.
    Stuck,
    /// The runtime: a task that this one waited for did not end well.
    Dependency,
}

/// What became of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Asked {
    /// It waits.
    Open,
    /// Somebody answered.
    Answered {
        /// The words, or the option in full.
        text: String,
        /// `person`, `main` or a task as in `t_003`.
        from: String,
        /// When.
        at: Timestamp,
    },
    /// The deadline came first.
    Defaulted {
        /// When.
        at: Timestamp,
    },
    /// The task ended, so nobody needs an answer.
    Moot {
        /// Why.
        why: String,
    },
}

impl Question {
    /// `q_001`, as its file is called.
    pub fn name(&self) -> String {
        format!("q_{:03}", self.number)
    }

    /// It waits for an answer.
    pub fn is_open(&self) -> bool {
        self.state == Asked::Open
    }
}

impl fmt::Display for Question {
    /// `q_001 of t_004`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.name(), self.task)
    }
}
