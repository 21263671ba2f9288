//! What tokens cost: the price of a model, and the bill that some providers send along with a reply. Where prices are
//! written down is in `provider` and `entry`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::provider::Wire;
use crate::message::{Usage, Usd};

/// What Anthropic takes for a token that its cache keeps for five minutes, as a multiple of a plain one. Source:
/// docs.claude.com, "Prompt caching", Pricing. An hour costs twice the plain price; we never ask for it.
const ANTHROPIC_WRITE: f64 = 1.25;

/// US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input that no cache served.
    pub input: f64,
    /// Output, reasoning included.
    pub output: f64,
    /// Input that a cache served; as other input when not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Input that a cache keeps from now on; when not known, see [`Price::at`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// What a call with a longer input costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<Above>,
}

/// Prices of a call whose input, cached or not, is longer than so many tokens. All its tokens cost that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Above {
    /// Longer than this.
    pub tokens: u64,
    /// As in [`Price::input`].
    pub input: f64,
    /// As in [`Price::output`].
    pub output: f64,
    /// As in [`Price::cache_read`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// As in [`Price::cache_write`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl Price {
    /// What a model costs that runs on one's own machine.
    pub(super) fn free() -> Price {
        Price { input: 0.0, output: 0.0, cache_read: None, cache_write: None, above: None }
    }

    /// The price at a door of this format: what is written to a cache costs what the format's provider takes for it,
    /// where the price does not say.
    #[must_use]
    pub fn at(mut self, wire: Wire) -> Price {
        let more = if wire == Wire::Anthropic { ANTHROPIC_WRITE } else { 1.0 };
        self.cache_write.get_or_insert(self.input * more);
        if let Some(above) = &mut self.above {
            above.cache_write.get_or_insert(above.input * more);
        }
        self
    }

    /// What these tokens cost. `None` when the server counted nothing though it has a price, and for a sum that no
    /// account holds.
    pub fn of(&self, usage: &Usage) -> Option<Usd> {
        let long = self.above.as_ref().filter(|above| usage.prompt() > above.tokens);
        let (input, output, read, write) = match long {
            Some(above) => (above.input, above.output, above.cache_read, above.cache_write),
            None => (self.input, self.output, self.cache_read, self.cache_write),
        };
        if usage.context() == 0 && (input > 0.0 || output > 0.0) {
            return None;
        }
        #[allow(clippy::cast_precision_loss, reason = "a sum of money needs no more than 15 digits")]
        let dollars = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        Usd::from_dollars(
            dollars(usage.input, input)
                + dollars(usage.cache_read, read.unwrap_or(input))
                + dollars(usage.cache_write, write.unwrap_or(input))
                + dollars(usage.output, output),
        )
    }

    /// No figure is negative, not a number or absurd.
    pub(super) fn is_sane(&self) -> bool {
        let long = self.above.iter().flat_map(|above| {
            [Some(above.input), Some(above.output), above.cache_read, above.cache_write].into_iter().flatten()
        });
        let short = [Some(self.input), Some(self.output), self.cache_read, self.cache_write].into_iter().flatten();
        long.chain(short).all(|dollars| (0.0..=10_000.0).contains(&dollars))
    }
}

/// What a provider itself says that a call cost, beside the tokens. It knows its discounts and tiers, so its word goes
/// before any price. Sources: openrouter.ai "Usage Accounting"; docs.x.ai "Cost Tracking".
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Told {
    /// OpenRouter: dollars, a number. Others have objects of that name.
    cost: Value,
    /// OpenRouter: the user's own key was used, so that somebody else sends a bill too.
    is_byok: Option<bool>,
    cost_details: Option<Details>,
    /// xAI: ten billion to a dollar.
    cost_in_usd_ticks: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    upstream_inference_cost: Option<f64>,
}

impl Told {
    /// In all; `None` when it says nothing, or only a part.
    pub(super) fn usd(&self) -> Option<Usd> {
        if let Some(ticks) = self.cost_in_usd_ticks {
            return Some(Usd(ticks.div_ceil(10)));
        }
        let charged = self.cost.as_f64()?;
        let upstream = match self.is_byok {
            Some(true) => self.cost_details.as_ref()?.upstream_inference_cost?,
            Some(false) | None => 0.0,
        };
        Usd::from_dollars(charged + upstream)
    }
}
