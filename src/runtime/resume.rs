//! Another attempt at a task that ended before it was done: may there be one, for which conversation, and what its files
//! say then. How an attempt runs is in `job`.

use std::sync::mpsc;

use ractor::ActorRef;
use serde::{Deserialize, Serialize};

use super::control::Door;
use super::crew::{CrewMsg, State};
use super::mail::{self, Ears, Letter, PERSON, Unsent};
use super::purse;
use super::roster::{Dispatched, Entry, Patron, Stage};
use super::site::Site;
use super::waiting::Rank;
use super::{ControlError, Done, Open, OpenError, Order, Runtime};
use crate::message::NoteKind;
use crate::session::{Durability, SessionError, SessionId};
use crate::task::{Brief, Task, TaskDir, TaskError, TaskId, TaskStatus};

/// A task that goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    /// Which.
    pub task: TaskId,
    /// Which attempt at it, from 2.
    pub attempt: u32,
    /// Whose main agent is told when it ends.
    pub session: SessionId,
    /// The conversation that asked for it, when that is gone and another one is told.
    pub gone: Option<String>,
}

/// What the files say of a task that is to go on.
pub(super) struct Revived {
    pub(super) brief: Brief,
    pub(super) attempt: u32,
    /// An earlier attempt has begun with it.
    began: bool,
    /// What waits in its inbox is heard first.
    ears: Box<Ears>,
}

impl Runtime {
    /// Goes on with a task that was interrupted, aborted, failed or ran out of turns, from where its journal ends; nothing
    /// of it is run again. The conversation that asked for it is opened if need be; where it is gone, `here` is told.
    ///
    /// # Errors
    /// [`ControlError::NoSuchTask`], [`ControlError::IsDone`], [`ControlError::GoesOn`], and as [`Runtime::dispatch`].
    pub async fn resume(&self, task: TaskId, here: &SessionId) -> Result<Resumed, ControlError> {
        self.again(task, None, here).await
    }

    /// Either.
    pub(super) async fn again(
        &self,
        task: TaskId,
        text: Option<String>,
        here: &SessionId,
    ) -> Result<Resumed, ControlError> {
        if let Some(there) = self.elsewhere()? {
            let order = Order::Resume { task, session: Some(here.clone()), text };
            let resumed = |done| if let Done::Resumed(resumed) = done { Some(resumed) } else { None };
            return there.ask(order, resumed).await.map_err(ControlError::Elsewhere);
        }
        let asked = self.asked_by(task).await?;
        let (session, gone) = self.home(asked, here).await?;
        let main = self.inner.mains().get(&session).cloned();
        let main = main.ok_or_else(|| ControlError::NotOpen(session.clone()))?;
        let door: &Door = &self.inner.door;
        let words = text.map(|text| Letter { kind: NoteKind::Steer, text, from: PERSON.to_owned() });
        door.resume(task, Patron { main, session: session.clone(), call: None }, words).await?;
        let attempt = door.detail(task).await?.row.attempt;
        Ok(Resumed { task, attempt, session, gone })
    }

    /// Goes on with a task that has ended, also one that was done, with new words: its worker hears them below all that it
    /// said and did before.
    ///
    /// # Errors
    /// As [`Runtime::resume`].
    pub async fn go_on(&self, task: TaskId, text: String, here: &SessionId) -> Result<Resumed, ControlError> {
        self.again(task, Some(text), here).await
    }

    /// Goes on with every task that was interrupted, by number.
    pub async fn resume_all(&self, here: &SessionId) -> Vec<(TaskId, Result<Resumed, ControlError>)> {
        let rows = self.tasks().await;
        let mut resumed = Vec::new();
        for row in rows.iter().filter(|row| row.status == TaskStatus::Interrupted) {
            resumed.push((row.id, self.resume(row.id, here).await));
        }
        resumed
    }

    async fn asked_by(&self, id: TaskId) -> Result<Option<String>, ControlError> {
        let root = self.config().workspace.tasks();
        let asked = self.inner.site.on_disk(move || Ok(find(&root, id)?.task().map_err(files)?.brief.session));
        asked.await.map_err(ControlError::Files)?
    }

