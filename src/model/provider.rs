//! What is known about a provider: its door, its keys, its models and its quirks. How that is written in a file is in
//! `entry`; keys and connections are the catalogue's.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::price::Price;

/// One provider of models.
#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    /// The part of a model id before the slash.
    pub id: String,
    /// For people.
    pub name: String,
    /// The format it speaks.
    pub wire: Wire,
    /// Where its door is, without a trailing slash.
    pub base_url: String,
    /// The beginning of its variables; see [`Provider::base_url_variable`].
    pub prefix: String,
    /// Environment variables that may hold the key, first set wins; empty when none is needed.
    pub keys: Vec<String>,
    /// The models to take when only the provider is named, the wanted one first; empty when it depends on the server.
    pub prefer: Vec<String>,
    /// It runs on the user's own machine and is looked for there.
    pub local: bool,
    /// Tokens of context that are asked of the server with every request, where the model has as many.
    pub num_ctx: Option<u64>,
    /// How it tells which models it has.
    pub list: Lists,
    /// Sent with every request.
    pub headers: BTreeMap<String, String>,
    /// Where its door differs from the format.
    pub quirks: Quirks,
    /// What says how hard to think: fields merged into the request, by effort. A model's own goes before it.
    pub effort: Efforts,
    /// Where the figures of its models come from.
    pub source: Option<String>,
    /// When they were read.
    pub date: Option<Date>,
    /// Models with known figures.
    pub models: Vec<KnownModel>,
}

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions, the common tongue.
    Chat,
    /// Gemini's own.
    Gemini,
    /// Ollama's own.
    Ollama,
}

/// How a provider tells which models it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lists {
    /// `GET …/models` answers `{"data": [{"id": …}]}`, as Anthropic, OpenAI and all that follow them do.
    Models,
    /// Gemini's own.
    Gemini,
    /// `GET /api/tags`, and `POST /api/show` for each.
    Ollama,
    /// `GET /api/v0/models`, with what is loaded.
    Lmstudio,
    /// `GET …/models`, and `GET /props` for the context of the one that is loaded.
    Llamacpp,
    /// Not at all.
    None,
}

/// A model with known figures. What is not known is `None`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownModel {
    /// The provider's own id.
    pub id: String,
    /// Context window in tokens.
    #[serde(default)]
    pub window: Option<u64>,
    /// Most output tokens.
    #[serde(default)]
    pub max_out: Option<u64>,
    /// It sees pictures; where nobody knows, the provider has the last word.
    #[serde(default)]
    pub images: Option<bool>,
    /// It calls tools by itself; one that does not is asked in words.
    #[serde(default)]
    pub tools: Option<bool>,
    /// `false` when it refuses a temperature.
    #[serde(default)]
    pub temperature: Option<bool>,
    /// Fields merged into every request.
    #[serde(default)]
    pub body: Map<String, Value>,
    /// What says how hard to think, where it is not what the provider's other models want.
    #[serde(default)]
    pub effort: Option<Efforts>,
    /// What it costs.
    #[serde(default)]
    pub price: Option<Price>,
    /// Where its figures come from, when not from where its provider's do.
    #[serde(default)]
    pub source: Option<String>,
    /// When they were read, when not with its provider's.
    #[serde(default)]
    pub date: Option<Date>,
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

impl Effort {
    /// All of them by their words.
    pub const WORDS: [(&'static str, Effort); 6] = [
        ("off", Effort::Off),
        ("minimal", Effort::Minimal),
        ("low", Effort::Low),
        ("medium", Effort::Medium),
        ("high", Effort::High),
        ("max", Effort::Max),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        Effort::WORDS.iter().find(|(_, effort)| *effort == self).map_or("", |(word, _)| word)
    }

    /// The one of this word, also by the words that others have for the ends of the scale.
    pub fn of(word: &str) -> Option<Effort> {
        let word = match word.trim().to_ascii_lowercase().as_str() {
            "none" | "false" => "off".to_owned(),
            "xhigh" => "max".to_owned(),
            word => word.to_owned(),
        };
        Effort::WORDS.iter().find(|(known, _)| *known == word).map(|(_, effort)| *effort)
    }
}

/// Where a door differs from its format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Results must not be followed by a person's words: the assistant has to say something in between.
    pub bridge: bool,
    /// It answers a conversation that is too long as if it were not; only its figures tell.
    pub silent_overflow: bool,
    /// Beginnings of the names of models that want no proof of the reasoning before a call; the others refuse a call
    /// without one (Gemini).
    pub unsigned: Vec<String>,
}

/// How reasoning goes back to the model that wrote it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
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
            bridge: false,
            silent_overflow: false,
            unsigned: Vec::new(),
        }
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
        format!("{}_BASE_URL", self.prefix)
    }

    /// The variable that chooses its model when only the provider is named, for example `DEEPSEEK_MODEL`.
    pub fn model_variable(&self) -> String {
        format!("{}_MODEL", self.prefix)
    }
}
