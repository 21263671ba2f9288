//! What happens in a run, told to whoever watches. Events only go out: an observer cannot answer, fail or slow a run.

mod hushed;
mod subscribe;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::hushed::Hushed;
pub use self::subscribe::{Subscribers, Subscription};
use crate::message::{CallId, Message, Note, ToolCall, ToolResult, Usage, Usd};
use crate::secret::Secrets;

/// A fact about a run, in the order in which it became true.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AgentEvent {
    /// The run began.
    RunStarted,
    /// A model call is about to be made.
    TurnStarted {
        /// Counts from 1 within the run.
        turn: u32,
    },
    /// A piece of the answer, as it streams. Its text comes again, whole, in [`AgentEvent::Replied`].
    Text {
        /// The piece.
        text: String,
    },
    /// A piece of reasoning, as it streams.
    Thinking {
        /// The piece.
        text: String,
    },
    /// The model began to write a tool call; its arguments are not known yet.
    CallOpened {
        /// The call's id.
        id: CallId,
        /// The tool's name as written.
        name: String,
    },
    /// The model's reply is complete.
    Replied {
        /// Everything that it said.
        message: Message,
        /// Tokens of this call.
        usage: Usage,
        /// From request to last byte.
        took: Duration,
        /// Who answered, `provider/model`.
        model: String,
        /// What it cost; `None` when nobody knows the price.
        cost: Option<Usd>,
    },
    /// A tool starts; its call is durable.
    ToolStarted {
        /// The call with its arguments.
        call: ToolCall,
    },
    /// Output of a tool that is still running.
    ToolProgress {
        /// Whose output.
        call: CallId,
        /// Lossy UTF-8, in order, perhaps cut inside a line.
        chunk: String,
    },
    /// A tool ended.
    ToolFinished {
        /// What the model will read.
        result: ToolResult,
        /// From start to end.
        took: Duration,
    },
    /// A note was taken into the conversation ("seen").
    Noted {
        /// The note.
        note: Note,
        /// The model call that answers it, counted as in [`AgentEvent::TurnStarted`].
        turn: u32,
    },
    /// The conversation was shortened.
    Compacted {
        /// Estimated tokens before.
        before: u64,
        /// Estimated tokens after.
        after: u64,
        /// Who wrote the summary, `provider/model`; `None` when there is none.
        #[serde(default)]
        model: Option<String>,
        /// Tokens that the summary took.
        usage: Usage,
        /// What it cost; `None` when nobody knows the price.
        cost: Option<Usd>,
    },
    /// A model call failed and is tried again after a wait. Text streamed since the turn began is void.
    Retrying {
        /// The attempt that comes next: 2 for the first retry, 1 when the call waits with others before it is sent.
        attempt: u32,
        /// How long until then.
        wait: Duration,
        /// The fault, one line.
        why: String,
    },
    /// The run cannot go on; [`AgentEvent::RunEnded`] follows.
    Failed {
        /// The fault, one line.
        why: String,
    },
    /// How much the last turn brought that is new, judged by facts: what its calls found and changed.
    Progressed {
        /// The turn that it is about.
        turn: u32,
        /// From 0, nothing, to 7.
        score: u8,
        /// Turns in a row, this one included, that brought nothing.
        flat: u32,
    },
    /// The turn's reply and results are in the conversation.
    TurnEnded {
        /// The same number as in [`AgentEvent::TurnStarted`].
        turn: u32,
    },
    /// The last event of a run.
    RunEnded {
        /// How.
        ending: Ending,
    },
}

/// How a run ended, failure included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Ending {
    /// The model answered and asked for no more tools.
    Completed {
        /// Its last words.
        answer: String,
    },
    /// Somebody stopped it.
    Aborted,
    /// The limit of turns was reached.
    TurnLimit {
        /// The wrap-up written in the last, tool-free turn; empty if there was none.
        answer: String,
    },
    /// A limit other than that of the turns was reached.
    BudgetSpent {
        /// What is used up: `$0.50 of $0.50`.
        what: String,
        /// The wrap-up written in the last, tool-free call; empty if there was none.
        answer: String,
    },
    /// It rests until a question is answered.
    Parked,
    /// It went round in circles.
    Stuck {
        /// The facts that say so.
        evidence: String,
    },
    /// A fault that a person must act on.
    Failed {
        /// One line, with what to do.
        why: String,
    },
}

impl Ending {
    /// The way it ended in one word, as files and JSON lines have it: `completed`, `turn_limit`, ….
    pub fn reason(&self) -> &'static str {
        match self {
            Ending::Completed { .. } => "completed",
            Ending::Aborted => "aborted",
            Ending::TurnLimit { .. } => "turn_limit",
            Ending::BudgetSpent { .. } => "budget_spent",
            Ending::Parked => "parked",
            Ending::Stuck { .. } => "stuck",
            Ending::Failed { .. } => "failed",
        }
    }
}

/// Watches runs. Called synchronously and in order; must return at once and must not panic.
///
/// An observer that is slow by nature owns a channel and drops or blocks on its own side.
pub trait Observer: Send + Sync {
    /// Takes note of one event.
    fn observe(&self, event: &AgentEvent);
}

/// A list of observers, cheap to clone; an empty one costs nothing.
#[derive(Clone, Default)]
pub struct Events {
    observers: Arc<[Arc<dyn Observer>]>,
    hushed: Option<Arc<Hushed>>,
}

impl Events {
    /// Events that nobody watches.
    pub fn none() -> Events {
        Events::default()
    }

    /// Shows every event to each observer, in the order of the list.
    pub fn to(observers: impl IntoIterator<Item = Arc<dyn Observer>>) -> Events {
        Events { observers: observers.into_iter().collect(), hushed: None }
    }

    /// The same, shown to one more observer behind the others.
    #[must_use]
    pub fn and(&self, observer: Arc<dyn Observer>) -> Events {
        let observers = self.observers.iter().cloned().chain([observer]).collect();
        Events { observers, hushed: self.hushed.clone() }
    }

    /// The same without secrets. Texts that stream are held back as long as they end in what may become one.
    pub fn without(self, secrets: &Secrets) -> Events {
        Events { hushed: Some(Arc::new(Hushed::new(secrets.clone()))), ..self }
    }

    /// Shows one event to everybody.
    pub fn emit(&self, event: &AgentEvent) {
        match &self.hushed {
            Some(hushed) => hushed.pass(event).iter().for_each(|event| self.show(event)),
            None => self.show(event),
        }
    }

    fn show(&self, event: &AgentEvent) {
        for observer in self.observers.iter() {
            observer.observe(event);
        }
    }
}
