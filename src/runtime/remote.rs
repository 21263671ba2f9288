//! Orders as data, so that they can come from another process: what a person asks of the crew or of a main agent, and what
//! comes of it. How they travel is told in `server`; what they do, beside each call of [`Runtime`].

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::feed::Envelope;
use super::{
    Batch, Budgeted, ControlError, Pending, Replied, Resumed, Runtime, SessionGone, Steered, Table, TaskDetail, TaskRow,
};
use crate::ledger::Balance;
use crate::message::{Change, NoteId};
use crate::session::SessionId;
use crate::task::{Brief, TaskId};

/// What is asked. As JSON an object with the field `order`: `{"order":"steer","task":"t_001","text":"keep the API"}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// All tasks; answered with [`Done::Tasks`].
    Tasks,
    /// One task; answered with [`Done::Task`].
    Task {
        /// Which.
        task: TaskId,
    },
    /// As [`Runtime::dispatch`]; answered with [`Done::Dispatched`].
    Dispatch {
        /// The work.
        brief: Box<Brief>,
        /// Whose main agent is told; where it is missing or not open, the conversation that the person is at.
        #[serde(default)]
        session: Option<SessionId>,
    },
    /// As [`Runtime::batch`]; answered with [`Done::Batch`]. A file is read there, so its path is absolute.
    Batch {
        /// The template.
        brief: Box<Brief>,
        /// The rows.
        table: Table,
        /// As for [`Order::Dispatch`].
        #[serde(default)]
        session: Option<SessionId>,
    },
    /// As [`Runtime::steer`]; answered with [`Done::Queued`].
    Steer {
        /// Which worker.
        task: TaskId,
        /// The words.
        text: String,
    },
    /// As [`Runtime::follow_up`]; answered with [`Done::Queued`].
    FollowUp {
        /// Which worker.
        task: TaskId,
        /// The words.
        text: String,
    },
    /// As [`Runtime::answer`]; answered with [`Done::Answered`].
    Answer {
        /// Whose question.
        task: TaskId,
        /// Which, when it is not the one that has been open for longest.
        #[serde(default)]
        question: Option<u32>,
        /// An option's number or name, or words.
        text: String,
    },
    /// As [`Runtime::abort`]; answered with [`Done::Ordered`].
    Abort {
        /// Which task.
        task: TaskId,
    },
    /// As [`Runtime::resume`]; answered with [`Done::Resumed`].
    Resume {
        /// Which task.
        task: TaskId,
        /// Who is told when the conversation that asked for it is gone; chosen as for [`Order::Dispatch`].
        #[serde(default)]
        session: Option<SessionId>,
        /// What it should do now, as for [`Runtime::go_on`].
        #[serde(default)]
        text: Option<String>,
    },
    /// As [`Runtime::budget`], or as [`Runtime::budget_of`] without a change; answered with [`Done::Budgeted`].
    Budget {
        /// Which task.
        task: TaskId,
        /// What is to become of its budget.
        #[serde(default)]
        change: Option<Change>,
    },
    /// As [`Runtime::fleet`]; answered with [`Done::Fleet`].
    Fleet,
    /// As [`Runtime::steer_main`]; answered with [`Done::Said`].
    Say {
        /// Which conversation; chosen as for [`Order::Dispatch`].
        #[serde(default)]
        session: Option<SessionId>,
        /// The words.
        text: String,
        /// They are heard only when the current run would end by itself.
        #[serde(default)]
        later: bool,
    },
    /// As [`Runtime::pending`]; answered with [`Done::Pending`].
    Pending {
        /// Which conversation; chosen as for [`Order::Dispatch`].
        #[serde(default)]
        session: Option<SessionId>,
    },
    /// As [`Runtime::withdraw`]; answered with [`Done::Withdrawn`].
    Withdraw {
        /// Which conversation; chosen as for [`Order::Dispatch`].
        #[serde(default)]
        session: Option<SessionId>,
        /// Which worker was to hear it, when it was not the main agent.
        #[serde(default)]
        task: Option<TaskId>,
        /// The note.
        note: NoteId,
    },
    /// As [`Runtime::abort_main`]; answered with [`Done::Stopped`].
    Stop {
        /// Which conversation; chosen as for [`Order::Dispatch`].
        #[serde(default)]
        session: Option<SessionId>,
    },
}

