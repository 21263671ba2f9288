//! The thread that reads the terminal: keys, pastes, a new size, who has the focus. What they mean is read elsewhere.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event};

/// How often the thread looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(20);
/// How long it is waited for; one whose terminal is gone never comes.
const REST: Duration = Duration::from_millis(500);

/// Reads the terminal until it is dropped.
pub(super) struct Keys {
    gate: Arc<(Mutex<Gate>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Gate {
    wanted: Wanted,
    /// The thread keeps its hands off the terminal.
    rests: bool,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    #[default]
    Reading,
    Resting,
    Gone,
}

impl Keys {
    /// Gives each event to `tell`, in order, and its end when the terminal cannot be read any more.
    pub(super) fn read(tell: impl Fn(Option<Event>) + Send + 'static) -> io::Result<Keys> {
        let gate: Arc<(Mutex<Gate>, Condvar)> = Arc::default();
        let seen = gate.clone();
        let thread = thread::Builder::new().name("keys".into()).spawn(move || read(&seen, &tell))?;
        Ok(Keys { gate, thread: Some(thread) })
    }

    /// Leaves the terminal to another program; answers whether it could be left.
    pub(super) fn rest(&self) -> bool {
        self.want(Wanted::Resting);
        let (_, changed) = &*self.gate;
        let rests = changed.wait_timeout_while(lock(&self.gate), REST, |gate| !gate.rests);
        rests.map_or_else(|poisoned| poisoned.into_inner().0.rests, |(gate, _)| gate.rests)
    }

    /// Reads it again.
    pub(super) fn go_on(&self) {
        self.want(Wanted::Reading);
    }

    fn want(&self, wanted: Wanted) {
        lock(&self.gate).wanted = wanted;
        self.gate.1.notify_all();
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.want(Wanted::Gone);
        let since = Instant::now();
        if let Some(thread) = self.thread.take() {
            while !thread.is_finished() && since.elapsed() < REST {
                thread::park_timeout(LOOK / 10);
            }
        }
    }
}

fn lock(gate: &(Mutex<Gate>, Condvar)) -> MutexGuard<'_, Gate> {
    gate.0.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read(gate: &(Mutex<Gate>, Condvar), tell: &impl Fn(Option<Event>)) {
    loop {
        let mut seen = lock(gate);
        while seen.wanted == Wanted::Resting {
            seen.rests = true;
            gate.1.notify_all();
            seen = gate.1.wait(seen).unwrap_or_else(PoisonError::into_inner);
        }
        seen.rests = false;
        if seen.wanted == Wanted::Gone {
            return;
        }
        drop(seen);
        match event::poll(LOOK).and_then(|ready| if ready { event::read().map(Some) } else { Ok(None) }) {
            Ok(Some(event)) => tell(Some(event)),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, "the terminal cannot be read");
                return tell(None);
            }
        }
    }
}
