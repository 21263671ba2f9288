//! YAML in, values out, with errors that name the line of the file. Aliases and depth are bounded by the parser.

use std::path::Path;

use gray_matter::Pod;
use gray_matter::engine::Engine;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{MarkdownError, unfold};

/// Deepest nesting of brackets; the parser takes time by the square of it before it refuses at the same depth.
const MAX_DEPTH: usize = 128;

/// The YAML engine for gray_matter: its own one lets a bomb of aliases end the process, this one refuses it.
#[derive(Debug, Clone, Copy)]
pub struct Yaml;

impl Engine for Yaml {
    fn parse(content: &str) -> gray_matter::Result<Pod> {
        if too_deep(content).is_some() {
            return Err(gray_matter::Error::deserialize_error("nested too deeply"));
        }
        let refused = |error: serde_yaml::Error| gray_matter::Error::deserialize_error(&error.to_string());
        unfold::check(content).map_err(refused)?;
        let value: serde_yaml::Value = serde_yaml::from_str(content).map_err(refused)?;
        Ok(pod(value))
    }
}

/// Reads a frontmatter into a type; an empty one reads like a mapping without keys.
pub(super) fn read<T: DeserializeOwned>(yaml: &str, path: &Path) -> Result<T, MarkdownError> {
    if let Some(place) = too_deep(yaml) {
        return Err(front_error(path, place, "nested too deeply".to_owned()));
    }
    unfold::check(yaml).map_err(|error| wrong(&error, path))?;
    let read = match serde_yaml::from_str::<Option<T>>(yaml) {
        Ok(Some(front)) => Ok(front),
        Ok(None) => serde_yaml::from_str("{}"),
        Err(error) => Err(error),
    };
    read.map_err(|error| wrong(&error, path))
}

/// Reads a frontmatter of any shape: a mapping, keys sorted and as text.
pub(super) fn read_any(yaml: &str, path: &Path) -> Result<Value, MarkdownError> {
    match Yaml::parse(yaml) {
        Ok(Pod::Null) => Ok(Value::Object(serde_json::Map::new())),
        Ok(pod @ Pod::Hash(_)) => Ok(json(pod)),
        Ok(_) => Err(front_error(path, (2, 1), "expected lines of the form `key: value`".to_owned())),
        // The engine's error is only text; read again for the place.
        Err(error) => match read::<serde_yaml::Value>(yaml, path) {
            Err(placed) => Err(placed),
            Ok(_) => Err(front_error(path, (1, 1), error.to_string())),
        },
    }
}

/// Line and column, from 1, where brackets, quoted ones too, are nested over 128 deep. Whoever gives a parser YAML from
/// elsewhere asks this first.
pub fn too_deep(yaml: &str) -> Option<(usize, usize)> {
    let mut depth = 0_usize;
    for (number, line) in yaml.lines().enumerate() {
        for (column, c) in line.chars().enumerate() {
            match c {
                '[' | '{' => depth += 1,
                ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > MAX_DEPTH {
                return Some((number + 1, column + 1));
            }
        }
    }
    None
}

fn wrong(error: &serde_yaml::Error, path: &Path) -> MarkdownError {
    let place = error.location().map_or((1, 1), |place| (place.line(), place.column()));
    // The error says its place once more, in the middle of its text.
    let message = error.to_string().replace(&format!(" at line {} column {}", place.0, place.1), "");
    front_error(path, place, message)
}

fn front_error(path: &Path, (line, column): (usize, usize), message: String) -> MarkdownError {
    MarkdownError::Front { path: path.to_path_buf(), line, column, message }
}

fn pod(value: serde_yaml::Value) -> Pod {
    match value {
        serde_yaml::Value::Null => Pod::Null,
        serde_yaml::Value::Bool(is) => Pod::Boolean(is),
        serde_yaml::Value::Number(number) => match number.as_i64() {
            Some(whole) => Pod::Integer(whole),
            None => Pod::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_yaml::Value::String(text) => Pod::String(text),
        serde_yaml::Value::Sequence(items) => Pod::Array(items.into_iter().map(pod).collect()),
        serde_yaml::Value::Mapping(pairs) => {
            Pod::Hash(pairs.into_iter().map(|(name, value)| (key(name), pod(value))).collect())
        }
        serde_yaml::Value::Tagged(tagged) => pod(tagged.value),
    }
}

/// A key as text; YAML allows numbers, truth values and worse.
fn key(name: serde_yaml::Value) -> String {
    match name {
        serde_yaml::Value::String(text) => text,
        other => serde_yaml::to_string(&other).unwrap_or_default().trim_end().to_owned(),
    }
}

/// Sorted by key, because the order in a [`Pod`] is a matter of chance.
fn json(pod: Pod) -> Value {
    match pod {
        Pod::Null => Value::Null,
        Pod::String(text) => Value::String(text),
        Pod::Integer(number) => number.into(),
        Pod::Float(number) => number.into(),
        Pod::Boolean(is) => Value::Bool(is),
        Pod::Array(items) => items.into_iter().map(json).collect(),
        Pod::Hash(pairs) => {
            let mut pairs: Vec<(String, Pod)> = pairs.into_iter().collect();
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(pairs.into_iter().map(|(name, value)| (name, json(value))).collect())
        }
    }
}
