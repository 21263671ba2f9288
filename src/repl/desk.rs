//! The seat at the terminal: a thread that has the line being typed and everything that is drawn, so that a key is
//! echoed whatever else goes on. Lines and scenes come in, what was typed goes out; what it means is told in `talk`.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossterm::event::Event;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use super::complete::Completer;
use super::composer::Composer;
use super::keys::Keys;
use super::painter::Frame;
use super::panel::Scene;
use super::seat::Seat;
use super::typed::Typed;
use crate::terminal::Look;

/// Lines that may wait to be drawn; whoever writes more waits for the terminal.
const WAITING: usize = 2_048;
/// How long leaving waits for the terminal to take what was written.
const FAREWELL: Duration = Duration::from_secs(2);

/// The seat, seen from outside. Clones share it.
#[derive(Clone)]
pub(super) struct Desk {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    inbox: Mutex<Inbox>,
    bell: Condvar,
    room: Notify,
}

/// What waits for the thread.
#[derive(Default)]
pub(super) struct Inbox {
    /// What the terminal told; `None` when it cannot be read any more.
    pub(super) events: VecDeque<Option<Event>>,
    /// Lines that stay.
    pub(super) lines: VecDeque<String>,
    /// Sequences that draw nothing: a title, a bell.
    pub(super) signals: Vec<String>,
    /// What is around the line now.
    pub(super) scene: Option<Scene>,
    /// A whole screen, or back from it.
    pub(super) frame: Option<Option<Frame>>,
    /// Texts for the line.
    pub(super) given: Vec<String>,
    /// What can be chosen has changed.
    pub(super) renew: bool,
    /// The thread is to end.
    pub(super) leave: bool,
    /// It has ended.
    over: bool,
}

/// The threads of a seat.
pub(super) struct Threads {
    desk: Desk,
    seat: Option<JoinHandle<()>>,
}

impl Desk {
    /// Takes the terminal; `typed` gets what is typed, in order.
    ///
    /// # Errors
    /// When the terminal cannot be made raw or a thread cannot be had.
    pub(super) fn take(
        history: PathBuf,
        completer: Completer,
        look: Look,
        typed: UnboundedSender<Typed>,
    ) -> io::Result<(Desk, Threads)> {
        let desk = Desk { shared: Arc::default() };
        let teller = desk.clone();
        let composer = Composer::new(history, completer);
        let mut seat = Seat::take(composer, look, typed)?;
        let keys = Keys::read(move |event| teller.put(|inbox| inbox.events.push_back(event)))?;
        let own = desk.clone();
        let thread = thread::Builder::new().name("prompt".into()).spawn(move || {
            seat.sit(&keys, || own.next());
            drop(keys);
            drop(seat);
            own.put(|inbox| inbox.over = true);
            own.shared.room.notify_waiters();
        })?;
        Ok((desk.clone(), Threads { desk, seat: Some(thread) }))
    }

    /// Lines that go above the prompt, for ever. Waits while too many wait already.
    pub(super) async fn print(&self, lines: impl IntoIterator<Item = String>) {
        for line in lines {
            loop {
                let mut room = std::pin::pin!(self.shared.room.notified());
                room.as_mut().enable();
                if self.is_free() {
                    break;
                }
                room.await;
            }
            self.put(|inbox| inbox.lines.push_back(line));
        }
    }

    /// The same, from where nobody may wait; answers whether it was taken.
    pub(super) fn print_now(&self, line: String) -> bool {
        let free = self.is_free();
        if free {
            self.put(|inbox| inbox.lines.push_back(line));
        }
        free
    }

    /// What is around the line from now on.
    pub(super) fn show(&self, scene: Scene) {
        self.put(|inbox| inbox.scene = Some(scene));
    }

    /// A whole screen, or back from it. While it is shown, keys are given on as they are.
    pub(super) fn fill(&self, frame: Option<Frame>) {
        self.put(|inbox| inbox.frame = Some(frame));
    }

    /// A text for the line, before what stands there.
    pub(super) fn give(&self, text: String) {
        self.put(|inbox| inbox.given.push(text));
    }

    /// A sequence that draws nothing.
    pub(super) fn signal(&self, sequence: String) {
        self.put(|inbox| inbox.signals.push(sequence));
    }

    /// What can be chosen has changed.
    pub(super) fn renew(&self) {
        self.put(|inbox| inbox.renew = true);
    }

    fn is_free(&self) -> bool {
        let inbox = self.lock();
        inbox.lines.len() < WAITING || inbox.over
    }

    fn put(&self, change: impl FnOnce(&mut Inbox)) {
        change(&mut self.lock());
        self.shared.bell.notify_one();
    }

    /// Waits for work and takes all of it.
    fn next(&self) -> Inbox {
        let empty = |inbox: &mut Inbox| inbox.is_empty();
        let waited = self.shared.bell.wait_while(self.lock(), empty).unwrap_or_else(PoisonError::into_inner);
        let mut inbox = waited;
        let leave = inbox.leave;
        let work = std::mem::take(&mut *inbox);
        inbox.leave = leave;
        drop(inbox);
        self.shared.room.notify_waiters();
        work
    }

    fn lock(&self) -> MutexGuard<'_, Inbox> {
        self.shared.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inbox {
    fn is_empty(&self) -> bool {
        self.events.is_empty()
            && self.lines.is_empty()
            && self.signals.is_empty()
            && self.scene.is_none()
            && self.frame.is_none()
            && self.given.is_empty()
            && !self.renew
            && !self.leave
    }
}

impl Threads {
    /// Draws what waits, takes the prompt away and gives the terminal back as it was. Answers whether the terminal took
    /// it: one that is gone, or stopped, is left to itself.
    pub(super) async fn leave(&mut self) -> bool {
        self.desk.put(|inbox| inbox.leave = true);
        let since = Instant::now();
        while self.seat.as_ref().is_some_and(|seat| !seat.is_finished()) {
            if since.elapsed() > FAREWELL {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        // A panic of the thread has been reported by its own hook.
        self.seat.take().is_none_or(|seat| seat.join().is_ok())
    }
}
