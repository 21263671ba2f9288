//! What a task may use, and how people write that down. Who keeps count is the ledger's business.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value, json};

use super::Usd;

/// The most of anything that can be written down, so that sums stay far from the ends of their types.
const MOST_TOKENS: f64 = 1e15;
const MOST_SECONDS: f64 = 1e9;
const MOST_DOLLARS: f64 = 1e9;

/// What a task or all of them together may use. What is absent is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// Money.
    pub usd: Option<Usd>,
    /// Tokens, in and out, cached or not.
    pub tokens: Option<u64>,
    /// Time at work: neither waiting for a place nor for an answer.
    pub time: Option<Duration>,
    /// Model calls.
    pub turns: Option<u32>,
}

/// An order to change a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// `+0.25`: so much more.
    Raise(Budget),
    /// `0.50 20m`: so much in all; what is not named stays.
    Set(Budget),
}

/// Text that is no budget.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no budget; write it like $0.50, 400k tokens, 20m or 40 turns")]
pub struct BudgetError(String);

impl Budget {
    /// Nothing in it is limited.
    pub fn is_unlimited(self) -> bool {
        self == Budget::default()
    }

    /// Both together: the sum where both are limited, the one that is where only one is.
    #[must_use]
    pub fn plus(self, more: Budget) -> Budget {
        fn sum<T>(own: Option<T>, more: Option<T>, add: impl Fn(T, T) -> T) -> Option<T> {
            match (own, more) {
                (Some(own), Some(more)) => Some(add(own, more)),
                (own, more) => own.or(more),
            }
        }
        Budget {
            usd: sum(self.usd, more.usd, Usd::plus),
            tokens: sum(self.tokens, more.tokens, u64::saturating_add),
            time: sum(self.time, more.time, Duration::saturating_add),
            turns: sum(self.turns, more.turns, u32::saturating_add),
        }
    }

    /// This one, and where it limits nothing what `other` says.
    #[must_use]
    pub fn or(self, other: Budget) -> Budget {
        Budget {
            usd: self.usd.or(other.usd),
            tokens: self.tokens.or(other.tokens),
            time: self.time.or(other.time),
            turns: self.turns.or(other.turns),
        }
    }

    /// After an order.
    #[must_use]
    pub fn changed(self, change: Change) -> Budget {
        match change {
            Change::Set(to) => to.or(self),
            // What is not limited cannot be raised.
            Change::Raise(by) => Budget {
                usd: self.usd.map(|own| own.plus(by.usd.unwrap_or_default())),
                tokens: self.tokens.map(|own| own.saturating_add(by.tokens.unwrap_or_default())),
                time: self.time.map(|own| own.saturating_add(by.time.unwrap_or_default())),
                turns: self.turns.map(|own| own.saturating_add(by.turns.unwrap_or_default())),
            },
        }
    }

    /// Reads frontmatter or arguments: `{usd: 0.50, tokens: 400k, minutes: 20, turns: 40}`, or text as people write it.
    ///
    /// # Errors
    /// [`BudgetError`] with the part that cannot be read.
    pub fn read(value: &Value) -> Result<Budget, BudgetError> {
        match value {
            Value::Null => Ok(Budget::default()),
            Value::Object(fields) => fields.iter().try_fold(Budget::default(), |budget, (name, value)| {
                Ok(budget.or(field(name, value).ok_or_else(|| BudgetError(format!("{name}: {}", plain(value))))?))
            }),
            Value::String(text) => text.parse(),
            other => plain(other).parse(),
        }
    }

    /// As it stands in frontmatter; null when nothing is limited.
    pub fn value(self) -> Value {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Option<Value>| value.map(|value| fields.insert(name.to_owned(), value));
        put("usd", self.usd.map(|usd| json!(usd.dollars())));
        put("tokens", self.tokens.map(Value::from));
        put(
            "minutes",
            self.time.map(|time| match time.as_secs().is_multiple_of(60) {
                true => json!(time.as_secs() / 60),
                false => json!(time.as_secs_f64() / 60.0),
            }),
        );
        put("turns", self.turns.map(Value::from));
        if fields.is_empty() { Value::Null } else { Value::Object(fields) }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned).chars().take(60).collect()
}

fn field(name: &str, value: &Value) -> Option<Budget> {
    let text = plain(value);
    let text = text.trim();
    let none = Budget::default();
    Some(match name {
        "usd" | "dollars" => Budget { usd: Some(usd(text.trim_start_matches('$'))?), ..none },
        "tokens" => Budget { tokens: Some(tokens(text)?), ..none },
        "minutes" => Budget { time: Some(time(text, 60.0)?), ..none },
        "seconds" => Budget { time: Some(time(text, 1.0)?), ..none },
        "time" => Budget { time: Some(span(text)?), ..none },
        "turns" => Budget { turns: Some(text.parse().ok().filter(|turns| *turns > 0)?), ..none },
        _ => return None,
    })
}

