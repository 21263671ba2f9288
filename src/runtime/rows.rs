//! The tasks of one batch in the crew: taken on together or refused together. What a table is, and what a template becomes
//! with a row, is in `task`; whose turn it is then, in `turns`.

use ractor::concurrency::oneshot;
use ractor::{ActorRef, RpcReplyPort};

use super::ControlError;
use super::crew::{CrewMsg, State};
use super::mail::{self, Ears};
use super::purse;
use super::roster::{Entry, Patron, Stage};
use crate::task::{Brief, Making, TaskDir, TaskId, TaskStatus};

/// Answers a batch.
pub(super) type Taken = RpcReplyPort<Result<Vec<TaskId>, ControlError>>;

/// What became of the files of a batch.
pub(super) struct Rows {
    ids: Vec<TaskId>,
    /// In their order; else none of them has any.
    written: Result<Vec<Ears>, String>,
    reply: Taken,
}

impl State {
    /// Takes on a task for each brief, or none. Their numbers follow each other; their files are written elsewhere.
    pub(super) fn batch(&mut self, myself: &ActorRef<CrewMsg>, briefs: Vec<Brief>, patron: &Patron, reply: Taken) {
        let dirs = match self.admit_all(&briefs) {
            Ok(dirs) => dirs,
            Err(refusal) => return drop(reply.send(Err(refusal))),
        };
        let ids: Vec<TaskId> = dirs.iter().map(TaskDir::id).collect();
        self.last = ids.last().map_or(self.last, |id| id.0);
        for (dir, brief) in dirs.iter().zip(&briefs) {
            self.line_up(dir.id(), brief);
            // Nobody waits for one of them alone.
            let stage = Stage::Describing(oneshot().0.into());
            let (dir, brief, token) = (dir.clone(), brief.clone(), self.site.busy.token());
            self.tasks.insert(dir.id(), Entry::new(dir, brief, patron.clone(), stage, token));
        }
        let (site, crew) = (self.site.clone(), myself.clone());
        let (journals, durability): (Vec<_>, _) = (ids.iter().map(|id| site.journal(*id)).collect(), site.durability());
        let tasks = site.config.workspace.tasks();
        tokio::spawn(async move {
            let write = move || {
                let making = Making::begin(&tasks, dirs.clone()).map_err(|error| error.to_string())?;
                let mut all = Vec::new();
                for ((dir, brief), journal) in dirs.iter().zip(&briefs).zip(&journals) {
                    dir.describe(brief, TaskStatus::Queued).map_err(|error| error.to_string())?;
                    all.push(mail::ears(journal, durability).map_err(|error| error.to_string())?);
                }
                making.keep().map(|()| all).map_err(|error| error.to_string())
            };
            let written = site.on_disk(write).await.unwrap_or_else(Err);
            // A crew that is gone takes no tasks on; the next start finds the directories, all of them or none.
            let _ = crew.cast(CrewMsg::Rows(Box::new(Rows { ids, written, reply })));
        });
    }

    /// The files of a batch are there, or none of them.
    pub(super) fn rows_are_written(&mut self, myself: &ActorRef<CrewMsg>, rows: Rows) {
        let Rows { ids, written, reply } = rows;
        match written {
            Ok(ears) => {
                for (id, ears) in ids.iter().zip(ears) {
                    self.described(myself, *id, Ok(Box::new(ears)));
                }
                // A line for each would tell nothing more.
                ids.last().into_iter().for_each(|last| self.waits(*last));
                let _ = reply.send(Ok(ids));
            }
            Err(why) => {
                ids.iter().for_each(|id| self.forget(myself, *id));
                let _ = reply.send(Err(ControlError::Files(format!("no task is dispatched: {why}"))));
            }
        }
    }

    /// Whether all may begin; their money is set aside.
    fn admit_all(&self, briefs: &[Brief]) -> Result<Vec<TaskDir>, ControlError> {
        let row = |at: usize, why| ControlError::Row { row: at + 1, why: Box::new(why) };
        let free = self.places();
        if self.site.is_closing() {
            return Err(ControlError::ShuttingDown);
        }
        if free < briefs.len() {
            return Err(ControlError::NoPlaces { rows: briefs.len(), free, queue: self.site.config.crew.queued });
        }
        let mut dirs = Vec::new();
        for (at, brief) in briefs.iter().enumerate() {
            let number = u32::try_from(at + 1).ok().and_then(|more| self.last.checked_add(more));
            let id = TaskId(number.unwrap_or(u32::MAX));
            let admitted = self.may_be(brief).and_then(|()| purse::set_aside(&self.site, id, brief));
            if let Err(why) = admitted {
                dirs.iter().for_each(|dir: &TaskDir| self.site.ledger.close(&dir.id().to_string()));
                return Err(row(at, why));
            }
            dirs.push(self.on_this_disk(TaskDir::planned(&self.site.config.workspace.tasks(), id)));
        }
        Ok(dirs)
    }
}
