//! What providers themselves say about their models: how each of them is asked, and what its answer means. What is kept
//! of that is in `confirmed`; servers on one's own machine are looked for in `local`.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::header::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;
use url::Url;

use super::fault::{self, Refusal};
use super::http::{Http, cause};
use super::price::Price;
use super::provider::Lists;

/// Most bytes of a list. OpenRouter's has under one million.
const MAX_LIST: usize = 16 << 20;
/// Most models that are kept of a list, and most letters of an id.
const MAX_MODELS: usize = 4096;
const MAX_ID: usize = 200;
/// Models of an Ollama that are asked about one by one.
const MAX_SHOWN: usize = 64;

/// A model as its provider tells of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// The provider's own id.
    pub id: String,
    /// Context window in tokens, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// Most output tokens, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_out: Option<u64>,
    /// It sees pictures, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// What it costs, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// It is in memory now; only servers on one's own machine say so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub loaded: bool,
}

/// A provider to be asked.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) http: Arc<Http>,
    pub(super) base: Url,
    pub(super) headers: HeaderMap,
    pub(super) list: Lists,
}

/// Why there is no list; one line for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoList {
    /// Nothing answers there, or not in time.
    Silent(String),
    /// Something answers, but no list.
    Refused(String),
}

impl Asked {
    /// The provider's list, all of it within the time.
    pub(super) async fn list(&self, within: Duration) -> Result<Vec<Listed>, NoList> {
        let asked = async {
            match self.list {
                Lists::Models => self.models().await,
                Lists::Gemini => Ok(gemini(&self.get("models?pageSize=1000").await?)),
                Lists::Ollama => self.ollama().await,
                Lists::Lmstudio => self.lmstudio().await,
                Lists::Llamacpp => self.llamacpp().await,
                Lists::None => Err(NoList::Refused("it tells no list".to_owned())),
            }
        };
        let silent = || NoList::Silent(format!("did not answer within {} ms", within.as_millis()));
        let mut models = timeout(within, asked).await.map_err(|_| silent())??;
        models.retain(|model| !model.id.is_empty() && model.id.len() <= MAX_ID && !model.id.contains(char::is_control));
        models.truncate(MAX_MODELS);
        Ok(models)
    }

    async fn models(&self) -> Result<Vec<Listed>, NoList> {
        // Anthropic's comes in pages; one of this size holds all.
        let path = if self.headers.contains_key("anthropic-version") { "models?limit=1000" } else { "models" };
        data(&self.get(path).await?)
    }

    async fn ollama(&self) -> Result<Vec<Listed>, NoList> {
        let root = self.root();
        let tags = root.get("api/tags").await?;
        // Without a model it is an empty list, or none at all.
        tags.get("models").ok_or_else(no_list)?;
        // An older server does not say what is loaded; then what was used last is.
        let running = root.get("api/ps").await.unwrap_or_default();
        let names = |list: &Value| strings(list["models"].as_array(), "name");
        let running = names(&running);
        let found = tags["models"].as_array().into_iter().flatten().filter(|model| !embeds(model));
        let names: Vec<&str> = found.filter_map(|model| model["name"].as_str()).take(MAX_SHOWN).collect();
        let shown = join_all(names.iter().map(|name| root.post("api/show", json!({"model": name})))).await;
        let each = names.iter().zip(shown).map(|(name, shown)| {
            let shown = shown.unwrap_or_default();
            let info = shown["model_info"].as_object();
            let window = info.and_then(|info| info.iter().find(|(key, _)| key.ends_with(".context_length")));
            let can = shown["capabilities"].as_array();
            Listed {
                id: (*name).to_owned(),
                window: window.and_then(|(_, tokens)| tokens.as_u64()),
                images: can.map(|can| can.iter().any(|word| word == "vision")),
                loaded: running.iter().any(|running| running == name),
                ..Listed::default()
            }
        });
        Ok(each.collect())
    }

    async fn lmstudio(&self) -> Result<Vec<Listed>, NoList> {
        let root = self.root();
        // Its own list in both versions says what is loaded; the common one is of those that answer.
        for (path, models) in [("api/v0/models", "data"), ("api/v1/models", "models")] {
            match root.get(path).await {
                Ok(list) if list[models].is_array() => return Ok(lmstudio(&list[models])),
                Ok(_) | Err(NoList::Refused(_)) => {}
                Err(silent) => return Err(silent),
            }
        }
        Ok(self.models().await?.into_iter().map(|model| Listed { loaded: true, ..model }).collect())
    }

    async fn llamacpp(&self) -> Result<Vec<Listed>, NoList> {
        let mut models = self.models().await?;
        let props = self.root().get("props").await.unwrap_or_default();
        let window = props["default_generation_settings"]["n_ctx"].as_u64();
        for model in &mut models {
            model.loaded = true;
            model.window = window.or(model.window);
            model.images = props["modalities"]["vision"].as_bool().or(model.images);
        }
        Ok(models)
    }

    /// The same server above its compatible door.
    fn root(&self) -> Asked {
        let mut root = self.clone();
        let path = root.base.path().trim_end_matches('/');
        let path = path.strip_suffix("/v1").unwrap_or(path).to_owned();
        root.base.set_path(&path);
        root
    }

    async fn get(&self, path: &str) -> Result<Value, NoList> {
        self.ask(path, None).await
    }

    async fn post(&self, path: &str, body: Value) -> Result<Value, NoList> {
        self.ask(path, Some(body)).await
    }

