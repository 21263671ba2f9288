//! The two ends of a run's control. Whoever steers holds the [`Tiller`], the loop holds the [`Inbox`]; what a note does
//! to the conversation is the loop's business.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::message::{Note, NoteId, NoteKind};

/// Most notes that wait at one time.
pub const CAPACITY: usize = 1_000;

/// Makes the two ends for one run; the first note gets the id `first`.
pub fn channel(first: NoteId) -> (Tiller, Inbox) {
    let (queue, abort) = (Mutex::new(Queue::new(first)), CancellationToken::new());
    let shared = Arc::new(Shared { queue, abort, interrupted: AtomicBool::new(false) });
    (Tiller { shared: Arc::clone(&shared) }, Inbox { shared })
}

/// Steers one run from outside; cheap to clone, and nothing it does waits.
#[derive(Clone)]
pub struct Tiller {
    shared: Arc<Shared>,
}

/// Hears what is sent to one run. Dropping it seals it.
pub struct Inbox {
    shared: Arc<Shared>,
}

/// A note that was not taken, given back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unheard {
    /// The run listens no more: it is about to end or has ended.
    #[error("the run has ended; send this as a new line")]
    Sealed(String),
    /// Too many notes wait already.
    #[error("{CAPACITY} notes wait to be heard; send this again when the run has heard them")]
    Full(String),
}

/// What listening brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    /// Notes for the conversation, in order; perhaps none.
    Notes(Vec<Note>),
    /// Nothing was waiting and nothing can come any more.
    Sealed,
}

struct Shared {
    queue: Mutex<Queue>,
    abort: CancellationToken,
    /// The program ends; nobody asked for the end of this run.
    interrupted: AtomicBool,
}

struct Queue {
    steers: VecDeque<Note>,
    follow_ups: VecDeque<Note>,
    next: NoteId,
    sealed: bool,
}

impl Tiller {
    /// Sends a note that is heard after the running tools, before the next model call.
    ///
    /// # Errors
    /// [`Unheard`] with the text.
    pub fn steer(&self, text: impl Into<String>) -> Result<NoteId, Unheard> {
        self.shared.lock().push(NoteKind::Steer, text.into())
    }

    /// Sends a note that is heard when the run would end by itself.
    ///
    /// # Errors
    /// [`Unheard`] with the text.
    pub fn follow_up(&self, text: impl Into<String>) -> Result<NoteId, Unheard> {
        self.shared.lock().push(NoteKind::FollowUp, text.into())
    }

    /// Ends the run: the model's stream is closed, running tools are stopped, open calls are answered.
    pub fn abort(&self) {
        self.shared.abort.cancel();
    }

    /// Ends the run in the same way because the program ends. A run that somebody aborted before stays aborted.
    pub fn interrupt(&self) {
        let first = !self.shared.abort.is_cancelled();
        self.shared.interrupted.fetch_or(first, Ordering::SeqCst);
        self.shared.abort.cancel();
    }

    /// The run takes no more notes.
    pub fn is_sealed(&self) -> bool {
        self.shared.lock().sealed
    }
}

impl Inbox {
    /// What waits. Steers go first, all of them, and clear the follow-ups sent before the last of them unless those
    /// are to be kept. When the model is `done` and no steer waits, the oldest follow-up is next; and when there is
    /// none either, the inbox is sealed in the same moment, so that no note can fall between.
    pub(super) fn listen(&mut self, done: bool, keep_follow_ups: bool) -> Heard {
        let mut queue = self.shared.lock();
        let steers: Vec<Note> = queue.steers.drain(..).collect();
        if let Some(last) = steers.last() {
            if !keep_follow_ups {
                queue.follow_ups.retain(|note| note.id > last.id);
            }
            return Heard::Notes(steers);
        }
        if !done {
            return Heard::Notes(Vec::new());
        }
        match queue.follow_ups.pop_front() {
            Some(note) => Heard::Notes(vec![note]),
            None => {
                queue.sealed = true;
                Heard::Sealed
            }
        }
    }

    /// A steer waits to be heard.
    pub(super) fn is_steered(&self) -> bool {
        !self.shared.lock().steers.is_empty()
    }

    /// Takes no more notes.
    pub(super) fn seal(&mut self) {
        self.shared.lock().sealed = true;
    }

    /// Fires when the run is aborted.
    pub(super) fn abort(&self) -> &CancellationToken {
        &self.shared.abort
    }

    /// The run was stopped because the program ends, not because somebody asked for it.
    pub fn is_interrupted(&self) -> bool {
        self.shared.interrupted.load(Ordering::SeqCst)
    }

    /// Notes that were acknowledged but never heard, because the run was aborted, failed or ran out of turns; in the
    /// order in which they were sent. To be asked after the run.
    pub fn take_unheard(&mut self) -> Vec<Note> {
        let mut queue = self.shared.lock();
        let mut notes: Vec<Note> = queue.steers.drain(..).collect();
        notes.extend(queue.follow_ups.drain(..));
        notes.sort_by_key(|note| note.id);
        notes
    }

    /// The id that the next note gets.
    pub fn next_note(&self) -> NoteId {
        self.shared.lock().next
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.seal();
    }
}

impl Shared {
    /// The queue is whole after every statement, so a poisoned lock is as good as a sound one.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn new(next: NoteId) -> Queue {
        Queue { steers: VecDeque::new(), follow_ups: VecDeque::new(), next, sealed: false }
    }

    fn push(&mut self, kind: NoteKind, text: String) -> Result<NoteId, Unheard> {
        if self.sealed {
            return Err(Unheard::Sealed(text));
        }
        if self.steers.len() + self.follow_ups.len() >= CAPACITY {
            return Err(Unheard::Full(text));
        }
        let id = self.next;
        self.next = NoteId(id.0.saturating_add(1));
        let note = Note { id, kind, text };
        match kind {
            NoteKind::Steer => self.steers.push_back(note),
            NoteKind::FollowUp => self.follow_ups.push_back(note),
        }
        Ok(id)
    }
}
