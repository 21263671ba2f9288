//! Shortens a conversation because a person asks for it, outside a run.

use super::{Goal, shorten, within};
use crate::agent::inbox::Inbox;
use crate::agent::run::{Halt, Run};
use crate::agent::{Agent, RunError};
use crate::event::Events;
use crate::session::{Compaction, Session};

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Shortened {
    /// It is shorter now; the entry says what stayed and what went.
    Done(Box<Compaction>),
    /// There is too little to sum up, or a summary would not make it shorter, or no model could write one: then the log
    /// says why. Nothing has changed.
    Not,
    /// Somebody stopped it. Nothing has changed.
    Aborted,
}

/// Shortens the conversation now, however long it is, by the agent's settings. Of the older half at least four messages
/// are summed up; recent turns that are kept take at most a quarter of it. Nothing is cut that no summary stands for.
///
/// The session must be between two runs; the inbox takes no notes when it is done. An abort of the inbox ends it; dropping the future leaves the session as it was.
///
/// # Errors
/// The session cannot be written.
pub async fn compact_now(
    agent: &Agent,
    session: &mut Session,
    inbox: &mut Inbox,
    events: &Events,
) -> Result<Shortened, RunError> {
    let mut run = Run::new(agent, session, inbox, events);
    let size = run.gauge.measure(run.session.context());
    let keep = within(agent.limits.compacting.keep, size / 4);
    let window = agent.limits.context_window;
    let goal = Goal { keep, window, why: "asked for".to_owned(), needed: false, asked: true };
    let done = shorten(&mut run, &goal).await;
    run.inbox.close().await;
    run.session.settle().await?;
    match done {
        Ok(true) => Ok(run.session.compaction().map_or(Shortened::Not, |done| Shortened::Done(Box::new(done.clone())))),
        Ok(false) => Ok(Shortened::Not),
        Err(Halt::Aborted) => Ok(Shortened::Aborted),
        Err(Halt::Spent(_)) => Ok(Shortened::Not),
        Err(Halt::Failed(error)) => Err(error),
    }
}
