//! Which model answers in an open conversation, and how hard it thinks: as the settings say, until a person says otherwise.
//! It holds as long as the conversation is open, from its next run on.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::main_agent::MainMsg;
use super::site::Site;
use super::{Runtime, SessionGone, purse};
use crate::agent::Limits;
use crate::message::Budget;
use crate::model::ModelId;
use crate::model::catalog::NoModel;
use crate::model::provider::Effort;
use crate::session::SessionId;

/// Which model answers, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// It.
    pub model: ModelId,
    /// How hard it thinks; `None` when that is left to its provider, or nobody knows how to ask for it.
    pub effort: Option<Effort>,
    /// What speaks against it, one line for a person.
    pub doubt: Option<String>,
}

/// Why it stays as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotChosen {
    /// There is no such model, or it cannot be had.
    #[error(transparent)]
    Model(#[from] NoModel),
    /// The word says no effort.
    #[error("{0:?} is no effort; say off, minimal, low, medium, high or max")]
    Effort(String),
    /// Nobody knows how to ask this model for it.
    #[error("nothing is known of how to ask {model} for effort {effort}; /model chooses another")]
    Unknown {
        /// The model.
        model: ModelId,
        /// As in `high`.
        effort: &'static str,
    },
    /// A limit in dollars could not be held.
    #[error("{0}")]
    Unpriced(String),
    /// The conversation is not open, or may not be changed from here.
    #[error(transparent)]
    Gone(#[from] SessionGone),
    /// A fault inside the program; the text says which.
    #[error("{0}")]
    Lost(String),
}

/// What people chose for open conversations.
#[derive(Default)]
pub(super) struct Choices(Mutex<HashMap<SessionId, Choice>>);

#[derive(Clone, Default)]
struct Choice {
    model: Option<ModelId>,
    effort: Option<Effort>,
}

impl Choices {
    fn of(&self, session: &str) -> Choice {
        // A task names its conversation as text.
        let choices = self.all();
        choices.iter().find(|(id, _)| id.as_str() == session).map(|(_, choice)| choice.clone()).unwrap_or_default()
    }

    fn all(&self) -> MutexGuard<'_, HashMap<SessionId, Choice>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Site {
    /// The model of a conversation's main agent, and of its workers where nobody names another.
    pub(super) fn model_of(&self, session: Option<&str>) -> ModelId {
        let chosen = session.and_then(|session| self.choices.of(session).model);
        chosen.unwrap_or_else(|| self.config.choice.id.clone())
    }

    /// How hard a main agent thinks, where that is not what the settings say.
    pub(super) fn effort_of(&self, session: &SessionId) -> Option<Effort> {
        self.choices.of(session.as_str()).effort
    }

    /// The same as people see it: with what the settings say, and only where it is known how to ask for it.
    pub(super) fn chosen(&self, session: &SessionId) -> Chosen {
        let (model, models) = (self.model_of(Some(session.as_str())), &self.config.models);
        let asked = self.effort_of(session).or(models.effort());
        let effort = asked.filter(|effort| models.knows_effort(&model, *effort));
        Chosen { model, effort, doubt: None }
    }

    /// The limits with which this model runs.
    pub(super) fn fitted(&self, limits: &Limits, model: &ModelId) -> Limits {
        let mut limits = limits.clone();
        if *model != self.config.choice.id {
            limits.context_window = self.config.models.window(model);
            limits.max_tokens = limits.max_tokens.min(limits.context_window / 2);
        }
        limits
    }
}

impl Runtime {
    /// Lets another model answer from the conversation's next run on, named as on the command line; its workers take it too
    /// where nothing names another. Where a server on this machine is named, it is asked what it has.
    ///
    /// # Errors
    /// [`NotChosen::Model`] with what is near; [`NotChosen::Unpriced`] where a limit in dollars could not be held.
    pub async fn set_model(&self, session: &SessionId, name: &str) -> Result<Chosen, NotChosen> {
        self.ask(session, MainMsg::Status).await?;
        let (site, name) = (self.inner.site.clone(), name.to_owned());
        let read = move || {
            let models = &site.config.models;
            let id = models.read(&name)?;
            models.get(&id)?;
            purse::is_priced(&site, Budget::default(), &id).map_err(NotChosen::Unpriced)?;
            Ok::<_, NotChosen>((models.doubt(&id), id))
        };
        let (doubt, id) = self.inner.site.on_disk(read).await.map_err(NotChosen::Lost)??;
        let site = &self.inner.site;
        site.choices.all().entry(session.clone()).or_default().model = Some(id);
        Ok(Chosen { doubt, ..site.chosen(session) })
    }

    /// Lets the main agent think harder or less hard from the conversation's next run on: `off`, `minimal`, `low`, `medium`,
    /// `high` or `max`.
    ///
    /// # Errors
    /// [`NotChosen::Effort`]; [`NotChosen::Unknown`] when the model cannot be asked for it.
    pub async fn set_effort(&self, session: &SessionId, word: &str) -> Result<Chosen, NotChosen> {
        self.ask(session, MainMsg::Status).await?;
        let effort = Effort::of(word).ok_or_else(|| NotChosen::Effort(word.trim().to_owned()))?;
        let site = &self.inner.site;
        let model = site.model_of(Some(session.as_str()));
        if !site.config.models.knows_effort(&model, effort) {
            return Err(NotChosen::Unknown { model, effort: effort.word() });
        }
        site.choices.all().entry(session.clone()).or_default().effort = Some(effort);
        Ok(site.chosen(session))
    }
}
