//! What stands behind `Action:` and `Action Input:`, made into a tool's name and the JSON object that every tool takes.
//! Nothing is guessed: what cannot be read goes on as the field `input`, and the tool says what it wants instead.

use serde::Deserialize;
use serde_json::{Deserializer, Map, Value, json};

use crate::message::ToolSpec;

/// Names under which models put a tool's name and its arguments when they write both as one object.
const NAMES: [&str; 4] = ["action", "tool", "tool_name", "name"];
const INPUTS: [&str; 5] = ["action_input", "arguments", "args", "input", "parameters"];

/// The tool and its input, if the text is an object that names both.
pub(super) fn both(text: &str) -> Option<(String, String)> {
    let object: Map<String, Value> = serde_json::from_str(first_object(unfenced(text))?).ok()?;
    let name = NAMES.iter().find_map(|name| object.get(*name)?.as_str())?;
    let input = INPUTS.iter().find_map(|name| object.get(*name)).map_or("{}".to_owned(), Value::to_string);
    Some((name.to_owned(), input))
}

/// Arguments as a JSON object.
///
/// An object stays as it was written, whatever stands behind it. Any other value, or text that is no JSON, becomes the
/// only field that the tool asks for, and else the field `input`; broken JSON always becomes that.
pub(super) fn arguments(text: &str, tool: Option<&ToolSpec>) -> String {
    let text = unfenced(text);
    if let Some(object) = object(text) {
        return object;
    }
    if text.is_empty() || ["null", "none", "n/a"].contains(&text.to_lowercase().as_str()) {
        return "{}".to_owned();
    }
    let value = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    if let Some(inner) = value.as_str().and_then(first_object) {
        return inner.to_owned();
    }
    let broken = value.is_string() && text.starts_with(['{', '[']);
    let Some((field, schema)) = tool.and_then(only_field).filter(|_| !broken) else {
        return json!({ "input": value }).to_string();
    };
    let value = if schema["type"] == "string" && !value.is_string() { json!(text) } else { value };
    Value::Object(Map::from_iter([(field.to_owned(), value)])).to_string()
}

/// Arguments in brackets behind the tool's name: JSON, or `path="a.txt", limit=3`.
pub(super) fn bracketed(text: &str, tool: Option<&ToolSpec>) -> String {
    let inside = text.trim();
    let inside = inside.strip_prefix(['(', '[']).unwrap_or(inside);
    let inside = inside.strip_suffix([')', ']']).unwrap_or(inside).trim();
    match keywords(inside) {
        Some(object) => Value::Object(object).to_string(),
        None => arguments(inside, tool),
    }
}

/// The object that a text holds whole, as it was written or with what models get wrong put right.
pub(super) fn object(text: &str) -> Option<String> {
    let text = unfenced(text);
    first_object(text).map(str::to_owned).or_else(|| first_object(&mended(text)).map(str::to_owned))
}

/// The object that a text begins with.
fn first_object(text: &str) -> Option<&str> {
    let text = text.trim_start();
    if !text.starts_with('{') {
        return None;
    }
    let mut values = Deserializer::from_str(text).into_iter::<Value>();
    values.next()?.ok()?;
    text.get(..values.byte_offset())
}

/// JSON without commas before a closing bracket, and with the line breaks and tabs of its strings escaped.
fn mended(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let (mut inside, mut escaped) = (false, false);
    for c in text.chars() {
        match c {
            '\n' if inside => out.push_str("\\n"),
            '\r' if inside => out.push_str("\\r"),
            '\t' if inside => out.push_str("\\t"),
            '}' | ']' if !inside && out.trim_end().ends_with(',') => {
                out.truncate(out.trim_end().len() - 1);
                out.push(c);
            }
            _ => out.push(c),
        }
        inside ^= c == '"' && !escaped;
        escaped = inside && c == '\\' && !escaped;
    }
    out
}

/// `name=value` pairs with commas between them; a value is JSON or stands in single quotes.
fn keywords(text: &str) -> Option<Map<String, Value>> {
    let mut object = Map::new();
    let mut rest = text;
    loop {
        let (name, after) = rest.split_once('=')?;
        let name = name.trim();
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return None;
        }
        let after = after.trim_start();
        let (value, behind) = match after.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'').map(|(text, behind)| (json!(text), behind))?,
            None => {
                let mut values = Deserializer::from_str(after);
                let value = Value::deserialize(&mut values).ok()?;
                let values = values.into_iter::<Value>();
                (value, after.get(values.byte_offset()..)?)
            }
        };
        object.insert(name.to_owned(), value);
        match behind.trim_start().strip_prefix(',') {
            Some(more) => rest = more,
            None => return behind.trim().is_empty().then_some(object),
        }
    }
}

/// The one field that a tool requires, or the only one that it has, with its schema.
fn only_field(tool: &ToolSpec) -> Option<(&str, &Value)> {
    let fields = tool.schema["properties"].as_object()?;
    let required = tool.schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    match (required, fields.len()) {
        ([only], _) => fields.get_key_value(only.as_str()?),
        ([], 1) => fields.iter().next(),
        _ => None,
    }
    .map(|(name, schema)| (name.as_str(), schema))
}

/// The text without a Markdown fence, or single backticks, around it.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let Some(inside) = text.strip_prefix("```") else {
        let quoted = text.strip_prefix('`').and_then(|text| text.strip_suffix('`'));
        return quoted.unwrap_or(text).trim();
    };
    let inside = inside.trim_start_matches(|c: char| c.is_alphanumeric());
    inside.strip_suffix("```").unwrap_or(inside).trim()
}
