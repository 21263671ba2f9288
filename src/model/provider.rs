//! What is known about a provider: its door, its keys, its models and its quirks, as written in defaults/models.yaml.
//! No keys and no connections; those are the catalogue's.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::message::{Usage, Usd};

/// One provider of models.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// The part of a model id before the slash.
    pub id: String,
    /// For people.
    pub name: String,
    /// The format it speaks.
    pub wire: Wire,
    /// Where its door is, without a trailing slash.
    pub base_url: String,
    /// Environment variables that may hold the key, first set wins; empty when none is needed.
    #[serde(default)]
    pub keys: Vec<String>,
    /// The model when only the provider is named; `None` when it depends on the server.
    #[serde(default)]
    pub default: Option<String>,
    /// Context window in tokens of models that are not listed.
    pub window: u64,
    /// Most output tokens of models that are not listed.
    pub max_out: u64,
    /// Sent with every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Where its door differs from the format.
    #[serde(default)]
    pub quirks: Quirks,
    /// What says how hard to think: fields merged into the request, by effort. A model's own goes before it.
    #[serde(default)]
    pub effort: Efforts,
    /// Models with known figures.
    #[serde(default)]
    pub models: Vec<KnownModel>,
}

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions, the common tongue.
    Chat,
}

/// A model with known figures.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownModel {
    /// The provider's own id.
    pub id: String,
    /// Context window in tokens.
    pub window: u64,
    /// Most output tokens.
    pub max_out: u64,
    /// Fields merged into every request.
    #[serde(default)]
    pub body: Map<String, Value>,
    /// What says how hard to think, where it is not what the provider's other models want.
    #[serde(default)]
    pub effort: Option<Efforts>,
    /// It takes a temperature.
    #[serde(default = "yes")]
    pub temperature: bool,
    /// It sees pictures; unknown when absent, and then the provider has the last word.
    #[serde(default)]
    pub images: Option<bool>,
    /// What it costs, where known.
    #[serde(default)]
    pub price: Option<Price>,
}

/// The body fields for each effort that a model knows.
pub type Efforts = BTreeMap<Effort, Map<String, Value>>;

/// How hard a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Not at all.
    Off,
    /// As little as it can.
    Minimal,
    /// A little.
    Low,
    /// As the provider thinks best for most work.
    Medium,
    /// Long.
    High,
    /// As long as it can.
    Max,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input that no cache served.
    pub input: f64,
    /// Output, reasoning included.
    pub output: f64,
    /// Input that a cache served; `None` when not known.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Where the figures come from.
    pub source: String,
}

/// Where a door differs from its format.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// Name of the field that bounds the output.
    pub max_tokens: String,
    /// Usage must be asked for by `stream_options`.
    pub usage: bool,
    /// Role of the system prompt.
    pub system: String,
    /// How its reasoning goes back to it.
    pub reasoning: Reasoning,
    /// How the prompt is marked for the provider's cache.
    pub cache: Cache,
    /// Call ids must be nine letters or digits.
    pub short_ids: bool,
}

/// How reasoning goes back to the model that wrote it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reasoning {
    /// Not at all.
    #[default]
    Drop,
    /// As text, in the field `reasoning_content`.
    Content,
    /// As received, in the field `reasoning_details`.
    Details,
}

/// How the prompt is marked for the provider's cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// Not at all; the provider finds common beginnings by itself, or has no cache.
    #[default]
    None,
    /// `cache_control` at the top of the request.
    Top,
    /// `prompt_cache_key` with the conversation's name.
    Key,
}

impl Default for Quirks {
    fn default() -> Quirks {
        Quirks {
            max_tokens: "max_completion_tokens".to_owned(),
            usage: true,
            system: "system".to_owned(),
            reasoning: Reasoning::Drop,
            cache: Cache::None,
            short_ids: false,
        }
    }
}

impl Price {
    /// What these tokens cost; `None` for a sum that no account holds.
    pub fn of(&self, usage: &Usage) -> Option<Usd> {
        #[allow(clippy::cast_precision_loss, reason = "a sum of money needs no more than 15 digits")]
        let dollars = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        let read = self.cache_read.unwrap_or(self.input);
        Usd::from_dollars(
            dollars(usage.input, self.input)
                + dollars(usage.cache_write, self.input)
                + dollars(usage.cache_read, read)
                + dollars(usage.output, self.output),
        )
    }
}

impl Provider {
    /// The figures of a model, if it is listed.
    pub fn model(&self, id: &str) -> Option<&KnownModel> {
        self.models.iter().find(|model| model.id == id)
    }

    /// The fields that ask one of its models for this much thinking, where known.
    pub fn effort(&self, model: &str, effort: Effort) -> Option<&Map<String, Value>> {
        let own = self.model(model).and_then(|known| known.effort.as_ref());
        own.unwrap_or(&self.effort).get(&effort)
    }

    /// The variable that overrides [`Provider::base_url`], for example `OPENAI_BASE_URL`.
    pub fn base_url_variable(&self) -> String {
        format!("{}_BASE_URL", self.id.to_uppercase())
    }
}

fn yes() -> bool {
    true
}

/// Reads the providers that are built in, in order of preference.
pub(super) fn built_in() -> Result<Vec<Provider>, serde_yaml::Error> {
    #[derive(Deserialize)]
    struct File {
        providers: Vec<Provider>,
    }
    let file: File = serde_yaml::from_str(include_str!("../../defaults/models.yaml"))?;
    Ok(file.providers)
}
