//! Answering what tasks ask, as calls of [`Runtime`]: also of a task that rests since an earlier program, whose
//! conversation is opened for it. What an answer does is the crew's business.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::mail::PERSON;
use super::roster::Patron;
use super::{ControlError, Done, Order, Runtime};
use crate::message::NoteId;
use crate::model::scripted::recorded::Act;
use crate::task::{Question, TaskId};

/// An answer that was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replied {
    /// To which task.
    pub task: TaskId,
    /// To which of its questions.
    pub question: u32,
    /// The option in full, or the words.
    pub answer: String,
    /// As which note the worker hears it; #0 when it ended the task instead.
    pub note: NoteId,
    /// The default had been taken already: the answer is a steer.
    pub late: bool,
}

impl fmt::Display for Replied {
    /// `q_001 of t_004: cookie (#3)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Replied { task, question, answer, note, late } = self;
        write!(f, "q_{question:03} of {task}: {answer}")?;
        match (*late, *note) {
            (true, note) => write!(f, " (late: the default was taken, so it is the steer {note})"),
            (false, NoteId(0)) => f.write_str(" (the task is over with that)"),
            (false, note) => write!(f, " ({note})"),
        }
    }
}

impl Runtime {
    /// Answers a question of a task: an option by its number or name, or words of one's own. Without a number of the
    /// question, the one that has been open for longest.
    ///
    /// # Errors
    /// [`ControlError::NoQuestion`], [`ControlError::Closed`] when it was answered before, [`ControlError::Unfit`] for a
    /// number that no option has, and as [`Runtime::steer`].
    pub async fn answer(
        &self,
        task: TaskId,
        question: Option<u32>,
        mut words: String,
    ) -> Result<Replied, ControlError> {
        self.inner.hush(&mut words);
        if let Some(there) = self.elsewhere()? {
            let replied = |done| if let Done::Answered(replied) = done { Some(replied) } else { None };
            let order = Order::Answer { task, question, text: words };
            return there.ask(order, replied).await.map_err(ControlError::Elsewhere);
        }
        let said = question.map_or_else(|| words.clone(), |number| format!("q_{number:03} {words}"));
        self.inner.record(&task.to_string(), Act::Answer, said);
        self.take_on(task).await?;
        self.inner.door.answer(task, question, words, PERSON.to_owned()).await
    }

    /// The open questions of all tasks, by task.
    pub async fn questions(&self) -> Vec<Question> {
        self.tasks().await.into_iter().flat_map(|row| row.questions).collect()
    }

    /// A task that rests since an earlier program goes on in the name of the conversation that asked for it; where that is
    /// gone, of any that is open.
    async fn take_on(&self, task: TaskId) -> Result<(), ControlError> {
        let Some(asked) = self.inner.site.parked_by(task) else { return Ok(()) };
        let here = self.inner.mains().keys().next().cloned();
        let here = here.ok_or_else(|| ControlError::NotOpen(asked.clone()))?;
        let (session, _) = self.home(Some(asked.to_string()), &here).await?;
        // Opening the conversation has the crew take it on; a second order only waits for the first.
        let main = self.inner.mains().get(&session).cloned();
        let main = main.ok_or_else(|| ControlError::NotOpen(session.clone()))?;
        self.inner.door.adopt(task, Patron { main, session, call: None }).await.map(drop)
    }
}
