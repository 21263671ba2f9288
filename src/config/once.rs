//! Files of settings as YAML: nested no deeper than anybody writes, and every key once, for of two the first would count
//! for nothing without a word.

use std::path::Path;

use serde_json::{Map, Value};

use super::ConfigError;
use crate::markdown;

/// What a file of the home says.
pub(super) fn read(text: &str, path: &Path) -> Result<Map<String, Value>, ConfigError> {
    let wrong = |(line, column), message| ConfigError::Broken { path: path.to_path_buf(), line, column, message };
    if let Some(place) = markdown::too_deep(text) {
        return Err(wrong(place, "nested too deeply".to_owned()));
    }
    if let Some((line, key)) = twice(text) {
        return Err(wrong((line, 1), told(&key)));
    }
    let settings: Option<Map<String, Value>> =
        serde_yaml::from_str(text).map_err(|error| ConfigError::broken(path, &error))?;
    Ok(settings.unwrap_or_default())
}

/// What is wrong with a key that stands twice.
pub(super) fn told(key: &str) -> String {
    format!("`{key}` stands there twice; keep one of them")
}

/// The line, from 1, at which a key of a mapping stands again.
pub(super) fn twice(text: &str) -> Option<(usize, String)> {
    let error = serde_yaml::from_str::<serde_yaml::Value>(text).err()?;
    let said = error.to_string();
    let (_, rest) = said.split_once("duplicate entry with key \"")?;
    let key = &rest[..rest.rfind('"')?];
    // The error stands where the mapping begins.
    let begin = error.location().map_or(1, |place| place.line());
    let is_key = |(_, line): &(usize, &str)| {
        let line = line.trim_start_matches([' ', '-', '{', ',', '"', '\'']);
        line.strip_prefix(key).is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
    };
    let again = text.lines().enumerate().skip(begin - 1).filter(is_key).nth(1);
    Some((again.map_or(begin, |(at, _)| at + 1), key.to_owned()))
}
