//! The agent loop as a plain async function. It names no actor, no provider and no file of the workspace.

mod act;
mod compact;
mod fit;
mod gauge;
pub mod inbox;
mod prompt;
mod purse;
mod run;
pub mod stuck;
mod think;

use std::path::PathBuf;
use std::sync::Arc;

pub use self::compact::ledger::{Ledger, Standing};
pub use self::compact::now::{Shortened, compact_now};
pub use self::compact::policy::{Compacting, Count, Keep, Trigger, When};
pub use self::compact::preview::{Preview, preview};
pub use self::inbox::{Inbox, Tiller, Unheard};
pub use self::prompt::Answer;
pub use self::run::run;
use crate::ledger::Account;
use crate::model::tokens::Counter;
use crate::model::{Model, ModelError};
use crate::session::SessionError;
use crate::tool::Toolbox;

/// Who answers, with what, and how far it may go. Nothing in it changes during a run, and several runs may share it.
///
/// [`Agent::prompt`] says a line and waits for the answer; [`run()`] is the same for those who steer. A model comes from
/// [`Models::get`](crate::model::catalog::Models::get), where keys and addresses are, or is one of one's own.
///
/// ```
/// # use std::sync::Arc;
/// use tillerman::agent::{Agent, Limits};
/// use tillerman::model::scripted::{Scripted, Step};
///
/// let model = Arc::new(Scripted::replies([Step::says("Aye.")]));
/// let limits = Limits { max_turns: Some(20), ..Limits::default() };
/// let agent = Agent { system: "You are a sailor.".into(), limits, ..Agent::new(model) };
/// assert!(agent.account.is_none());
/// ```
#[derive(Clone)]
pub struct Agent {
    /// Who thinks.
    pub model: Arc<dyn Model>,
    /// Who sums up what is left out of the conversation; `None` leaves that to the model that thinks.
    pub summariser: Option<Summariser>,
    /// What is known of how the model counts tokens. Agents that share it learn together.
    pub counter: Counter,
    /// What it can do.
    pub tools: Toolbox,
    /// The system prompt.
    pub system: String,
    /// How far it may go.
    pub limits: Limits,
    /// Where tools keep full outputs that are cut for the model.
    pub artifacts: PathBuf,
    /// How the tasks of the conversation stand, looked at whenever it was shortened; `None` when it has none.
    pub ledger: Option<Ledger>,
    /// Asked before each model call and told what it took; `None` lets it spend what it likes.
    pub account: Option<Account>,
}

impl Agent {
    /// An agent without tools and system prompt, with the usual limits, that spends what it likes. Full outputs of tools
    /// go to `artifacts/` in the current folder.
    pub fn new(model: Arc<dyn Model>) -> Agent {
        Agent {
            model,
            summariser: None,
            counter: Counter::default(),
            tools: Toolbox::empty(),
            system: String::new(),
            limits: Limits::default(),
            artifacts: PathBuf::from("artifacts"),
            ledger: None,
            account: None,
        }
    }
}

/// A model that sums up a conversation that it takes no part in.
#[derive(Clone)]
pub struct Summariser {
    /// It.
    pub model: Arc<dyn Model>,
    /// Tokens that it can hold, its summary included.
    pub context_window: u64,
}

/// How far a run may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Most turns of a run; then one more without tools sums up. Unlimited when absent.
    pub max_turns: Option<u32>,
    /// Turns in a row that may bring nothing new before the model is told; as many again, and the run ends. 0: any.
    pub flat_turns: u32,
    /// Most tokens of one reply.
    pub max_tokens: u64,
    /// Tokens that the model can hold, reply included.
    pub context_window: u64,
    /// Calls of one answer run side by side; otherwise one after the other.
    pub parallel: bool,
    /// A steer leaves queued follow-ups alone.
    pub keep_follow_ups: bool,
    /// A steer is heard when all calls of an answer are done; otherwise those that have not begun are skipped for it.
    pub steer_waits: bool,
    /// When the conversation is shortened, and how.
    pub compacting: Compacting,
}

/// How a run ended that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The model answered and asked for no more tools.
    Answered(String),
    /// Somebody stopped it.
    Aborted,
    /// The turns were used up; the text is the summing up.
    TurnLimit(String),
    /// Another limit was reached: what is used up, and the summing up.
    BudgetSpent {
        /// As in `$0.50 of $0.50`.
        what: String,
        /// Empty when no call could be made any more.
        answer: String,
    },
    /// A question was asked; the conversation goes on when it is answered.
    Parked,
    /// It went round in circles; the text is the evidence.
    Stuck(String),
}

fn no_room(needed: u64, window: u64) -> String {
    if needed > window {
        format!(
            "the conversation needs about {needed} tokens and the model holds {window}; start a new session or choose \
             a model with a larger window"
        )
    } else {
        format!(
            "the model does not take the conversation of about {needed} tokens, though it should hold {window}; set \
             context_window to what it holds, or start a new session"
        )
    }
}

/// A fault that a person must act on. The session is valid all the same and can be gone on with.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The model failed for good.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The session cannot be written.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The conversation does not fit, and no more room can be made.
    #[error("{}", no_room(*needed, *window))]
    NoRoom {
        /// Estimated tokens of the request with its reply.
        needed: u64,
        /// Tokens that the model holds.
        window: u64,
    },
    /// A tool panicked.
    #[error("tool {tool} has a fault and panicked: {message}")]
    ToolPanicked {
        /// Its name.
        tool: String,
        /// The words of the panic.
        message: String,
    },
    /// The model answered nothing, and nothing again when it was asked once more.
    #[error("{model} answered nothing, twice; say it in other words or choose another model")]
    NothingSaid {
        /// `provider/model`.
        model: String,
    },
    /// The model, or a filter at its provider, refused.
    #[error("{model} refused to go on{}{said}", if said.is_empty() { "" } else { ": " })]
    Refused {
        /// `provider/model`.
        model: String,
        /// What it said about it; may be empty.
        said: String,
    },
    /// The model paused in the middle of its reply, time after time.
    #[error("{model} paused {times} times in a row without an end; ask for less at once")]
    NeverDone {
        /// `provider/model`.
        model: String,
        /// How often.
        times: u32,
    },
    /// The model used up the tokens of its reply before it was done, time after time.
    #[error(
        "{model} was cut off at {max_tokens} tokens {times} times in a row; raise max_tokens or ask for less at once"
    )]
    CutOff {
        /// `provider/model`.
        model: String,
        /// The limit of a reply.
        max_tokens: u64,
        /// How often.
        times: u32,
    },
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_turns: None,
            flat_turns: stuck::PATIENCE,
            max_tokens: 4_096,
            context_window: 200_000,
            parallel: true,
            keep_follow_ups: false,
            steer_waits: false,
            compacting: Compacting::DEFAULT,
        }
    }
}
