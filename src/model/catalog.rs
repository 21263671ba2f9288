//! Which models there are and which one is meant: the built-in providers, keys and addresses from the environment, own
//! models of tests and library users. How a provider is spoken to is not here.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::confirmed::{Confirmed, Listing};
use super::door::{Door, Key, Known, UNKNOWN_WINDOW};
use super::entry;
use super::governor::Governors;
use super::http::{Http, Timeouts};
use super::local::Around;
use super::pilot::Pilot;
use super::price::Price;
use super::provider::{Effort, KnownModel, Provider};
use super::react::Protocol;
use super::retry::PATIENCE;
use super::scripted::Scripted;
use super::{Model, ModelId};

/// For the pilot, which reads any conversation whole: shortening one would only take away what it knows.
const NO_WINDOW: u64 = 100_000_000;
/// Where a person adds to the built-in providers, below the home.
const OWN: &str = "models.yaml";

/// All models within reach. Cheap to clone; clones share connections and what was encoded.
#[derive(Clone)]
pub struct Models {
    pub(super) doors: Arc<Vec<Door>>,
    pub(super) own: Arc<HashMap<ModelId, Arc<dyn Model>>>,
    /// Answers for all others.
    pub(super) only: Option<Arc<dyn Model>>,
    pub(super) confirmed: Arc<Confirmed>,
    /// What was found of servers on one's own machine; `None` when they are not looked for.
    pub(super) local: Option<Arc<Around>>,
    made: Arc<Mutex<Made>>,
    pub(super) http: Arc<Http>,
    governors: Arc<Governors>,
    settings: Settings,
}

/// Models that were asked for already, by how hard they think where that is not what the settings say.
type Made = HashMap<(ModelId, Option<Effort>), Arc<dyn Model>>;

/// What a person wants of every model.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Settings {
    /// From 0, the same words each time, to 2; `None` leaves it to the provider. Models that refuse it do not get it.
    pub temperature: Option<f64>,
    /// How hard it thinks; `None` leaves it to the provider.
    pub effort: Option<Effort>,
    /// How it is given tools.
    pub protocol: Protocol,
}

/// The model that was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Which.
    pub id: ModelId,
    /// Why this one: one line for a person.
    pub why: String,
}

/// Why there is no such model. The text never holds a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoModel {
    /// The part before the slash is not known.
    #[error("no provider {provider}{nearest}; known are {known}")]
    UnknownProvider {
        /// As written.
        provider: String,
        /// A guess, as part of the sentence; may be empty.
        nearest: String,
        /// All names.
        known: String,
    },
    /// Neither `provider/model`, nor a provider, nor the name of a listed model.
    #[error("{0} is no model; write PROVIDER/MODEL, for example anthropic/claude-sonnet-5-5")]
    NotAModel(String),
    /// The provider has no model of its own choice.
    #[error("{provider} has no default model{why}; write {provider}/MODEL")]
    NoDefault {
        /// Which.
        provider: String,
        /// What its server says, as part of the sentence; may be empty.
        why: String,
    },
    /// No variable holds a key.
    #[error("{provider} needs a key; set {variable}")]
    MissingKey {
        /// Whose.
        provider: String,
        /// The variable to set.
        variable: String,
    },
    /// A key that cannot be sent.
    #[error("the key in {variable} holds a newline or another character that no key has; set it again without")]
    UnfitKey {
        /// Where it was found.
        variable: String,
    },
    /// An address that cannot be used.
    #[error("base URL {url} of {provider} {why}; write it like https://host/v1 or http://127.0.0.1:8080/v1")]
    BadUrl {
        /// Whose.
        provider: String,
        /// As written.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// An entry in a person's own list of models that makes no sense.
    #[error("{} is wrong at line {line}: {what}", path.display())]
    Entry {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, with the field or the entry.
        what: String,
    },
    /// A fixture that cannot be played.
    #[error("{0}")]
    Script(String),
    /// Something built in does not work.
    #[error("{0}")]
    Broken(String),
}

impl Models {
    /// The built-in providers with keys, addresses and models from an environment: `<KEY VARIABLE>`,
    /// `<PREFIX>_BASE_URL`, `<PREFIX>_MODEL`.
    ///
    /// # Errors
    /// [`NoModel::Broken`] when the built-in list cannot be read. Faults of a single provider are told by [`Models::get`].
    pub fn from_env(env: &dyn Fn(&str) -> Option<String>) -> Result<Models, NoModel> {
        Ok(Models::new(built_in()?, env))
    }

