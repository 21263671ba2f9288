//! Calls of workers that a person must allow: each is asked as a question of the runtime, and its task rests. What was said is
//! kept in the crew and, for the next program, in the worker's journal; a file that a worker may write allows nothing.

use std::collections::BTreeMap;
use std::path::Path;

use ractor::{ActorRef, RpcReplyPort};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ControlError;
use super::asking::{Asking, PATIENCE, TEXT, Waiter};
use super::crew::{CrewMsg, State};
use super::mail::PERSON;
use crate::session::{SessionError, fate};
use crate::task::{ALLOW, Asked, Asker, DENY, Question, TaskDir, TaskId, one_line};
use crate::tools::gate::{Answer, Request};

/// Calls of one task that a person is asked about, and that may be denied before no more are asked.
const MOST_ASKED: usize = 20;
const MOST_DENIED: usize = 3;

/// Where the journal keeps what was asked, in the details of the call's result.
const KEPT: &str = "permission";

/// Names a call: tool, arguments, folder, environment and mode.
type Key = [u8; 32];

/// What was asked about the calls of one task, and what was said to it.
#[derive(Default)]
pub(super) struct Leaves(Vec<Leave>);

struct Leave {
    key: Key,
    /// `None` while it is being written down.
    question: Option<u32>,
    said: Said,
}

enum Said {
    Nothing,
    /// It goes through when it is made again.
    Yes,
    /// It went through, or nobody needs an answer any more: it is asked anew.
    Over,
    /// It does not, and why.
    No(String),
}

/// What the journal keeps of a call that was asked about.
#[derive(Serialize, Deserialize)]
struct Kept {
    key: String,
    question: Question,
}

/// What a task asked, by its files.
#[derive(Default)]
pub(super) struct Filed {
    /// By number. What those about calls say is from the journal, their state from a file.
    pub(super) questions: Vec<Question>,
    /// What is wrong with the other files.
    pub(super) broken: Vec<String>,
    keys: BTreeMap<u32, Key>,
}

impl State {
    /// A call of a worker that a person must allow. Answers at once what is known, else when the question is on the disk.
    pub(super) fn leave(
        &mut self,
        myself: &ActorRef<CrewMsg>,
        id: TaskId,
        request: Request,
        reply: RpcReplyPort<Answer>,
    ) {
        let Some(entry) = self.tasks.get_mut(&id) else {
            return Waiter::Gate(Box::new(request), reply).refuse(ControlError::AlreadyEnded(id));
        };
        if let Some(answer) = entry.parking.leaves.answer(&request) {
            // A call that was given up hears nothing.
            let _ = reply.send(answer);
            return;
        }
        entry.parking.leaves.0.push(Leave { key: request.key, question: None, said: Said::Nothing });
        self.ask(myself, id, asking(&request), Waiter::Gate(Box::new(request), reply));
    }
}

fn asking(request: &Request) -> Asking {
    let Request { tool, shown, why, .. } = request;
    let why = one_line(why, TEXT / 4);
    let room = TEXT - TEXT / 4 - 200;
    let mut call: String = shown.chars().take(room).collect();
    let more = shown.chars().count().saturating_sub(room);
    if more > 0 {
        call.push_str(&format!("… and {more} more characters"));
    }
    Asking {
        text: format!("May it do this once ({why})? {tool} {call}"),
        options: vec![ALLOW.to_owned(), DENY.to_owned()],
        default: DENY.to_owned(),
        patience: PATIENCE,
        asker: Asker::Permission,
    }
}

/// The answer to a call whose question is on the disk.
pub(super) fn rests(request: &Request, question: &Question) -> Answer {
    let key = request.key.iter().map(|byte| format!("{byte:02x}")).collect();
    let kept = Kept { key, question: question.clone() };
    Answer::Later { sentence: later(request, &question.name()), details: json!({ KEPT: kept }) }
}

fn later(request: &Request, question: &str) -> String {
    let Request { tool, why, .. } = request;
    format!(
        "{tool} was not done yet: a person must allow it ({why}). That is {question}; you go on when it is answered. If it is \
         allowed, make this very call again, with the same arguments."
    )
}

