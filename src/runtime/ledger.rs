//! How the tasks of a conversation stand, read from their files: what a shortened conversation must not forget. Which of
//! them it has been told of is known to the conversation.

use std::path::Path;

use jiff::tz::TimeZone;

use super::site::Site;
use crate::agent::{Ledger, Standing};
use crate::session::SessionId;
use crate::task::{self, Task, TaskStatus, one_line};

/// Longest title, in characters.
const TITLE: usize = 80;

/// For the main agent of a session.
pub(super) fn of(site: &Site, session: &SessionId) -> Ledger {
    let (tasks, session) = (site.config.workspace.tasks(), session.to_string());
    std::sync::Arc::new(move || standings(&tasks, &session))
}

fn standings(tasks: &Path, session: &str) -> Vec<Standing> {
    let dirs = task::directories(tasks).unwrap_or_else(|error| {
        tracing::warn!(%error, "the tasks are not told to a shortened conversation");
        Vec::new()
    });
    // One that was told of long ago costs a look at its directory.
    let open = dirs.iter().filter(|dir| !dir.is_settled());
    let tasks = open.filter_map(|dir| dir.task().ok());
    let ours = |task: &Task| task.brief.session.as_deref() == Some(session) && !task.dir.is_relayed(task.attempt);
    tasks.filter(ours).map(|task| standing(&task)).collect()
}

fn standing(task: &Task) -> Standing {
    let id = task.dir.id();
    // The report is the truth once it is there.
    let status = task.dir.result().ok().flatten().filter(|report| report.attempt == task.attempt);
    let status = status.map_or(task.status, |report| report.status);
    let title = one_line(&task.brief.title, TITLE);
    let since = task.created.to_zoned(TimeZone::system()).strftime("%H:%M").to_string();
    let line = match status {
        TaskStatus::Running => format!("{id} is running, dispatched {since}: {title}"),
        TaskStatus::Queued => format!("{id} waits for its turn, dispatched {since}: {title}"),
        over => format!("{id} has ended ({over}), you are about to be told: {title}"),
    };
    Standing { task: id.to_string(), attempt: task.attempt, over: status.is_over(), line }
}
