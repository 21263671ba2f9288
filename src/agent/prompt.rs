//! One line and its answer in one call, for library users who steer nothing. The loop itself is in `run`.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Agent, Outcome, RunError, inbox, run};
use crate::event::{AgentEvent, Events, Observer};
use crate::message::Usage;
use crate::session::{Record, Session};

/// What came of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// How the run ended, with the last words.
    pub outcome: Outcome,
    /// Tokens of all its model calls, summaries included; [`Usage::total_tokens`] is their sum.
    pub usage: Usage,
    /// How many calls of the model that thinks.
    pub turns: u32,
}

impl Answer {
    /// The last words; empty when there are none.
    pub fn text(&self) -> &str {
        match &self.outcome {
            Outcome::Answered(text) | Outcome::TurnLimit(text) | Outcome::BudgetSpent { answer: text, .. } => text,
            Outcome::Aborted | Outcome::Parked | Outcome::Stuck(_) => "",
        }
    }
}

/// Adds up what a run takes.
#[derive(Default)]
struct Sum {
    taken: Mutex<(Usage, u32)>,
}

impl Observer for Sum {
    fn observe(&self, event: &AgentEvent) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            AgentEvent::Replied { usage, .. } => {
                taken.0.add(*usage);
                taken.1 += 1;
            }
            AgentEvent::Compacted { usage, .. } => taken.0.add(*usage),
            _ => {}
        }
    }
}

impl Agent {
    /// Appends a person's line to the session and runs until it is answered.
    ///
    /// Who wants to steer or abort meanwhile uses [`run`](super::run()) and keeps the tiller. Dropping the future ends the
    /// run where it stands.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use tillerman::agent::Agent;
    /// use tillerman::event::Events;
    /// use tillerman::message::Usage;
    /// use tillerman::model::scripted::{Scripted, Step};
    /// use tillerman::session::Session;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let used = Usage { input: 40, output: 2, ..Usage::default() };
    /// let agent = Agent::new(Arc::new(Scripted::replies([Step::says("A rudder.").with_usage(used)])));
    /// let answer = agent.prompt(&mut Session::in_memory(), "What does a tiller turn?", &Events::none()).await?;
    /// assert_eq!((answer.text(), answer.usage.total_tokens()), ("A rudder.", 42));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// A fault that a person must act on; the session is valid all the same.
    pub async fn prompt(&self, session: &mut Session, line: &str, events: &Events) -> Result<Answer, RunError> {
        session.append(Record::user(line))?;
        let (_tiller, mut inbox) = inbox::channel(session.next_note());
        let sum = Arc::new(Sum::default());
        let outcome = run(self, session, &mut inbox, &events.and(Arc::clone(&sum) as Arc<dyn Observer>)).await?;
        let (usage, turns) = *sum.taken.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Answer { outcome, usage, turns })
    }
}
