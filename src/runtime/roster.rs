//! What the crew knows of each task that is not over. Plain data; the crew alone changes it.

use std::sync::Arc;
use std::time::Duration;

use ractor::{ActorRef, RpcReplyPort};

use super::busy::Token;
use super::mail::Ears;
use super::main_agent::MainMsg;
use super::meter::{Begun, Meter, Reading};
use super::order::Missed;
use super::worker::WorkerMsg;
use super::{ControlError, TaskRow};
use crate::message::CallId;
use crate::session::SessionId;
use crate::task::{Brief, TaskDir, TaskId, TaskStatus};

/// Answers a dispatch.
pub(super) type Dispatched = RpcReplyPort<Result<TaskId, ControlError>>;

/// The main agent on whose behalf a task is done, at whatever depth.
#[derive(Clone)]
pub(super) struct Patron {
    pub(super) main: ActorRef<MainMsg>,
    pub(super) session: SessionId,
    /// The tool call that asked for it, if one did.
    pub(super) call: Option<CallId>,
}

/// A task that is not over.
pub(super) struct Entry {
    pub(super) dir: TaskDir,
    pub(super) brief: Brief,
    /// From 1.
    pub(super) attempt: u32,
    /// Who gets the report.
    pub(super) patron: Patron,
    /// Where its notes go; `None` while it is being described, and when nobody will hear any.
    pub(super) ears: Option<Ears>,
    pub(super) stage: Stage,
    /// Somebody asked for its end.
    pub(super) aborted: bool,
    /// What it was to come after and has ended without a result.
    pub(super) missed: Vec<Missed>,
    /// Handed on with the report.
    pub(super) token: Token,
}

/// How far it is.
pub(super) enum Stage {
    /// task.md is being written; whoever dispatched waits for it.
    Describing(Dispatched),
    /// It waits for a place.
    Queued,
    /// A worker is on it.
    Running { worker: ActorRef<WorkerMsg>, meter: Arc<Meter>, begun: Begun },
    /// It ended without a worker to say so; its result.md is being written.
    Closing,
}

impl Entry {
    pub(super) fn row(&self, id: TaskId, place: Option<usize>, after: Vec<TaskId>) -> TaskRow {
        let (status, reading, begun) = match &self.stage {
            Stage::Running { meter, begun, .. } => (TaskStatus::Running, meter.read(), Some(*begun)),
            Stage::Closing => (TaskStatus::Aborted, Reading::default(), None),
            Stage::Describing(_) | Stage::Queued => (TaskStatus::Queued, Reading::default(), None),
        };
        let total = reading.bill.total();
        TaskRow {
            id,
            title: self.brief.title.clone(),
            status,
            attempt: self.attempt,
            turn: reading.turns,
            doing: reading.doing(),
            started: begun.map(|begun| begun.at),
            took: begun.map_or(Duration::ZERO, Begun::took),
            usage: total.usage,
            spent: total.spent,
            place_in_queue: place,
            agent: self.brief.agent.clone(),
            context: reading.context,
            window: reading.window,
            budget: self.brief.budget,
            quiet: match &self.stage {
                Stage::Running { meter, .. } => Some(meter.quiet()),
                Stage::Describing(_) | Stage::Queued | Stage::Closing => None,
            },
            flat: reading.flat,
            score: reading.scores.into(),
            questions: Vec::new(),
            after,
            priority: self.brief.priority,
        }
    }
}
