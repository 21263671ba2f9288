//! Notes that are acknowledged and that nobody has heard yet: what they are, and taken back. How a note comes to its run is
//! in `mail`, what a main agent is still to hear in `queue`.

use ractor::{ActorRef, RpcReplyPort};
use serde::{Deserialize, Serialize};

use super::crew::{self, CrewMsg};
use super::mail::PERSON;
use super::main_agent::{self, MainMsg};
use super::queue::Waited;
use super::roster::Stage;
use super::{ControlError, Done, Order, Runtime, SessionGone};
use crate::message::{Note, NoteId, NoteKind};
use crate::model::scripted::recorded::Act;
use crate::session::SessionId;
use crate::session::fate::{self, Fate};
use crate::task::TaskId;

/// A note that waits to be heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// Which worker is to hear it; `None` for the main agent.
    pub to: Option<TaskId>,
    /// Its number, rising with each receiver.
    pub note: NoteId,
    /// When it is heard.
    pub kind: NoteKind,
    /// Who sent it: `person`, `main` or a task as in `t_003`.
    pub from: String,
    /// The words.
    pub text: String,
}

/// Why a note was not taken back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotWithdrawn {
    /// It is in the conversation.
    #[error("{note} was already seen at turn {turn}; send another that corrects it")]
    Seen {
        /// The note.
        note: NoteId,
        /// The model call that answers it, from 1.
        turn: u32,
    },
    /// It does not wait.
    #[error("{note} does not wait for {who}: {why}", who = to.map_or("the main agent".to_owned(), |task| task.to_string()))]
    NotWaiting {
        /// Whose.
        to: Option<TaskId>,
        /// The note.
        note: NoteId,
        /// What is known of it.
        why: String,
    },
    /// The main agent cannot be asked.
    #[error(transparent)]
    Gone(#[from] SessionGone),
    /// The crew cannot be asked.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The disk did not take it, so the note waits still.
    #[error("that it is taken back could not be written down, so it waits still: {0}")]
    Unwritten(String),
}

/// Answers whoever takes a note back: its words, or `None` when it does not wait.
type Taken = RpcReplyPort<Result<Option<String>, String>>;

/// What a main agent is told about its notes.
pub(super) enum Tray {
    /// Which wait.
    List(RpcReplyPort<Vec<Note>>),
    /// Take that one back.
    TakeBack(NoteId, Taken),
    /// It could not be; it waits again.
    Back(Box<Waited>),
}

/// What the crew is told about notes of workers.
pub(super) enum Trays {
    /// Which wait.
    List(RpcReplyPort<Vec<Pending>>),
    /// Take that one back.
    TakeBack(TaskId, NoteId, Taken),
    /// One was.
    Taken(TaskId),
}

impl main_agent::State {
    pub(super) fn tray(&mut self, myself: &ActorRef<MainMsg>, tray: Tray) {
        match tray {
            Tray::List(reply) => {
                let run = self.current.as_ref().map(|current| current.post.tiller.waiting());
                let _ = reply.send(run.into_iter().flatten().chain(self.queue.notes()).collect());
            }
            Tray::TakeBack(note, reply) => self.take_back(myself, note, reply),
            Tray::Back(waited) => self.queue.back(*waited),
        }
    }

    fn take_back(&mut self, myself: &ActorRef<MainMsg>, note: NoteId, reply: Taken) {
        if let Some(waited) = self.queue.take(note) {
            let home = myself.clone();
            return self.mail.forget(note, move |forgotten| {
                let text = waited.text();
                if forgotten.is_err() {
                    // A main agent that is gone finds it in the inbox when it is opened again.
                    let _ = home.cast(MainMsg::Tray(Tray::Back(Box::new(waited))));
                }
                let _ = reply.send(forgotten.map(|()| Some(text)));
            });
        }
        let taken = self.current.as_ref().and_then(|it| Some((&it.post, it.post.tiller.take_back(note)?)));
        match taken {
            Some((post, taken)) => post.forget(taken, move |text| drop(reply.send(text.map(Some)))),
            None => drop(reply.send(Ok(None))),
        }
    }
}

impl crew::State {
    pub(super) fn trays(&mut self, myself: &ActorRef<CrewMsg>, trays: Trays) {
        match trays {
            Trays::List(reply) => {
                let _ = reply.send(self.pending());
            }
            Trays::TakeBack(id, note, reply) => {
                let post = self.tasks.get(&id).and_then(|entry| Some(&entry.ears.as_ref()?.post));
                let waits = |it: &Note| it.id == note && is_shown(it);
                let post = post.filter(|post| post.tiller.waiting().iter().any(waits));
                let taken = post.and_then(|post| Some((post, post.tiller.take_back(note)?)));
                let Some((post, taken)) = taken else { return drop(reply.send(Ok(None))) };
                let crew = myself.clone();
                post.forget(taken, move |text| {
                    let _ = reply.send(text.map(Some));
                    // A crew that is gone wakes nobody.
                    let _ = crew.cast(CrewMsg::Trays(Trays::Taken(id)));
                });
            }
            Trays::Taken(id) => self.rest_on(id),
        }
    }

