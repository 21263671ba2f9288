//! The actor that owns all workers: numbers, places, routing, supervision. It waits for nothing: files are written on
//! threads of their own, runs run on tasks of their own, and both report back as messages.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};

use super::call::{Caller, Callers};
use super::feed::{News, Source};
use super::grace;
use super::job;
use super::mail::{self, Ears, Letter};
use super::order::Looked;
use super::park::{ParkMsg, RESTED};
use super::pending::Clock;
use super::resume::Revived;
use super::roster::{Dispatched, Entry, Patron, Stage};
use super::rows::{Rows, Taken};
use super::site::{GRACE, Site};
use super::tray::Trays;
use super::turns::Looks;
use super::upkeep;
use super::waiting::Waiting;
use super::worker::{OVER, WorkerMsg};
use super::{ControlError, TaskRow};
use crate::message::{NoteId, Spent, Usage};
use crate::task::{Brief, TaskId, TaskReport, TaskStatus, now};

/// What is said of a task that was aborted while it waited.
const NOT_STARTED: &str = "Ended before it was started; nothing was done.";

/// The behaviour; all it knows is in [`State`].
pub(super) struct Crew;

/// What the crew is told.
pub(super) enum CrewMsg {
    /// Take on a task.
    Dispatch(Box<Brief>, Patron, Dispatched),
    /// Take on a task for each row of a table, or none.
    Batch(Vec<Brief>, Patron, Taken),
    /// Their files are there, or none of them.
    Rows(Box<Rows>),
    /// Take on a task whose report goes to a call that waits for it.
    Call(Box<(Brief, Caller)>, Patron, Dispatched),
    /// Take a task on again; its worker hears the words first.
    Resume(TaskId, Patron, Option<Letter>, Dispatched),
    /// Its files say so, or it may not go on.
    Revived(TaskId, Result<Box<Revived>, ControlError>),
    /// Its task.md is written and its inbox is found, or cannot be.
    Described(TaskId, Result<Box<Ears>, String>),
    /// What its files say when its turn has come; they were read when so many tasks had ended.
    Looked(TaskId, Box<Looked>, u64),
    /// Text for a worker.
    Note(TaskId, Letter, RpcReplyPort<Result<NoteId, ControlError>>),
    /// About notes that nobody has heard yet.
    Trays(Trays),
    /// Stop a worker.
    Abort(TaskId, RpcReplyPort<Result<(), ControlError>>),
    /// The grace of an aborted worker is over.
    Overdue(TaskId),
    /// About tasks that rest, and what they ask.
    Park(ParkMsg),
    /// A task is over, and result.md is written.
    Ended(Box<TaskReport>),
    /// The rows of all tasks that are not over.
    Live(RpcReplyPort<Vec<TaskRow>>),
    /// Stop them all; what waits is left to the next start.
    Close,
}

/// What the crew starts with.
pub(super) struct Founding {
    pub(super) site: Arc<Site>,
    /// The highest number that was ever given.
    pub(super) last: u32,
}

/// What the crew is.
pub(super) struct State {
    pub(super) site: Arc<Site>,
    pub(super) last: u32,
    pub(super) callers: Callers,
    pub(super) tasks: HashMap<TaskId, Entry>,
    pub(super) queue: Waiting,
    pub(super) looks: Looks,
    pub(super) running: usize,
    pub(super) clock: Clock,
}

impl Actor for Crew {
    type Msg = CrewMsg;
    type State = State;
    type Arguments = Founding;

    async fn pre_start(&self, _: ActorRef<CrewMsg>, given: Founding) -> Result<State, ActorProcessingErr> {
        let Founding { site, last } = given;
        let (queue, looks, clock) = (Waiting::default(), Looks::default(), Clock::default());
        Ok(State { site, last, callers: Callers::new(), tasks: HashMap::new(), queue, looks, running: 0, clock })
    }

