//! Which model is meant, and why each provider was or was not taken. Nothing here asks a provider over the network but
//! `look`, for servers on one's own machine.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use super::catalog::{Choice, Models, NoModel};
use super::confirmed::Listing;
use super::door::{Door, Key};
use super::http::Http;
use super::listing::Asked;
use super::local::{self, Found};
use super::{ModelId, entry};

/// Most names that are offered for one that is not known.
const OFFERED: usize = 3;

/// Why a provider was or was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The provider's id.
    pub provider: String,
    /// For people.
    pub name: String,
    /// It could answer.
    pub usable: bool,
    /// It is the one that answers.
    pub chosen: bool,
    /// One line for a person.
    pub why: String,
}

impl Models {
    /// The model to use, first hit wins: what the command line says, what the configuration says, the first provider
    /// with a key in the environment, a server on this machine if they are looked for (see [`Models::looking`]), the
    /// pilot. Whether it can be had is told by [`Models::get`].
    ///
    /// # Errors
    /// What [`Models::read`] says of the first that is given.
    pub fn choose(&self, flag: Option<&str>, config: Option<&str>) -> Result<Choice, NoModel> {
        let named = flag.map(|text| (text, "named on the command line"));
        if let Some((text, why)) = named.or(config.map(|text| (text, "named in the configuration"))) {
            let id = self.read(text)?;
            // A server on this machine knows best how long the context is that it was started with.
            self.look(Some(&id.provider));
            return Ok(Choice { id, why: why.to_owned() });
        }
        if let Some((door, variable)) = self.keyed()
            && let Some((model, also)) = self.preferred(door)
        {
            return Ok(Choice { id: of(door, &model), why: format!("{variable} is set{also}") });
        }
        for (provider, found) in self.look(None) {
            let door = self.door(&provider)?;
            if let Found::Model(model) = found {
                let (model, also) = door.model.as_ref().map_or_else(
                    || (model, String::new()),
                    |(variable, id)| (id.clone(), format!(", {variable} is set")),
                );
                let why = format!("no key in the environment; {} answers at {}{also}", door.provider.name, door.at());
                return Ok(Choice { id: of(door, &model), why });
            }
        }
        let nor = if self.looks() { " and no server on this machine" } else { "" };
        let why = format!("no key in the environment{nor}; the pilot is built in and no language model");
        Ok(Choice { id: pilot(), why })
    }

    /// Reads what a person writes: `provider/model`, only a provider (the model that it prefers, or has loaded), or
    /// only a listed model.
    ///
    /// # Errors
    /// [`NoModel::NotAModel`], [`NoModel::NoDefault`], [`NoModel::UnknownProvider`].
    pub fn read(&self, text: &str) -> Result<ModelId, NoModel> {
        let text = text.trim();
        if let Some(only) = &self.only {
            return Ok(only.id().clone());
        }
        if text == "pilot" {
            return Ok(pilot());
        }
        if let Some(id) = ModelId::parse(text) {
            let known = self.own.contains_key(&id) || ["pilot", "scripted"].contains(&id.provider.as_str());
            return if known { Ok(id) } else { self.door(&id.provider).map(|_| id) };
        }
        if let Ok(door) = self.door(text) {
            return self.named(door);
        }
        match self.providers().find(|provider| provider.model(text).is_some()) {
            Some(provider) => Ok(ModelId { provider: provider.id.clone(), model: text.to_owned() }),
            None => Err(NoModel::NotAModel(text.to_owned())),
        }
    }

    /// The provider that a text names, also when its model is not known yet.
    pub fn provider_of(&self, text: &str) -> Option<String> {
        let text = text.trim();
        if self.door(text).is_ok() {
            return Some(text.to_owned());
        }
        match ModelId::parse(text) {
            Some(id) => self.read(text).ok().map(|_| id.provider),
            None => self.providers().find(|provider| provider.model(text).is_some()).map(|one| one.id.clone()),
        }
    }

    /// The provider that a key in the environment chooses, if there is one.
    pub fn by_key(&self) -> Option<String> {
        self.keyed().map(|(door, _)| door.provider.id.clone())
    }

    /// Why each provider was or was not taken, in order of preference.
    pub fn standings(&self, choice: &Choice) -> Vec<Standing> {
        let around: BTreeMap<String, Found> = self.look(None).into_iter().collect();
        let each = self.doors.iter().map(|door| {
            let provider = &door.provider;
            let chosen = provider.id == choice.id.provider;
            let (usable, why) = match &door.base_url {
                Err(error) => (false, error.to_string()),
                Ok(_) if chosen => (true, choice.why.clone()),
                Ok(_) => self.standing(door, around.get(&provider.id), choice),
            };
            Standing { provider: provider.id.clone(), name: provider.name.clone(), usable, chosen, why }
        });
        each.collect()
    }

    /// What to say about a model that its provider may not have; `None` when nothing speaks against it. New models
    /// come every day, so a name that is like no other is let be until the provider itself is heard.
    pub fn doubt(&self, id: &ModelId) -> Option<String> {
        let door = self.door(&id.provider).ok()?;
        let listing = self.listing(door);
        let known = door.provider.model(&id.model).is_some();
        if known || listing.as_ref().is_some_and(|listing| listing.model(&id.model).is_some()) {
            return None;
        }
        let near = self.near(door, &id.model);
        match listing {
            Some(_) if near.is_empty() => Some(format!("{} lists no model {}", id.provider, id.model)),
            Some(_) => Some(format!("{} lists no model {}; near are {}", id.provider, id.model, near.join(", "))),
            None if near.is_empty() => None,
            None => Some(format!("{} is in no list of {}; near are {}", id.model, id.provider, near.join(", "))),
        }
    }

