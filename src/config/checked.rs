//! What the settings mean: numbers in their ranges, words from their lists, a model that exists.

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::keys::KEYS;
use super::raw::{Place, Raw, Setting};
use super::{Agents, AgentsFrom, Authority, ConfigError, CrewLimits, Durability, Origin};
use crate::agent::Limits;
use crate::message::Budget;
use crate::model::ModelId;
use crate::model::catalog::{Choice, Models, Settings};
use crate::model::provider::Effort;
use crate::model::react::Protocol;
use crate::tools::Enabled;
use crate::tools::preset::Preset;
use crate::workspace::policy::Profile;

/// Reads values out of what was written.
pub(super) struct Checked<'a> {
    pub(super) raw: &'a Raw,
}

impl<'a> Checked<'a> {
    pub(super) fn of(raw: &'a Raw) -> Checked<'a> {
        Checked { raw }
    }

    /// The model and its provider's address; the last part is a warning about an address that fits no chosen model.
    pub(super) fn models(&self, models: Models) -> Result<(Models, Choice, Option<String>), ConfigError> {
        let named = self.model_below(usize::MAX)?;
        let (models, warning) = self.addressed(models, named.as_ref())?;
        let text = named.as_ref().map(|(text, _)| text.as_str());
        let choice = models.choose(None, text).map_err(|source| match &named {
            Some((_, from)) => ConfigError::Model { source, from: from.clone() },
            None => ConfigError::Models(source),
        })?;
        let choice = match &named {
            Some((_, from)) => Choice { why: format!("named in {from}"), ..choice },
            None => choice,
        };
        Ok((models, choice, warning))
    }

    /// Sends the provider that is in force to the address that was written for it.
    fn addressed(
        &self,
        models: Models,
        named: Option<&(String, Place)>,
    ) -> Result<(Models, Option<String>), ConfigError> {
        let Some(setting) = self.raw.get("base_url") else { return Ok((models, None)) };
        let url = self.text(setting, "base_url", "an address like https://host/v1")?;
        let chosen = match named {
            // What cannot be read is told when the model is chosen.
            Some((text, _)) => models.provider_of(text),
            None => models.by_key(),
        };
        let Some(chosen) = chosen else {
            return match named {
                Some(_) => Ok((models, None)),
                None => Err(ConfigError::NoModelForUrl { from: setting.place.clone() }),
            };
        };
        // An address was written for the provider that was in force where it was written. Another provider's key must
        // not go there because somebody chose another model above.
        let below = self.model_below(setting.layer)?;
        if let Some((text, _)) = below
            && let Some(meant) = models.provider_of(&text)
            && meant != chosen
        {
            let (place, now) = (&setting.place, named.map_or(&chosen, |(text, _)| text));
            let warning = format!("base_url in {place} not used: it belongs to {text}, not to {now}");
            return Ok((models, Some(warning)));
        }
        let models = models
            .with_base_url(&chosen, &url)
            .map_err(|source| ConfigError::Model { source, from: setting.place.clone() })?;
        Ok((models, None))
    }

    /// How every model is asked.
    pub(super) fn settings(&self) -> Result<Settings, ConfigError> {
        let effort = self.raw.get("effort").map(|_| self.word("effort", &Effort::WORDS, Effort::Medium)).transpose()?;
        let protocols = [("native", Protocol::Native), ("react", Protocol::React), ("auto", Protocol::Auto)];
        let protocol = self.word("protocol", &protocols, Protocol::Auto)?;
        let Some(setting) = self.raw.get("temperature") else {
            return Ok(Settings { temperature: None, effort, protocol });
        };
        let number = plain(&setting.value).trim().parse().ok().filter(|number| (0.0..=2.0).contains(number));
        let temperature = Some(number.ok_or_else(|| wrong("temperature", setting, "a number from 0 to 2"))?);
        Ok(Settings { temperature, effort, protocol })
    }

    /// A warning about a setting that the chosen model does not get.
    pub(super) fn unheard(&self, models: &Models, id: &ModelId, settings: Settings) -> Option<String> {
        let is_model = !["pilot", "scripted"].contains(&id.provider.as_str());
        let effort = settings.effort.filter(|effort| is_model && !models.knows_effort(id, *effort))?;
        let (word, place) = (format!("{effort:?}").to_lowercase(), &self.raw.get("effort")?.place);
        Some(format!("effort {word} in {place} not used: nothing is known of how to ask {id} for it"))
    }

    /// `provider` and `model` as one text. A higher layer that names one of them may mean another pair: a provider
    /// alone then takes its default model, a model with a slash brings its provider.
    fn model_below(&self, layer: usize) -> Result<Option<(String, Place)>, ConfigError> {
        let expected = "text like anthropic or claude-sonnet-5-5";
        let read = |key| match self.raw.below(key, layer) {
            Some(setting) => self.text(setting, key, expected).map(|text| Some((text, setting))),
            None => Ok(None),
        };
        let (text, from) = match (read("provider")?, read("model")?) {
            (None, None) => return Ok(None),
            (Some((provider, from)), None) => (provider, from),
            (None, Some((model, from))) => (model, from),
            (Some((provider, from)), Some((_, lower))) if from.layer > lower.layer => (provider, from),
            (Some((_, lower)), Some((model, from))) if from.layer > lower.layer && model.contains('/') => (model, from),
            (Some((provider, _)), Some((model, from))) if model.starts_with(&format!("{provider}/")) => (model, from),
            (Some((provider, _)), Some((model, from))) => (format!("{provider}/{model}"), from),
        };
        Ok(Some((text, from.place.clone())))
    }

    /// Limits of a run; the window is the model's unless somebody sets it.
    pub(super) fn limits(&self, turns: &'static str, models: &Models, id: &ModelId) -> Result<Limits, ConfigError> {
        let max_tokens = self.number("max_tokens", 1..=1_000_000)?.unwrap_or(4096);
        let context_window = match self.raw.get("context_window") {
            Some(_) => self.number("context_window", 1000..=100_000_000)?,
            None => None,
        };
        let context_window = context_window.unwrap_or_else(|| models.window(id));
        if let Some(setting) = self.raw.get("max_tokens").filter(|_| max_tokens >= context_window) {
            let expected = format!("below the context window of {context_window}");
            return Err(wrong("max_tokens", setting, &expected));
        }
        let max_turns = self.turns(turns)?;
        let parallel = self.flag("parallel_tools")?;
        let keep_follow_ups = self.flag("keep_follow_ups")?;
        let steer_waits = self.word("steer_boundary", &[("call", false), ("turn", true)], false)?;
        let compacting = self.compacting()?;
        let flat_turns = u32::try_from(self.number("flat_turns", 0..=1_000)?.unwrap_or_default()).unwrap_or_default();
        Ok(Limits {
            max_turns,
            flat_turns,
            max_tokens,
            context_window,
            parallel,
            keep_follow_ups,
            steer_waits,
            compacting,
        })
    }

    /// How many turns a run may have; `off` for any number.
    fn turns(&self, key: &'static str) -> Result<Option<u32>, ConfigError> {
        let Some(setting) = self.raw.get(key) else { return Ok(None) };
        // A bare `off` is a truth value to some readers of YAML.
        if setting.value == Value::Bool(false) || plain(&setting.value).trim().eq_ignore_ascii_case("off") {
            return Ok(None);
        }
        let wrong = |_| wrong(key, setting, "a whole number from 1 to 1000000, or off");
        let number = self.number(key, 1..=1_000_000).map_err(wrong)?;
        Ok(number.and_then(|turns| u32::try_from(turns).ok()))
    }

    /// What the settings say together: parts of a budget, and the setting that each is written in.
    pub(super) fn budget<const N: usize>(
        &self,
        parts: [(&'static str, &'static str); N],
    ) -> Result<Budget, ConfigError> {
        let mut budget = Budget::default();
        for (part, key) in parts {
            let Some(setting) = self.raw.get(key) else { continue };
            let expected = match part {
                "usd" => "a sum above nothing, like 0.50",
                "tokens" => "a number above nothing, like 400k",
                _ => "a number above nothing",
            };
            let read = Budget::read(&serde_json::json!({ part: setting.value }));
            budget = read.map_err(|_| wrong(key, setting, expected))?.or(budget);
        }
        Ok(budget)
    }

    /// What all tasks of a day may use together.
    pub(super) fn fleet_budget(&self) -> Result<Budget, ConfigError> {
        let parts =
            [("usd", "fleet_usd"), ("tokens", "fleet_tokens"), ("minutes", "fleet_minutes"), ("turns", "fleet_turns")];
        self.budget(parts)
    }

    pub(super) fn worker_budget(&self) -> Result<Budget, ConfigError> {
        self.budget([("usd", "worker_usd"), ("tokens", "worker_tokens"), ("minutes", "worker_minutes")])
    }

    pub(super) fn crew(&self) -> Result<CrewLimits, ConfigError> {
        let count = |key, range| {
            self.number(key, range).map(|number| number.and_then(|n| usize::try_from(n).ok()).unwrap_or_default())
        };
        Ok(CrewLimits {
            running: count("workers", 1..=10_000)?,
            queued: count("queue", 0..=100_000)?,
            depth: u32::try_from(count("depth", 0..=8)?).unwrap_or_default(),
        })
    }

    pub(super) fn agents(&self, root: &Path) -> Result<Agents, ConfigError> {
        let words = [("on", AgentsFrom::Everywhere), ("built-in", AgentsFrom::BuiltIn), ("off", AgentsFrom::Nowhere)];
        let from = self.word("agents", &words, AgentsFrom::Everywhere)?;
        let key = "agents_folder";
        let folder = self.raw.get(key).map(|setting| self.text(setting, key, "a folder, like team/agents"));
        Ok(Agents { from, folder: folder.transpose()?.map(|folder| root.join(folder)), foreign: None })
    }

    pub(super) fn authority(&self) -> Result<Authority, ConfigError> {
        let words = self.words("authority", "a list of words, like [naming, test layout], or all")?;
        Ok(Authority::over(words.unwrap_or_default()))
    }

    pub(super) fn profile(&self) -> Result<Profile, ConfigError> {
        let file = [
            Profile::WorkspaceWrite,
            Profile::ReadOnly,
            Profile::Free,
            Profile::Workspace,
            Profile::Curated,
            Profile::Task,
        ];
        let flag = [Profile::ReadOnly, Profile::WorkspaceWrite, Profile::Full];
        let flagged = matches!(self.raw.get("profile"), Some(Setting { place: Place::Flag(_), .. }));
        let known = if flagged { &flag[..] } else { &file[..] };
        let words: Vec<(&str, Profile)> = known.iter().map(|profile| (profile.name(), *profile)).collect();
        self.word("profile", &words, Profile::WorkspaceWrite)
    }

    pub(super) fn durability(&self) -> Result<Durability, ConfigError> {
        let words = [("always", Durability::Always), ("turn", Durability::Turn), ("off", Durability::Off)];
        self.word("durability", &words, Durability::Turn)
    }

    /// As somebody says, else as the setting `output` has it.
    pub(super) fn shell_timeout(&self) -> Result<Duration, ConfigError> {
        let said = self.number("shell_timeout", 1..=600)?.map(Duration::from_secs);
        said.map_or_else(|| self.output().map(|preset| preset.time), Ok)
    }

    pub(super) fn output(&self) -> Result<Preset, ConfigError> {
        self.word("output", &Preset::WORDS, Preset::S0)
    }

    pub(super) fn seconds(&self, key: &'static str, range: RangeInclusive<u64>) -> Result<Duration, ConfigError> {
        Ok(Duration::from_secs(self.number(key, range)?.unwrap_or_default()))
    }

    /// Which tools there are.
    pub(super) fn tools(&self) -> Result<Enabled, ConfigError> {
        let key = "tools";
        let words = self.words(key, "a list of tools and groups, like [default, web, -grep]")?;
        let (Some(words), Some(setting)) = (words, self.raw.get(key)) else { return Ok(Enabled::default()) };
        Enabled::read(&words).map_err(|source| ConfigError::Tools { source, from: setting.place.clone() })
    }

    /// A list, or one text with commas.
    pub(super) fn words(&self, key: &'static str, expected: &str) -> Result<Option<Vec<String>>, ConfigError> {
        let Some(setting) = self.raw.get(key) else { return Ok(None) };
        listed(&setting.value).map(Some).ok_or_else(|| wrong(key, setting, expected))
    }

    /// Every setting that has a value, in the order of the keys.
    pub(super) fn origins(&self, choice: &Choice, main: &Limits) -> Vec<Origin> {
        let written = |key: &'static str| match (key, self.raw.get(key)) {
            (_, Some(setting)) => Some(Origin { key, value: plain(&setting.value), from: setting.place.clone() }),
            ("model", None) => Some(Origin { key, value: choice.id.to_string(), from: Place::Default }),
            ("context_window", None) => {
                Some(Origin { key, value: main.context_window.to_string(), from: Place::Model })
            }
            ("shell_timeout", None) => {
                let value = self.shell_timeout().map_or(String::new(), |time| time.as_secs().to_string());
                Some(Origin { key, value, from: Place::Default })
            }
            (_, None) => None,
        };
        KEYS.iter().filter_map(|key| written(key.name)).collect()
    }