    fn pending(&self) -> Vec<Pending> {
        let mut all = Vec::new();
        for (id, entry) in &self.tasks {
            let waiting = entry.ears.as_ref().map(|ears| ears.post.waiting()).into_iter().flatten();
            all.extend(waiting.filter(|(note, _)| is_shown(note)).map(|(note, from)| pending(Some(*id), note, from)));
        }
        all.sort_by_key(|pending| (pending.to, pending.note));
        all
    }

    /// A task that only the steer had woken, which is taken back, rests as before.
    fn rest_on(&mut self, id: TaskId) {
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        let is_woken = matches!(entry.stage, Stage::Queued) && entry.has_rested();
        let inbox = entry.ears.as_ref().and_then(|ears| ears.inbox.as_ref());
        let hears = inbox.is_none_or(|inbox| inbox.holds(NoteKind::Steer));
        if is_woken && !hears && !entry.parking.questions.are_settled() {
            entry.stage = Stage::Parked;
            self.queue.leave(id);
        }
    }
}

impl Runtime {
    /// The notes that are acknowledged and that nobody has heard yet: those for the main agent of the conversation, then
    /// those for every living worker, each in the order in which they were sent. Answers to questions are not among them.
    /// Empty where nobody can be asked.
    pub async fn pending(&self, session: &SessionId) -> Vec<Pending> {
        if self.looking().is_some() {
            let notes = |done| if let Done::Pending { notes } = done { Some(notes) } else { None };
            let Ok(Some(there)) = self.main_elsewhere() else { return Vec::new() };
            return there.ask(Order::Pending { session: Some(session.clone()) }, notes).await.unwrap_or_default();
        }
        let own = self.ask(session, |reply| MainMsg::Tray(Tray::List(reply))).await.unwrap_or_default();
        let own = own.into_iter().map(|note| pending(None, note, PERSON.to_owned()));
        let workers = self.inner.door.request(|reply| CrewMsg::Trays(Trays::List(reply))).await;
        own.chain(workers.unwrap_or_default()).collect()
    }

    /// Takes a note back that waits for the main agent of the conversation, or for a worker, and answers its words. When
    /// this answers, the disk knows it: nobody hears the note, also after a crash. Whoever was promised a run for a line
    /// waits for it in vain.
    ///
    /// # Errors
    /// [`NotWithdrawn::Seen`] when it came too late, [`NotWithdrawn::NotWaiting`] when there is no such note.
    pub async fn withdraw(
        &self,
        session: &SessionId,
        to: Option<TaskId>,
        note: NoteId,
    ) -> Result<String, NotWithdrawn> {
        if let Some(there) = self.main_elsewhere()? {
            let order = Order::Withdraw { session: Some(session.clone()), task: to, note };
            let text = |done| if let Done::Withdrawn { text } = done { Some(text) } else { None };
            return there.ask(order, text).await.map_err(|why| SessionGone::Elsewhere(why).into());
        }
        let taken = match to {
            None => self.ask(session, |reply| MainMsg::Tray(Tray::TakeBack(note, reply))).await?,
            Some(task) => {
                let order = |reply| CrewMsg::Trays(Trays::TakeBack(task, note, reply));
                self.inner.door.request(order).await?
            }
        };
        let Some(text) = taken.map_err(NotWithdrawn::Unwritten)? else {
            return Err(self.whereabouts(session, to, note).await);
        };
        self.inner.record(&to.map_or("main".to_owned(), |task| task.to_string()), Act::TakeBack, note.0.to_string());
        Ok(text)
    }

    /// Why a note does not wait, as far as the files tell.
    async fn whereabouts(&self, session: &SessionId, to: Option<TaskId>, note: NoteId) -> NotWithdrawn {
        let journal = match to {
            None => self.config().workspace.sessions().join(format!("{session}.jsonl")),
            Some(task) => self.inner.site.journal(task),
        };
        let sent = self.inner.site.on_disk(move || fate::sent(&journal)).await;
        let sent = sent.ok().and_then(Result::ok).into_iter().flatten().find(|sent| sent.posted.note.id == note);
        let why = match sent.map(|sent| sent.fate) {
            Some(Fate::Seen { turn }) => return NotWithdrawn::Seen { note, turn },
            Some(Fate::Dropped { why }) => why,
            Some(Fate::Waits) => "it is being heard just now".to_owned(),
            None => "it was seen already, or nobody sent it".to_owned(),
        };
        NotWithdrawn::NotWaiting { to, note, why }
    }
}

/// An answer is no note that can be taken back: the question is closed with it.
fn is_shown(note: &Note) -> bool {
    note.kind != NoteKind::Answer
}

fn pending(to: Option<TaskId>, note: Note, from: String) -> Pending {
    Pending { to, note: note.id, kind: note.kind, from, text: note.text }
}