/// What came of an order. As JSON an object with the field `done`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "done", rename_all = "snake_case")]
pub enum Done {
    /// By number.
    Tasks {
        /// A row each.
        rows: Vec<TaskRow>,
    },
    /// All that is known of one.
    Task {
        /// It.
        detail: Box<TaskDetail>,
    },
    /// There is a new task.
    Dispatched {
        /// Its number.
        task: TaskId,
    },
    /// There is a new task for each row.
    Batch(Batch),
    /// A note is on the disk and in the worker's queue.
    Queued {
        /// Its number, as in `queued #14`.
        note: NoteId,
    },
    /// The order is given; the task's state tells when it has been done.
    Ordered,
    /// A question is answered.
    Answered(Replied),
    /// A task goes on.
    Resumed(Resumed),
    /// How a task stands with its budget.
    Budgeted(Budgeted),
    /// How all tasks of the day stand together.
    Fleet {
        /// What they may use, and what they have used.
        balance: Balance,
    },
    /// What became of a line to a main agent.
    Said(Steered),
    /// What nobody has heard yet.
    Pending {
        /// Those for the main agent first.
        notes: Vec<Pending>,
    },
    /// A note is taken back.
    Withdrawn {
        /// Its words.
        text: String,
    },
    /// A main agent was told to stop.
    Stopped {
        /// Whether anything ran.
        ran: bool,
    },
}

/// The way to the process that has the workspace.
#[derive(Clone)]
pub struct Remote {
    /// Carries an order there; the refusal is a sentence.
    pub order: Arc<dyn Fn(Order) -> BoxFuture<'static, Result<Done, String>> + Send + Sync>,
    /// Everything that happens there from now on; it ends when the way there does. `None` when there is none.
    pub feed: Arc<dyn Fn() -> BoxFuture<'static, Option<mpsc::Receiver<Envelope>>> + Send + Sync>,
}

impl Runtime {
    /// Does what is asked. The refusal is a sentence for people.
    ///
    /// # Errors
    /// What the call of the same name refuses with.
    pub async fn obey(&self, order: Order) -> Result<Done, String> {
        match order {
            Order::Tasks => Ok(Done::Tasks { rows: self.tasks().await }),
            Order::Task { task } => Ok(Done::Task { detail: Box::new(self.task(task).await.map_err(text)?) }),
            Order::Dispatch { brief, session } => {
                let task = self.dispatch(&self.meant(session)?, *brief).await;
                task.map(|task| Done::Dispatched { task }).map_err(text)
            }
            Order::Batch { brief, table, session } => {
                self.batch(&self.meant(session)?, &brief, table).await.map(Done::Batch).map_err(text)
            }
            Order::Steer { task, text: words } => self.steer(task, words).await.map(queued).map_err(text),
            Order::FollowUp { task, text: words } => self.follow_up(task, words).await.map(queued).map_err(text),
            Order::Answer { task, question, text: words } => {
                self.answer(task, question, words).await.map(Done::Answered).map_err(text)
            }
            Order::Abort { task } => self.abort(task).await.map(|()| Done::Ordered).map_err(text),
            Order::Resume { task, session, text: words } => {
                self.again(task, words, &self.meant(session)?).await.map(Done::Resumed).map_err(text)
            }
            Order::Budget { task, change: None } => self.budget_of(task).await.map(Done::Budgeted).map_err(text),
            Order::Budget { task, change: Some(change) } => {
                self.budget(task, change).await.map(Done::Budgeted).map_err(text)
            }
            Order::Fleet => Ok(Done::Fleet { balance: self.fleet().await }),
            Order::Say { session, text: words, later } => {
                let session = self.meant(session)?;
                let said = match later {
                    false => self.steer_main(&session, words).await,
                    true => self.follow_up_main(&session, words).await,
                };
                said.map(Done::Said).map_err(text)
            }
            Order::Pending { session } => Ok(Done::Pending { notes: self.pending(&self.meant(session)?).await }),
            Order::Withdraw { session, task, note } => {
                let taken = self.withdraw(&self.meant(session)?, task, note).await;
                taken.map(|text| Done::Withdrawn { text }).map_err(text)
            }
            Order::Stop { session } => {
                self.abort_main(&self.meant(session)?).await.map(|ran| Done::Stopped { ran }).map_err(text)
            }
        }
    }