    /// The conversation that asked for a task, open; and its name if it is gone.
    pub(super) async fn home(
        &self,
        asked: Option<String>,
        here: &SessionId,
    ) -> Result<(SessionId, Option<String>), ControlError> {
        let Some(name) = asked else { return Ok((here.clone(), None)) };
        let id = SessionId::new(&name);
        if self.inner.mains().contains_key(&id) {
            return Ok((id, None));
        }
        match self.open(Open::Named(name.clone())).await {
            Ok(open) if open == id => Ok((id, None)),
            Ok(_) | Err(OpenError::Session(SessionError::NotFound(_) | SessionError::Ambiguous { .. })) => {
                Ok((here.clone(), Some(name)))
            }
            Err(OpenError::ShuttingDown) => Err(ControlError::ShuttingDown),
            Err(error) => Err(ControlError::Files(error.to_string())),
        }
    }
}

impl State {
    /// As a dispatch, but of a task that there is.
    pub(super) fn resume(
        &mut self,
        myself: &ActorRef<CrewMsg>,
        id: TaskId,
        (patron, words): (Patron, Option<Letter>),
        reply: Dispatched,
    ) {
        let dir = match self.admit_again(id) {
            Ok(dir) => dir,
            Err(refusal) => {
                let _ = reply.send(Err(refusal));
                return;
            }
        };
        // Held back from the line until its brief is read: it says where in it, and behind whom.
        let (site, crew, session) = (self.site.clone(), myself.clone(), patron.session.clone());
        let ground = site.clone();
        let (task, journal, durability) = (dir.clone(), self.site.journal(id), self.site.durability());
        tokio::spawn(async move {
            let revive = move || {
                let began = journal.exists();
                let ears = mail::ears(&journal, durability);
                let ears = ears.map_err(|error| ControlError::Files(error.to_string()))?;
                let Task { brief, attempt, .. } = revive(&ground, &task, &session, &ears, words)?;
                Ok(Box::new(Revived { brief, attempt, began, ears: Box::new(ears) }))
            };
            let revived = site.on_disk(revive).await;
            // A crew that is gone takes no task on; recovery finds what was begun.
            let _ = crew.cast(CrewMsg::Revived(id, revived.unwrap_or_else(|panic| Err(ControlError::Files(panic)))));
        });
        let (stage, token) = (Stage::Describing(reply), self.site.busy.token());
        self.tasks.insert(id, Entry::new(dir, Brief::default(), patron, stage, token));
    }

    /// Whether a new task may begin; its number and its money are set aside.
    pub(super) fn admit(&self, brief: &Brief) -> Result<TaskDir, ControlError> {
        self.may_be(brief)?;
        self.has_room()?;
        let claimed = TaskDir::claim(&self.site.config.workspace.tasks(), self.last);
        let dir = claimed.map_err(|error| ControlError::Files(error.to_string()))?;
        purse::set_aside(&self.site, dir.id(), brief).inspect_err(|_| {
            // It was made just now and is empty.
            let _ = std::fs::remove_dir(dir.path());
        })?;
        Ok(self.on_this_disk(dir))
    }

    /// Whether there may be such a task at all.
    pub(super) fn may_be(&self, brief: &Brief) -> Result<(), ControlError> {
        let limit = self.site.config.crew.depth;
        if brief.body.trim().is_empty() {
            return Err(ControlError::EmptyBrief);
        }
        if brief.depth > limit {
            return Err(ControlError::TooDeep { depth: brief.depth, limit });
        }
        Ok(())
    }

    fn has_room(&self) -> Result<(), ControlError> {
        if self.site.is_closing() {
            return Err(ControlError::ShuttingDown);
        }
        if self.places() > 0 { Ok(()) } else { Err(ControlError::QueueFull(self.site.config.crew.queued)) }
    }

    /// How many more tasks may wait or begin.
    pub(super) fn places(&self) -> usize {
        let limits = &self.site.config.crew;
        (limits.queued + limits.running.saturating_sub(self.running)).saturating_sub(self.queue.len())
    }

