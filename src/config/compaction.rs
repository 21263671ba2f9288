//! When conversations are shortened and how: a set of settings by its name, and single ones that change it.

use super::ConfigError;
use super::checked::{Checked, plain, wrong};
use crate::agent::{Compacting, Count, Keep, Trigger, When};

/// What `compact_at` may be, and the bounds of its numbers.
const AT: &str = "like 75 % (10 to 95, of the window), 80000 tokens (from 1000) or 40 messages (from 4)";

/// What `compact_keep` may be.
const KEEP: &str = "like 20000 tokens, 4 messages, people (what they said) or half";

impl Checked<'_> {
    pub(super) fn compacting(&self) -> Result<Compacting, ConfigError> {
        let mut compacting = self.word("compaction", &Compacting::NAMED, Compacting::DEFAULT)?;
        if let Some(setting) = self.raw.get("compact_at") {
            if compacting.trigger == Trigger::Never {
                return Err(wrong("compact_at", setting, "left out while compaction is off"));
            }
            let trigger = trigger(&plain(&setting.value), compacting.trigger);
            compacting.trigger = trigger.ok_or_else(|| wrong("compact_at", setting, AT))?;
        }
        let times = [("call", When::Call), ("turn", When::Turn), ("run", When::Run)];
        compacting.when = self.word("compact_when", &times, compacting.when)?;
        if let Some(setting) = self.raw.get("compact_keep") {
            compacting.keep = keep(&plain(&setting.value)).ok_or_else(|| wrong("compact_keep", setting, KEEP))?;
        }
        let roles = [("user", Compacting::DEFAULT.role), ("assistant", Compacting::S2.role)];
        compacting.role = self.word("summary_role", &roles, compacting.role)?;
        if let Some(most) = self.number("summary_length", 50..=100_000)? {
            compacting.most = usize::try_from(most).ok();
        }
        if self.raw.get("compact_archive").is_some() {
            compacting.archive = self.flag("compact_archive")?;
        }
        Ok(compacting)
    }
}

/// Tokens are told as the set that is changed tells them.
fn trigger(text: &str, before: Trigger) -> Option<Trigger> {
    let (number, unit) = measure(text)?;
    match unit.as_str() {
        "%" | "" if (10..=95).contains(&number) => Some(Trigger::Window(u8::try_from(number).ok()?)),
        "tokens" if (1_000..=100_000_000).contains(&number) => Some(Trigger::Tokens(
            number,
            match before {
                Trigger::Tokens(_, count) => count,
                Trigger::Never | Trigger::Window(_) | Trigger::Messages(_) => Count::Gauge,
            },
        )),
        "messages" if (4..=1_000_000).contains(&number) => Some(Trigger::Messages(number)),
        _ => None,
    }
}

fn keep(text: &str) -> Option<Keep> {
    match text.trim().to_ascii_lowercase().as_str() {
        "people" => Some(Keep::People),
        "half" => Some(Keep::Half),
        other => match measure(other)? {
            (number, unit) if unit == "tokens" && number <= 100_000_000 => Some(Keep::Recent(number)),
            (number @ 1..=1_000_000, unit) if unit == "messages" => Some(Keep::Last(usize::try_from(number).ok()?)),
            _ => None,
        },
    }
}

/// A number and what stands behind it.
fn measure(text: &str) -> Option<(u64, String)> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.replace('_', "").parse().ok()?, unit.trim().to_owned()))
}
