//! Amounts of everything that is limited, and how people read them. Who keeps count is in `books`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::message::{Budget, Usage, Usd};

/// What a budget can limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Currency {
    Usd,
    Tokens,
    Time,
    Turns,
}

/// An amount of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// Money.
    pub usd: Usd,
    /// Tokens, in and out, cached or not.
    pub tokens: u64,
    /// Time at work.
    pub time: Duration,
    /// Model calls of the loop; those that sum up a conversation are none.
    pub turns: u32,
}

impl Currency {
    pub(super) const ALL: [Currency; 4] = [Currency::Usd, Currency::Tokens, Currency::Time, Currency::Turns];

    /// Billionths of a dollar, tokens, milliseconds, turns.
    pub(super) fn limit(self, budget: &Budget) -> Option<u64> {
        match self {
            Currency::Usd => budget.usd.map(|usd| usd.0),
            Currency::Tokens => budget.tokens,
            Currency::Time => budget.time.map(millis),
            Currency::Turns => budget.turns.map(u64::from),
        }
    }

    /// An amount as people read it: `$0.50`, `400k tokens`, `20m`, `40 turns`.
    pub(super) fn show(self, amount: u64) -> String {
        match self {
            Currency::Usd => money(Usd(amount)),
            Currency::Tokens => format!("{} tokens", thousands(amount)),
            Currency::Time => clock(Duration::from_millis(amount)),
            Currency::Turns => format!("{amount} turns"),
        }
    }

    /// `$0.31 of $0.50`, `120k of 400k tokens`.
    pub(super) fn share(self, used: u64, limit: u64) -> String {
        let used = match self {
            Currency::Tokens => thousands(used),
            Currency::Turns => used.to_string(),
            Currency::Usd | Currency::Time => self.show(used),
        };
        format!("{used} of {}", self.show(limit))
    }
}

impl Sums {
    /// Of one model call: its tokens and its price, as far as that is known.
    pub fn of_call(usage: &Usage, cost: Option<Usd>) -> Sums {
        Sums { usd: cost.unwrap_or_default(), tokens: usage.total_tokens(), turns: 1, ..Sums::default() }
    }

    pub(super) fn get(&self, currency: Currency) -> u64 {
        match currency {
            Currency::Usd => self.usd.0,
            Currency::Tokens => self.tokens,
            Currency::Time => millis(self.time),
            Currency::Turns => u64::from(self.turns),
        }
    }

    /// Each currency as a function of itself.
    pub(super) fn each(amount: impl Fn(Currency) -> u64) -> Sums {
        Sums {
            usd: Usd(amount(Currency::Usd)),
            tokens: amount(Currency::Tokens),
            time: Duration::from_millis(amount(Currency::Time)),
            turns: u32::try_from(amount(Currency::Turns)).unwrap_or(u32::MAX),
        }
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Sums) -> Sums {
        Sums::each(|currency| self.get(currency).saturating_add(other.get(currency)))
    }

    /// What is more than `other`; never below nothing.
    #[must_use]
    pub fn less(self, other: Sums) -> Sums {
        Sums::each(|currency| self.get(currency).saturating_sub(other.get(currency)))
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// In cents; below ten of them what is finer with the digits that it needs.
pub(super) fn money(usd: Usd) -> String {
    const CENT: u64 = 10_000_000;
    match usd.0 {
        amount if amount % CENT == 0 || amount >= 10 * CENT => format!("${:.2}", usd.dollars()),
        _ => usd.to_string(),
    }
}

/// `950`, `12.3k`, `400k`, `1.2M`.
pub(super) fn thousands(tokens: u64) -> String {
    let short = |unit: u64, letter: char| match (tokens / unit, tokens % unit / (unit / 10)) {
        (whole, 0) => format!("{whole}{letter}"),
        (whole @ 100.., _) => format!("{whole}{letter}"),
        (whole, tenth) => format!("{whole}.{tenth}{letter}"),
    };
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => short(1_000, 'k'),
        _ => short(1_000_000, 'M'),
    }
}

/// `850ms`, `40s`, `12m`, `12m 30s`, `2h 5m`.
pub(super) fn clock(time: Duration) -> String {
    match (time.as_secs(), time.subsec_millis()) {
        (0, millis) => format!("{millis}ms"),
        (seconds @ 1..60, _) => format!("{seconds}s"),
        (seconds @ 60..3_600, _) if seconds % 60 == 0 => format!("{}m", seconds / 60),
        (seconds @ 60..3_600, _) => format!("{}m {}s", seconds / 60, seconds % 60),
        (seconds, _) if seconds % 3_600 < 60 => format!("{}h", seconds / 3_600),
        (seconds, _) => format!("{}h {}m", seconds / 3_600, seconds % 3_600 / 60),
    }
}
