//! Tasks that rest since an earlier program: which they are, and how the crew takes them on when the conversation that
//! asked for them is open. What the files say is compared with the inbox, which knows best what was answered.

use std::path::Path;

use ractor::ActorRef;

use super::ControlError;
use super::ask::NOBODY;
use super::crew::{CrewMsg, State};
use super::leave::{Filed, Leaves};
use super::mail::{self, Ears, Known, Letter, Unsent};
use super::park::{ParkMsg, RESTED};
use super::roster::{Dispatched, Entry, Patron, Stage};
use crate::message::NoteKind;
use crate::session::{Durability, End, Posted, Session};
use crate::task::{Asked, Asker, Brief, Question, Task, TaskDir, TaskId, TaskStatus, now};
use crate::workspace::Workspace;

/// An order to take a task on.
pub(super) struct Adoption {
    pub(super) patron: Patron,
    /// Nobody waits when a conversation is opened.
    pub(super) reply: Option<Dispatched>,
}

/// What its files say.
pub(super) struct Adopted {
    brief: Brief,
    attempt: u32,
    /// It has a journal.
    began: bool,
    ears: Ears,
    /// All that it ever asked.
    questions: Vec<Question>,
    /// What was said to those about calls.
    leaves: Leaves,
    /// Answers that are not in its inbox yet.
    missed: Vec<Letter>,
}

/// Whether the attempt of a task rests, by its journal; by its task.md while it has none.
pub(super) fn is_parked(workspace: &Workspace, dir: &TaskDir, task: &Task) -> bool {
    if dir.is_aborted(task.attempt) || dir.result().ok().flatten().is_some_and(|report| report.attempt >= task.attempt)
    {
        return false;
    }
    let journal = workspace.worker_sessions().join(format!("{}.jsonl", dir.id()));
    let says_so = task.status == TaskStatus::Parked;
    if !journal.exists() {
        return says_so;
    }
    let Ok(session) = Session::read(&journal) else { return says_so };
    match (session.attempt().max(1) == task.attempt, session.end()) {
        (true, Some(End::Parked)) => true,
        // Without a question it could not be told any more that it was stuck.
        (true, Some(End::Stuck { .. })) => dir.questions().iter().flatten().any(Question::is_open),
        (true, _) => false,
        // Parked before this attempt began.
        (false, _) => says_so,
    }
}

impl State {
    pub(super) fn adopt(&mut self, myself: &ActorRef<CrewMsg>, id: TaskId, adoption: Adoption) {
        let Adoption { patron, reply } = adoption;
        let known = self.tasks.contains_key(&id);
        let dir = TaskDir::open(&self.site.config.workspace.tasks(), id);
        let dir = match (known || self.site.is_closing(), dir) {
            (false, Ok(dir)) => dir,
            (_, found) => {
                if let Some(reply) = reply {
                    let _ = reply.send(found.map(|_| id).map_err(|_| ControlError::NoSuchTask(id)));
                }
                return;
            }
        };
        let dir = self.on_this_disk(dir);
        let (site, crew, task) = (self.site.clone(), myself.clone(), dir.clone());
        let (journal, durability) = (self.site.journal(id), self.site.durability());
        tokio::spawn(async move {
            let read = site.on_disk(move || read(&task, &journal, durability).map(Box::new));
            let read = read.await.unwrap_or_else(Err);
            // A crew that is gone takes no task on; it rests until the next program.
            let _ = crew.cast(CrewMsg::Park(ParkMsg::Adopted(id, read.map_err(ControlError::Files))));
        });
        let (stage, token) = (Stage::Adopting(reply), self.site.busy.token());
        self.tasks.insert(id, Entry::new(dir, Brief::default(), patron, stage, token));
    }

