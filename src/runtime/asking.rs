//! A question before it has a number: who waits for it, and how it is written down.

use std::time::Duration;

use ractor::RpcReplyPort;

use super::ControlError;
use crate::task::{Asked as Fate, Asker, Question, TaskDir, now, one_line};
use crate::tools::gate::{Answer, Request};

/// How long a question waits when nobody says otherwise.
pub(super) const PATIENCE: Duration = Duration::from_secs(30 * 60);

/// The longest that a question may wait.
pub(super) const MOST_PATIENCE: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Most options of a question, and most characters of one.
const OPTIONS: usize = 9;
const OPTION: usize = 200;

/// Most characters of a question.
pub(super) const TEXT: usize = 2_000;

/// A question before it has a number.
pub(in crate::runtime) struct Asking {
    pub(in crate::runtime) text: String,
    /// At most nine; none when any words will do.
    pub(in crate::runtime) options: Vec<String>,
    /// Taken at the deadline.
    pub(in crate::runtime) default: String,
    /// Until then.
    pub(in crate::runtime) patience: Duration,
    pub(in crate::runtime) asker: Asker,
}

/// Who waits until a question is written down.
pub(super) enum Waiter {
    /// Nobody: the runtime asks, in the place of a task that waits.
    Nobody,
    /// The worker's tool.
    Tool(RpcReplyPort<Result<Question, ControlError>>),
    /// A call that a person must allow.
    Gate(Box<Request>, RpcReplyPort<Answer>),
}

/// Writes a question down under a number that is higher than `above`, and a line about it for people. Waits for the disk.
pub(super) fn write_down(dir: &TaskDir, asking: Asking, above: u32) -> Result<Question, String> {
    let asked = now();
    let cut = |text: &str, most: usize| text.trim().chars().take(most).collect::<String>();
    let question = Question {
        task: dir.id(),
        number: above,
        text: cut(&asking.text, TEXT),
        options: asking.options.iter().take(OPTIONS).map(|option| one_line(option, OPTION)).collect(),
        default: one_line(&asking.default, OPTION),
        asked,
        deadline: asked.checked_add(asking.patience).unwrap_or(asked),
        asker: asking.asker,
        state: Fate::Open,
    };
    let question = dir.ask(question).map_err(|error| error.to_string())?;
    // A file for people, and no reason to stop.
    let _ = dir.progress(&format!("asks {}: {}", question.name(), question.text));
    Ok(question)
}

impl Waiter {
    /// Nothing is asked.
    pub(super) fn refuse(self, why: ControlError) {
        // Whoever waited may be gone.
        match self {
            Waiter::Nobody => {}
            Waiter::Tool(reply) => drop(reply.send(Err(why))),
            Waiter::Gate(_, reply) => drop(reply.send(Answer::No(why.to_string()))),
        }
    }
}