    /// The same, with the entries of `models.yaml` in a home laid over them, if there is such a file.
    ///
    /// # Errors
    /// [`NoModel::Entry`] for a file that cannot be read or an entry that makes no sense, and [`NoModel::Broken`].
    pub fn from_home(home: &Path, env: &dyn Fn(&str) -> Option<String>) -> Result<Models, NoModel> {
        let mut providers = built_in()?;
        let path = home.join(OWN);
        let wrong = |line, what| NoModel::Entry { path: path.clone(), line, what };
        match fs::read_to_string(&path) {
            Ok(text) => entry::add(&mut providers, &text).map_err(|found| wrong(found.line, found.what))?,
            Err(cause) if cause.kind() == ErrorKind::NotFound => {}
            Err(cause) => return Err(wrong(1, cause.to_string())),
        }
        Ok(Models { confirmed: Arc::new(Confirmed::below(home)), ..Models::new(providers, env) })
    }

    /// Looks for servers on one's own machine where nothing else chooses a model, or one of them is named. Whoever
    /// asks for a model then waits for them, at most so long and once for each; see [`super::local::WITHIN`].
    #[must_use]
    pub fn looking(mut self, within: Duration) -> Models {
        self.local = Some(Arc::new(Around::new(within)));
        self
    }

    fn new(providers: Vec<Provider>, env: &dyn Fn(&str) -> Option<String>) -> Models {
        let doors = providers.into_iter().map(|provider| Door::new(provider, env)).collect();
        Models {
            doors: Arc::new(doors),
            own: Arc::default(),
            only: None,
            confirmed: Arc::default(),
            local: None,
            made: Arc::default(),
            http: Arc::default(),
            governors: Arc::new(Governors::new(PATIENCE)),
            settings: Settings::default(),
        }
    }

    /// Adds a model under its own id; it goes before a provider's.
    #[must_use]
    pub fn with(mut self, model: Arc<dyn Model>) -> Models {
        let mut own = (*self.own).clone();
        own.insert(model.id().clone(), model);
        self.own = Arc::new(own);
        self
    }

    /// Lets this model answer whatever model is asked for, so that nothing else is ever reached.
    #[must_use]
    pub fn only(self, model: Arc<dyn Model>) -> Models {
        Models { only: Some(model), ..self }
    }

    /// Sends what is meant for a provider to another address. One without a path gets the path that the provider has
    /// at home, so that `http://127.0.0.1:8000` finds the same door as `http://127.0.0.1:8000/v1`.
    ///
    /// # Errors
    /// [`NoModel::UnknownProvider`], [`NoModel::BadUrl`].
    pub fn with_base_url(mut self, provider: &str, url: &str) -> Result<Models, NoModel> {
        let mut doors = (*self.doors).clone();
        let Some(door) = doors.iter_mut().find(|door| door.provider.id == provider) else {
            return Err(self.unknown(provider));
        };
        door.go_to(url)?;
        self.doors = Arc::new(doors);
        self.local = self.local.map(|around| Arc::new(Around::new(around.within)));
        self.made = Arc::default();
        Ok(self)
    }