    /// A task's directory whose files are as durable as is wished here.
    pub(super) fn on_this_disk(&self, dir: TaskDir) -> TaskDir {
        if self.site.durability() == Durability::Off { dir.undurable() } else { dir }
    }

    fn admit_again(&self, id: TaskId) -> Result<TaskDir, ControlError> {
        if self.tasks.contains_key(&id) {
            return Err(ControlError::GoesOn(id));
        }
        if self.site.parked_by(id).is_some() {
            return Err(ControlError::Rests(id));
        }
        self.has_room()?;
        let dir = TaskDir::open(&self.site.config.workspace.tasks(), id).map_err(|_| ControlError::NoSuchTask(id))?;
        Ok(self.on_this_disk(dir))
    }

    pub(super) fn revived(
        &mut self,
        myself: &ActorRef<CrewMsg>,
        id: TaskId,
        revived: Result<Box<Revived>, ControlError>,
    ) {
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        match revived {
            Ok(revived) => {
                let Revived { brief, attempt, began, ears } = *revived;
                (entry.brief, entry.attempt, entry.began) = (brief.clone(), attempt, began);
                match began {
                    // What it came after, it has seen; and it goes on before anything new begins.
                    true => self.queue.join(id, Rank::Woken),
                    false => self.line_up(id, &brief),
                }
                self.described(myself, id, Ok(ears));
                self.waits(id);
                self.stir(myself, id);
            }
            Err(refusal) => {
                if let Stage::Describing(reply) = std::mem::replace(&mut entry.stage, Stage::Closing) {
                    let _ = reply.send(Err(refusal.clone()));
                }
                self.forget(myself, id);
            }
        }
    }
}

/// Begins another attempt on the disk, if there may be one.
fn revive(
    site: &Site,
    dir: &TaskDir,
    session: &SessionId,
    ears: &Ears,
    words: Option<Letter>,
) -> Result<Task, ControlError> {
    let task = dir.task().map_err(files)?;
    // The truth is in the report once there is one.
    let status = dir.result().ok().flatten().map_or(task.status, |report| report.status);
    match status {
        TaskStatus::Done if words.is_none() => return Err(ControlError::IsDone(dir.id())),
        TaskStatus::Queued | TaskStatus::Running => return Err(ControlError::GoesOn(dir.id())),
        TaskStatus::Parked => return Err(ControlError::Rests(dir.id())),
        TaskStatus::Done
        | TaskStatus::Failed
        | TaskStatus::Aborted
        | TaskStatus::LimitTurns
        | TaskStatus::Partial
        | TaskStatus::Interrupted => {}
    }
    purse::take_up(site, &task, status)?;
    // Before the attempt begins: it never begins without them.
    if let Some(words) = words {
        post(dir.id(), ears, words)?;
    }
    let attempt = task.attempt.saturating_add(1);
    dir.begin_attempt(attempt, session.as_str()).map_err(files)?;
    // A file for people, and no reason to stop.
    let _ = dir.progress(&format!("attempt {attempt}: it goes on after it was {status}"));
    Ok(Task { attempt, brief: Brief { session: Some(session.to_string()), ..task.brief }, ..task })
}

/// Puts words into the inbox of a task that nobody carries out yet. Waits for the disk.
fn post(id: TaskId, ears: &Ears, words: Letter) -> Result<(), ControlError> {
    let (tell, told) = mpsc::channel();
    ears.post.send(words, move |sent| drop(tell.send(sent.map(drop))));
    match told.recv() {
        Ok(Ok(())) => Ok(()),
        Ok(Err(Unsent::Unwritten(why))) => Err(ControlError::Files(why)),
        Ok(Err(Unsent::Full)) => Err(ControlError::NotesFull(id)),
        Ok(Err(Unsent::Ended(_) | Unsent::TooLate(_))) | Err(_) => Err(ControlError::AlreadyEnded(id)),
    }
}

fn find(tasks: &std::path::Path, id: TaskId) -> Result<TaskDir, ControlError> {
    TaskDir::open(tasks, id).map_err(|_| ControlError::NoSuchTask(id))
}

fn files(error: TaskError) -> ControlError {
    ControlError::Files(error.to_string())
}