    pub(super) fn adopted(&mut self, myself: &ActorRef<CrewMsg>, id: TaskId, adopted: Result<Adopted, ControlError>) {
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        let Stage::Adopting(reply) = std::mem::replace(&mut entry.stage, Stage::Parked) else { return };
        let told = adopted.as_ref().map(|_| id).map_err(Clone::clone);
        match adopted {
            Err(why) => {
                tracing::warn!(task = %id, %why, "a task that waits for an answer cannot go on");
                entry.refuse_held(&why);
                self.tasks.remove(&id);
            }
            Ok(adopted) => {
                self.site.unpark(id);
                let Adopted { brief, attempt, began, ears, questions, leaves, missed } = adopted;
                (entry.brief, entry.attempt, entry.began) = (brief, attempt, began);
                entry.parking.leaves = leaves;
                for letter in missed {
                    entry.parking.questions.writing();
                    let crew = myself.clone();
                    ears.post.send(letter, move |sent| {
                        if let Err(Unsent::Unwritten(why)) = sent {
                            tracing::warn!(task = %id, %why, "an answer could not be written down");
                        }
                        // As for any answer.
                        let _ = crew.cast(CrewMsg::Park(ParkMsg::Caught(id)));
                    });
                }
                entry.ears = Some(ears);
                for question in questions {
                    match question.is_open() {
                        true => self.enter(myself, question),
                        false => self.know(id, question),
                    }
                }
                if self.tasks.get(&id).is_some_and(|entry| entry.aborted) {
                    self.bury(myself, id, TaskStatus::Aborted, RESTED.to_owned());
                }
                self.deliver(myself, id);
                self.rouse(id);
                self.stir(myself, id);
            }
        }
        if let Some(reply) = reply {
            let _ = reply.send(told);
        }
    }

    fn know(&mut self, id: TaskId, question: Question) {
        if let Some(entry) = self.tasks.get_mut(&id) {
            entry.parking.questions.know(question);
        }
    }
}

/// Reads a task that rests, and makes its questions agree with its inbox. Waits for the disk.
fn read(dir: &TaskDir, journal: &Path, durability: Durability) -> Result<Adopted, String> {
    let task = dir.task().map_err(|error| error.to_string())?;
    let text = |error: crate::session::SessionError| error.to_string();
    let Known { ears, posted, waiting } = mail::known(journal, durability).map_err(text)?;
    let mut filed = Filed::read(dir, journal).map_err(text)?;
    let mut missed = Vec::new();
    for question in &mut filed.questions {
        match (given(question, &posted), &question.state) {
            (Some(fate), Asked::Open) => {
                question.state = fate;
                dir.settle(question).map_err(|error| error.to_string())?;
            }
            (Some(fate), _) if question.asker == Asker::Permission => question.state = fate,
            // Whatever a file says of it, nobody has answered; and it says again what is asked.
            (None, state) if question.asker == Asker::Permission && !matches!(state, Asked::Moot { .. }) => {
                question.state = Asked::Open;
                dir.settle(question).map_err(|error| error.to_string())?;
            }
            // A hand wrote it there, or the disk had the file before the inbox.
            (None, Asked::Answered { text, from, .. }) => missed.push(letter(question.reply(text, from), from)),
            (None, Asked::Defaulted { .. }) => missed.push(letter(question.silence(), NOBODY)),
            _ => {}
        }
    }
    let leaves = filed.leaves();
    let Filed { questions, broken, .. } = filed;
    let waits = |kind: NoteKind| waiting.iter().any(|posted| posted.note.kind == kind);
    let began = journal.exists();
    // One that has not begun asked nothing: the runtime did, and looks again.
    let is_lost = began && missed.is_empty() && !questions.iter().any(Question::is_open);
    if is_lost && !waits(NoteKind::Answer) && !waits(NoteKind::Steer) {
        let why = if broken.is_empty() { "its file is gone".to_owned() } else { broken.join("; ") };
        let words = format!("What you asked cannot be answered any more: {why}. Decide it yourself, and say how.");
        missed.push(letter(words, NOBODY));
    }
    Ok(Adopted { brief: task.brief, attempt: task.attempt, began, ears, questions, leaves, missed })
}

/// What became of a question, by the notes that were ever sent to its task.
fn given(question: &Question, posted: &[Posted]) -> Option<Asked> {
    let answers = |posted: &&Posted| {
        posted.note.kind == NoteKind::Answer && Question::answered_by(&posted.note.text) == Some(question.number)
    };
    let posted = posted.iter().find(answers)?;
    Some(match posted.from.as_str() {
        NOBODY => Asked::Defaulted { at: now() },
        from => {
            let text = posted.note.text.lines().next().and_then(|line| line.split_once(": "));
            let text = text.map(|(_, answer)| answer.to_owned()).unwrap_or_default();
            Asked::Answered { text, from: from.to_owned(), at: now() }
        }
    })
}

fn letter(text: String, from: &str) -> Letter {
    Letter { kind: NoteKind::Answer, text, from: from.to_owned() }
}
