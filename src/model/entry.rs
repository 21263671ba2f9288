//! The catalogue as it is written: entries of the built-in list and of a person's own file, and how one entry is laid
//! over what is known already. What the entries mean is in `provider`.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::{Map, Value};
use url::Url;

use super::provider::{Efforts, KnownModel, Lists, Provider, Quirks, Wire};

/// The built-in list: defaults/models.yaml as JSON, for every start reads it, and YAML takes more than ten times as long.
/// Whoever changes that file has this one made from it; a test holds the two together and says how.
const BUILT_IN: &str = include_str!("catalog.json");
/// Names that are no provider's.
const TAKEN: [&str; 2] = ["pilot", "scripted"];
/// Most letters that a wrong name may be off for another to be offered.
const NEAR: usize = 3;
/// Most letters of a wrong name that are compared.
const MAX_NAME: usize = 200;

/// What is wrong with a file of entries.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// From 1.
    pub(super) line: usize,
    /// One sentence that names the entry or the field.
    pub(super) what: String,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    providers: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    name: Option<String>,
    wire: Option<Wire>,
    base_url: Option<String>,
    prefix: Option<String>,
    keys: Option<Vec<String>>,
    prefer: Option<Vec<String>>,
    local: Option<bool>,
    num_ctx: Option<u64>,
    list: Option<Lists>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    quirks: Written,
    effort: Option<Efforts>,
    source: Option<String>,
    date: Option<Date>,
    like: Option<String>,
    #[serde(default)]
    models: Vec<KnownModel>,
}

/// Quirks as far as they are written; each is checked where it stands.
#[derive(Default)]
struct Written(Map<String, Value>);

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Written, D::Error> {
        let map = Map::deserialize(from)?;
        serde_json::from_value::<Quirks>(Value::Object(map.clone())).map_err(D::Error::custom)?;
        Ok(Written(map))
    }
}

/// The providers that are built in, in order of preference.
pub(super) fn built_in() -> Result<Vec<Provider>, String> {
    let file: File = serde_json::from_str(BUILT_IN).map_err(|error| error.to_string())?;
    let mut providers = Vec::with_capacity(file.providers.len());
    lay(&mut providers, file).map_err(|(id, what)| format!("provider {id}: {what}"))?;
    Ok(providers)
}

/// Lays the entries of a person's file over the providers that are known.
pub(super) fn add(providers: &mut Vec<Provider>, text: &str) -> Result<(), Wrong> {
    let file: Option<File> = serde_yaml::from_str(text).map_err(|error| unreadable(text, &error))?;
    let wrong = |(id, what): Fault| Wrong { line: line_of(text, &id), what: format!("provider {id}: {what}") };
    lay(providers, file.unwrap_or_default()).map_err(wrong)
}

/// The id of an entry and what is wrong with it.
type Fault = (String, String);

fn lay(providers: &mut Vec<Provider>, file: File) -> Result<(), Fault> {
    let mut seen = Vec::with_capacity(file.providers.len());
    for entry in file.providers {
        let id = entry.id.clone();
        let wrong = |what: String| (id.clone(), what);
        if seen.contains(&id) {
            return Err(wrong("is written twice".to_owned()));
        }
        entry.check().map_err(wrong)?;
        let made = match providers.iter().find(|known| known.id == id) {
            Some(known) => known.clone(),
            None => entry.begin(providers).map_err(wrong)?,
        };
        let made = entry.over(made).map_err(wrong)?;
        match providers.iter_mut().find(|known| known.id == id) {
            Some(known) => *known = made,
            None => providers.push(made),
        }
        seen.push(id);
    }
    Ok(())
}

