//! Commands in the background of the conversations that are open: who owns them, and that they end with them. Those of a
//! worker belong to its run, end with it, and are only seen from here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::Runtime;
use crate::session::SessionId;
use crate::task::TaskId;
use crate::tools::jobs::{JobRow, Jobs};

/// The jobs of each conversation.
#[derive(Default)]
pub(super) struct Yard {
    of: Mutex<HashMap<SessionId, Arc<Jobs>>>,
    /// Those of tasks that are at work, and of some that were.
    seen: Mutex<HashMap<TaskId, Weak<Jobs>>>,
}

impl Yard {
    /// Those of a conversation; none at first.
    pub(super) fn of(&self, session: &SessionId) -> Arc<Jobs> {
        Arc::clone(self.all().entry(session.clone()).or_default())
    }

    /// New ones for a run of a task, which owns them.
    pub(super) fn for_run(&self, task: TaskId) -> Arc<Jobs> {
        let jobs = Arc::default();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|_, jobs| jobs.strong_count() > 0);
        seen.insert(task, Arc::downgrade(&jobs));
        jobs
    }

    /// Those of a task that is at work, with the last of those that ended.
    pub(super) fn of_task(&self, task: TaskId) -> Vec<JobRow> {
        let jobs = self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(&task).and_then(Weak::upgrade);
        jobs.map(|jobs| jobs.list().into_iter().map(JobRow::brief).collect()).unwrap_or_default()
    }

    /// Ends those of a conversation that is closed.
    pub(super) async fn end(&self, session: &SessionId) {
        let jobs = self.all().remove(session);
        if let Some(jobs) = jobs {
            jobs.end().await;
        }
    }

    /// Ends all, within two seconds.
    pub(super) async fn end_all(&self) {
        let all = std::mem::take(&mut *self.all());
        futures_util::future::join_all(all.values().map(|jobs| jobs.end())).await;
    }

    fn all(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Jobs>>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Runtime {
    /// The commands that a conversation has in the background, with the last of those that ended.
    pub fn jobs(&self, session: &SessionId) -> Vec<JobRow> {
        self.inner.site.yard.of(session).list()
    }

    /// Ends one of them; `None` where there is none of that number.
    pub async fn kill_job(&self, session: &SessionId, id: u32) -> Option<JobRow> {
        self.inner.site.yard.of(session).kill(id).await
    }
}
