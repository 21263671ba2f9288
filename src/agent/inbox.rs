//! The two ends of a run's control. Whoever steers holds the [`Tiller`], the loop holds the [`Inbox`]; what a note does
//! to the conversation is the loop's business, and how one is kept over a crash that of whoever reserves its place.

mod back;

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::message::{Note, NoteId, NoteKind};

/// Most notes that wait at one time, those with a reserved place counted.
pub const CAPACITY: usize = 1_000;

/// How long the end of a run waits for notes that are being written down. They take milliseconds; a disk that takes
/// longer gets its senders an error.
const LAST_POSTS: Duration = Duration::from_secs(10);

/// Makes the two ends for one run; notes are numbered from what is given.
pub fn channel(numbers: impl Into<Numbers>) -> (Tiller, Inbox) {
    let queue = Mutex::default();
    let (numbers, settled, steered) = (numbers.into(), Notify::new(), Notify::new());
    let (abort, interrupted) = (CancellationToken::new(), AtomicBool::new(false));
    let shared = Arc::new(Shared { queue, numbers, settled, steered, abort, interrupted });
    (Tiller { shared: Arc::clone(&shared) }, Inbox { shared })
}

/// Gives notes their ids: rising, none twice. Clones count together.
#[derive(Clone)]
pub struct Numbers {
    next: Arc<AtomicU64>,
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

/// A place in the queue for a note that is being written down elsewhere. Until it is delivered or dropped, the run does
/// not end by itself. Dropping it gives the place up; its id is not given again.
#[must_use]
pub struct Slot {
    shared: Arc<Shared>,
    id: NoteId,
    kind: NoteKind,
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

/// Why no place is given; the note was never seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The run listens no more: it is about to end or has ended.
    Sealed,
    /// Too many notes wait already.
    Full,
}

/// What listening brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    /// For the conversation, in order; perhaps none.
    Notes {
        notes: Vec<Note>,
        /// Follow-ups that the steers among them cleared.
        cleared: Vec<Note>,
    },
    /// Nothing was waiting and nothing can come any more.
    Sealed,
    /// The run is to end now.
    Aborted,
}

struct Shared {
    queue: Mutex<Queue>,
    numbers: Numbers,
    /// A place that was reserved is taken or given up.
    settled: Notify,
    /// A steer was put into the queue.
    steered: Notify,
    abort: CancellationToken,
    /// The program ends; nobody asked for the end of this run.
    interrupted: AtomicBool,
}

#[derive(Default)]
struct Queue {
    steers: VecDeque<Note>,
    follow_ups: VecDeque<Note>,
    /// Places that are reserved.
    reserved: usize,
    /// No more places are given.
    sealed: bool,
    /// What was reserved comes too late now.
    closed: bool,
}

