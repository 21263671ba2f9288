//! Commands in the background of the conversations that are open: who owns them, and that they end with them. Those of a
//! worker belong to its run and are not here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Runtime;
use crate::session::SessionId;
use crate::tools::jobs::{JobRow, Jobs};

/// The jobs of each conversation.
#[derive(Default)]
pub(super) struct Yard {
    of: Mutex<HashMap<SessionId, Arc<Jobs>>>,
}

impl Yard {
    /// Those of a conversation; none at first.
    pub(super) fn of(&self, session: &SessionId) -> Arc<Jobs> {
        Arc::clone(self.all().entry(session.clone()).or_default())
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
