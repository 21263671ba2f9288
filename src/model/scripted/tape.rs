//! The course of a replay: which exchanges have been given, which lines are due, when it is over. What makes a replay
//! come out like its recording, whoever is faster this time, is that replies end in the order in which they ended then.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::recorded::{Header, Line};

/// How long the next in order is waited for when nothing at all happens. A replay that goes another way than its
/// recording goes on after that, out of order.
const PATIENCE: Duration = Duration::from_secs(60);

/// A recording while it is played. What is counted here was counted the same way when it was made.
pub struct Tape {
    header: Header,
    /// Each with the number of the exchange that ended next.
    lines: Vec<(usize, Line)>,
    /// Some of it was said by workers.
    workers: bool,
    progress: watch::Sender<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    /// Requests, ends of replies, and ends of tasks and of the main agent's runs so far.
    events: usize,
    /// By number, whether an exchange is over.
    given: Vec<bool>,
    /// Exchanges that have no end, because they were stopped, and stand where they were stopped.
    held: usize,
    /// Somebody asks though everything is given.
    surplus: bool,
}

/// An exchange that is being given. When it is dropped it counts as given, however far it came.
pub(super) struct Turn<'a> {
    tape: &'a Tape,
    at: usize,
    held: bool,
}

impl Tape {
    pub(super) fn new(header: Header, lines: Vec<(usize, Line)>, exchanges: usize, workers: bool) -> Tape {
        let progress = Progress { given: vec![false; exchanges], ..Progress::default() };
        Tape { header, lines, workers, progress: watch::Sender::new(progress) }
    }

    /// Its head.
    pub fn header(&self) -> Header {
        self.header
    }

    /// Whether workers had a part in it, so that tasks need the numbers that they had.
    pub fn has_workers(&self) -> bool {
        self.workers
    }

    /// How many exchanges it holds.
    pub fn exchanges(&self) -> usize {
        self.progress.borrow().given.len()
    }

    /// How many of them have been given.
    pub fn given(&self) -> usize {
        self.progress.borrow().given.iter().filter(|given| **given).count()
    }

    /// What people did, in order.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().map(|(_, line)| line)
    }

    /// Waits until the line with this number, from 0, is due.
    pub async fn due(&self, line: usize) {
        if let Some((before, line)) = self.lines.get(line) {
            self.reached(*before, line.after).await;
        }
    }

    /// A task or a run of the main agent is over.
    pub fn end(&self) {
        self.progress.send_modify(|progress| progress.events += 1);
    }

    /// Waits until everything is given that can be, or somebody asks for more.
    pub async fn over(&self) {
        let over = |progress: &Progress| {
            let given = progress.given.iter().filter(|given| **given).count();
            progress.surplus || given + progress.held >= progress.given.len()
        };
        // The sender is in here, so the channel stays open.
        let _ = self.progress.subscribe().wait_for(over).await;
    }

    /// Whether everything was given that can be.
    pub fn is_given(&self) -> bool {
        let progress = self.progress.borrow();
        progress.given.iter().filter(|given| **given).count() + progress.held >= progress.given.len()
    }

    /// Somebody asks.
    pub(super) fn asked(&self) {
        self.progress.send_modify(|progress| progress.events += 1);
    }

    /// Somebody asks for what was never recorded, though everything else is given.
    pub(super) fn asked_too_much(&self) {
        self.progress.send_modify(|progress| progress.surplus = true);
    }

    pub(super) fn begin(&self, at: usize) -> Turn<'_> {
        Turn { tape: self, at, held: false }
    }

    /// Waits until this many exchanges are over and this many events have been.
    async fn reached(&self, exchanges: usize, events: usize) {
        let mut progress = self.progress.subscribe();
        let is_due = |progress: &Progress| {
            progress.events >= events && progress.given.iter().take(exchanges).all(|given| *given)
        };
        loop {
            if is_due(&progress.borrow_and_update()) {
                return;
            }
            // A change is a sign of life; without any, this one goes out of turn.
            let Ok(Ok(())) = timeout(PATIENCE, progress.changed()).await else { return };
        }
    }
}

impl Turn<'_> {
    /// Waits for the moment at which the recorded exchange ended.
    pub(super) async fn comes(&self, after: usize) {
        self.tape.reached(self.at, after).await;
    }

    /// From here on it only waits to be dropped.
    pub(super) fn hold(&mut self) {
        self.held = true;
        self.tape.progress.send_modify(|progress| progress.held += 1);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.tape.progress.send_modify(|progress| {
            progress.events += 1;
            progress.held -= usize::from(self.held);
            if let Some(given) = progress.given.get_mut(self.at) {
                *given = true;
            }
        });
    }
}
