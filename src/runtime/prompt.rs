//! One line and its answer in one call, and closures that are told what happens: for library users, as calls of
//! [`Runtime`].

use std::fmt;

use tokio::sync::broadcast::error::RecvError;
use tokio_util::task::AbortOnDropHandle;

use super::feed::{Envelope, News, Source};
use super::{RunId, Runtime, Said, SessionGone};
use crate::event::{AgentEvent, Ending};
use crate::message::{Role, Spent, Usage};
use crate::session::SessionId;

/// What came of a line.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The run that answered.
    pub run: RunId,
    /// How it ended, with the last words.
    pub ending: Ending,
    /// Tokens of its model calls, summaries included, without those of tasks; [`Usage::total_tokens`] is their sum.
    pub usage: Usage,
    /// What they cost.
    pub spent: Spent,
}

/// Somebody is told what happens as long as this is kept.
#[must_use = "dropping it ends the subscription"]
pub struct Watching {
    _task: AbortOnDropHandle<()>,
}

impl Answered {
    /// The last words; empty when there are none.
    pub fn text(&self) -> &str {
        match &self.ending {
            Ending::Completed { answer } | Ending::TurnLimit { answer } | Ending::BudgetSpent { answer, .. } => answer,
            Ending::Aborted | Ending::Parked | Ending::Stuck { .. } | Ending::Failed { .. } => "",
        }
    }

    /// Adds an event of the run; answers whether it was the last.
    fn hear(&mut self, event: AgentEvent) -> bool {
        match event {
            AgentEvent::Replied { usage, cost, .. } => {
                self.usage.add(usage);
                self.spent.add(Spent::of(cost));
            }
            AgentEvent::Compacted { usage, cost, model: Some(_), .. } => {
                self.usage.add(usage);
                self.spent.add(Spent::of(cost));
            }
            AgentEvent::RunEnded { ending } => {
                self.ending = ending;
                return true;
            }
            _ => {}
        }
        false
    }
}

impl Runtime {
    /// Says a line and waits until its run has ended; lines before it are answered first. Tasks that it dispatched may go
    /// on: their ends are told to the main agent in runs of their own.
    ///
    /// Dropping the future ends the wait and not the run.
    ///
    /// # Errors
    /// As [`Runtime::say`]; a run that fails is an [`Ending::Failed`].
    pub async fn prompt(&self, session: &SessionId, said: impl Into<Said>) -> Result<Answered, SessionGone> {
        let mut feed = self.feed();
        let run = self.say(session, said).await?;
        let ending = Ending::Aborted;
        let mut answered = Answered { run, ending, usage: Usage::default(), spent: Spent::default() };
        loop {
            match feed.recv().await {
                Ok(Envelope {
                    source: Source::Main { session: whose, run: which }, news: News::Agent(event), ..
                }) if whose == *session && which == run => {
                    if answered.hear(event) {
                        return Ok(answered);
                    }
                }
                Ok(_) => {}
                Err(RecvError::Closed) => return Err(SessionGone::ShuttingDown),
                // Its end may have been among what was missed.
                Err(RecvError::Lagged(_)) => {
                    let status = self.status(session).await?;
                    if !status.busy && status.queued == 0 {
                        let said = self.transcript(session).await?;
                        let last = said.last().filter(|message| message.role == Role::Assistant);
                        let answer = last.map(|message| message.text()).unwrap_or_default();
                        return Ok(Answered { ending: Ending::Completed { answer }, ..answered });
                    }
                }
            }
        }
    }

    /// Tells the closure everything that happens from now on, in order, until the guard is dropped. It runs on a task of
    /// its own and must return soon: what it is too slow for it misses, which shows as a jump in [`Envelope::seq`].
    pub fn subscribe(&self, mut told: impl FnMut(Envelope) + Send + 'static) -> Watching {
        let mut feed = self.feed();
        let watch = async move {
            loop {
                match feed.recv().await {
                    Ok(envelope) => told(envelope),
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                }
            }
        };
        Watching { _task: AbortOnDropHandle::new(tokio::spawn(watch)) }
    }
}

impl fmt::Debug for Watching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watching")
    }
}
