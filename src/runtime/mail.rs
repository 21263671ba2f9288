//! Notes on their way to a run: first a place in its queue, then the disk, then the queue itself, and only then the
//! answer to the sender. Joins a run's tiller with the inbox file of its session. What is heard when is the loop's
//! business, what becomes of notes that no run heard the business of whoever started it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ractor::ActorRef;

use super::crew::{CrewMsg, State};
use super::park::{Held, Noted, ParkMsg};
use super::roster::{Entry, Stage};
use super::{ControlError, Said};
use crate::agent::inbox::{self, Inbox, Numbers, Refused, Slot, Tiller};
use crate::message::{Note, NoteId, NoteKind};
use crate::session::{Durability, Mailbox, Posted, Session, SessionError};
use crate::task::TaskId;

/// The mail of one session, over all its runs.
#[derive(Clone)]
pub(super) struct Mail {
    mailbox: Mailbox,
    numbers: Numbers,
    senders: Senders,
}

/// Who sent what was sent last, where that is not a person.
#[derive(Clone, Default)]
struct Senders(Arc<Mutex<BTreeMap<NoteId, String>>>);

/// The way to one run.
#[derive(Clone)]
pub(super) struct Post {
    pub(super) tiller: Tiller,
    mailbox: Mailbox,
    senders: Senders,
}

/// The way to a worker and, until that starts, the worker's ears.
pub(super) struct Ears {
    mail: Mail,
    pub(super) post: Post,
    pub(super) inbox: Option<Inbox>,
}

/// Words for a run.
pub(super) struct Letter {
    pub(super) kind: NoteKind,
    pub(super) text: String,
    /// `person`, `main` or a task as in `t_003`.
    pub(super) from: String,
}

/// Why a note is not in its queue.
pub(super) enum Unsent {
    /// The run listens no more; nothing was written down.
    Ended(Letter),
    /// Too many wait; nothing was written down.
    Full,
    /// The run ended while the note was being written down: it waits on the disk.
    TooLate(Note),
    /// The disk does not have it, so nobody will hear it.
    Unwritten(String),
}

/// The sender of what a person says.
pub(super) const PERSON: &str = "person";

impl Mail {
    /// Ids go on from the highest that journal or inbox know.
    pub(super) fn new(mailbox: Mailbox, next: NoteId) -> Mail {
        let numbers = Numbers::from(next.max(mailbox.next_note()));
        Mail { mailbox, numbers, senders: Senders::default() }
    }

    /// The two ends for the next run.
    pub(super) fn channel(&self) -> (Post, Inbox) {
        let (tiller, inbox) = inbox::channel(self.numbers.clone());
        (Post { tiller, mailbox: self.mailbox.clone(), senders: self.senders.clone() }, inbox)
    }

    /// Writes down that a note is taken back which is in no queue any more, and says when that is safe.
    pub(super) fn forget(&self, note: NoteId, forgotten: impl FnOnce(Result<(), String>) + Send + 'static) {
        self.mailbox.take_back(note, move |written| forgotten(written.map_err(|error| error.to_string())));
    }

    /// Writes down a line that has to wait, and says when it is safe.
    pub(super) fn keep(&self, said: Said, kept: impl FnOnce(Result<NoteId, String>) + Send + 'static) {
        let (id, Said { text, images }) = (self.numbers.give(), said);
        let posted = Posted { note: Note { id, kind: NoteKind::Line, text }, from: PERSON.to_owned(), images };
        self.mailbox.post(posted, move |written| kept(written.map(|()| id).map_err(|error| error.to_string())));
    }
}

impl Ears {
    /// What the run is given; `None` when it has it already.
    pub(super) fn open(&mut self) -> Option<(Post, Inbox)> {
        self.mail.mailbox.rest(false);
        Some((self.post.clone(), self.inbox.take()?))
    }

    /// New ears for the next run of a worker that rests, which hears first what the last one did not. No file stays open.
    pub(super) fn renew(&mut self, unheard: Vec<Note>) {
        let (post, mut inbox) = self.mail.channel();
        inbox.refill(unheard);
        (self.post, self.inbox) = (post, Some(inbox));
        self.mail.mailbox.rest(true);
    }
}

impl Post {
    /// Sends a note and says what became of it when that is certain: at once when it is refused, else from a thread
    /// that may wait. Does not wait itself.
    pub(super) fn send(&self, letter: Letter, sent: impl FnOnce(Result<NoteId, Unsent>) + Send + 'static) {
        let slot = match self.tiller.reserve(letter.kind) {
            Ok(slot) => slot,
            Err(Refused::Sealed) => return sent(Err(Unsent::Ended(letter))),
            Err(Refused::Full) => return sent(Err(Unsent::Full)),
        };
        let Letter { kind, text, from } = letter;
        let note = Note { id: slot.id(), kind, text };
        self.senders.remember(note.id, &from);
        let posted = Posted { note: note.clone(), from, images: Vec::new() };
        self.mailbox.post(posted, move |written| {
            sent(match written {
                Ok(()) => slot.deliver(note.text.clone()).map_err(|_| Unsent::TooLate(note)),
                Err(error) => Err(Unsent::Unwritten(error.to_string())),
            });
        });
    }

