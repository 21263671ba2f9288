//! Notes that wait for a run, as whoever sent them sees them: what they are, and taken back before they are heard.

use super::{Slot, Tiller};
use crate::message::{Note, NoteId};

impl Tiller {
    /// The notes that wait to be heard, in the order in which they were sent. Those that are being written down are not
    /// among them.
    pub fn waiting(&self) -> Vec<Note> {
        let queue = self.shared.lock();
        let mut notes: Vec<Note> = queue.steers.iter().chain(&queue.follow_ups).cloned().collect();
        notes.sort_by_key(|note| note.id);
        notes
    }

    /// Takes a note out of the queue, with its place: delivered into that, it waits again. `None` when it does not wait.
    pub fn take_back(&self, id: NoteId) -> Option<(Note, Slot)> {
        let mut queue = self.shared.lock();
        let at = |notes: &std::collections::VecDeque<Note>| notes.iter().position(|note| note.id == id);
        let note = match (at(&queue.steers), at(&queue.follow_ups)) {
            (Some(at), _) => queue.steers.remove(at),
            (None, Some(at)) => queue.follow_ups.remove(at),
            (None, None) => None,
        }?;
        queue.reserved += 1;
        drop(queue);
        let slot = Slot { shared: self.shared.clone(), id, kind: note.kind };
        Some((note, slot))
    }
}