impl Entry {
    fn check(&self) -> Result<(), String> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        if self.id.is_empty() || !self.id.chars().all(fits) {
            return Err("an id is of small letters, digits, - _ and .".to_owned());
        }
        if TAKEN.contains(&self.id.as_str()) {
            return Err("that id is taken".to_owned());
        }
        if let Some(url) = &self.base_url {
            let there = Url::parse(url).is_ok_and(|url| url.scheme().starts_with("http"));
            if !there || url.ends_with('/') {
                return Err(format!("base_url {url} is not like https://host/v1, without a slash at its end"));
            }
        }
        for (at, model) in self.models.iter().enumerate() {
            let wrong = |what: &str| format!("model {}: {what}", model.id);
            if model.id.trim().is_empty() || self.models[..at].iter().any(|other| other.id == model.id) {
                return Err(wrong("is written twice, or has no id"));
            }
            if model.window.is_some_and(|window| window < 1024) {
                return Err(wrong("a window is in tokens, 1024 at least"));
            }
            if model.max_out == Some(0) {
                return Err(wrong("max_out is in tokens, 1 at least"));
            }
            if model.price.as_ref().is_some_and(|price| !price.is_sane()) {
                return Err(wrong("a price is in US dollars per million tokens, from 0 to 10000"));
            }
        }
        Ok(())
    }

    /// A provider that is not known yet: what it must have, and what it takes from another.
    fn begin(&self, providers: &[Provider]) -> Result<Provider, String> {
        let missing = |field: &str| format!("is new and needs {field}");
        let wire = self.wire.ok_or_else(|| missing("wire (anthropic, responses, chat, gemini or ollama)"))?;
        let base_url = self.base_url.clone().ok_or_else(|| missing("base_url"))?;
        let models = match &self.like {
            None => Vec::new(),
            Some(like) => alike(providers, like, wire)?,
        };
        Ok(Provider {
            name: self.id.clone(),
            prefix: self.id.to_uppercase().replace(['-', '.'], "_"),
            id: self.id.clone(),
            wire,
            base_url,
            keys: Vec::new(),
            prefer: Vec::new(),
            local: false,
            num_ctx: None,
            list: Lists::Models,
            headers: BTreeMap::new(),
            quirks: Quirks::default(),
            effort: Efforts::new(),
            source: None,
            date: None,
            models,
        })
    }

    fn over(self, mut made: Provider) -> Result<Provider, String> {
        made.wire = self.wire.unwrap_or(made.wire);
        put(&mut made.name, self.name);
        put(&mut made.base_url, self.base_url);
        put(&mut made.prefix, self.prefix);
        put(&mut made.keys, self.keys);
        put(&mut made.prefer, self.prefer);
        put(&mut made.local, self.local);
        put(&mut made.list, self.list);
        put(&mut made.effort, self.effort);
        made.num_ctx = self.num_ctx.or(made.num_ctx);
        made.source = self.source.or(made.source);
        made.date = self.date.or(made.date);
        made.headers.extend(self.headers);
        let mut quirks = serde_json::to_value(&made.quirks).map_err(|error| error.to_string())?;
        if let Value::Object(known) = &mut quirks {
            known.extend(self.quirks.0);
        }
        made.quirks = serde_json::from_value(quirks).map_err(|error| error.to_string())?;
        for model in self.models {
            match made.models.iter_mut().find(|known| known.id == model.id) {
                Some(known) => lay_over(known, model),
                None => made.models.push(model),
            }
        }
        Ok(made)
    }
}

/// The models of another provider. What is said to them holds only in the same format.
fn alike(providers: &[Provider], like: &str, wire: Wire) -> Result<Vec<KnownModel>, String> {
    let other = providers.iter().find(|known| known.id == like);
    let other = other.ok_or_else(|| format!("like: {like} is no provider that stands before it"))?;
    let same = other.wire == wire;
    let figures = |model: &KnownModel| KnownModel {
        body: if same { model.body.clone() } else { Map::new() },
        effort: if same { model.effort.clone().or_else(|| Some(other.effort.clone())) } else { None },
        source: model.source.clone().or_else(|| other.source.clone()),
        date: model.date.or(other.date),
        ..model.clone()
    };
    Ok(other.models.iter().map(figures).collect())
}

fn put<T>(into: &mut T, written: Option<T>) {
    if let Some(written) = written {
        *into = written;
    }
}

fn lay_over(known: &mut KnownModel, written: KnownModel) {
    let KnownModel { id: _, window, max_out, images, tools, temperature, body, effort, price, source, date } = written;
    known.window = window.or(known.window);
    known.max_out = max_out.or(known.max_out);
    known.images = images.or(known.images);
    known.tools = tools.or(known.tools);
    known.temperature = temperature.or(known.temperature);
    known.effort = effort.or(known.effort.take());
    known.price = price.or(known.price.take());
    known.source = source.or(known.source.take());
    known.date = date.or(known.date);
    if !body.is_empty() {
        known.body = body;
    }
}

/// What the reader of YAML says, with the nearest of the words that it would have taken.
fn unreadable(text: &str, error: &serde_yaml::Error) -> Wrong {
    let (mut line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
    let said = error.to_string().replace(&format!(" at line {line} column {column}"), "");
    let what = match said.split_once(", expected ") {
        Some((unknown, expected)) if unknown.contains("unknown ") => {
            let words = |text: &str| text.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
            let (wrong, known) = (words(unknown).pop().unwrap_or_default(), words(expected));
            // Of a map that is checked as a whole only its beginning is told.
            let from = line.saturating_sub(1);
            line += text.lines().skip(from).position(|line| line.contains(&wrong)).unwrap_or(0);
            match nearest(&wrong, known.iter().map(String::as_str)) {
                Some(near) => format!("{unknown}; did you mean `{near}`?"),
                None => format!("{unknown}; known are {}", known.join(", ")),
            }
        }
        Some(_) | None => said,
    };
    Wrong { line, what }
}

/// The name that was meant, if one is near enough to be a slip.
pub(super) fn nearest<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    near(written, known, 1).pop()
}

/// The names that may have been meant, the nearest first, at most so many.
pub(super) fn near<'a>(written: &str, known: impl Iterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let written: String = written.to_lowercase().chars().take(MAX_NAME).collect();
    let letters = written.chars().count();
    let off = |name: &'a str| (strsim::damerau_levenshtein(&written, &name.to_lowercase()), name);
    let mut near: Vec<_> = known.map(off).filter(|(off, _)| *off <= NEAR && *off < letters).collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(most).map(|(_, name)| name).collect()
}

/// The line where an entry begins.
fn line_of(text: &str, id: &str) -> usize {
    let begins = |line: &str| {
        let id_of = line.trim_start().trim_start_matches(['-', '{', ' ']).strip_prefix("id:");
        id_of.is_some_and(|rest| rest.trim_start().trim_matches(['"', '\'']).starts_with(id))
    };
    text.lines().position(begins).map_or(1, |at| at + 1)
}
