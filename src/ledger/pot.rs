//! What several accounts share, and the limits that an account is under, its own and those of what it shares.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Short;
use super::sums::{Currency, Sums};
use crate::message::Budget;

/// What all tasks of a day share.
pub(super) const FLEET: usize = 0;
/// What a whole run of the program shares, its main agent included.
pub(super) const WHOLE: usize = 1;

/// What several accounts share.
pub(super) struct Pot {
    pub(super) budget: Budget,
    /// Used by accounts that are closed.
    pub(super) closed: Sums,
    /// Set aside for those that are open, what they have used included.
    pub(super) engaged: Sums,
    /// Accounts at work whose time only this pot limits, and the sum of the times at which they began.
    pub(super) running: (u64, Duration),
    /// From where those times are counted.
    pub(super) origin: Instant,
}

/// How much of a limit is left for calls.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Room {
    None,
    /// For one that sums up.
    One,
    /// And another before it.
    Both,
}

/// A limit that an account is under, with what counts against it.
pub(super) struct Bound {
    pub(super) currency: Currency,
    pub(super) limit: u64,
    pub(super) used: u64,
    /// `None` for its own, and for that of a task above it.
    pub(super) pot: Option<usize>,
    /// The task above it whose limit it is.
    pub(super) task: Option<Arc<str>>,
}

impl Pot {
    pub(super) fn new(budget: Budget) -> Pot {
        let (closed, engaged) = (Sums::default(), Sums::default());
        Pot { budget, closed, engaged, running: (0, Duration::ZERO), origin: Instant::now() }
    }

    /// Used or set aside.
    pub(super) fn used(&self, currency: Currency) -> u64 {
        let (count, starts) = self.running;
        let now = self.origin.elapsed().as_millis().saturating_mul(u128::from(count));
        let running = match currency {
            Currency::Time => u64::try_from(now.saturating_sub(starts.as_millis())).unwrap_or(u64::MAX),
            Currency::Usd | Currency::Tokens | Currency::Turns => 0,
        };
        self.closed.plus(self.engaged).get(currency).saturating_add(running)
    }

    /// Whether so much more fits; something must be left for who wants no certain amount.
    pub(super) fn has_room(&self, at: usize, wants: impl Fn(Currency) -> Option<u64>) -> Result<(), Short> {
        for currency in Currency::ALL {
            let Some(limit) = currency.limit(&self.budget) else { continue };
            let left = limit.saturating_sub(self.used(currency));
            let wanted = wants(currency);
            if wanted.unwrap_or(1) > left {
                return Err(Short::Pot {
                    wanted: wanted.map(|amount| currency.show(amount)),
                    left: (left > 0).then(|| currency.show(left)),
                    limit: currency.show(limit) + place(Some(at)),
                });
            }
        }
        Ok(())
    }
}

impl Bound {
    pub(super) fn room(&self, call: Sums, last: Sums) -> Room {
        let (call, last) = (call.get(self.currency), last.get(self.currency));
        let with = |more: u64| self.used.saturating_add(more) <= self.limit;
        match () {
            () if self.used >= self.limit => Room::None,
            () if with(call.saturating_add(last)) => Room::Both,
            () if with(last) => Room::One,
            () => Room::None,
        }
    }

    pub(super) fn words(&self) -> String {
        let share = self.currency.share(self.used, self.limit);
        match &self.task {
            Some(task) => format!("{share} of {task}"),
            None => share + place(self.pot),
        }
    }
}

/// Whose limit it is, behind the amount.
pub(super) fn place(pot: Option<usize>) -> &'static str {
    match pot {
        None => "",
        Some(FLEET) => " for all tasks of a day",
        Some(_) => " for this run",
    }
}
