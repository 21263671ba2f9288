//! What the crew knows of each task that is not over. Plain data; the crew alone changes it.

use std::sync::Arc;
use std::time::Duration;

use ractor::{ActorRef, RpcReplyPort};

use super::busy::Token;
use super::crew::State;
use super::mail::Ears;
use super::main_agent::MainMsg;
use super::meter::{Begun, Meter, Reading};
use super::park::Parking;
use super::purse;
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
    /// It has a journal: what it was to come after is of no concern any more.
    pub(super) began: bool,
    /// Handed on with the report.
    pub(super) token: Token,
    /// What it asks, and what came while it rested.
    pub(super) parking: Parking,
}

/// How far it is.
pub(super) enum Stage {
    /// task.md is being written; whoever dispatched waits for it.
    Describing(Dispatched),
    /// It waits for a place.
    Queued,
    /// A worker is on it.
    Running { worker: ActorRef<WorkerMsg>, meter: Arc<Meter>, begun: Begun },
    /// It waits for an answer, without a worker.
    Parked,
    /// It waits so since an earlier program, and its files are being read; somebody may wait for it.
    Adopting(Option<Dispatched>),
    /// It ended without a worker to say so; its result.md is being written.
    Closing,
}

impl Entry {
    /// A task of which nothing is known but this; of one that goes on, the files tell the rest.
    pub(super) fn new(dir: TaskDir, brief: Brief, patron: Patron, stage: Stage, token: Token) -> Entry {
        Entry {
            dir,
            brief,
            attempt: 1,
            patron,
            ears: None,
            stage,
            aborted: false,
            began: false,
            token,
            parking: Parking::default(),
        }
    }

    pub(super) fn row(&self, id: TaskId, place: Option<usize>, after: Vec<TaskId>) -> TaskRow {
        let (status, reading, begun) = match &self.stage {
            Stage::Running { meter, begun, .. } => (TaskStatus::Running, meter.read(), Some(*begun)),
            Stage::Closing => (TaskStatus::Aborted, Reading::default(), None),
            Stage::Parked | Stage::Adopting(_) => self.so_far(TaskStatus::Parked),
            Stage::Describing(_) | Stage::Queued => self.so_far(TaskStatus::Queued),
        };
        let total = reading.bill.total();
        TaskRow {
            id,
            title: self.brief.title.clone(),
            status,
            attempt: self.attempt,
            turn: reading.turns,
            doing: reading.doing(),
            said: reading.said,
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
                Stage::Describing(_) | Stage::Queued | Stage::Parked | Stage::Adopting(_) | Stage::Closing => None,
            },
            flat: reading.flat,
            score: reading.scores.into(),
            questions: self.parking.questions.open().cloned().collect(),
            after,
            priority: self.brief.priority,
            jobs: Vec::new(),
        }
    }
}

impl State {
    /// Why there is nothing to be ordered of a task that the crew does not know.
    pub(super) fn absent(&self, id: TaskId) -> ControlError {
        match TaskDir::open(&self.site.config.workspace.tasks(), id) {
            Ok(_) => ControlError::AlreadyEnded(id),
            Err(_) => ControlError::NoSuchTask(id),
        }
    }

    pub(super) fn rows(&self) -> Vec<TaskRow> {
        let places = self.queue.places();
        let row = |(id, entry): (&TaskId, &Entry)| entry.row(*id, places.get(id).copied(), self.queue.after(*id));
        let mut rows: Vec<TaskRow> = self.tasks.iter().map(row).collect();
        rows.sort_by_key(|row| row.id);
        for row in &mut rows {
            purse::fill(&self.site, row);
            row.jobs = self.site.yard.of_task(row.id);
        }
        rows
    }
}