    async fn handle(
        &self,
        myself: ActorRef<CrewMsg>,
        message: CrewMsg,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            CrewMsg::Dispatch(brief, patron, reply) => state.dispatch(&myself, *brief, patron, reply),
            CrewMsg::Call(call, patron, reply) => state.call(&myself, *call, patron, reply),
            CrewMsg::Batch(briefs, patron, reply) => state.batch(&myself, briefs, &patron, reply),
            CrewMsg::Rows(rows) => {
                state.rows_are_written(&myself, *rows);
                state.advance(&myself).await;
            }
            CrewMsg::Described(id, written) => {
                state.described(&myself, id, written);
                state.waits(id);
                state.advance(&myself).await;
            }
            CrewMsg::Looked(id, looked, ends) => {
                state.looked(&myself, id, *looked, ends);
                state.advance(&myself).await;
            }
            CrewMsg::Resume(id, patron, words, reply) => state.resume(&myself, id, (patron, words), reply),
            CrewMsg::Revived(id, revived) => {
                state.revived(&myself, id, revived);
                state.advance(&myself).await;
            }
            // Whoever asked may have stopped waiting; then the answer is for nobody.
            CrewMsg::Note(id, letter, reply) => state.note(&myself, id, letter, reply),
            CrewMsg::Trays(trays) => state.trays(&myself, trays),
            CrewMsg::Park(message) => {
                state.park(&myself, message);
                state.advance(&myself).await;
            }
            CrewMsg::Abort(id, reply) => state.abort(&myself, id, reply),
            CrewMsg::Overdue(id) => state.kill(id),
            CrewMsg::Ended(report) => {
                state.ended(&myself, *report);
                state.advance(&myself).await;
            }
            CrewMsg::Live(reply) => {
                let _ = reply.send(state.rows());
            }
            CrewMsg::Close => state.close(&myself),
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<CrewMsg>,
        event: SupervisionEvent,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorTerminated(who, _, reason) if reason.as_deref() != Some(OVER) => {
                state.lost(&myself, who.get_id(), reason.as_deref().unwrap_or("it stopped"));
            }
            SupervisionEvent::ActorFailed(who, why) => state.lost(&myself, who.get_id(), &why.to_string()),
            SupervisionEvent::ActorTerminated(..)
            | SupervisionEvent::ActorStarted(_)
            | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

impl State {
    /// The number is claimed here, so that numbers rise in the order of the calls; task.md is written elsewhere.
    pub(super) fn dispatch(&mut self, myself: &ActorRef<CrewMsg>, brief: Brief, patron: Patron, reply: Dispatched) {
        let dir = match self.admit(&brief) {
            Ok(dir) => dir,
            Err(refusal) => {
                let _ = reply.send(Err(refusal));
                return;
            }
        };
        let id = dir.id();
        self.last = id.0;
        self.line_up(id, &brief);
        let (site, crew, task) = (self.site.clone(), myself.clone(), (dir.clone(), brief.clone()));
        let (journal, durability) = (self.site.journal(id), self.site.durability());
        tokio::spawn(async move {
            let described = site.on_disk(move || {
                let ears = mail::ears(&journal, durability).map_err(|error| error.to_string())?;
                task.0.describe(&task.1, TaskStatus::Queued).map_err(|error| error.to_string())?;
                Ok(Box::new(ears))
            });
            let described = described.await.unwrap_or_else(Err);
            // A crew that is gone takes no more tasks; recovery finds the directory.
            let _ = crew.cast(CrewMsg::Described(id, described));
        });
        let entry = Entry::new(dir, brief, patron, Stage::Describing(reply), self.site.busy.token());
        self.tasks.insert(id, entry);
    }

    pub(super) fn described(&mut self, myself: &ActorRef<CrewMsg>, id: TaskId, described: Result<Box<Ears>, String>) {
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        let Stage::Describing(reply) = std::mem::replace(&mut entry.stage, Stage::Queued) else { return };
        match described {
            Ok(ears) => {
                entry.ears = Some(*ears);
                if entry.brief.after.is_empty() {
                    self.looks.is_clear(id);
                }
            }
            Err(why) => {
                let _ = reply.send(Err(ControlError::Files(why)));
                return self.forget(myself, id);
            }
        }
        let _ = reply.send(Ok(id));
        if entry.aborted || self.site.is_closing() {
            self.queue.leave(id);
            self.bury(myself, id, TaskStatus::Aborted, NOT_STARTED.to_owned());
        }
    }

    fn abort(&mut self, myself: &ActorRef<CrewMsg>, id: TaskId, reply: RpcReplyPort<Result<(), ControlError>>) {
        let Some(entry) = self.tasks.get_mut(&id) else {
            let _ = reply.send(Err(self.absent(id)));
            return;
        };
        entry.aborted = true;
        match &entry.stage {
            Stage::Running { worker, .. } => {
                // A worker that is just gone has ended by itself, which is what was asked for.
                let _ = worker.cast(WorkerMsg::Abort);
                grace::tell_after(GRACE, myself, move || CrewMsg::Overdue(id));
            }
            Stage::Queued | Stage::Parked => {
                self.queue.leave(id);
                let words = if entry.has_rested() { RESTED } else { NOT_STARTED };
                self.bury(myself, id, TaskStatus::Aborted, words.to_owned());
            }
            // Buried as soon as its files are there.
            Stage::Describing(_) | Stage::Adopting(_) => {}
            Stage::Closing => {
                let _ = reply.send(Err(ControlError::AlreadyEnded(id)));
                return;
            }
        }
        self.write_abort(id, reply);
    }

    /// An order that was acknowledged holds also when the program ends before the task does.
    fn write_abort(&self, id: TaskId, reply: RpcReplyPort<Result<(), ControlError>>) {
        let Some(Entry { dir, attempt, .. }) = self.tasks.get(&id) else { return };
        let (site, dir, attempt) = (self.site.clone(), dir.clone(), *attempt);
        tokio::spawn(async move {
            // The task is stopped also where the disk refuses; then a crash makes it interrupted instead.
            if let Ok(Err(error)) = site.on_disk(move || dir.mark_aborted(attempt)).await {
                tracing::warn!(%error, "an abort could not be written down");
            }
            let _ = reply.send(Ok(()));
        });
    }

    fn kill(&self, id: TaskId) {
        if let Some(Entry { stage: Stage::Running { worker, .. }, .. }) = self.tasks.get(&id) {
            tracing::warn!(task = %id, "the run did not end within its grace; its worker is killed");
            worker.kill();
        }
    }

    /// A worker died without a report: killed after its grace, or by a fault.
    fn lost(&mut self, myself: &ActorRef<CrewMsg>, who: ActorId, why: &str) {
        let is_it = |entry: &Entry| matches!(&entry.stage, Stage::Running { worker, .. } if worker.get_id() == who);
        let Some((id, entry)) = self.tasks.iter().find(|(_, entry)| is_it(entry)) else {
            tracing::error!(%why, "an actor died");
            return;
        };
        let (id, aborted) = (*id, entry.aborted);
        let (status, words) = if aborted {
            (TaskStatus::Aborted, "Aborted; it did not end by itself in time and was killed.".to_owned())
        } else {
            (TaskStatus::Failed, format!("The worker died: {why}"))
        };
        self.bury(myself, id, status, words);
    }

    /// Closes a task that has no worker to close it.
    pub(super) fn bury(&mut self, myself: &ActorRef<CrewMsg>, id: TaskId, status: TaskStatus, words: String) {
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        let mut report = TaskReport {
            id,
            title: entry.brief.title.clone(),
            attempt: entry.attempt,
            status: if self.site.is_closing() && !entry.aborted { TaskStatus::Interrupted } else { status },
            answer: words,
            turns: 0,
            usage: Usage::default(),
            spent: Spent::default(),
            started: None,
            ended: now(),
            took: Duration::ZERO,
            dir: entry.dir.path().to_owned(),
            verified: Vec::new(),
            files: Vec::new(),
            changed: Vec::new(),
            assumptions: Vec::new(),
            total: Spent::default(),
        };
        entry.fill(&mut report);
        if let Stage::Running { meter, begun, .. } = std::mem::replace(&mut entry.stage, Stage::Closing) {
            meter.fill(&mut report, begun);
            self.running -= 1;
        }
        let (site, crew, dir, ears) = (self.site.clone(), myself.clone(), entry.dir.clone(), entry.ears.take());
        tokio::spawn(async move {
            let report = job::bury(&site, ears, dir, report).await;
            // Without a crew there is nobody left to tell.
            let _ = crew.cast(CrewMsg::Ended(Box::new(report)));
        });
    }

    fn ended(&mut self, myself: &ActorRef<CrewMsg>, report: TaskReport) {
        // Told twice, or of an attempt that is over: it has been dealt with.
        let is_it = self.tasks.get(&report.id).is_some_and(|entry| entry.attempt == report.attempt);
        let Some(mut entry) = is_it.then(|| self.tasks.remove(&report.id)).flatten() else { return };
        if matches!(entry.stage, Stage::Running { .. }) {
            self.running -= 1;
        }
        self.site.ledger.close(&report.id.to_string());
        self.close_questions(&mut entry, report.status);
        self.site.feed.tell(Source::Task(report.id), News::TaskEnded(report.clone()));
        self.release(myself, report.id);
        self.hand(report, &entry.patron, entry.token);
        self.site.note_end();
        upkeep::look(&self.site);
    }

    fn close(&mut self, myself: &ActorRef<CrewMsg>) {
        self.leave_parked();
        for id in std::mem::take(&mut self.queue).everyone() {
            let is_queued = self.tasks.get(&id).is_some_and(|task| matches!(task.stage, Stage::Queued));
            if is_queued {
                self.bury(myself, id, TaskStatus::Interrupted, NOT_STARTED.to_owned());
            }
        }
        for entry in self.tasks.values() {
            if let Stage::Running { worker, .. } = &entry.stage {
                // One that is just gone needs no farewell.
                let _ = worker.cast(WorkerMsg::Close);
            }
        }
    }
}
