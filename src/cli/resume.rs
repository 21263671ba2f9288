//! `tillerman tasks resume t_001`: goes on with tasks that ended before they were done, and shows them to their end and
//! to what their main agent says to it, as `run --wait` does.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::ready::{self, NotReady, Ready, Stay};
use super::run::{Course, Feed, Setup, drain, run};
use super::show::Show;
use crate::args::Common;
use crate::message::Tally;
use crate::runtime::RunId;
use crate::session::Store;
use crate::task::{NoTaskId, TaskDir, TaskId, TaskStatus};
use crate::terminal::exit::{Exit, Signals};
use crate::workspace::Workspace;

/// Resumes the tasks and waits for them.
pub async fn resume(common: &Common, ids: &[String], setup: &Setup) -> Exit {
    let tasks: Vec<TaskId> = match ids.iter().map(|id| id.parse()).collect::<Result<_, NoTaskId>>() {
        Ok(tasks) => tasks,
        Err(error) => {
            let mut show = Show::new(None, setup);
            show.fault(&error.to_string());
            return show.end(Exit::Usage, Tally::default(), &[]).await;
        }
    };
    run(begun(common, &tasks).await, Course::Tasks(tasks), setup).await
}

/// The conversation that asked for the first of them, unless another is named; a new one when it is gone.
async fn begun(common: &Common, tasks: &[TaskId]) -> Result<(Ready, Feed), NotReady> {
    let mut common = common.clone();
    if common.session.is_none() && !common.resume {
        let workspace = ready::workspace(&common)?;
        common.session = tasks.first().and_then(|task| asked_by(&workspace, *task));
    }
    ready::ready(&common, Stay::Answer).await
}

fn asked_by(workspace: &Workspace, task: TaskId) -> Option<String> {
    let asked = TaskDir::open(&workspace.tasks(), task).ok()?.task().ok()?.brief.session?;
    Store::new(workspace.sessions()).find(&asked).ok().map(|_| asked)
}

/// Orders the attempts and shows what comes of them, until all is over, a signal comes or nobody reads.
pub(super) async fn watch(ready: &Ready, feed: &mut Feed, tasks: &[TaskId], show: &mut Show) -> Result<Exit, String> {
    let mut signals = Signals::catch().map_err(|error| format!("cannot catch signals: {error}"))?;
    let resumed = order(ready, tasks, show).await;
    if resumed.is_empty() {
        return Ok(Exit::Failed);
    }
    // No run is waited for, but all of them.
    let none = RunId(0);
    let mut tick = interval(Duration::from_secs(1));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            exit = signals.next() => return Ok(exit),
            news = show.next(feed) => drop(show.news(news, ready, none).await?),
            () = ready.runtime.idle() => break,
            _ = tick.tick() => show.tick(),
        }
        if show.unread {
            return Ok(Exit::Done);
        }
    }
    drain(feed, ready, none, show).await?;
    let said = show.exit(ready).await;
    Ok(match said {
        Exit::Done if resumed.len() < tasks.len() => Exit::Failed,
        Exit::Done => worst(ready, &resumed).await,
        other => other,
    })
}

async fn order(ready: &Ready, tasks: &[TaskId], show: &mut Show) -> Vec<TaskId> {
    let mut resumed = Vec::new();
    for task in tasks {
        match ready.runtime.resume(*task, &ready.session).await {
            Ok(done) => {
                if let Some(gone) = &done.gone {
                    show.remark(&format!("the conversation {gone} that asked for {task} is gone; this one is told"));
                }
                show.remark(&format!("{task} goes on: attempt {}", done.attempt));
                resumed.push(*task);
            }
            Err(error) => show.fault(&error.to_string()),
        }
    }
    resumed
}

/// What the ends of the tasks mean for a script.
async fn worst(ready: &Ready, resumed: &[TaskId]) -> Exit {
    let rows = ready.runtime.tasks().await;
    let ends: Vec<TaskStatus> = rows.iter().filter(|row| resumed.contains(&row.id)).map(|row| row.status).collect();
    match () {
        () if ends.iter().all(|end| *end == TaskStatus::Done) => Exit::Done,
        () if ends.iter().all(|end| *end == TaskStatus::Done || end.is_limited()) => Exit::Limit,
        () => Exit::Failed,
    }
}
