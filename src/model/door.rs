//! A provider with what the environment adds to it, address and key, and how one of its models is made from that.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use url::{Host, Url};

use super::anthropic::Anthropic;
use super::catalog::{NoModel, Settings};
use super::chat::Chat;
use super::encoded::Encoded;
use super::gemini::{self, Gemini};
use super::governor::Governors;
use super::http::{Endpoint, Http};
use super::line::{Breaks, Figures, Line, Spoken};
use super::listing::Asked;
use super::ollama::{self, Ollama};
use super::price::Price;
use super::provider::{KnownModel, Provider, Wire};
use super::react::{Protocol, React};
use super::responses::Responses;
use super::retry::Retry;
use super::{Model, ModelId};

/// Context window, in tokens, of a model that nobody knows.
pub(super) const UNKNOWN_WINDOW: u64 = 128_000;

/// Ends of addresses that are copied from an example of a call, not from the line that names the server.
const TAILS: [&str; 7] =
    ["/chat/completions", "/completions", "/responses", "/v1/messages", "/messages", "/models", "/api/chat"];

/// A provider within reach, or with the reason why it is not.
#[derive(Debug, Clone)]
pub(super) struct Door {
    pub(super) provider: Provider,
    pub(super) base_url: Result<Url, NoModel>,
    pub(super) key: Key,
    /// A variable that chooses the model, and what it says.
    pub(super) model: Option<(String, String)>,
    /// What was made of the address as it was written, for a person.
    pub(super) note: Option<String>,
}

/// What is known of a model, and names that are like its own when it is not known.
pub(super) struct Known {
    pub(super) id: ModelId,
    pub(super) figures: KnownModel,
    pub(super) near: Vec<String>,
}

#[derive(Debug, Clone)]
pub(super) enum Key {
    Missing,
    Unfit { variable: String },
    Ready { variable: String, secret: SecretString },
}

impl Door {
    pub(super) fn new(mut provider: Provider, env: &dyn Fn(&str) -> Option<String>) -> Door {
        let said = |variable: &str| env(variable).filter(|text| !text.trim().is_empty());
        if let (Wire::Gemini, Some(version)) = (provider.wire, said(gemini::VERSION)) {
            gemini::set_version(&mut provider.base_url, version.trim());
        }
        let url = said(&provider.base_url_variable());
        let (base_url, note) = match read_url(&provider, url.as_deref().unwrap_or(&provider.base_url)) {
            Ok((url, note)) => (Ok(url), note),
            Err(error) => (Err(error), None),
        };
        // What a shell or an editor leaves around a key is not part of it.
        let trimmed = |key: String| key.trim().to_owned();
        let found =
            provider.keys.iter().find_map(|variable| said(variable).map(|key| (variable.clone(), trimmed(key))));
        let key = match found {
            None => Key::Missing,
            Some((variable, key)) if key.chars().all(|c| c.is_ascii_graphic()) => {
                Key::Ready { variable, secret: key.into() }
            }
            Some((variable, _)) => Key::Unfit { variable },
        };
        let model = provider.model_variable();
        let model = said(&model).map(|id| (model, id.trim().to_owned()));
        Door { provider, base_url, key, model, note }
    }

    /// Moves to another address.
    pub(super) fn go_to(&mut self, url: &str) -> Result<(), NoModel> {
        let (url, note) = read_url(&self.provider, url)?;
        (self.base_url, self.note) = (Ok(url), note);
        Ok(())
    }

    /// The address, as a person writes it.
    pub(super) fn at(&self) -> String {
        let url = self.base_url.as_ref().map_or(self.provider.base_url.as_str(), Url::as_str);
        url.trim_end_matches('/').to_owned()
    }

    /// It answers without a key.
    pub(super) fn is_open(&self) -> bool {
        self.base_url.as_ref().is_ok_and(|base| !self.needs_key(base))
    }

    /// Context window of one of its models in tokens; a careful guess for one that nobody knows.
    pub(super) fn window(&self, figures: &KnownModel) -> u64 {
        let asked = self.provider.num_ctx;
        figures.window.map_or(asked.unwrap_or(UNKNOWN_WINDOW), |known| asked.map_or(known, |asked| asked.min(known)))
    }

