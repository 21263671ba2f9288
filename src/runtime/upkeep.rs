//! When the disk is looked after: at the start, and when something has ended a while after that. Nobody waits for it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::site::Site;
use crate::workspace::upkeep;

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(600);

/// When it was last looked at.
#[derive(Default)]
pub(super) struct Upkeep {
    last: Mutex<Option<Instant>>,
}

impl Upkeep {
    fn is_due(&self) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let due = last.is_none_or(|last| last.elapsed() >= PAUSE);
        if due {
            *last = Some(Instant::now());
        }
        due
    }
}

/// Gives back what may go when too much is kept, if it is time to look.
pub(super) fn look(site: &Arc<Site>) {
    let (quota, workspace) = (site.config.disk_quota, site.config.workspace.clone());
    if quota == 0 || workspace.is_ephemeral() || !site.upkeep.is_due() {
        return;
    }
    let site = site.clone();
    tokio::spawn(async move {
        match site.on_disk(move || upkeep::sweep(&workspace, quota, SystemTime::now())).await {
            Ok(Ok(used)) => site.notice(used.warning(quota).into_iter()),
            Ok(Err(error)) => tracing::warn!(%error, "the disk could not be looked after"),
            Err(panic) => tracing::error!(%panic, "the disk could not be looked after"),
        }
    });
}