    /// The conversation that a person is at: orders that name none are meant for it.
    pub fn attend(&self, session: &SessionId) {
        *self.inner.site.attended() = Some(session.clone());
    }

    fn meant(&self, session: Option<SessionId>) -> Result<SessionId, String> {
        let open = |id: &SessionId| self.inner.mains().contains_key(id);
        let meant = session.filter(open).or_else(|| self.inner.site.attended().clone().filter(open));
        meant.ok_or_else(|| "no conversation is open there; try again when one is".to_owned())
    }

    /// Orders of this runtime go to the process that has the workspace, and what happens there is told here.
    /// Does nothing where the workspace is its own.
    pub async fn reach(&self, remote: Remote) {
        if let Some((lookout, _)) = &self.inner.lookout {
            lookout.way.reach(remote).await;
        }
    }

    /// Whether another process has the workspace and what happens there is told here as it happens.
    pub fn is_told(&self) -> bool {
        self.inner.lookout.as_ref().is_some_and(|(lookout, _)| lookout.way.is_told())
    }

    /// The way to the process that has the workspace, where that is another.
    ///
    /// # Errors
    /// [`ControlError::Looking`] when it is another and there is no way to it.
    pub(super) fn elsewhere(&self) -> Result<Option<&Remote>, ControlError> {
        let Some((lookout, _)) = &self.inner.lookout else { return Ok(None) };
        lookout.way.remote().map(Some).ok_or_else(|| ControlError::Looking(lookout.owner.clone()))
    }

    /// The same for orders to a main agent.
    pub(super) fn main_elsewhere(&self) -> Result<Option<&Remote>, SessionGone> {
        let Some((lookout, _)) = &self.inner.lookout else { return Ok(None) };
        lookout.way.remote().map(Some).ok_or_else(|| SessionGone::Looking(lookout.owner.clone()))
    }
}

impl Remote {
    /// Carries an order and reads what is expected of the answer.
    pub(super) async fn ask<T>(&self, order: Order, read: impl FnOnce(Done) -> Option<T>) -> Result<T, String> {
        let done = (self.order)(order).await?;
        read(done)
            .ok_or_else(|| "the tillerman that works here answered something else; is it another version?".to_owned())
    }

    pub(super) async fn say(&self, session: &SessionId, text: String, later: bool) -> Result<Steered, SessionGone> {
        let order = Order::Say { session: Some(session.clone()), text, later };
        let said = |done| if let Done::Said(said) = done { Some(said) } else { None };
        self.ask(order, said).await.map_err(SessionGone::Elsewhere)
    }

    pub(super) async fn stop(&self, session: &SessionId) -> Result<bool, SessionGone> {
        let ran = |done| if let Done::Stopped { ran } = done { Some(ran) } else { None };
        self.ask(Order::Stop { session: Some(session.clone()) }, ran).await.map_err(SessionGone::Elsewhere)
    }

    pub(super) async fn note(&self, order: Order) -> Result<NoteId, ControlError> {
        let note = |done| if let Done::Queued { note } = done { Some(note) } else { None };
        self.ask(order, note).await.map_err(ControlError::Elsewhere)
    }
}

fn queued(note: NoteId) -> Done {
    Done::Queued { note }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
