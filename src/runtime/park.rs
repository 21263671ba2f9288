//! Tasks that rest: a worker goes, its place is free, and its task waits in the crew as plain data until it has heard what
//! it rests for. What it asked, and who answers, is in `ask`; what a task that rested under an earlier program needs, in
//! `adopt`.

use std::sync::Arc;
use std::time::Instant;

use ractor::{ActorRef, RpcReplyPort};

use super::ask::Given;
use super::asking::{self, Asking, Waiter};
use super::crew::{CrewMsg, State};
use super::job::Job;
use super::launch::Home;
use super::leave::Leaves;
use super::mail::Letter;
use super::meter::{Begun, Meter, Reading};
use super::pending::Questions;
use super::roster::{Entry, Stage};
use super::waiting::Rank;
use super::{ControlError, adopt, ask};
use crate::agent::inbox;
use crate::event::Ending;
use crate::message::{Note, NoteId, NoteKind};
use crate::task::{Asker, Question, TaskDir, TaskError, TaskId, TaskReport, TaskStatus};
use crate::tools::gate::{Answer, Request};

/// Said of a task that was ended while it rested.
pub(super) const RESTED: &str = "Ended while it waited for an answer.";

/// What a worker leaves when its run is over.
pub(super) enum Carried {
    /// The task is over, and result.md is written.
    Over(Box<TaskReport>),
    /// The task goes on when it has heard an answer; its journal is closed.
    Rests(TaskId, Box<Rest>),
}

/// What a worker leaves that rests.
pub(super) struct Rest {
    attempt: u32,
    /// Acknowledged and not heard.
    unheard: Vec<Note>,
    /// A question that the runtime asks in its place; it is on the disk.
    question: Option<Question>,
}

/// What is known of a task for the sake of its rests.
#[derive(Default)]
pub(super) struct Parking {
    pub(super) questions: Questions,
    /// Its calls that a person must allow.
    pub(super) leaves: Leaves,
    /// Its run so far.
    nap: Option<Nap>,
    /// What came while a run was at its end, and nobody knew yet what comes after it.
    held: Vec<Held>,
    /// It has rested and waits for a place again.
    woken: bool,
}

struct Nap {
    meter: Arc<Meter>,
    begun: Begun,
    since: Instant,
}

/// Answers a note.
pub(super) type Noted = RpcReplyPort<Result<NoteId, ControlError>>;

/// It.
pub(super) enum Held {
    Note(Letter, Noted),
    /// A note that is on the disk and in no queue.
    Stray(Note, Noted),
    Answer(u32, Given),
    /// An answer, before it is known to what.
    Order(Option<u32>, ask::Order),
}

/// What the crew is told about rests and questions.
pub(super) enum ParkMsg {
    /// A run has ended to rest.
    Rests(TaskId, Box<Rest>),
    /// A question that is to be written down.
    Ask(TaskId, Box<Asking>, Waiter),
    /// It is, or cannot be.
    Asked(TaskId, Result<Box<Question>, String>, Waiter),
    /// A call that a person must allow.
    Leave(TaskId, Box<Request>, RpcReplyPort<Answer>),
    /// An answer, to a question or to the one that is open.
    Answer(TaskId, Option<u32>, Box<ask::Order>),
    /// What became of the note with an answer.
    Given(TaskId, u32, Given, ask::Sent),
    /// A note that came too late for its run.
    Stray(TaskId, Note, Noted),
    /// A steer is in the queue of a task that may rest.
    Steered(TaskId),
    /// A deadline is over.
    Due,
    /// Take on a task that rests since an earlier program.
    Adopt(TaskId, Box<adopt::Adoption>),
    /// Its files say so, or it cannot be.
    Adopted(TaskId, Result<Box<adopt::Adopted>, ControlError>),
    /// What it had missed is in its queue.
    Caught(TaskId),
}

/// What becomes of a run that is home: the rest of its task, or `Err` with it when the task is over.
pub(super) async fn rests(job: &Job, home: Home) -> Result<Carried, Home> {
    let asking = match &home.ending {
        Ending::Parked => None,
        Ending::Stuck { evidence } => Some(Asking::stuck(evidence)),
        Ending::Completed { .. }
        | Ending::Aborted
        | Ending::TurnLimit { .. }
        | Ending::BudgetSpent { .. }
        | Ending::Failed { .. } => return Err(home),
    };
    let dir = job.dir.clone();
    let written = job.site.on_disk(move || {
        set_parked(&dir)?;
        asking.map(|asking| asking::write_down(&dir, asking, 0)).transpose()
    });
    match written.await.unwrap_or_else(Err) {
        Ok(question) => {
            let Home { session, unheard, .. } = home;
            // With it the journal is closed and free.
            drop(session);
            Ok(Carried::Rests(job.id(), Box::new(Rest { attempt: job.attempt, unheard, question })))
        }
        Err(why) => {
            tracing::error!(task = %job.id(), %why, "it cannot rest");
            Err(Home { ending: Ending::Failed { why: format!("it could not wait for an answer: {why}") }, ..home })
        }
    }
}

