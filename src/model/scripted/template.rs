//! Placeholders in the texts of a script: `{{user}}`, `{{result}}`, `{{result.N}}`, each with `| /pattern/` behind.
//! Any other pair of braces is plain text.

use std::fmt;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

/// What a script may quote of the conversation.
pub(super) struct Quotable<'a> {
    /// The latest user text.
    pub(super) user: &'a str,
    /// The outputs of the latest tool results, in order.
    pub(super) results: &'a [&'a str],
}

/// A placeholder that nothing in the conversation fills, or one that is not written right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unfilled {
    placeholder: String,
    why: String,
}

impl fmt::Display for Unfilled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.placeholder, self.why)
    }
}

static PLACEHOLDER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\{\{\s*(?:(?<user>user)|result(?:\.(?<at>\d{1,4}))?)\s*(?:\|\s*/(?<pattern>.*?)/\s*)?\}\}").ok()
});

/// Fills the placeholders of a text.
pub(super) fn fill(text: &str, from: &Quotable<'_>) -> Result<String, Unfilled> {
    let mut filled = String::with_capacity(text.len());
    let mut done = 0;
    for found in placeholders(text) {
        let Some(whole) = found.get(0) else { continue };
        filled.push_str(text.get(done..whole.start()).unwrap_or_default());
        filled.push_str(&value(&found, whole.as_str(), from)?);
        done = whole.end();
    }
    filled.push_str(text.get(done..).unwrap_or_default());
    Ok(filled)
}

/// Fills the placeholders in every string of a JSON value; the names of its fields stay as they are.
pub(super) fn fill_json(value: &Value, from: &Quotable<'_>) -> Result<Value, Unfilled> {
    Ok(match value {
        Value::String(text) => Value::String(fill(text, from)?),
        Value::Array(items) => Value::Array(items.iter().map(|item| fill_json(item, from)).collect::<Result<_, _>>()?),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(key, item)| Ok((key.clone(), fill_json(item, from)?)))
                .collect::<Result<_, Unfilled>>()?,
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

/// Checks that every pattern in a text can be compiled.
pub(super) fn check(text: &str) -> Result<(), Unfilled> {
    for found in placeholders(text) {
        if let (Some(whole), Some(pattern)) = (found.get(0), found.name("pattern")) {
            compile(pattern.as_str(), whole.as_str())?;
        }
    }
    Ok(())
}

/// [`check`] for every string of a JSON value.
pub(super) fn check_json(value: &Value) -> Result<(), Unfilled> {
    match value {
        Value::String(text) => check(text),
        Value::Array(items) => items.iter().try_for_each(check_json),
        Value::Object(fields) => fields.values().try_for_each(check_json),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

fn placeholders(text: &str) -> impl Iterator<Item = Captures<'_>> {
    PLACEHOLDER.iter().flat_map(move |pattern| pattern.captures_iter(text))
}

fn value(found: &Captures<'_>, placeholder: &str, from: &Quotable<'_>) -> Result<String, Unfilled> {
    let unfilled = |why: String| Unfilled { placeholder: placeholder.to_owned(), why };
    let at = found.name("at").and_then(|at| at.as_str().parse::<usize>().ok());
    let text = match (found.name("user"), at) {
        (Some(_), _) => from.user,
        (None, Some(at)) => from.results.get(at).copied().ok_or_else(|| {
            unfilled(format!("has no value: the latest tool results are {}, counted from 0", from.results.len()))
        })?,
        (None, None) => from
            .results
            .last()
            .copied()
            .ok_or_else(|| unfilled("has no value: the conversation does not end with a tool result".to_owned()))?,
    };
    let Some(pattern) = found.name("pattern") else { return Ok(text.to_owned()) };
    let groups = compile(pattern.as_str(), placeholder)?;
    let groups = groups.captures(text).ok_or_else(|| unfilled("matches nothing in the text it quotes".to_owned()))?;
    let picked = groups.get(1).or_else(|| groups.get(0));
    Ok(picked.map_or_else(String::new, |part| part.as_str().to_owned()))
}

fn compile(pattern: &str, placeholder: &str) -> Result<Regex, Unfilled> {
    Regex::new(pattern).map_err(|_| Unfilled {
        placeholder: placeholder.to_owned(),
        why: "has a pattern that is no regular expression".to_owned(),
    })
}