    /// How it is asked for its models.
    pub(super) fn asked(&self, http: &Arc<Http>) -> Result<Asked, NoModel> {
        let mut base = self.base_url.clone()?;
        let (key, _) = self.key(&base)?;
        if self.provider.wire == Wire::Anthropic && !base.path().trim_end_matches('/').ends_with("/v1") {
            base.set_path(&format!("{}/v1", base.path().trim_end_matches('/')));
        }
        let mut headers = self.headers(key.as_ref())?;
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        Ok(Asked { http: http.clone(), base, headers, list: self.provider.list })
    }

    /// Makes a model; nothing is sent yet.
    pub(super) fn open(
        &self,
        known: Known,
        http: &Arc<Http>,
        governors: &Governors,
        settings: &Settings,
    ) -> Result<Arc<dyn Model>, NoModel> {
        let takes_tools = known.figures.tools.unwrap_or(true);
        let line = self.line(known, http, settings)?;
        let governor = governors.of(&line.endpoint.url, line.endpoint.key_variable.as_deref());
        let model: Arc<dyn Model> = match self.provider.wire {
            Wire::Anthropic => Arc::new(Spoken(Anthropic { line })),
            Wire::Responses => Arc::new(Spoken(Responses { line, unsummed: OnceLock::new() })),
            Wire::Chat => Arc::new(Spoken(Chat { line })),
            Wire::Gemini => Arc::new(Spoken(Gemini { line })),
            Wire::Ollama => Arc::new(Spoken(Ollama { line, thoughtless: AtomicBool::default() })),
        };
        let model = Arc::new(Retry::new(model).with_governor(governor));
        Ok(match settings.protocol {
            Protocol::Native => model,
            Protocol::Auto if takes_tools => Arc::new(React::when_refused(model)),
            Protocol::Auto | Protocol::React => Arc::new(React::new(model)),
        })
    }

    fn line(&self, known: Known, http: &Arc<Http>, settings: &Settings) -> Result<Line, NoModel> {
        let (id, figures) = (known.id, known.figures);
        let endpoint = Arc::new(self.endpoint(&id, known.near, http)?);
        let (window, price) = (self.window(&figures), self.price(&figures));
        let mut body = figures.body;
        if let Some(fields) = settings.effort.and_then(|effort| self.provider.effort(&id.model, effort)) {
            merge(&mut body, fields);
        }
        let takes_temperature = figures.temperature.unwrap_or(true);
        let images = figures.images.unwrap_or(true);
        let encoded = Encoded::of(&id, images);
        Ok(Line {
            id,
            endpoint,
            quirks: self.provider.quirks.clone(),
            figures: Figures { window, max_out: figures.max_out, price, images: figures.images.unwrap_or(true) },
            body,
            temperature: settings.temperature.filter(|_| takes_temperature),
            encoded,
            breaks: Breaks::default(),
        })
    }

    /// What nobody sells costs nothing.
    pub(super) fn price(&self, known: &KnownModel) -> Option<Price> {
        let price = known.price.clone().map(|price| price.at(self.provider.wire));
        price.or_else(|| self.provider.local.then(Price::free))
    }

    fn endpoint(&self, id: &ModelId, near: Vec<String>, http: &Arc<Http>) -> Result<Endpoint, NoModel> {
        let base = self.base_url.clone()?;
        let (key, key_variable) = self.key(&base)?;
        let headers = self.headers(key.as_ref())?;
        let provider = self.provider.id.clone();
        let model = &id.model;
        let (url, whole_url) = (self.url(base.clone(), model, true), self.url(base, model, false));
        let near = if near.is_empty() { String::new() } else { format!(" (near are {})", near.join(", ")) };
        let absent = match self.provider.wire {
            Wire::Ollama => format!("`ollama pull {model}` gets the model, if this is the right server"),
            // Most servers that are asked as openai at another address have only the older door.
            Wire::Responses => format!(
                "does it have the model {model}, is its base URL right, and does it speak Responses? if not, it is \
                 openai-chat/{model}{near}"
            ),
            Wire::Anthropic | Wire::Chat | Wire::Gemini => {
                format!("does it have the model {model}, and is its base URL right?{near}")
            }
        };
        Ok(Endpoint { http: http.clone(), provider, url, whole_url, headers, key, key_variable, absent })
    }

    /// What must not be said: the key under the name of its variable, and the values of headers that carry one.
    pub(super) fn secrets(&self) -> Vec<(String, String)> {
        let key = match &self.key {
            Key::Ready { variable, secret } => Some((variable.clone(), secret.expose_secret().to_owned())),
            Key::Missing | Key::Unfit { .. } => None,
        };
        let carries = |name: &str| ["auth", "key", "token", "secret"].iter().any(|word| name.contains(word));
        let headers = self.provider.headers.iter().filter(|(name, _)| carries(&name.to_ascii_lowercase()));
        let headers = headers.map(|(name, value)| (format!("{name} of {}", self.provider.id), value.clone()));
        key.into_iter().chain(headers).collect()
    }

