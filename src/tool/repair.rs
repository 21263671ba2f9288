//! Mends arguments that are wrong in the ways models really get them wrong. Never guesses at meaning: what it cannot
//! mend without doubt is left for the check that follows. Every change is noted.

use serde_json::{Map, Value};

use super::schema;

/// Objects under which some models put the arguments.
const WRAPPERS: [&str; 5] = ["arguments", "args", "input", "parameters", "params"];

/// A field's other names: what models write, and what the field is called; nothing for what other runtimes ask and ours
/// need not know.
pub(super) type Synonyms = &'static [(&'static str, &'static str)];

/// Brings `value` closer to `schema` and answers what was changed, one line each.
pub(super) fn repair(value: &mut Value, schema: &Value, synonyms: Synonyms) -> Vec<String> {
    let mut notes = Vec::new();
    unwrap(value, schema, &mut notes);
    if let Value::Object(object) = value {
        rename(object, schema, synonyms, &mut notes);
        for (name, inner) in object.iter_mut() {
            let items = schema::property(schema, name).and_then(|inner| inner.get("items"));
            let (Some(items), Some(listed)) = (items, inner.as_array_mut()) else { continue };
            listed
                .iter_mut()
                .filter_map(Value::as_object_mut)
                .for_each(|item| rename(item, items, synonyms, &mut notes));
        }
    }
    mend(value, schema, "", &mut notes);
    notes
}

/// Takes the arguments out of a string, a list of one, or an object around them.
fn unwrap(value: &mut Value, schema: &Value, notes: &mut Vec<String>) {
    if let Some(inner) = parsed(value, "object") {
        *value = inner;
        notes.push("arguments were JSON inside a string".to_owned());
    }
    if let Value::Array(items) = value
        && let [Value::Object(only)] = items.as_slice()
    {
        *value = Value::Object(only.clone());
        notes.push("arguments were inside a list".to_owned());
    }
    let Value::Object(object) = value else { return };
    let around = |name: &&str| object.contains_key(*name) && schema::property(schema, name).is_none();
    let Some(wrapper) = WRAPPERS.into_iter().find(around) else { return };
    let known = object.keys().any(|name| schema::property(schema, name).is_some());
    let labels = object.keys().all(|name| name == wrapper || ["name", "tool", "type", "id"].contains(&name.as_str()));
    if known || !labels {
        return;
    }
    let inner = object.get(wrapper).and_then(|inner| match inner {
        Value::Object(_) => Some(inner.clone()),
        _ => parsed(inner, "object"),
    });
    if let Some(inner) = inner {
        *value = inner;
        notes.push(format!("arguments were inside {wrapper}"));
    }
}

/// Gives fields their right names: other spellings (`oldText`) and the tool's own list of synonyms.
fn rename(object: &mut Map<String, Value>, schema: &Value, synonyms: Synonyms, notes: &mut Vec<String>) {
    let strange: Vec<String> = object.keys().filter(|name| schema::property(schema, name).is_none()).cloned().collect();
    for name in strange {
        let folded = fold(&name);
        let spelled = schema::fields(schema).find(|field| fold(field) == folded);
        let named = || synonyms.iter().find(|(other, _)| fold(other) == folded).map(|(_, field)| *field);
        let Some(field) = spelled.or_else(named) else { continue };
        if field.is_empty() {
            object.remove(&name);
            notes.push(format!("{name} was left out"));
            continue;
        }
        if object.contains_key(field) || schema::property(schema, field).is_none() {
            continue;
        }
        if let Some(inner) = object.remove(&name) {
            object.insert(field.to_owned(), inner);
            notes.push(format!("{name} was read as {field}"));
        }
    }
}

fn fold(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

fn mend(value: &mut Value, schema: &Value, path: &str, notes: &mut Vec<String>) {
    if let Some((mended, what)) = converted(value, schema) {
        *value = mended;
        notes.push(format!("{path}: {what}"));
    }
    match value {
        Value::Object(object) => mend_fields(object, schema, path, notes),
        Value::Array(items) => {
            let Some(inner) = schema.get("items") else { return };
            for (index, item) in items.iter_mut().enumerate() {
                mend(item, inner, &format!("{path}[{index}]"), notes);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn mend_fields(object: &mut Map<String, Value>, schema: &Value, path: &str, notes: &mut Vec<String>) {
    let absent: Vec<String> = schema::fields(schema)
        .filter(|name| object.get(*name).is_some_and(Value::is_null) && !schema::requires(schema, name))
        .filter(|name| schema::property(schema, name).is_some_and(|inner| !schema::allows(inner, "null")))
        .map(str::to_owned)
        .collect();
    for name in absent {
        object.remove(&name);
        notes.push(format!("{}: null was read as absent", join(path, &name)));
    }
    for (name, inner) in object.iter_mut() {
        if let Some(schema) = schema::property(schema, name) {
            mend(inner, schema, &join(path, name), notes);
        }
    }
}

/// The value as the type that the schema wants, if exactly one reading of it makes sense.
fn converted(value: &Value, schema: &Value) -> Option<(Value, &'static str)> {
    let wants = |kind| schema::allows(schema, kind);
    if wants(kind(value)) || (kind(value) == "integer" && wants("number")) {
        return None;
    }
    if wants("array")
        && let Some(list) = parsed(value, "array")
    {
        return Some((list, "a list inside a string was read as a list"));
    }
    if wants("object")
        && let Some(object) = parsed(value, "object")
    {
        return Some((object, "an object inside a string was read as an object"));
    }
    if wants("array") && schema.get("items").is_some_and(|items| schema::allows(items, kind(value))) {
        return Some((Value::Array(vec![value.clone()]), "a single value was read as a list of one"));
    }
    match value {
        Value::String(text) if wants("integer") || wants("number") => {
            let number = serde_json::from_str::<serde_json::Number>(text.trim()).ok()?;
            let number = if wants("number") { number } else { whole(&number)? };
            Some((Value::Number(number), "a number inside a string was read as a number"))
        }
        Value::String(text) if wants("boolean") => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Some((Value::Bool(true), "\"true\" was read as true")),
            "false" => Some((Value::Bool(false), "\"false\" was read as false")),
            _ => None,
        },
        Value::Number(number) if wants("integer") => {
            Some((Value::Number(whole(number)?), "a fraction of zero was dropped"))
        }
        _ => None,
    }
}

/// `12.0` as `12`; nothing for a number with a fraction.
fn whole(number: &serde_json::Number) -> Option<serde_json::Number> {
    if number.is_i64() || number.is_u64() {
        return Some(number.clone());
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 9.0e15)?;
    Some(serde_json::Number::from(float as i64))
}

/// The JSON inside a string, if it is of that type.
fn parsed(value: &Value, wanted: &str) -> Option<Value> {
    let text = value.as_str()?.trim();
    let inner: Value = serde_json::from_str(text).ok()?;
    (kind(&inner) == wanted).then_some(inner)
}

/// The JSON type of a value, with whole numbers as `integer`.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