/// A number above nothing and below anything absurd.
fn number(text: &str, most: f64) -> Option<f64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'_');
    let number: f64 = plain.then(|| text.replace('_', "").parse().ok()).flatten()?;
    (number > 0.0 && number <= most).then_some(number)
}

fn usd(text: &str) -> Option<Usd> {
    Usd::from_dollars(number(text, MOST_DOLLARS)?).filter(|usd| *usd > Usd(0))
}

fn tokens(text: &str) -> Option<u64> {
    let (digits, times) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1e3),
        b'm' | b'M' => (&text[..text.len() - 1], 1e6),
        _ => (text, 1.0),
    };
    let tokens = (number(digits.trim_end(), MOST_TOKENS)? * times).round();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
    (1.0..=MOST_TOKENS).contains(&tokens).then_some(tokens as u64)
}

fn time(text: &str, unit: f64) -> Option<Duration> {
    let seconds = number(text, MOST_SECONDS)? * unit;
    (seconds <= MOST_SECONDS).then(|| Duration::from_millis((seconds * 1e3).round().max(1.0) as u64))
}

/// `90s`, `20m`, `2h`.
fn span(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "s" | "sec" | "second" | "seconds" => 1.0,
        "m" | "min" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3_600.0,
        _ => return None,
    };
    time(digits, unit)
}

impl FromStr for Budget {
    type Err = BudgetError;

    /// Reads `$0.50 400k 20m 40 turns`, parts in any order; a bare number is dollars, k and M are tokens.
    fn from_str(text: &str) -> Result<Budget, BudgetError> {
        let wrong = |part: &str| BudgetError(part.chars().take(60).collect());
        let separators = |c: char| c.is_whitespace() || c == ',';
        let mut words = text.split(separators).filter(|word| !word.is_empty()).peekable();
        let mut budget = Budget::default();
        while let Some(word) = words.next() {
            const UNITS: [&str; 12] = [
                "tokens", "token", "minutes", "minute", "min", "seconds", "hours", "hour", "turns", "turn", "usd",
                "dollars",
            ];
            let unit = words.next_if(|next| UNITS.contains(next));
            budget = part(word, unit).ok_or_else(|| wrong(word))?.or(budget);
        }
        if budget.is_unlimited() { Err(wrong(text)) } else { Ok(budget) }
    }
}

fn part(word: &str, unit: Option<&str>) -> Option<Budget> {
    let none = Budget::default();
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    match (unit, &word[digits.len()..]) {
        (Some("tokens" | "token"), _) => field("tokens", &word.into()),
        (Some("usd" | "dollars"), _) => field("usd", &word.into()),
        (Some("turns" | "turn"), "") | (None, "turns" | "turn" | "t") => field("turns", &digits.into()),
        (Some(unit), "") => Some(Budget { time: Some(span(&format!("{digits}{unit}"))?), ..none }),
        (Some(_), _) => None,
        (None, "k" | "K" | "M") => Some(Budget { tokens: Some(tokens(word)?), ..none }),
        (None, "tokens" | "tok") => field("tokens", &digits.into()),
        (None, "") => field("usd", &word.into()),
        (None, _) => Some(Budget { time: Some(span(word)?), ..none }),
    }
}

/// As [`Budget::value`].
impl Serialize for Budget {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(to)
    }
}

/// As [`Budget::read`].
impl<'de> Deserialize<'de> for Budget {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Budget, D::Error> {
        Budget::read(&Value::deserialize(from)?).map_err(de::Error::custom)
    }
}

impl FromStr for Change {
    type Err = BudgetError;

    /// Reads `+0.25` or `+5m` as a raise, all else as a budget.
    fn from_str(text: &str) -> Result<Change, BudgetError> {
        match text.trim().strip_prefix('+') {
            Some(more) => more.trim().parse().map(Change::Raise),
            None => text.parse().map(Change::Set),
        }
    }
}

impl fmt::Display for Budget {
    /// `$0.50 400k tokens 20m 40 turns`; `no limit` when there is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |time: Duration| match time.as_secs() {
            0 => format!("{}ms", time.as_millis()),
            seconds if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
            seconds => format!("{seconds}s"),
        };
        let tokens = |tokens: u64| match tokens.is_multiple_of(1_000) {
            true => format!("{}k tokens", tokens / 1_000),
            false => format!("{tokens} tokens"),
        };
        let parts = [
            self.usd.map(|usd| usd.to_string()),
            self.tokens.map(tokens),
            self.time.map(time),
            self.turns.map(|turns| format!("{turns} turns")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        f.pad(&if parts.is_empty() { "no limit".to_owned() } else { parts.join(" ") })
    }
}
