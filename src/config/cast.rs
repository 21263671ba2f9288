//! Which model does what besides the main agent's work: tasks, summaries, titles, and who stands in for one that is down.

use super::checked::{Checked, wrong};
use super::raw::Place;
use super::{Config, ConfigError};
use crate::model::ModelId;
use crate::model::catalog::Models;

/// Most models that may stand in: each of them makes a person wait longer for the news that all are down.
const STAND_INS: usize = 4;

/// The models that are named for parts of the work; whoever is not named, the main agent's model plays its part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cast {
    /// `worker_model`: of workers whose brief and role name none.
    pub worker: Option<Named>,
    /// `compaction_model`: sums up what is left out of a conversation.
    pub compaction: Option<Named>,
    /// `title_model`: names conversations.
    pub title: Option<Named>,
    /// `fallback`: asked in this order when a model is down.
    pub fallback: Vec<Named>,
}

/// A model and where it is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The setting.
    pub key: &'static str,
    /// The model.
    pub id: ModelId,
    /// Where the setting is written.
    pub from: Place,
}

impl Cast {
    /// Everyone who is named.
    pub fn all(&self) -> impl Iterator<Item = &Named> {
        [&self.worker, &self.compaction, &self.title].into_iter().flatten().chain(&self.fallback)
    }

    /// Those who are named and cannot be had, with what follows from it; one line each.
    pub fn absent(&self, models: &Models) -> Vec<String> {
        let line = |named: &Named| {
            let why = models.get(&named.id).err()?;
            let so = match named.key {
                "worker_model" => "tasks that name no other model are refused",
                "compaction_model" => "each agent's own model sums up",
                "title_model" => "conversations get no titles",
                _ => "it does not stand in",
            };
            Some(format!("{} {} in {}: {why}; until then {so}", named.key, named.id, named.from))
        };
        self.all().filter_map(line).collect()
    }
}

impl Config {
    /// Who names conversations: the model that is named for it, else the main agent's if it is a language model. `None`
    /// when nobody does.
    pub fn namer(&self) -> Option<&ModelId> {
        let named = self.cast.title.as_ref().map(|named| &named.id);
        let own = || Some(&self.choice.id).filter(|id| !["pilot", "scripted"].contains(&id.provider.as_str()));
        named.or_else(own).filter(|_| self.titles)
    }
}

impl Checked<'_> {
    /// Who is named for what.
    pub(super) fn cast(&self, models: &Models) -> Result<Cast, ConfigError> {
        Ok(Cast {
            worker: self.named("worker_model", models)?,
            compaction: self.named("compaction_model", models)?,
            title: self.named("title_model", models)?,
            fallback: self.fallback(models)?,
        })
    }

    fn named(&self, key: &'static str, models: &Models) -> Result<Option<Named>, ConfigError> {
        let Some(setting) = self.raw.get(key) else { return Ok(None) };
        let text = self.text(setting, key, "text like anthropic or claude-haiku-5-5")?;
        read(models, key, &text, &setting.place).map(Some)
    }

    fn fallback(&self, models: &Models) -> Result<Vec<Named>, ConfigError> {
        let key = "fallback";
        let expected = "a list of up to 4 models, like [openai, openrouter/z-ai/glm-5]";
        let (Some(setting), Some(texts)) = (self.raw.get(key), self.words(key, expected)?) else {
            return Ok(Vec::new());
        };
        if texts.len() > STAND_INS {
            return Err(wrong(key, setting, expected));
        }
        texts.iter().map(|text| read(models, key, text, &setting.place)).collect()
    }
}

fn read(models: &Models, key: &'static str, text: &str, from: &Place) -> Result<Named, ConfigError> {
    let id = models.read(text).map_err(|source| ConfigError::Model { source, from: from.clone() })?;
    Ok(Named { key, id, from: from.clone() })
}