    /// The key for an address and the variable it is in, both absent where none is needed.
    fn key(&self, base: &Url) -> Result<(Option<SecretString>, Option<String>), NoModel> {
        match &self.key {
            Key::Missing if self.needs_key(base) => {
                let variable = self.provider.keys.join(" or ");
                Err(NoModel::MissingKey { provider: self.provider.id.clone(), variable })
            }
            Key::Missing => Ok((None, None)),
            Key::Unfit { variable } => Err(NoModel::UnfitKey { variable: variable.clone() }),
            Key::Ready { variable, secret } => Ok((Some(secret.clone()), Some(variable.clone()))),
        }
    }

    /// Nobody has keys for a server on this machine, nor for one that is at home on such a machine.
    fn needs_key(&self, base: &Url) -> bool {
        !is_loopback(base) && !Url::parse(&self.provider.base_url).is_ok_and(|home| is_loopback(&home))
    }

    fn headers(&self, key: Option<&SecretString>) -> Result<HeaderMap, NoModel> {
        let broken = |name: &str| NoModel::Broken(format!("header {name} of {} cannot be sent", self.provider.id));
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let mut insert = |name: &str, value: &str| {
            let header = HeaderName::try_from(name).map_err(|_| broken(name))?;
            let mut value = HeaderValue::try_from(value).map_err(|_| broken(name))?;
            value.set_sensitive(true);
            headers.insert(header, value);
            Ok(())
        };
        for (name, value) in &self.provider.headers {
            insert(name, value)?;
        }
        let key = key.map(|key| key.expose_secret());
        match self.provider.wire {
            Wire::Anthropic => {
                insert("anthropic-version", "2023-06-01")?;
                key.map_or(Ok(()), |key| insert("x-api-key", key))?;
            }
            Wire::Responses | Wire::Chat | Wire::Ollama => {
                key.map_or(Ok(()), |key| insert("authorization", &format!("Bearer {key}")))?;
            }
            Wire::Gemini => key.map_or(Ok(()), |key| insert("x-goog-api-key", key))?,
        }
        Ok(headers)
    }

    fn url(&self, mut base: Url, model: &str, streamed: bool) -> Url {
        let path = base.path().trim_end_matches('/').to_owned();
        let end = match self.provider.wire {
            Wire::Anthropic if path.ends_with("/v1") => "/messages",
            Wire::Anthropic => "/v1/messages",
            Wire::Responses => "/responses",
            Wire::Chat => "/chat/completions",
            Wire::Gemini => return gemini::url(base, model, streamed),
            Wire::Ollama => return ollama::url(base),
        };
        base.set_path(&format!("{path}{end}"));
        base
    }
}

/// Adds fields to an object; where both have one that is an object, the two are joined.
fn merge(into: &mut Map<String, Value>, fields: &Map<String, Value>) {
    for (name, value) in fields {
        match (into.get_mut(name), value) {
            (Some(Value::Object(inner)), Value::Object(more)) => merge(inner, more),
            _ => {
                into.insert(name.clone(), value.clone());
            }
        }
    }
}

/// The address names this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// Reads a base URL as a person writes it; one without a path gets the provider's own. What belongs to one call only is
/// cut off its end, and that is said.
fn read_url(provider: &Provider, text: &str) -> Result<(Url, Option<String>), NoModel> {
    let bad = |why: &str| NoModel::BadUrl { provider: provider.id.clone(), url: text.to_owned(), why: why.to_owned() };
    let written = text.trim().trim_end_matches('/');
    if !written.starts_with("http://") && !written.starts_with("https://") {
        return Err(bad("does not begin with http:// or https://"));
    }
    let mut url = Url::parse(written).map_err(|e| bad(&format!("cannot be read ({e})")))?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(bad("has a query or a fragment"));
    }
    let tail = TAILS.iter().find_map(|tail| url.path().strip_suffix(tail).map(|path| (*tail, path.to_owned())));
    let note = tail.map(|(tail, path)| {
        url.set_path(&path);
        format!("base URL {written} of {}: {tail} cut off, for it is added to each call", provider.id)
    });
    if url.path() == "/"
        && let Ok(home) = Url::parse(&provider.base_url)
    {
        url.set_path(home.path());
    }
    Ok((url, note))
}
