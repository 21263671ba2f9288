//! Output shown while a command runs: whole characters, in pieces, not more often than a person can see.

use std::time::Duration;

use tokio::time::Instant;

/// Between two pieces.
const PACE: Duration = Duration::from_millis(100);
/// Most bytes of a piece; of more, the end is shown.
const PIECE: usize = 8 * 1024;

/// Collects output and passes it on at its pace.
pub(super) struct Progress<'a> {
    show: &'a mut (dyn FnMut(&str) + Send),
    waiting: Vec<u8>,
    next: Option<Instant>,
}

impl<'a> Progress<'a> {
    pub(super) fn new(show: &'a mut (dyn FnMut(&str) + Send)) -> Progress<'a> {
        Progress { show, waiting: Vec::new(), next: None }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.waiting.extend_from_slice(&chunk[chunk.len().saturating_sub(PIECE)..]);
        self.waiting.drain(..self.waiting.len().saturating_sub(PIECE));
        if self.next.is_none_or(|next| next <= Instant::now()) {
            self.flush();
        }
    }

    /// When [`Progress::flush`] is wanted; `None` when nothing waits.
    pub(super) fn due(&self) -> Option<Instant> {
        self.next.filter(|_| !self.waiting.is_empty())
    }

    /// Shows what waits; half a character at its end waits on.
    pub(super) fn flush(&mut self) {
        let whole = self.waiting.len() - half(&self.waiting);
        if whole > 0 {
            (self.show)(&String::from_utf8_lossy(&self.waiting[..whole]));
            self.waiting.drain(..whole);
        }
        self.next = Some(Instant::now() + PACE);
    }

    /// Shows all that waits.
    pub(super) fn finish(mut self) {
        if !self.waiting.is_empty() {
            (self.show)(&String::from_utf8_lossy(&std::mem::take(&mut self.waiting)));
        }
    }
}

/// Bytes at the end that begin a character and do not finish it.
fn half(bytes: &[u8]) -> usize {
    let last = bytes.len().saturating_sub(3);
    let begun = bytes[last..].iter().rposition(|byte| *byte >= 0xC0).map(|at| last + at);
    begun
        .filter(|at| std::str::from_utf8(&bytes[*at..]).is_err_and(|e| e.error_len().is_none()))
        .map_or(0, |at| bytes.len() - at)
}
