//! The catalogue as it is shown: every provider with its models, what is known of each and whether the provider itself
//! said so; and how what is known is compared with what providers say today.

use std::time::Duration;

use futures_util::future::join_all;
use jiff::Timestamp;
use jiff::civil::Date;
use secrecy::ExposeSecret;

use super::catalog::{Choice, Models, NoModel};
use super::choice::Standing;
use super::confirmed::Listing;
use super::door::{Door, Key};
use super::fault;
use super::listing::{Listed, NoList};
use super::price::Price;
use super::provider::Lists;

/// How long one provider may take to tell its models.
const WITHIN: Duration = Duration::from_secs(10);

/// A provider and its models.
#[derive(Debug, Clone, PartialEq)]
pub struct Shelf {
    /// Whether it can be used and why it was or was not taken.
    pub standing: Standing,
    /// Where it is.
    pub base_url: String,
    /// Variables that may hold its key.
    pub keys: Vec<String>,
    /// When it told its models, if it did within a day.
    pub listed: Option<Timestamp>,
    /// Its models: those that are written, then those that only it tells of.
    pub models: Vec<Shown>,
}

/// A model as it is shown. What is not known is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// The provider's own id.
    pub id: String,
    /// It is the one that answers.
    pub chosen: bool,
    /// Context window in tokens.
    pub window: Option<u64>,
    /// Most output tokens.
    pub max_out: Option<u64>,
    /// It sees pictures.
    pub images: Option<bool>,
    /// It calls tools by itself.
    pub tools: Option<bool>,
    /// What it costs.
    pub price: Option<Price>,
    /// Its provider lists it, or does not; `None` when it was not asked within a day.
    pub confirmed: Option<bool>,
    /// Where its figures come from; `None` when from its provider alone.
    pub source: Option<String>,
    /// When they were read.
    pub date: Option<Date>,
}

/// What came of asking a provider for its models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refreshed {
    /// Which.
    pub provider: String,
    /// How its list differs from what is written, or why there is none.
    pub outcome: Result<Drift, String>,
}

/// How a provider's list differs from what is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drift {
    /// Models in its list.
    pub listed: usize,
    /// Of them, those that are not written.
    pub new: usize,
    /// Models that are written and no longer in its list.
    pub gone: Vec<String>,
    /// Windows that differ: model, as written, as listed.
    pub windows: Vec<(String, u64, u64)>,
    /// The list could not be kept for later, and why.
    pub not_kept: Option<String>,
}

impl Models {
    /// Every provider with its models, in order of preference.
    pub fn shelves(&self, choice: &Choice) -> Vec<Shelf> {
        let standings = self.standings(choice);
        let each = self.doors.iter().zip(standings).map(|(door, standing)| {
            let listing = self.listing(door);
            let written = door.provider.models.iter().map(|model| model.id.as_str());
            let told = listing.iter().flat_map(|listing| listing.models.iter().map(|model| model.id.as_str()));
            let mut ids: Vec<&str> = Vec::new();
            let strange = [choice.id.model.as_str()].into_iter().filter(|_| standing.chosen);
            for id in written.chain(told).chain(strange) {
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
            Shelf {
                base_url: door.at(),
                keys: door.provider.keys.clone(),
                listed: listing.as_ref().map(|listing| listing.at),
                models: ids
                    .into_iter()
                    .map(|id| {
                        let chosen = standing.chosen && id == choice.id.model;
                        Shown { chosen, ..self.shown(door, listing.as_deref(), id) }
                    })
                    .collect(),
                standing,
            }
        });
        each.collect()
    }

    fn shown(&self, door: &Door, listing: Option<&Listing>, id: &str) -> Shown {
        let written = door.provider.model(id);
        let known = self.figures(door, id);
        Shown {
            id: id.to_owned(),
            chosen: false,
            window: known.window.map(|_| door.window(&known)),
            max_out: known.max_out,
            images: known.images,
            tools: known.tools,
            price: known.price.clone(),
            confirmed: listing.map(|listing| listing.model(id).is_some()),
            source: written.and_then(|model| model.source.clone().or_else(|| door.provider.source.clone())),
            date: written.and_then(|model| model.date.or(door.provider.date)),
        }
    }

    /// Asks every provider that can be used, or one, for its models, all at once, and keeps what they say for a day.
    ///
    /// # Errors
    /// [`NoModel::UnknownProvider`]. What a single provider refuses is in its own outcome.
    pub async fn refresh(&self, only: Option<&str>) -> Result<Vec<Refreshed>, NoModel> {
        if let Some(only) = only {
            self.door(only)?;
        }
        let meant = self.doors.iter().filter(|door| match only {
            Some(only) => door.provider.id == only,
            None => door.provider.list != Lists::None && (matches!(door.key, Key::Ready { .. }) || door.is_open()),
        });
        let each = meant.map(async |door| {
            let outcome = match door.asked(&self.http) {
                Ok(asked) => asked.list(WITHIN).await.map_err(|error| told(door, &error)),
                Err(error) => Err(error.to_string()),
            };
            let outcome = outcome.map(|models| self.keep(door, models));
            Refreshed { provider: door.provider.id.clone(), outcome }
        });
        Ok(join_all(each).await)
    }

    fn keep(&self, door: &Door, models: Vec<Listed>) -> Drift {
        let provider = &door.provider;
        let listing = self.confirmed.note(&provider.id, Listing::new(&door.at(), models));
        let not_kept = self.confirmed.keep(&provider.id, &listing).err().map(|error| error.to_string());
        let differs = provider.models.iter().filter_map(|model| {
            let (written, listed) = (model.window?, listing.model(&model.id)?.window?);
            (written != listed).then(|| (model.id.clone(), written, listed))
        });
        let gone = provider.models.iter().filter(|model| listing.model(&model.id).is_none());
        Drift {
            listed: listing.models.len(),
            new: listing.models.iter().filter(|model| provider.model(&model.id).is_none()).count(),
            gone: gone.map(|model| model.id.clone()).collect(),
            windows: differs.collect(),
            not_kept,
        }
    }
}

/// Why there is no list, without a key in it.
fn told(door: &Door, error: &NoList) -> String {
    let at = door.at();
    let (said, refused) = match error {
        NoList::Silent(why) => (format!("{at}: {why}"), false),
        NoList::Refused(why) => (format!("{at} {why}"), true),
    };
    match &door.key {
        Key::Ready { variable, secret } => {
            let said = fault::without(secret.expose_secret(), &said);
            let denied = refused && (said.contains("answered 401") || said.contains("answered 403"));
            if denied { format!("{said}; check the key in {variable}") } else { said }
        }
        Key::Missing | Key::Unfit { .. } => said,
    }
}
