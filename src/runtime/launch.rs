//! Puts a run on a task of its own and brings it home: the session with the ending, whatever happened on the way.
//! Knows no actor; whoever launches decides what an ending means.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio_util::task::AbortOnDropHandle;

use crate::agent::inbox::Inbox;
use crate::agent::{self, Agent, Outcome, RunError, Shortened};
use crate::event::{AgentEvent, Ending, Events};
use crate::message::Note;
use crate::model::Fault;
use crate::session::Session;

/// All that a run needs.
pub(super) struct Run {
    pub(super) agent: Agent,
    pub(super) session: Session,
    pub(super) inbox: Inbox,
    pub(super) events: Events,
}

/// What is left of it.
pub(super) struct Home {
    /// `None` after a panic: memory may be half changed, so the session must be opened again from its log.
    pub(super) session: Option<Session>,
    pub(super) ending: Ending,
    /// The kind of fault that ended it, where a model or its window was at fault.
    pub(super) fault: Option<Fault>,
    /// The end of the program stopped it; nobody asked for its end.
    pub(super) interrupted: bool,
    /// Notes that were acknowledged and came too late.
    pub(super) unheard: Vec<Note>,
}

/// Runs to the end. A panic is an ending too, and is told to the same observers as any other.
pub(super) async fn fly(run: Run) -> Home {
    let Run { agent, mut session, mut inbox, events } = run;
    let flight = AssertUnwindSafe(agent::run(&agent, &mut session, &mut inbox, &events)).catch_unwind();
    // The future is large; on the heap it does not travel with every state around it.
    let flown = Box::pin(flight).await;
    session.notes_given(inbox.next_note());
    let (session, fault, ending) = match flown {
        Ok(result) => (Some(session), fault(&result), ending(result)),
        Err(panic) => {
            let why = format!("a fault inside the program: {}", panic_text(panic.as_ref()));
            tracing::error!(%why, "a run panicked");
            events.emit(&AgentEvent::Failed { why: why.clone() });
            events.emit(&AgentEvent::RunEnded { ending: Ending::Failed { why: why.clone() } });
            (None, None, Ending::Failed { why })
        }
    };
    Home { session, ending, fault, interrupted: inbox.is_interrupted(), unheard: inbox.take_unheard() }
}

/// Makes the conversation shorter, as a run of its own that says what came of it.
pub(super) async fn shorten(run: Run) -> Home {
    let Run { agent, mut session, mut inbox, events } = run;
    events.emit(&AgentEvent::RunStarted);
    let work = AssertUnwindSafe(agent::compact_now(&agent, &mut session, &mut inbox, &events)).catch_unwind();
    let (session, ending) = match Box::pin(work).await {
        Ok(Ok(Shortened::Done(done))) => {
            let answer = format!("About {} tokens of conversation became {}.", done.before, done.after);
            (Some(session), Ending::Completed { answer })
        }
        Ok(Ok(Shortened::Not)) => {
            let answer = "It stays as it is: too little was said, or no summary made it shorter.".to_owned();
            (Some(session), Ending::Completed { answer })
        }
        Ok(Ok(Shortened::Aborted)) => (Some(session), Ending::Aborted),
        Ok(Err(error)) => (Some(session), Ending::Failed { why: error.to_string() }),
        Err(panic) => {
            (None, Ending::Failed { why: format!("a fault inside the program: {}", panic_text(panic.as_ref())) })
        }
    };
    match &ending {
        Ending::Completed { answer } => events.emit(&AgentEvent::Text { text: answer.clone() }),
        Ending::Failed { why } => events.emit(&AgentEvent::Failed { why: why.clone() }),
        Ending::Aborted
        | Ending::TurnLimit { .. }
        | Ending::BudgetSpent { .. }
        | Ending::Parked
        | Ending::Stuck { .. } => {}
    }
    events.emit(&AgentEvent::RunEnded { ending: ending.clone() });
    let interrupted = inbox.is_interrupted();
    Home { session, ending, interrupted, fault: None, unheard: inbox.take_unheard() }
}

/// Starts work on its own task and calls `ended` with what it came to. Dropping the handle drops the work where it
/// stands, with every process it owns; `ended` is then not called.
pub(super) fn launch<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
    ended: impl FnOnce(T) + Send + 'static,
) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move { ended(work.await) }))
}

/// The words of a panic.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no words given".to_owned())
}

fn fault(result: &Result<Outcome, RunError>) -> Option<Fault> {
    match result {
        Err(RunError::Model(error)) => Some(error.fault),
        Err(RunError::NoRoom { .. }) => Some(Fault::Overflow),
        Ok(_) | Err(_) => None,
    }
}

fn ending(result: Result<Outcome, RunError>) -> Ending {
    match result {
        Ok(Outcome::Answered(answer)) => Ending::Completed { answer },
        Ok(Outcome::Aborted) => Ending::Aborted,
        Ok(Outcome::TurnLimit(answer)) => Ending::TurnLimit { answer },
        Ok(Outcome::BudgetSpent { what, answer }) => Ending::BudgetSpent { what, answer },
        Ok(Outcome::Parked) => Ending::Parked,
        Ok(Outcome::Stuck(evidence)) => Ending::Stuck { evidence },
        Err(error) => Ending::Failed { why: error.to_string() },
    }
}
