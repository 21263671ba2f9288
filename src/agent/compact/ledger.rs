//! What must survive every shortening and is rendered anew each time: tasks as their files say, and what people said
//! must or must not be. No model has a hand in it.

use std::fmt::Write as _;
use std::sync::Arc;

use super::summary::LEDGER;
use crate::agent::run::Run;
use crate::message::Message;
use crate::session::Wish;

/// Most tasks that are told one by one.
const TASKS: usize = 50;

/// A task as its files say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its number, as in `t_001`.
    pub task: String,
    /// Which attempt of it, from 1.
    pub attempt: u32,
    /// It has ended; it is told until its report is in the conversation.
    pub over: bool,
    /// One line about it, its number first.
    pub line: String,
}

/// Looks on the disk how the tasks of a conversation stand. Called on a thread that may wait.
pub type Ledger = Arc<dyn Fn() -> Vec<Standing> + Send + Sync>;

/// The tasks that the conversation must know of; none when nobody can tell.
pub(super) async fn standings(run: &Run<'_>) -> Vec<Standing> {
    let Some(ledger) = run.agent.ledger.clone() else { return Vec::new() };
    let looked = tokio::task::spawn_blocking(move || ledger()).await;
    let standings = looked.unwrap_or_else(|error| {
        tracing::warn!(%error, "the tasks could not be looked at");
        Vec::new()
    });
    let untold = |standing: &Standing| !standing.over || !run.session.is_told(&standing.task, standing.attempt);
    standings.into_iter().filter(untold).collect()
}

/// The message that says it; `None` when there is nothing to say.
pub(super) fn message(run: &Run<'_>, standings: &[Standing], wishes: &[Wish]) -> Option<Arc<Message>> {
    if standings.is_empty() && wishes.is_empty() {
        return None;
    }
    let mut text = LEDGER.to_owned();
    // Writing to a string cannot fail.
    if !standings.is_empty() {
        text.push_str("\nTasks of this conversation, not to be dispatched again:");
        for standing in standings.iter().take(TASKS) {
            let _ = write!(text, "\n- {}", standing.line);
        }
    }
    if standings.len() > TASKS {
        let _ = write!(text, "\n- and {} more", standings.len() - TASKS);
    }
    if !wishes.is_empty() {
        text.push_str("\nWhat people said, word for word, still holds unless they took it back:");
        for wish in wishes {
            let _ = write!(text, "\n- {}: {:?}", run.session.name(wish.entry), wish.text);
        }
    }
    Some(Arc::new(Message::user(text)))
}