    /// What a person should know about addresses and servers on this machine, one line each.
    pub fn notes(&self) -> Vec<String> {
        let addresses = self.doors.iter().filter_map(|door| door.note.clone());
        let seen = self.local.as_ref().map(|around| around.seen.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let empty = seen.into_iter().flatten().filter_map(|(_, found)| match found {
            Found::NoModel(what) => Some(what),
            Found::Nothing(_) | Found::Model(_) => None,
        });
        addresses.chain(empty).collect()
    }

    /// The known names that are most like one that is not.
    pub(super) fn near(&self, door: &Door, model: &str) -> Vec<String> {
        let listing = self.listing(door);
        let listed = listing.iter().flat_map(|listing| listing.models.iter().map(|model| model.id.as_str()));
        let known = door.provider.models.iter().map(|model| model.id.as_str()).chain(listed);
        entry::near(model, known, OFFERED).into_iter().map(str::to_owned).collect()
    }

    /// The first provider with a key, and the variable that holds it. A key that cannot be sent chooses too: whoever
    /// set it wants to hear of it.
    fn keyed(&self) -> Option<(&Door, &str)> {
        self.doors.iter().find_map(|door| match &door.key {
            Key::Ready { variable, .. } | Key::Unfit { variable } => Some((door, variable.as_str())),
            Key::Missing => None,
        })
    }

    /// The model of a provider that only was named.
    fn named(&self, door: &Door) -> Result<ModelId, NoModel> {
        if let Some((model, _)) = self.preferred(door) {
            return Ok(of(door, &model));
        }
        let provider = door.provider.id.clone();
        match self.look(Some(&provider)).pop() {
            Some((_, Found::Model(model))) => Ok(of(door, &model)),
            Some((_, Found::NoModel(what) | Found::Nothing(what))) => {
                Err(NoModel::NoDefault { provider, why: format!(" ({what})") })
            }
            None => Err(NoModel::NoDefault { provider, why: String::new() }),
        }
    }

    /// The model when only the provider is named: its variable's, or the first of its list that it confirmed.
    fn preferred(&self, door: &Door) -> Option<(String, String)> {
        if let Some((variable, id)) = &door.model {
            return Some((id.clone(), format!(", {variable} too")));
        }
        let wished = &door.provider.prefer;
        let first = wished.first()?;
        let Some(listing) = self.listing(door) else { return Some((first.clone(), String::new())) };
        let confirmed = wished.iter().find(|id| listing.model(id).is_some());
        let (id, also) = match confirmed {
            Some(id) if id == first => (id, String::new()),
            Some(id) => (id, format!(", and it no longer lists {first}")),
            None => (first, String::new()),
        };
        Some((id.clone(), also))
    }

    fn standing(&self, door: &Door, found: Option<&Found>, choice: &Choice) -> (bool, String) {
        let first = format!("{} goes before it", choice.id);
        match (&door.key, found) {
            (_, Some(Found::Model(model))) => (true, format!("answers at {} with {model}; {first}", door.at())),
            (_, Some(Found::NoModel(what) | Found::Nothing(what))) => (false, what.clone()),
            (Key::Ready { variable, .. }, None) => (true, format!("{variable} is set; {first}")),
            (Key::Unfit { variable }, None) => (false, NoModel::UnfitKey { variable: variable.clone() }.to_string()),
            (Key::Missing, None) if door.provider.local => (false, "not looked for".to_owned()),
            (Key::Missing, None) if door.is_open() => (true, format!("needs no key at {}; {first}", door.at())),
            (Key::Missing, None) => (false, format!("{} is not set", door.provider.keys.join(" or "))),
        }
    }

    /// What is found at the addresses of servers on one's own machine, all of them or one. Each is asked once.
    fn look(&self, only: Option<&str>) -> Vec<(String, Found)> {
        let Some(around) = &self.local else { return Vec::new() };
        let mut seen = around.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let meant = |door: &&Door| door.provider.local && only.is_none_or(|only| door.provider.id == only);
        let unseen = self.doors.iter().filter(meant).filter(|door| !seen.contains_key(&door.provider.id));
        // Connections of its own: those that are made here end with the runtime in which they are made.
        let http = Arc::new(Http::default());
        let (doors, asked): (Vec<&Door>, Vec<Asked>) =
            unseen.filter_map(|door| door.asked(&http).ok().map(|asked| (door, asked))).unzip();
        for (door, answer) in doors.into_iter().zip(local::look(asked, around.within)) {
            let provider = &door.provider;
            seen.insert(provider.id.clone(), local::read(provider, &door.at(), &answer));
            if let Ok(models) = answer {
                self.confirmed.note(&provider.id, Listing::new(&door.at(), models));
            }
        }
        let order = self.doors.iter().filter(meant).map(|door| door.provider.id.clone());
        order.filter_map(|id| seen.get(&id).cloned().map(|found| (id, found))).collect()
    }

    fn looks(&self) -> bool {
        self.local.is_some()
    }
}

fn of(door: &Door, model: &str) -> ModelId {
    ModelId { provider: door.provider.id.clone(), model: model.to_owned() }
}

fn pilot() -> ModelId {
    ModelId { provider: "pilot".to_owned(), model: "pilot".to_owned() }
}