    /// Waits longer or shorter for answers.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Models {
        self.http = Arc::new(Http::new(timeouts));
        self.made = Arc::default();
        self
    }

    /// Asks every model in this way.
    #[must_use]
    pub fn with_settings(mut self, settings: Settings) -> Models {
        self.settings = settings;
        self.made = Arc::default();
        self
    }

    /// Waits up to so long when a provider asks for it; two minutes otherwise.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Models {
        self.governors = Arc::new(Governors::new(patience));
        self.made = Arc::default();
        self
    }

    /// How hard models think where nobody says otherwise.
    pub fn effort(&self) -> Option<Effort> {
        self.settings.effort
    }

    /// Whether the catalogue knows how to ask a model for this much thinking.
    pub fn knows_effort(&self, id: &ModelId, effort: Effort) -> bool {
        self.door(&id.provider).is_ok_and(|door| door.provider.effort(&id.model, effort).is_some())
    }

    /// The providers in order of preference.
    pub fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.doors.iter().map(|door| &door.provider)
    }

    /// One of them.
    ///
    /// # Errors
    /// [`NoModel::UnknownProvider`].
    pub fn provider(&self, id: &str) -> Result<&Provider, NoModel> {
        self.door(id).map(|door| &door.provider)
    }

    /// The variable a provider's key was found in, if one was found.
    pub fn key_variable(&self, provider: &str) -> Option<&str> {
        match &self.door(provider).ok()?.key {
            Key::Ready { variable, .. } | Key::Unfit { variable } => Some(variable),
            Key::Missing => None,
        }
    }

    /// What must not be said, with names: keys, and headers that carry one.
    pub fn secrets(&self) -> Vec<(String, String)> {
        self.doors.iter().flat_map(Door::secrets).collect()
    }

    /// Answers the model, connected to nothing yet. The same id gives the same instance.
    ///
    /// # Errors
    /// Every [`NoModel`] but [`NoModel::NotAModel`].
    pub fn get(&self, id: &ModelId) -> Result<Arc<dyn Model>, NoModel> {
        self.thinking(id, None)
    }

    /// The same, asked for this much thinking instead of what the settings say, where it is known how.
    ///
    /// # Errors
    /// As [`Models::get`].
    pub fn thinking(&self, id: &ModelId, effort: Option<Effort>) -> Result<Arc<dyn Model>, NoModel> {
        if let Some(own) = self.only.as_ref().or_else(|| self.own.get(id)) {
            return Ok(own.clone());
        }
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (id.clone(), effort);
        if let Some(model) = made.get(&key) {
            return Ok(model.clone());
        }
        let model = match id.provider.as_str() {
            "pilot" => Arc::new(Pilot::new()),
            "scripted" => self.scripted(&id.model)?,
            provider => {
                let door = self.door(provider)?;
                let figures = self.figures(door, &id.model);
                let near = if figures.id.is_empty() { self.near(door, &id.model) } else { Vec::new() };
                let known = Known { id: id.clone(), figures, near };
                let settings = Settings { effort: effort.or(self.settings.effort), ..self.settings };
                door.open(known, &self.http, &self.governors, &settings)?
            }
        };
        made.insert(key, model.clone());
        Ok(model)
    }

    /// Makes ready what the first call of a model would else wait for: for a provider outside, the system's
    /// certificates are read. Blocks meanwhile, asks nobody anything, and leaves every fault to the call.
    pub fn warm(&self, id: &ModelId) {
        let replaced = self.only.is_some() || self.own.contains_key(id);
        if !replaced && let Ok(Door { base_url: Ok(url), .. }) = self.door(&id.provider) {
            // The call makes the client again and says why it cannot.
            let _ = self.http.client(url);
        }
    }

    /// Context window of a model in tokens; a careful guess for one that is not listed.
    pub fn window(&self, id: &ModelId) -> u64 {
        if id.provider == "pilot" {
            return NO_WINDOW;
        }
        self.door(&id.provider).map_or(UNKNOWN_WINDOW, |door| door.window(&self.figures(door, &id.model)))
    }

    /// What a model costs; `None` when nobody knows. The pilot is none and costs nothing.
    pub fn price(&self, id: &ModelId) -> Option<Price> {
        if id.provider == "pilot" {
            return Some(Price::free());
        }
        self.door(&id.provider).ok().and_then(|door| door.price(&self.figures(door, &id.model)))
    }

    /// What is known of a model. What its provider confirmed goes before what is written.
    pub(super) fn figures(&self, door: &Door, model: &str) -> KnownModel {
        let mut known = door.provider.model(model).cloned().unwrap_or_default();
        let listing = self.listing(door);
        let Some(listed) = listing.as_ref().and_then(|listing| listing.model(model)) else { return known };
        known.id.clone_from(&listed.id);
        known.window = listed.window.or(known.window);
        known.max_out = listed.max_out.or(known.max_out);
        known.images = listed.images.or(known.images);
        // A list tells no price of long inputs; where the rest is the same, what is written says more.
        let same = |a: &Price, b: &Price| (a.input, a.output) == (b.input, b.output);
        if !matches!((&known.price, &listed.price), (Some(known), Some(listed)) if same(known, listed)) {
            known.price = listed.price.clone().or(known.price);
        }
        known
    }

    /// What a provider told of its models within a day.
    pub(super) fn listing(&self, door: &Door) -> Option<Arc<Listing>> {
        self.confirmed.of(&door.provider.id, &door.at())
    }

    fn scripted(&self, path: &str) -> Result<Arc<dyn Model>, NoModel> {
        match Scripted::from_file(Path::new(path)) {
            Ok(scripted) => Ok(Arc::new(scripted)),
            Err(e) => Err(NoModel::Script(e.to_string())),
        }
    }

    pub(super) fn door(&self, provider: &str) -> Result<&Door, NoModel> {
        self.doors.iter().find(|door| door.provider.id == provider).ok_or_else(|| self.unknown(provider))
    }

    fn unknown(&self, provider: &str) -> NoModel {
        let mut known: Vec<&str> = self.providers().map(|p| p.id.as_str()).collect();
        known.extend(["pilot", "scripted"]);
        let nearest = entry::nearest(provider, known.iter().copied());
        let nearest = nearest.map_or_else(String::new, |name| format!(" (did you mean {name}?)"));
        NoModel::UnknownProvider { provider: provider.to_owned(), nearest, known: known.join(", ") }
    }
}

fn built_in() -> Result<Vec<Provider>, NoModel> {
    entry::built_in().map_err(|what| NoModel::Broken(format!("the built-in list of models: {what}")))
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own: Vec<String> = self.own.keys().map(ModelId::to_string).collect();
        f.debug_struct("Models").field("doors", &self.doors).field("own", &own).finish()
    }
}