    /// What waits in the queue of the run, with who sent it.
    pub(super) fn waiting(&self) -> Vec<(Note, String)> {
        let waiting = self.tiller.waiting();
        let senders = self.senders.lock();
        let of = |note: NoteId| senders.get(&note).cloned().unwrap_or_else(|| PERSON.to_owned());
        waiting
            .into_iter()
            .map(|note| {
                let from = of(note.id);
                (note, from)
            })
            .collect()
    }

    /// Writes down that a note is taken back which was taken out of the queue, and says when that is safe. It has its place
    /// until then, and waits again when the disk refuses.
    pub(super) fn forget(
        &self,
        (note, slot): (Note, Slot),
        forgotten: impl FnOnce(Result<String, String>) + Send + 'static,
    ) {
        self.mailbox.take_back(note.id, move |written| {
            forgotten(match written {
                Ok(()) => Ok(note.text),
                Err(error) => {
                    // A run that has ended meanwhile does not hear it; the disk still has it.
                    let _ = slot.deliver(note.text);
                    Err(error.to_string())
                }
            });
        });
    }

    /// What was posted and never heard, by the journal of the session. Waits for the disk.
    pub(super) fn unheard(&self, journal: &Path) -> Result<Vec<Note>, SessionError> {
        let heard = if journal.exists() { Session::read(journal)?.heard().clone() } else { Default::default() };
        Ok(self.mailbox.waiting(&heard)?.into_iter().map(|posted| posted.note).collect())
    }
}

impl Senders {
    fn remember(&self, note: NoteId, from: &str) {
        if from == PERSON {
            return;
        }
        let mut senders = self.lock();
        if senders.len() >= inbox::CAPACITY {
            senders.pop_first();
        }
        senders.insert(note, from.to_owned());
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<NoteId, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Answers when the note is on the disk and in the queue of the run, which may not have begun. A steer also wakes a
    /// worker that rests.
    pub(super) fn note(&mut self, myself: &ActorRef<CrewMsg>, id: TaskId, letter: Letter, reply: Noted) {
        let post = match self.tasks.get_mut(&id) {
            Some(entry) if entry.is_between() => return entry.hold(Held::Note(letter, reply)),
            Some(Entry { stage: Stage::Closing, .. }) => Err(ControlError::AlreadyEnded(id)),
            Some(Entry { ears: Some(ears), .. }) => Ok(&ears.post),
            // While its task.md is being written, nobody has been told that there is such a task.
            Some(Entry { ears: None, .. }) => Err(ControlError::NoSuchTask(id)),
            None => Err(self.absent(id)),
        };
        let post = match post {
            Ok(post) => post,
            Err(refusal) => return drop(reply.send(Err(refusal))),
        };
        let (crew, steers) = (myself.clone(), letter.kind == NoteKind::Steer);
        post.send(letter, move |sent| {
            let refusal = match sent {
                Ok(note) => {
                    let _ = reply.send(Ok(note));
                    // A crew that is gone wakes nobody; the note waits on the disk.
                    return if steers {
                        drop(crew.cast(CrewMsg::Park(ParkMsg::Steered(id))))
                    };
                }
                // It has just closed its ears, to end or to rest: the crew knows soon which.
                Err(Unsent::Ended(letter)) => return drop(crew.cast(CrewMsg::Note(id, letter, reply))),
                Err(Unsent::TooLate(note)) => {
                    return drop(crew.cast(CrewMsg::Park(ParkMsg::Stray(id, note, reply))));
                }
                Err(Unsent::Full) => ControlError::NotesFull(id),
                Err(Unsent::Unwritten(why)) => ControlError::Files(why),
            };
            let _ = reply.send(Err(refusal));
        });
    }
}

/// The ears of a worker with this journal, whether it exists or not; what waits in its inbox is heard first. Waits for
/// the disk.
pub(super) fn ears(journal: &Path, durability: Durability) -> Result<Ears, SessionError> {
    known(journal, durability).map(|known| known.ears)
}

/// The ears of a worker, with all that was ever sent to it.
pub(super) struct Known {
    pub(super) ears: Ears,
    pub(super) posted: Vec<Posted>,
    /// What of it was not heard.
    pub(super) waiting: Vec<Posted>,
}

/// The same, for whoever must know what was said before.
pub(super) fn known(journal: &Path, durability: Durability) -> Result<Known, SessionError> {
    let mailbox = Mailbox::of(journal, durability)?;
    let (next, heard) = match journal.exists() {
        true => Session::read(journal).map(|session| (session.next_note(), session.heard().clone()))?,
        false => Default::default(),
    };
    let posted = mailbox.posted()?;
    let waiting: Vec<Posted> = posted.iter().filter(|posted| !heard.contains(posted.note.id)).cloned().collect();
    let mail = Mail::new(mailbox, next);
    waiting.iter().for_each(|posted| mail.senders.remember(posted.note.id, &posted.from));
    let (post, mut inbox) = mail.channel();
    inbox.refill(waiting.iter().map(|posted| posted.note.clone()));
    Ok(Known { ears: Ears { mail, post, inbox: Some(inbox) }, posted, waiting })
}
