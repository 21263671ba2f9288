//! How an account or a pot stands, and how people read it. Who keeps count is in `books`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::sums::{Currency, Sums};
use crate::message::Budget;

/// A part of a limit, in hundredths, from which on a run is told to come to an end.
pub(super) const LOW: u64 = 80;

/// What there is to say about an account or a pot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    /// What may be used.
    pub budget: Budget,
    /// What was used.
    pub spent: Sums,
    /// What was used or is set aside; for an account the same as what was used.
    pub engaged: Sums,
}

impl fmt::Display for Balance {
    /// Its words in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.words() {
            words if words.is_empty() => f.write_str("nothing used, no limit"),
            words => f.write_str(&words.join(" · ")),
        }
    }
}

impl Balance {
    /// What may still be used, where that is limited.
    pub fn left(&self) -> Budget {
        let limit = |currency: Currency| currency.limit(&self.budget).unwrap_or_default();
        let sums = Sums::each(|currency| limit(currency).saturating_sub(self.engaged.get(currency)));
        Budget {
            usd: self.budget.usd.map(|_| sums.usd),
            tokens: self.budget.tokens.map(|_| sums.tokens),
            time: self.budget.time.map(|_| sums.time),
            turns: self.budget.turns.map(|_| sums.turns),
        }
    }

    /// Whether a limit leaves too little to go on with: most of it is used, or another call and one that sums up do not
    /// fit, if they are like those before. Which, and how much is used.
    pub fn short(&self) -> Option<String> {
        let short = |currency: &Currency| {
            let used = self.spent.get(*currency);
            let two = used.saturating_mul(2) / u64::from(self.spent.turns.max(1));
            currency.limit(&self.budget).is_some_and(|limit| {
                used.saturating_mul(100) >= limit.saturating_mul(LOW) || used.saturating_add(two) > limit
            })
        };
        let currency = Currency::ALL.into_iter().find(short)?;
        Some(currency.share(self.spent.get(currency), currency.limit(&self.budget)?))
    }

    /// Each limit with what is used of it, as in `$0.31 of $0.50`; what is not limited only as what was used.
    pub fn words(&self) -> Vec<String> {
        let words = |currency: Currency| {
            let used = self.spent.get(currency);
            match currency.limit(&self.budget) {
                Some(limit) => Some(currency.share(used, limit)),
                None => (used > 0).then(|| currency.show(used)),
            }
        };
        Currency::ALL.into_iter().filter_map(words).collect()
    }
}
