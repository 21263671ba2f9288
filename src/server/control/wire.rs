//! What a request and an answer look like, and what is said to one that makes no sense. Pure.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::runtime::{Done, Envelope, Order};

/// The version that every line carries; it changes when a field changes its meaning or goes away.
pub const VERSION: u32 = 1;

/// What is asked for.
#[derive(Debug, PartialEq)]
pub(super) enum Asked {
    /// One order, one answer.
    Order(Box<Order>),
    /// Everything that happens from now on.
    Feed,
}

/// A line of an answer.
#[derive(Debug)]
pub(super) enum Said {
    /// What came of the order.
    Done(Box<Done>),
    /// Why nothing came of it.
    Error(String),
    /// A piece of the feed.
    News(Box<Envelope>),
    /// The feed is read too slowly: so many were left out.
    Missed,
}

#[derive(Deserialize)]
struct Head {
    v: u32,
    order: String,
}

/// Reads a request; and its id, which is null where there is none.
pub(super) fn read(line: &[u8]) -> (Value, Result<Asked, String>) {
    let request: Value = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(error) => return (Value::Null, Err(format!("the line is no JSON: {error}"))),
    };
    let id = request.get("id").cloned().unwrap_or_default();
    (id, understood(&request))
}

fn understood(request: &Value) -> Result<Asked, String> {
    if !request.is_object() {
        return Err("the line is no JSON object".to_owned());
    }
    let head: Head = from(request)?;
    if head.v != VERSION {
        return Err(format!(
            "version {} is not spoken here, only {VERSION}; use the same tillerman on both sides",
            head.v
        ));
    }
    match head.order.as_str() {
        "feed" => Ok(Asked::Feed),
        _ => Ok(Asked::Order(Box::new(from(request)?))),
    }
}

fn from<T: DeserializeOwned>(request: &Value) -> Result<T, String> {
    T::deserialize(request).map_err(|error| format!("the order is not understood: {error}"))
}

/// The line of an order.
pub(super) fn order(order: &Order) -> Result<String, String> {
    let mut request = json!({"v": VERSION});
    extend(&mut request, order)?;
    Ok(line(&request))
}

/// The line that asks for the feed.
pub(super) fn feed() -> String {
    line(&json!({"v": VERSION, "order": "feed"}))
}

/// The line that answers an order.
pub(super) fn answer(id: Value, answer: Result<Done, String>) -> String {
    let mut said = json!({"v": VERSION, "id": id});
    let told = answer.and_then(|done| extend(&mut said, &done));
    if let Err(error) = told {
        said["error"] = error.into();
    }
    line(&said)
}

/// The line of a piece of news; `None` of one that cannot be written.
pub(super) fn news(id: &Value, news: &Envelope) -> Option<String> {
    let news = serde_json::to_value(news).ok()?;
    Some(line(&json!({"v": VERSION, "id": id, "news": news})))
}

/// The line that stands for news that were left out.
pub(super) fn missed(id: &Value, count: u64) -> String {
    line(&json!({"v": VERSION, "id": id, "missed": count}))
}

/// Reads a line of an answer.
pub(super) fn said(line: &[u8]) -> Result<Said, String> {
    let mut said: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if let Some(error) = said.get("error") {
        return Ok(Said::Error(error.as_str().map_or_else(|| error.to_string(), str::to_owned)));
    }
    if said.get("missed").is_some() {
        return Ok(Said::Missed);
    }
    match said.get_mut("news").map(Value::take) {
        Some(news) => serde_json::from_value(news).map(|news| Said::News(Box::new(news))),
        None => serde_json::from_value(said).map(|done| Said::Done(Box::new(done))),
    }
    .map_err(|error| error.to_string())
}

fn extend(to: &mut Value, fields: &impl Serialize) -> Result<(), String> {
    match (to, serde_json::to_value(fields)) {
        (Value::Object(to), Ok(Value::Object(fields))) => {
            to.extend(fields);
            Ok(())
        }
        (_, Ok(other)) => Err(format!("{other} is no object")),
        (_, Err(error)) => Err(error.to_string()),
    }
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}
