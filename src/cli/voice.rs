//! Lines on their way to stdout. A thread of its own writes them, so that a reader who does not read holds up nothing but
//! what is told: signals and orders are still heard.

use std::io::{self, Write as _};
use std::time::Duration;

use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Lines that may wait to be written.
const WAITING: usize = 1_024;
/// As many must have room before anything new is looked at: one piece of news is never worth more, nor is an end.
const SPARE: usize = 64;
/// How long the last lines are waited for when nobody seems to read.
const FAREWELL: Duration = Duration::from_secs(2);

/// Writes lines whole and in order.
pub(super) struct Voice {
    lines: Sender<String>,
    /// Fires when all is written.
    written: oneshot::Receiver<()>,
}

/// Nobody reads any more.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unread;

impl Voice {
    pub(super) fn new() -> Voice {
        let (lines, waiting) = mpsc::channel(WAITING);
        let (done, written) = oneshot::channel();
        std::thread::spawn(move || {
            write(waiting);
            // Perhaps nobody waits for it.
            let _ = done.send(());
        });
        Voice { lines, written }
    }

    /// Takes a line.
    pub(super) fn say(&self, line: &str) -> Result<(), Unread> {
        // It is full only when nobody waited for room, at the end and before a reader who does not read.
        self.lines.try_send(line.to_owned()).map_err(|_| Unread)
    }

    /// Waits until there is room for what one piece of news is worth, or nobody reads.
    pub(super) async fn room(&self) {
        // Closed: whoever speaks is told.
        let _ = self.lines.reserve_many(SPARE).await;
    }

    /// Waits until all is written, if somebody reads it.
    pub(super) async fn finish(self) {
        drop(self.lines);
        // Who does not read is not waited for.
        let _ = timeout(FAREWELL, self.written).await;
    }
}

fn write(mut waiting: Receiver<String>) {
    while let Some(line) = waiting.blocking_recv() {
        let mut out = io::stdout().lock();
        if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}