/// A task.md that a hand has broken is left as it is; that the task rests is known to its journal too.
pub(super) fn set_parked(dir: &TaskDir) -> Result<(), String> {
    match dir.set_status(TaskStatus::Parked) {
        Ok(()) | Err(TaskError::Markdown { .. }) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

impl State {
    pub(super) fn park(&mut self, myself: &ActorRef<CrewMsg>, message: ParkMsg) {
        match message {
            ParkMsg::Rests(id, rest) => self.rests(myself, id, *rest),
            ParkMsg::Ask(id, asking, waiter) => self.ask(myself, id, *asking, waiter),
            ParkMsg::Asked(id, asked, waiter) => self.asked(myself, id, asked, waiter),
            ParkMsg::Leave(id, request, reply) => self.leave(myself, id, *request, reply),
            ParkMsg::Answer(id, number, order) => self.answer(myself, id, number, *order),
            ParkMsg::Given(id, number, given, sent) => self.given(myself, (id, number), given, sent),
            ParkMsg::Stray(id, note, reply) => self.stray(id, note, reply),
            ParkMsg::Steered(id) => self.rouse(id),
            ParkMsg::Due => self.due(myself),
            ParkMsg::Adopt(id, adoption) => self.adopt(myself, id, *adoption),
            ParkMsg::Adopted(id, adopted) => self.adopted(myself, id, adopted.map(|adopted| *adopted)),
            ParkMsg::Caught(id) => {
                if let Some(entry) = self.tasks.get_mut(&id) {
                    entry.parking.questions.written();
                }
                self.rouse(id);
            }
        }
    }

    /// Parks a task that waits for a place, with a question of the runtime: it leaves the queue until that is settled.
    pub(super) fn park_with(&mut self, myself: &ActorRef<CrewMsg>, id: TaskId, asking: Asking) {
        let Some(entry) = self.tasks.get_mut(&id).filter(|entry| matches!(entry.stage, Stage::Queued)) else { return };
        entry.stage = Stage::Parked;
        self.queue.leave(id);
        self.ask(myself, id, asking, Waiter::Nobody);
    }

    fn rests(&mut self, myself: &ActorRef<CrewMsg>, id: TaskId, rest: Rest) {
        let is_it = |entry: &&mut Entry| entry.attempt == rest.attempt && matches!(entry.stage, Stage::Running { .. });
        let Some(entry) = self.tasks.get_mut(&id).filter(is_it) else { return };
        self.running -= 1;
        if let Stage::Running { meter, begun, .. } = std::mem::replace(&mut entry.stage, Stage::Parked) {
            entry.parking.nap = Some(Nap { meter, begun, since: Instant::now() });
        }
        if let Some(ears) = &mut entry.ears {
            ears.renew(rest.unheard);
        }
        if entry.aborted {
            return self.bury(myself, id, TaskStatus::Aborted, RESTED.to_owned());
        }
        if self.site.is_closing() {
            // It rests on the disk, and is found there by the next program.
            self.tasks.remove(&id);
            return;
        }
        if let Some(question) = rest.question {
            self.enter(myself, question);
        }
        self.deliver(myself, id);
        self.rouse(id);
    }

    /// Gives a task what was held for it.
    pub(super) fn deliver(&mut self, myself: &ActorRef<CrewMsg>, id: TaskId) {
        let held = self.tasks.get_mut(&id).map(|entry| std::mem::take(&mut entry.parking.held)).unwrap_or_default();
        for held in held {
            match held {
                Held::Note(letter, reply) => self.note(myself, id, letter, reply),
                Held::Stray(note, reply) => self.stray(id, note, reply),
                Held::Answer(number, given) => self.give(myself, id, number, given),
                Held::Order(number, order) => self.answer(myself, id, number, order),
            }
        }
    }

    fn stray(&mut self, id: TaskId, note: Note, reply: Noted) {
        let late = ControlError::TooLate { task: id, note: note.id };
        let Some(entry) = self.tasks.get_mut(&id) else { return drop(reply.send(Err(late))) };
        if entry.is_between() {
            return entry.hold(Held::Stray(note, reply));
        }
        let waits = matches!(entry.stage, Stage::Parked | Stage::Queued);
        let inbox = entry.ears.as_mut().filter(|_| waits).and_then(|ears| ears.inbox.as_mut());
        let Some(inbox) = inbox else { return drop(reply.send(Err(late))) };
        let number = note.id;
        inbox.refill([note]);
        let _ = reply.send(Ok(number));
        self.rouse(id);
    }

    /// Queues a task that rests again if it has heard what it waits for: every answer, or a steer.
    pub(super) fn rouse(&mut self, id: TaskId) {
        let Some(entry) = self.tasks.get(&id).filter(|entry| matches!(entry.stage, Stage::Parked)) else { return };
        let inbox = entry.ears.as_ref().and_then(|ears| ears.inbox.as_ref());
        let is_steered = inbox.is_some_and(|inbox| inbox.holds(NoteKind::Steer));
        if is_steered || entry.parking.questions.are_settled() {
            self.queue_again(id);
        }
    }

    /// Behind others that have rested, and before those that have not begun.
    fn queue_again(&mut self, id: TaskId) {
        self.queue.join(id, Rank::Woken);
        if let Some(entry) = self.tasks.get_mut(&id) {
            entry.stage = Stage::Queued;
            entry.parking.woken = true;
        }
    }

    /// At the end of the program: what rests stays at rest on the disk, and nothing is reported of it.
    pub(super) fn leave_parked(&mut self) {
        let rests = |entry: &Entry| entry.parking.woken || matches!(entry.stage, Stage::Parked | Stage::Adopting(_));
        let resting: Vec<TaskId> = self.tasks.iter().filter(|(_, entry)| rests(entry)).map(|(id, _)| *id).collect();
        for id in resting {
            self.queue.leave(id);
            self.tasks.remove(&id);
        }
        self.clock.stop();
    }
}

impl Entry {
    /// Its run is at its end, or its files are being read: what it is told now, it hears when it is known what comes.
    pub(super) fn is_between(&self) -> bool {
        let is_sealed = || self.ears.as_ref().is_none_or(|ears| ears.post.tiller.is_sealed());
        match &self.stage {
            Stage::Adopting(_) => true,
            Stage::Running { .. } => is_sealed(),
            Stage::Describing(_) | Stage::Queued | Stage::Parked | Stage::Closing => false,
        }
    }

    pub(super) fn hold(&mut self, held: Held) {
        let id = self.dir.id();
        if self.parking.held.len() < inbox::CAPACITY {
            return self.parking.held.push(held);
        }
        held.refuse(ControlError::NotesFull(id));
    }

    /// It is no news when it begins, because it goes on.
    pub(super) fn has_rested(&self) -> bool {
        self.parking.nap.is_some() || self.parking.woken
    }

    /// The meter and the beginning of its run, which a rest does not begin anew.
    pub(super) fn begin(&mut self) -> (Arc<Meter>, Begun) {
        self.parking.woken = false;
        match self.parking.nap.take() {
            Some(nap) => (nap.meter, nap.begun.without(nap.since.elapsed())),
            None => (Arc::new(Meter::default()), Begun::now()),
        }
    }

    /// What its runs came to before it rested, at the end of a task that rests.
    pub(super) fn fill(&self, report: &mut TaskReport) {
        if let Some(nap) = &self.parking.nap {
            nap.meter.fill(report, nap.begun.without(nap.since.elapsed()));
        }
    }

    /// What its runs came to until now, for a row of a task that has none.
    pub(super) fn so_far(&self, status: TaskStatus) -> (TaskStatus, Reading, Option<Begun>) {
        match &self.parking.nap {
            Some(nap) => (status, nap.meter.read(), Some(nap.begun.without(nap.since.elapsed()))),
            None => (status, Reading::default(), None),
        }
    }

    /// Nobody will hear what was held for it.
    pub(super) fn refuse_held(&mut self, why: &ControlError) {
        std::mem::take(&mut self.parking.held).into_iter().for_each(|held| held.refuse(why.clone()));
    }

    /// A question of the runtime, which an answer may end the task with.
    pub(super) fn waits(&self) -> bool {
        matches!(self.stage, Stage::Parked | Stage::Queued)
    }
}

impl Held {
    fn refuse(self, why: ControlError) {
        match self {
            Held::Note(_, reply) => drop(reply.send(Err(why))),
            Held::Stray(note, reply) => {
                let task = match why {
                    ControlError::AlreadyEnded(task) => ControlError::TooLate { task, note: note.id },
                    why => why,
                };
                drop(reply.send(Err(task)));
            }
            Held::Answer(_, given) => given.refuse(why),
            Held::Order(_, order) => drop(order.reply.send(Err(why))),
        }
    }
}

impl Asking {
    /// For a worker that goes round in circles.
    fn stuck(evidence: &str) -> Asking {
        Asking {
            text: format!("It is stuck: {evidence}. Go on, or what should it do instead?"),
            options: vec!["go on".to_owned(), crate::task::GIVE_UP.to_owned()],
            default: crate::task::GIVE_UP.to_owned(),
            patience: asking::PATIENCE,
            asker: Asker::Stuck,
        }
    }
}
