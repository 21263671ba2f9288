//! Money, and what model calls took of it: sums that do not hide what nobody knows.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Usage;

/// US dollars, in billionths; so that a thousandth of a cent per token is still a whole number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Usd(pub u64);

impl Usd {
    /// So many dollars; negative and absurd ones are none.
    pub fn from_dollars(dollars: f64) -> Option<Usd> {
        let billionths = (dollars * 1e9).round();
        // Up to 18 billion dollars a u64 holds it.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
        (0.0..=1.8e19).contains(&billionths).then_some(Usd(billionths as u64))
    }

    /// In dollars, for programs that compute with it.
    pub fn dollars(self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "15 digits of a sum of money are enough")]
        let billionths = self.0 as f64;
        billionths / 1e9
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Usd) -> Usd {
        Usd(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Usd {
    /// `$0.0123`; two digits from a dollar on, and never `$0.0000` for what is more than nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("$0"),
            1..50_000 => f.write_str("<$0.0001"),
            50_000..995_000_000 => write!(f, "${:.4}", self.dollars()),
            _ => write!(f, "${:.2}", self.dollars()),
        }
    }
}

/// What model calls cost together: the part that is known, and how many calls are missing in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Of the calls whose price is known.
    pub known: Usd,
    /// Calls whose price nobody knows.
    pub unknown: u32,
}

/// Calls of one model, or of several together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// How many.
    pub calls: u32,
    /// Their tokens.
    pub usage: Usage,
    /// Their cost.
    pub spent: Spent,
}

/// Model calls, by the model that answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bill {
    models: Vec<(String, Tally)>,
}

impl Spent {
    /// The cost of one call; `None` when nobody knows its price.
    pub fn of(cost: Option<Usd>) -> Spent {
        let mut spent = Spent::default();
        spent.call(cost);
        spent
    }

    /// Adds a call; `None` when nobody knows its price.
    pub fn call(&mut self, cost: Option<Usd>) {
        match cost {
            Some(usd) => self.known = self.known.plus(usd),
            None => self.unknown = self.unknown.saturating_add(1),
        }
    }

    /// Adds the cost of other calls.
    pub fn add(&mut self, other: Spent) {
        self.known = self.known.plus(other.known);
        self.unknown = self.unknown.saturating_add(other.unknown);
    }

    /// In dollars, as far as it is known; `None` when there is a cost and nothing of it is known.
    pub fn dollars(self) -> Option<f64> {
        (self.unknown == 0 || self.known > Usd(0)).then(|| self.known.dollars())
    }
}

impl fmt::Display for Spent {
    /// `$0.0123`, `$0.0123 + 2 calls of unknown price`, `unknown price`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.known, self.unknown) {
            (known, 0) => known.fmt(f),
            (Usd(0), _) => f.write_str("unknown price"),
            (known, 1) => write!(f, "{known} + 1 call of unknown price"),
            (known, calls) => write!(f, "{known} + {calls} calls of unknown price"),
        }
    }
}

impl Tally {
    /// Adds a call.
    pub fn call(&mut self, usage: Usage, cost: Option<Usd>) {
        self.calls = self.calls.saturating_add(1);
        self.usage.add(usage);
        self.spent.call(cost);
    }

    /// Adds other calls.
    pub fn add(&mut self, other: Tally) {
        self.calls = self.calls.saturating_add(other.calls);
        self.usage.add(other.usage);
        self.spent.add(other.spent);
    }

    /// What is in it beyond an earlier state of it.
    #[must_use]
    pub fn since(self, earlier: Tally) -> Tally {
        let (now, then) = (self.usage, earlier.usage);
        Tally {
            calls: self.calls.saturating_sub(earlier.calls),
            usage: Usage {
                input: now.input.saturating_sub(then.input),
                output: now.output.saturating_sub(then.output),
                cache_read: now.cache_read.saturating_sub(then.cache_read),
                cache_write: now.cache_write.saturating_sub(then.cache_write),
                reasoning: now.reasoning.saturating_sub(then.reasoning),
            },
            spent: Spent {
                known: Usd(self.spent.known.0.saturating_sub(earlier.spent.known.0)),
                unknown: self.spent.unknown.saturating_sub(earlier.spent.unknown),
            },
        }
    }
}

impl Bill {
    /// Adds a call of a model, `provider/model`.
    pub fn call(&mut self, model: &str, usage: Usage, cost: Option<Usd>) {
        self.of(model).call(usage, cost);
    }

    /// Adds the calls of another bill.
    pub fn add(&mut self, other: &Bill) {
        for (model, tally) in &other.models {
            self.of(model).add(*tally);
        }
    }

    /// The models in the order of their first call.
    pub fn models(&self) -> impl Iterator<Item = (&str, &Tally)> {
        self.models.iter().map(|(model, tally)| (model.as_str(), tally))
    }

    /// All calls together.
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.models.iter().for_each(|(_, tally)| total.add(*tally));
        total
    }

    fn of(&mut self, model: &str) -> &mut Tally {
        let at = self.models.iter().position(|(name, _)| name == model).unwrap_or_else(|| {
            self.models.push((model.to_owned(), Tally::default()));
            self.models.len() - 1
        });
        &mut self.models[at].1
    }
}