impl Numbers {
    /// A new id.
    pub fn give(&self) -> NoteId {
        NoteId(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// The id that is given next.
    pub fn next(&self) -> NoteId {
        NoteId(self.next.load(Ordering::Relaxed))
    }
}

impl From<NoteId> for Numbers {
    fn from(first: NoteId) -> Numbers {
        Numbers { next: Arc::new(AtomicU64::new(first.0)) }
    }
}

impl Tiller {
    /// Sends a note that is heard after the running tools, before the next model call.
    ///
    /// # Errors
    /// [`Unheard`] with the text.
    pub fn steer(&self, text: impl Into<String>) -> Result<NoteId, Unheard> {
        self.send(NoteKind::Steer, text.into())
    }

    /// Sends a note that is heard when the run would end by itself.
    ///
    /// # Errors
    /// [`Unheard`] with the text.
    pub fn follow_up(&self, text: impl Into<String>) -> Result<NoteId, Unheard> {
        self.send(NoteKind::FollowUp, text.into())
    }

    /// Keeps a place for a note that is written down before it is delivered. Notes are heard in the order in which they
    /// are delivered.
    ///
    /// # Errors
    /// The run has ended, or too many notes wait.
    pub fn reserve(&self, kind: NoteKind) -> Result<Slot, Refused> {
        let mut queue = self.shared.lock();
        if queue.sealed {
            return Err(Refused::Sealed);
        }
        if queue.len() >= CAPACITY {
            return Err(Refused::Full);
        }
        queue.reserved += 1;
        Ok(Slot { shared: Arc::clone(&self.shared), id: self.shared.numbers.give(), kind })
    }

    fn send(&self, kind: NoteKind, text: String) -> Result<NoteId, Unheard> {
        match self.reserve(kind) {
            Ok(slot) => slot.deliver(text),
            Err(Refused::Sealed) => Err(Unheard::Sealed(text)),
            Err(Refused::Full) => Err(Unheard::Full(text)),
        }
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

    /// Ends the hearing of a run that does not end by itself, and gives back what it has not heard.
    pub fn close(&self) -> Vec<Note> {
        let mut queue = self.shared.lock();
        (queue.sealed, queue.closed) = (true, true);
        queue.take_all()
    }

    /// Waits until a steer waits to be heard.
    pub async fn steered(&self) {
        loop {
            let next = self.shared.steered.notified();
            if !self.shared.lock().steers.is_empty() {
                return;
            }
            next.await;
        }
    }

    /// The run takes no more notes.
    pub fn is_sealed(&self) -> bool {
        self.shared.lock().sealed
    }
}

impl Slot {
    /// The id that the note has.
    pub fn id(&self) -> NoteId {
        self.id
    }

    /// Puts the note into its place.
    ///
    /// # Errors
    /// [`Unheard::Sealed`] with the text: the run was dropped, or could not wait any longer.
    pub fn deliver(self, text: impl Into<String>) -> Result<NoteId, Unheard> {
        let (id, kind, text) = (self.id, self.kind, text.into());
        let mut queue = self.shared.lock();
        if queue.closed {
            return Err(Unheard::Sealed(text));
        }
        queue.put(Note { id, kind, text });
        drop(queue);
        self.shared.steered.notify_waiters();
        Ok(id)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.shared.lock().reserved -= 1;
        self.shared.settled.notify_one();
    }
}

impl Inbox {
    /// What waits. Steers go first, all of them, and clear the follow-ups sent before the last of them unless those
    /// are to be kept. When the model is `done` and no steer waits, the oldest follow-up is next; and when there is
    /// none either, and no place is reserved, the inbox is sealed in the same moment, so that no note can fall between.
    pub(super) async fn listen(&mut self, done: bool, keep_follow_ups: bool) -> Heard {
        loop {
            if self.shared.abort.is_cancelled() {
                return Heard::Aborted;
            }
            let heard = self.shared.lock().hear(done, keep_follow_ups);
            if let Some(heard) = heard {
                return heard;
            }
            tokio::select! {
                () = self.shared.abort.cancelled() => {}
                () = self.shared.settled.notified() => {}
            }
        }
    }

    /// Takes no more notes because the run is to rest, unless a steer or an answer waits, which ends the rest before it
    /// began. Answers whether it rests.
    pub(super) fn rest(&mut self) -> bool {
        let mut queue = self.shared.lock();
        queue.sealed = queue.sealed || queue.steers.is_empty();
        queue.sealed
    }

    /// Puts in what an earlier run left unheard, as if it had just been sent. To be done before anything is sent.
    pub fn refill(&mut self, notes: impl IntoIterator<Item = Note>) {
        let mut queue = self.shared.lock();
        notes.into_iter().for_each(|note| queue.put(note));
    }

    /// The steers that wait; they stay.
    pub(super) fn steers(&self) -> Vec<Note> {
        self.shared.lock().steers.iter().cloned().collect()
    }

    /// A steer waits to be heard.
    pub(super) fn is_steered(&self) -> bool {
        !self.shared.lock().steers.is_empty()
    }

    /// A note of this kind waits to be heard.
    pub fn holds(&self, kind: NoteKind) -> bool {
        let queue = self.shared.lock();
        queue.steers.iter().chain(&queue.follow_ups).any(|note| note.kind == kind)
    }

    /// Takes no more notes, and waits until those that are being written down are here.
    pub(super) async fn close(&mut self) {
        self.shared.lock().sealed = true;
        let written = async {
            while self.shared.lock().reserved > 0 {
                self.shared.settled.notified().await;
            }
        };
        if timeout(LAST_POSTS, written).await.is_err() {
            tracing::warn!("notes are being written down for over {} s; they come too late", LAST_POSTS.as_secs());
        }
        self.shared.lock().closed = true;
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
        self.shared.lock().take_all()
    }

    /// The other end.
    pub fn tiller(&self) -> Tiller {
        Tiller { shared: Arc::clone(&self.shared) }
    }

    /// The id that the next note gets.
    pub fn next_note(&self) -> NoteId {
        self.shared.numbers.next()
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        (queue.sealed, queue.closed) = (true, true);
    }
}

impl Shared {
    /// The queue is whole after every statement, so a poisoned lock is as good as a sound one.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn len(&self) -> usize {
        self.steers.len() + self.follow_ups.len() + self.reserved
    }

    fn put(&mut self, note: Note) {
        match note.kind {
            NoteKind::Steer | NoteKind::Answer => self.steers.push_back(note),
            NoteKind::FollowUp | NoteKind::Line => self.follow_ups.push_back(note),
        }
    }

    /// In the order in which they were sent.
    fn take_all(&mut self) -> Vec<Note> {
        let mut notes: Vec<Note> = self.steers.drain(..).chain(self.follow_ups.drain(..)).collect();
        notes.sort_by_key(|note| note.id);
        notes
    }

    /// `None` while it depends on a place that is reserved.
    fn hear(&mut self, done: bool, keep_follow_ups: bool) -> Option<Heard> {
        let notes: Vec<Note> = self.steers.drain(..).collect();
        // An answer clears nothing: it was asked for.
        let last = notes.iter().rev().find(|note| note.kind == NoteKind::Steer).map(|last| last.id);
        if let Some(last) = last {
            let waiting = mem::take(&mut self.follow_ups);
            let (kept, cleared): (Vec<Note>, Vec<Note>) =
                waiting.into_iter().partition(|note| keep_follow_ups || note.id > last);
            self.follow_ups = kept.into();
            return Some(Heard::Notes { notes, cleared });
        }
        let cleared = Vec::new();
        if !done || !notes.is_empty() {
            return Some(Heard::Notes { notes, cleared });
        }
        match self.follow_ups.pop_front() {
            Some(note) => Some(Heard::Notes { notes: vec![note], cleared }),
            None if self.reserved > 0 => None,
            None => {
                self.sealed = true;
                Some(Heard::Sealed)
            }
        }
    }
}