    pub(super) fn number(&self, key: &'static str, range: RangeInclusive<u64>) -> Result<Option<u64>, ConfigError> {
        let Some(setting) = self.raw.get(key) else { return Ok(None) };
        let number = match &setting.value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.trim().replace('_', "").parse().ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        let expected = || format!("a whole number from {} to {}", range.start(), range.end());
        number.filter(|number| range.contains(number)).map(Some).ok_or_else(|| wrong(key, setting, &expected()))
    }

    pub(super) fn flag(&self, key: &'static str) -> Result<bool, ConfigError> {
        let Some(setting) = self.raw.get(key) else { return Ok(false) };
        match plain(&setting.value).to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Ok(true),
            "false" | "no" | "off" | "0" => Ok(false),
            _ => Err(wrong(key, setting, "true or false")),
        }
    }

    pub(super) fn word<T: Copy>(&self, key: &'static str, words: &[(&str, T)], default: T) -> Result<T, ConfigError> {
        let Some(setting) = self.raw.get(key) else { return Ok(default) };
        let written = match &setting.value {
            // YAML 1.1 readers taught people that a bare `off` is a truth value.
            Value::Bool(false) => "off".to_owned(),
            Value::Bool(true) => "on".to_owned(),
            value => plain(value).trim().to_ascii_lowercase(),
        };
        let known = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        let found = words.iter().find(|(word, _)| *word == written).map(|(_, value)| *value);
        found.ok_or_else(|| wrong(key, setting, &format!("one of {}", known())))
    }

    pub(super) fn text(&self, setting: &Setting, key: &'static str, expected: &str) -> Result<String, ConfigError> {
        match &setting.value {
            Value::String(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
            _ => Err(wrong(key, setting, expected)),
        }
    }
}

pub(super) fn wrong(key: &'static str, setting: &Setting, expected: &str) -> ConfigError {
    let value = plain(&setting.value);
    ConfigError::Value { key, value, from: setting.place.clone(), expected: expected.to_owned() }
}

/// A list, or one text with commas, as words; `None` for anything else.
pub(super) fn listed(value: &Value) -> Option<Vec<String>> {
    let split = |text: &str| -> Vec<String> {
        text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    match value {
        Value::String(text) => Some(split(text)),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(|text| text.trim().to_owned())).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// A value as a person would write it on one line, cut if it is long.
pub(super) fn plain(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    if text.chars().count() > 200 { format!("{}…", text.chars().take(200).collect::<String>()) } else { text }
}