impl Leaves {
    /// What is known of a call; `None` when it must be asked.
    fn answer(&mut self, request: &Request) -> Option<Answer> {
        let last = self.0.iter_mut().rev().find(|leave| leave.key == request.key);
        match last.map(|leave| (&mut leave.said, leave.question)) {
            Some((said @ Said::Yes, _)) => {
                *said = Said::Over;
                return Some(Answer::Yes);
            }
            Some((Said::No(why), _)) => return Some(Answer::No(why.clone())),
            Some((Said::Nothing, question)) => {
                let name = question.map_or_else(|| "asked".to_owned(), |number| format!("q_{number:03}"));
                return Some(Answer::Later { sentence: later(request, &name), details: Value::Null });
            }
            Some((Said::Over, _)) | None => {}
        }
        let denied = self.0.iter().filter(|leave| matches!(leave.said, Said::No(_))).count();
        let why = match (denied, self.0.len()) {
            (MOST_DENIED.., _) => format!("{denied} calls of this task were denied"),
            (_, MOST_ASKED..) => format!("a person was asked about {MOST_ASKED} calls of this task"),
            _ => return None,
        };
        Some(Answer::No(format!("{}; {why}, so no more are asked", request.why)))
    }

    pub(super) fn asked(&mut self, key: Key, question: u32) {
        if let Some(leave) = self.0.iter_mut().rev().find(|leave| leave.key == key) {
            leave.question = Some(question);
        }
    }

    /// It could not be asked.
    pub(super) fn forget(&mut self, key: Key) {
        self.0.retain(|leave| leave.key != key || leave.question.is_some());
    }

    /// What was said to a question; `None` when nobody said anything in time.
    pub(super) fn said(&mut self, question: u32, words: Option<&str>) {
        if let Some(leave) = self.find(question).filter(|leave| !matches!(leave.said, Said::Over)) {
            leave.said = Said::of(words);
        }
    }

    /// What was said could not be written down, so it waits still.
    pub(super) fn unsaid(&mut self, question: u32) {
        if let Some(leave) = self.find(question).filter(|leave| !matches!(leave.said, Said::Over)) {
            leave.said = Said::Nothing;
        }
    }

    fn find(&mut self, question: u32) -> Option<&mut Leave> {
        self.0.iter_mut().find(|leave| leave.question == Some(question))
    }
}

impl Said {
    fn of(words: Option<&str>) -> Said {
        match words {
            Some(ALLOW) => Said::Yes,
            Some(DENY) => Said::No(format!("by a {PERSON}")),
            Some(words) => Said::No(format!("by a {PERSON}: {words}")),
            None => Said::No("nobody answered in time".to_owned()),
        }
    }
}

impl Filed {
    /// Reads the questions of a task with this journal. A file about a call is only believed where the journal knows of it.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub(super) fn read(dir: &TaskDir, journal: &Path) -> Result<Filed, SessionError> {
        let kept = fate::details(journal, KEPT)?.into_iter();
        let kept = kept.filter_map(|details| serde_json::from_value::<Kept>(details).ok());
        let mut own: BTreeMap<u32, Kept> =
            kept.filter(|kept| kept.question.task == dir.id()).map(|kept| (kept.question.number, kept)).collect();
        let mut filed = Filed::default();
        for read in dir.questions() {
            match read {
                Ok(question) => match own.get_mut(&question.number) {
                    Some(kept) => kept.question.state = question.state,
                    None if question.asker == Asker::Permission => {
                        filed.broken.push(format!("{question} is none that this program asked"));
                    }
                    None => filed.questions.push(question),
                },
                Err(error) => filed.broken.push(error.to_string()),
            }
        }
        for (number, kept) in own {
            // Without its key an answer allows nothing.
            filed.keys.extend(key(&kept.key).map(|key| (number, key)));
            filed.questions.push(kept.question);
        }
        filed.questions.sort_by_key(|question| question.number);
        Ok(filed)
    }

    /// What is known of the calls, for questions whose states are true. What was allowed under an earlier program and not
    /// made since is asked anew.
    pub(super) fn leaves(&self) -> Leaves {
        let leave = |question: &Question| {
            let said = match &question.state {
                Asked::Open => Said::Nothing,
                Asked::Answered { text, .. } if text != ALLOW => Said::of(Some(text)),
                Asked::Defaulted { .. } => Said::of(None),
                Asked::Answered { .. } | Asked::Moot { .. } => Said::Over,
            };
            Some(Leave { key: *self.keys.get(&question.number)?, question: Some(question.number), said })
        };
        Leaves(self.questions.iter().filter_map(leave).collect())
    }
}

fn key(hex: &str) -> Option<Key> {
    let mut key = Key::default();
    let byte = |at: usize| u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok();
    (hex.len() == 2 * key.len()).then_some(())?;
    for (at, place) in key.iter_mut().enumerate() {
        *place = byte(at)?;
    }
    Some(key)
}
