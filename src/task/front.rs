//! The frontmatter of a task's files, and how it becomes what the program works with.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Brief, Priority, TaskDir, TaskId, TaskReport, TaskStatus, now};
use crate::message::{Approval, Budget, BudgetError, Spent, Usage, Usd};

/// The frontmatter of task.md. Keys that this version does not know are kept when the file is rewritten.
#[derive(Serialize, Deserialize)]
pub(super) struct TaskFront {
    id: TaskId,
    title: String,
    pub(super) status: TaskStatus,
    pub(super) created: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    touches: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_turns: Option<u32>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) budget: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    after: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "is_normal")]
    priority: Priority,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approval: Option<Approval>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
    #[serde(default = "first")]
    depth: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<TaskId>,
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub(super) attempt: u32,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// The frontmatter of result.md.
#[derive(Serialize, Deserialize)]
pub(super) struct ResultFront {
    id: TaskId,
    title: String,
    status: TaskStatus,
    #[serde(default = "first", skip_serializing_if = "is_first")]
    attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started: Option<Timestamp>,
    ended: Timestamp,
    /// Milliseconds; files of early versions leave it to the two times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    took_ms: Option<u64>,
    turns: u32,
    tokens: u64,
    #[serde(default)]
    usage: Usage,
    /// US dollars, as far as they are known; null when nothing of them is.
    #[serde(default)]
    cost: Option<f64>,
    /// Calls whose price nobody knows. Files of early versions know no cost at all.
    #[serde(default)]
    cost_unknown_calls: Option<u32>,
    /// The same over all attempts, where there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost_all_attempts: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost_all_attempts_unknown_calls: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    verified: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changed_while_it_ran: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    assumptions: Vec<String>,
}

fn first() -> u32 {
    1
}

fn is_normal(priority: &Priority) -> bool {
    *priority == Priority::Normal
}

fn is_first(number: &u32) -> bool {
    *number == 1
}

impl TaskFront {
    pub(super) fn of(id: TaskId, brief: &Brief, status: TaskStatus) -> TaskFront {
        TaskFront {
            id,
            title: brief.title.clone(),
            status,
            created: now(),
            agent: brief.agent.clone(),
            model: brief.model.clone(),
            touches: brief.touches.clone(),
            max_turns: brief.max_turns,
            budget: brief.budget.value(),
            after: brief.after.clone(),
            priority: brief.priority,
            approval: brief.approval,
            session: brief.session.clone(),
            depth: brief.depth,
            parent: brief.parent,
            attempt: 1,
            rest: Map::new(),
        }
    }

    /// # Errors
    /// [`BudgetError`] when a hand wrote a budget that is none.
    pub(super) fn brief(self, body: String) -> Result<Brief, BudgetError> {
        Ok(Brief {
            title: self.title,
            body,
            agent: self.agent,
            model: self.model,
            touches: self.touches,
            max_turns: self.max_turns,
            budget: Budget::read(&self.budget)?,
            after: self.after,
            priority: self.priority,
            approval: self.approval,
            session: self.session,
            depth: self.depth,
            parent: self.parent,
        })
    }
}

impl ResultFront {
    pub(super) fn of(report: &TaskReport) -> ResultFront {
        ResultFront {
            id: report.id,
            title: report.title.clone(),
            status: report.status,
            attempt: report.attempt,
            started: report.started,
            ended: report.ended,
            took_ms: report.started.map(|_| u64::try_from(report.took.as_millis()).unwrap_or(u64::MAX)),
            turns: report.turns,
            tokens: report.usage.total_tokens(),
            usage: report.usage,
            cost: report.spent.dollars(),
            cost_unknown_calls: Some(report.spent.unknown),
            cost_all_attempts: report.total.dollars().filter(|_| report.attempt > 1),
            cost_all_attempts_unknown_calls: (report.attempt > 1).then_some(report.total.unknown),
            verified: report.verified.clone(),
            files: report.files.clone(),
            changed_while_it_ran: report.changed.clone(),
            assumptions: report.assumptions.clone(),
        }
    }

    pub(super) fn report(self, dir: &TaskDir, answer: String) -> TaskReport {
        // A clock that was set in between makes the difference of the two times worth nothing.
        let between = || Duration::try_from(self.ended.duration_since(self.started?)).ok();
        let took = self.took_ms.map(Duration::from_millis).or_else(between);
        let spent = Spent {
            known: self.cost.and_then(Usd::from_dollars).unwrap_or_default(),
            unknown: self.cost_unknown_calls.unwrap_or(if self.cost.is_some() { 0 } else { self.turns }),
        };
        let all =
            |unknown| Spent { known: self.cost_all_attempts.and_then(Usd::from_dollars).unwrap_or_default(), unknown };
        TaskReport {
            id: dir.id(),
            title: self.title,
            attempt: self.attempt,
            status: self.status,
            answer,
            turns: self.turns,
            usage: self.usage,
            spent,
            started: self.started,
            ended: self.ended,
            took: took.unwrap_or(Duration::ZERO),
            dir: dir.path().to_owned(),
            verified: self.verified,
            files: self.files,
            changed: self.changed_while_it_ran,
            assumptions: self.assumptions,
            total: self.cost_all_attempts_unknown_calls.map_or(spent, all),
        }
    }
}
