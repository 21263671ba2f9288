//! What a run is doing and has used so far, read off its events. For rows, statuses and reports.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::control;
use crate::event::{AgentEvent, Observer};
use crate::message::{Bill, CallId, Tally};
use crate::task::{TaskReport, describe, now, one_line, remark};

/// When something began, on two clocks: the one that people read, and one that nobody sets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    pub(super) at: Timestamp,
    since: Instant,
}

/// Turns whose scores are kept.
const SCORES: usize = 8;

/// Most characters of a line that was said.
const SAID: usize = 160;

/// Watches one run.
pub(super) struct Meter {
    reading: Mutex<Reading>,
    since: Instant,
    /// Of the last sign of life, counted from then in milliseconds.
    alive: AtomicU64,
    /// Tokens that the model holds.
    window: AtomicU64,
}

/// What a meter shows.
#[derive(Debug, Clone, Default)]
pub(super) struct Reading {
    pub(super) turns: u32,
    pub(super) bill: Bill,
    /// Tokens in the window after the last call.
    pub(super) context: u64,
    /// It gave the crew an order.
    pub(super) ordered: bool,
    /// Tokens that it holds; 0 while that is not known.
    pub(super) window: u64,
    /// How much the last turns brought that is new, the oldest first.
    pub(super) scores: VecDeque<u8>,
    /// Turns in a row that brought nothing.
    pub(super) flat: u32,
    /// What was said last between calls, a line.
    pub(super) said: String,
    thinking: bool,
    open: BTreeMap<CallId, String>,
}

impl Default for Meter {
    fn default() -> Meter {
        Meter { reading: Mutex::default(), since: Instant::now(), alive: AtomicU64::new(0), window: AtomicU64::new(0) }
    }
}

impl Meter {
    pub(super) fn read(&self) -> Reading {
        Reading { window: self.window.load(Ordering::Relaxed), ..self.lock().clone() }
    }

    /// Puts what was used into a report of a task that began then and is over now.
    pub(super) fn fill(&self, report: &mut TaskReport, begun: Begun) {
        let reading = self.read();
        report.turns = reading.turns;
        let Tally { usage, spent, .. } = reading.bill.total();
        report.usage = usage;
        report.spent = spent;
        report.started = Some(begun.at);
        report.took = begun.took();
    }

    /// The model holds so many tokens.
    pub(super) fn window(&self, tokens: u64) {
        self.window.store(tokens, Ordering::Relaxed);
    }

    /// How long ago the last byte or event was. Long silence is no fault: a build may say nothing for minutes.
    pub(super) fn quiet(&self) -> Duration {
        self.since.elapsed().saturating_sub(Duration::from_millis(self.alive.load(Ordering::Relaxed)))
    }

    /// Goes on from what the journal of a task knows that rested under an earlier program.
    pub(super) fn go_on(&self, bill: Bill) {
        let mut reading = self.lock();
        if reading.turns == 0 {
            (reading.turns, reading.bill) = (bill.total().calls, bill);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Begun {
    pub(super) fn now() -> Begun {
        Begun { at: now(), since: Instant::now() }
    }

    /// As if it had begun so much later: a rest in between does not count.
    pub(super) fn without(self, rest: Duration) -> Begun {
        Begun { since: self.since.checked_add(rest).unwrap_or(self.since), ..self }
    }

    /// How long ago, whatever the clock of the people did meanwhile.
    pub(super) fn took(self) -> Duration {
        self.since.elapsed()
    }
}

impl Reading {
    /// A few words: the tool that runs, or that the model is being asked.
    pub(super) fn doing(&self) -> String {
        match (self.open.values().next(), self.open.len()) {
            (Some(call), 1) => call.clone(),
            (Some(call), more) => format!("{call} and {} more", more - 1),
            (None, _) if self.thinking => "thinking".to_owned(),
            (None, _) => String::new(),
        }
    }
}

impl Observer for Meter {
    fn observe(&self, event: &AgentEvent) {
        let alive = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.alive.store(alive, Ordering::Relaxed);
        match event {
            AgentEvent::Progressed { score, flat, .. } => {
                let mut reading = self.lock();
                if reading.scores.len() == SCORES {
                    reading.scores.pop_front();
                }
                reading.scores.push_back(*score);
                reading.flat = *flat;
            }
            AgentEvent::TurnStarted { .. } => {
                let mut reading = self.lock();
                reading.turns = reading.turns.saturating_add(1);
                reading.thinking = true;
            }
            AgentEvent::Replied { usage, model, cost, message, .. } => {
                let mut reading = self.lock();
                if let Some(said) = remark(message) {
                    reading.said = one_line(&said, SAID);
                }
                reading.bill.call(model, *usage, *cost);
                reading.context = usage.context();
                reading.thinking = false;
            }
            AgentEvent::Compacted { model: Some(model), usage, cost, .. } => {
                self.lock().bill.call(model, *usage, *cost);
            }
            AgentEvent::ToolStarted { call } => {
                let mut reading = self.lock();
                reading.ordered |= control::is_order(&call.name);
                reading.open.insert(call.id.clone(), describe(call));
            }
            AgentEvent::ToolFinished { result, .. } => {
                self.lock().open.remove(&result.call);
            }
            AgentEvent::RunEnded { .. } => {
                let mut reading = self.lock();
                reading.thinking = false;
                reading.open.clear();
            }
            AgentEvent::RunStarted
            | AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::CallOpened { .. }
            | AgentEvent::ToolProgress { .. }
            | AgentEvent::Noted { .. }
            | AgentEvent::Compacted { model: None, .. }
            | AgentEvent::Retrying { .. }
            | AgentEvent::Failed { .. }
            | AgentEvent::TurnEnded { .. } => {}
        }
    }
}
