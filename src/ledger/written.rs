//! Lines on their way to the file. Whoever has one waits for nothing; whoever makes the next call waits until it is there.
//! The disk is waited for by threads that may.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;
use tokio::sync::watch;
use tokio::time::timeout;

use super::clock::Clock;
use super::fold::{self, LONG};
use super::line::Line;
use super::past::Past;
use super::pen::Pen;
use super::sums::Sums;

/// Most lines that wait for the disk; what comes then is not written down, and holds in this program only.
const MOST: usize = 65_536;
/// How long a call waits for the lines of those before it.
const LATE: Duration = Duration::from_secs(10);

/// The file.
pub(super) struct Written {
    /// `None` when nothing is kept.
    path: Option<PathBuf>,
    /// How long it was when the program began.
    old: u64,
    queue: Mutex<Queue>,
    shelf: Mutex<Shelf>,
    /// Lines that are there, or that the disk refused.
    done: watch::Sender<u64>,
}

#[derive(Default)]
struct Queue {
    lines: Vec<Line<'static>>,
    /// Lines that were ever taken.
    taken: u64,
    /// Somebody writes, and looks here again before he stops.
    is_served: bool,
}

/// What only those touch who may wait for the disk.
struct Shelf {
    pen: Pen,
    /// What is in the file; read when it is first needed, and kept up from then on.
    past: Option<Past>,
    /// A file of this length is folded.
    long: u64,
}

impl Written {
    pub(super) fn new(path: Option<PathBuf>) -> Written {
        let old = path.as_ref().and_then(|path| path.metadata().ok()).map_or(0, |meta| meta.len());
        let shelf = Shelf { pen: Pen::default(), past: None, long: LONG };
        Written { path, old, queue: Mutex::default(), shelf: Mutex::new(shelf), done: watch::Sender::new(0) }
    }

    /// There is a file.
    pub(super) fn is_kept(&self) -> bool {
        self.path.is_some()
    }

    /// Takes a line and answers whether somebody has to be found who [serves](Written::serve). Waits for nothing.
    #[must_use]
    pub(super) fn take(&self, line: Line<'static>) -> bool {
        let mut queue = self.queue();
        if queue.lines.len() >= MOST {
            tracing::warn!("the disk does not keep up: a model call is not written down");
            return false;
        }
        queue.lines.push(line);
        queue.taken += 1;
        !std::mem::replace(&mut queue.is_served, true)
    }

    /// Ends when every line is there that was taken by now. A disk that hangs is waited for so long and no longer.
    pub(super) async fn settled(&self) {
        let taken = self.queue().taken;
        let mut done = self.done.subscribe();
        if timeout(LATE, done.wait_for(|done| *done >= taken)).await.is_err() {
            tracing::warn!("the disk does not answer: model calls are not written down yet");
        }
    }

    /// Writes what is there until nothing more comes. Waits for the disk. `recall` is told once, when the file is first
    /// read, what was used today before the program began.
    pub(super) fn serve(&self, clock: &Clock, recall: impl Fn(Sums, Date)) {
        loop {
            let mut shelf = self.shelf();
            let (lines, taken) = {
                let mut queue = self.queue();
                queue.is_served = !queue.lines.is_empty();
                (std::mem::take(&mut queue.lines), queue.taken)
            };
            if lines.is_empty() {
                return;
            }
            let length = self.put(&mut shelf, &lines, taken);
            if length > shelf.long {
                self.fold(&mut shelf, clock, &recall);
            }
        }
    }

    /// Looks at what the file says, as [`Written::serve`] does.
    pub(super) fn past<T>(&self, clock: &Clock, recall: impl Fn(Sums, Date), look: impl FnOnce(&Past) -> T) -> T {
        let mut shelf = self.shelf();
        let (lines, taken) = {
            let mut queue = self.queue();
            (std::mem::take(&mut queue.lines), queue.taken)
        };
        if !lines.is_empty() {
            self.put(&mut shelf, &lines, taken);
        }
        look(self.known(&mut shelf.past, clock, &recall))
    }

    fn put(&self, shelf: &mut Shelf, lines: &[Line<'static>], taken: u64) -> u64 {
        let length = self.path.as_ref().map_or(0, |path| shelf.pen.write(path, lines));
        if let Some(past) = &mut shelf.past {
            for line in lines {
                past.take(line);
            }
        }
        self.done.send_replace(taken);
        length
    }

    fn known<'a>(&self, past: &'a mut Option<Past>, clock: &Clock, recall: impl Fn(Sums, Date)) -> &'a Past {
        past.get_or_insert_with(|| {
            let today = clock.today();
            let is_today = |at: Timestamp| clock.day(at) == today;
            let past = self.path.as_ref().map_or_else(Past::default, |path| Past::read(path, self.old, is_today));
            recall(past.today(), today);
            past
        })
    }

    /// The file is read before: how long it was when the program began says nothing of the new one.
    fn fold(&self, shelf: &mut Shelf, clock: &Clock, recall: impl Fn(Sums, Date)) {
        let Some(path) = &self.path else { return };
        self.known(&mut shelf.past, clock, recall);
        shelf.long = match fold::fold(path, |at| clock.day(at)) {
            Ok(length) => LONG.max(length.saturating_mul(2)),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the list of model calls is long and stays so");
                shelf.long.saturating_mul(2)
            }
        };
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