    async fn ask(&self, path: &str, body: Option<Value>) -> Result<Value, NoList> {
        let silent = |error: &reqwest::Error| {
            let cause = cause(error);
            // The number of an error says nothing to a person.
            NoList::Silent(cause.split(" (os error").next().unwrap_or_default().to_lowercase())
        };
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", url.path().trim_end_matches('/')));
        url.set_query(query);
        let client = self.http.client(&url).map_err(|error| silent(&error))?;
        let request = match body {
            None => client.get(url),
            Some(body) => client.post(url).body(body.to_string()),
        };
        let mut response = request.headers(self.headers.clone()).send().await.map_err(|error| silent(&error))?;
        let mut whole = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| silent(&error))? {
            if whole.len() + chunk.len() > MAX_LIST {
                return Err(NoList::Refused("answered without an end".to_owned()));
            }
            whole.extend_from_slice(&chunk);
        }
        if !response.status().is_success() {
            let refusal = Refusal::read(Some(response.status().as_u16()), &String::from_utf8_lossy(&whole));
            return Err(NoList::Refused(fault::one_line(&format!(
                "answered {} {}",
                response.status().as_u16(),
                refusal.text
            ))));
        }
        serde_json::from_slice(&whole).map_err(|_| NoList::Refused("answered no JSON".to_owned()))
    }
}

fn no_list() -> NoList {
    NoList::Refused("answered no list of models".to_owned())
}

/// `{"data": [{"id": …}]}`, with whatever figures the provider adds; each has its own names for them.
fn data(list: &Value) -> Result<Vec<Listed>, NoList> {
    let models = list["data"].as_array().or_else(|| list.as_array());
    let models = models.ok_or_else(no_list)?;
    let each = models.iter().filter(|model| model["lifecycle"] != "retired").map(|model| {
        let number = |names: &[&str]| names.iter().find_map(|name| model[*name].as_u64()).filter(|tokens| *tokens > 0);
        // Anthropic's `max_tokens` is a limit of the output; others mean other things by that name.
        let limit = if model["max_input_tokens"].is_u64() { "max_tokens" } else { "max_completion_tokens" };
        Listed {
            id: text(&model["id"]),
            window: number(&[
                "max_input_tokens",
                "context_length",
                "max_model_len",
                "context_window",
                "max_context_length",
            ]),
            max_out: number(&[limit]).or_else(|| model["top_provider"]["max_completion_tokens"].as_u64()),
            images: sees(model),
            price: price(&model["pricing"]),
            loaded: model["max_model_len"].is_u64(),
        }
    });
    Ok(each.collect())
}

fn sees(model: &Value) -> Option<bool> {
    let capability = model["capabilities"]["image_input"]["supported"].as_bool();
    let vision = capability.or_else(|| model["capabilities"]["vision"].as_bool());
    let kinds = model["architecture"]["input_modalities"].as_array();
    vision.or_else(|| kinds.map(|kinds| kinds.iter().any(|kind| kind == "image")))
}

/// OpenRouter's: US dollars per token, as text; below zero where the price depends on the route.
fn price(pricing: &Value) -> Option<Price> {
    let each = |name: &str| {
        let dollars = pricing[name].as_str()?.parse::<f64>().ok()? * 1e6;
        // A millionth of a cent per million tokens is what parsing and multiplying may add.
        (0.0..=10_000.0).contains(&dollars).then(|| (dollars * 1e6).round() / 1e6)
    };
    Some(Price {
        input: each("prompt")?,
        output: each("completion")?,
        cache_read: each("input_cache_read"),
        cache_write: each("input_cache_write").filter(|dollars| *dollars > 0.0),
        above: None,
    })
}

fn gemini(list: &Value) -> Vec<Listed> {
    let talks = |model: &&Value| {
        let ways = model["supportedGenerationMethods"].as_array();
        ways.is_none_or(|ways| ways.iter().any(|way| way == "generateContent"))
    };
    let each = list["models"].as_array().into_iter().flatten().filter(talks).map(|model| Listed {
        id: text(&model["name"]).trim_start_matches("models/").to_owned(),
        window: model["inputTokenLimit"].as_u64(),
        max_out: model["outputTokenLimit"].as_u64(),
        ..Listed::default()
    });
    each.collect()
}

/// Version 0 tells of a model whether it is loaded, version 1 what was loaded of it.
fn lmstudio(list: &Value) -> Vec<Listed> {
    let talks = |model: &&Value| model["type"] != "embeddings" && model["type"] != "embedding";
    let each = list.as_array().into_iter().flatten().filter(talks).map(|model| {
        let instance = &model["loaded_instances"][0];
        let loaded = model["state"] == "loaded" || instance.is_object();
        let kept = [&model["loaded_context_length"], &instance["config"]["context_length"]];
        let kept = kept.into_iter().find_map(Value::as_u64).filter(|_| loaded);
        let names = [&instance["id"], &model["id"], &model["key"]];
        let sees = model["capabilities"]["vision"].as_bool();
        Listed {
            id: names.into_iter().map(text).find(|name| !name.is_empty()).unwrap_or_default(),
            window: kept.or(model["max_context_length"].as_u64()),
            images: sees.or(Some(model["type"] == "vlm")),
            loaded,
            ..Listed::default()
        }
    });
    each.collect()
}

/// Turns text into numbers and cannot talk.
fn embeds(model: &Value) -> bool {
    let family = model["details"]["family"].as_str().unwrap_or_default();
    family.contains("bert") || model["name"].as_str().is_some_and(|name| name.contains("embed"))
}

fn strings(list: Option<&Vec<Value>>, name: &str) -> Vec<String> {
    list.into_iter().flatten().map(|each| text(&each[name])).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
