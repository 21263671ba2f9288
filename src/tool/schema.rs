//! The JSON Schema of a tool's arguments: made from a Rust type, kept small, looked up by path.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// Words that cost tokens in every request and tell a model nothing.
const NOISE: [&str; 4] = ["$schema", "title", "format", "default"];

/// The schema of `A`: subschemas inlined, no titles, formats or defaults, unknown fields forbidden, optional fields
/// described as what they are when present.
pub(super) fn of<A: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>().to_value();
    if let Value::Object(root) = &mut schema {
        // The description of the tool says what the arguments are for; an object without fields lists none.
        root.remove("description");
        root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    tidy(&mut schema, true);
    schema
}

/// The same without what forbids unknown fields and bounds numbers, nor fields of a list's items that the object has
/// itself: it costs tokens in every request, and a model that breaks such a rule is told it then.
pub(super) fn in_short(schema: &Value) -> Value {
    let mut short = schema.clone();
    let Value::Object(root) = &mut short else { return short };
    if root.get("additionalProperties") == Some(&Value::Bool(false)) {
        root.shift_remove("additionalProperties");
    }
    let own: Vec<String> = fields(schema).map(str::to_owned).collect();
    let fields = root.get_mut("properties").and_then(Value::as_object_mut);
    for field in fields.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        field.shift_remove("minimum");
        field.shift_remove("maximum");
        if let Some(items) = field.get_mut("items").filter(|items| repeats(items, &own)) {
            *items = serde_json::json!({ "type": "object" });
        }
    }
    short
}

/// Whether all fields of these items have the names of fields of the object around.
fn repeats(items: &Value, own: &[String]) -> bool {
    let mut names = fields(items).peekable();
    names.peek().is_some() && names.all(|name| own.iter().any(|own| own == name))
}

/// The schema of the field at `path`, where an index stands for any item of a list.
pub(super) fn at<'s>(schema: &'s Value, path: &[String]) -> Option<&'s Value> {
    let Some((step, rest)) = path.split_first() else { return Some(schema) };
    let here = property(schema, step).or_else(|| schema.get("items"));
    let below = here.and_then(|inner| at(inner, rest));
    below.or_else(|| alternatives(schema).find_map(|inner| at(inner, path)))
}

/// The schema of one field of an object.
pub(super) fn property<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    schema.get("properties")?.get(name)
}

/// The names of an object's fields, as written in its type.
pub(super) fn fields(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("properties").and_then(Value::as_object).into_iter().flat_map(|all| all.keys().map(String::as_str))
}

/// Whether an object is incomplete without the field.
pub(super) fn requires(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|required| required == name))
}

/// Whether a value of this JSON type may stand here.
pub(super) fn allows(schema: &Value, kind: &str) -> bool {
    let own = match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(any)) => any.iter().any(|one| one == kind),
        _ => false,
    };
    own || alternatives(schema).any(|inner| allows(inner, kind))
}

/// The branches of `anyOf` and `oneOf`.
pub(super) fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf"].into_iter().filter_map(|word| schema.get(word)?.as_array()).flatten()
}

/// Walks schemas only, so a property that happens to be called `title` stays. `closed` says whether unknown fields
/// are forbidden here; a branch of an object that has fields of its own must let those pass.
fn tidy(schema: &mut Value, closed: bool) {
    let Value::Object(object) = schema else { return };
    for word in NOISE {
        object.remove(word);
    }
    let own = object.contains_key("properties");
    let composed = ["allOf", "anyOf", "oneOf", "$ref"].iter().any(|word| object.contains_key(*word));
    tidy_fields(object);
    for word in ["items", "additionalProperties", "not"] {
        if let Some(inner) = object.get_mut(word) {
            tidy(inner, true);
        }
    }
    for (word, closed) in
        [("anyOf", closed && !own), ("oneOf", closed && !own), ("allOf", false), ("prefixItems", true)]
    {
        if let Some(Value::Array(inner)) = object.get_mut(word) {
            inner.iter_mut().for_each(|branch| tidy(branch, closed));
        }
    }
    if let Some(Value::Object(inner)) = object.get_mut("$defs") {
        inner.values_mut().for_each(|inner| tidy(inner, true));
    }
    if own && closed && !composed {
        object.entry("additionalProperties").or_insert(Value::Bool(false));
    }
}

fn tidy_fields(object: &mut Map<String, Value>) {
    let required: Vec<Value> = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = object.get_mut("properties") else { return };
    for (name, inner) in properties {
        tidy(inner, true);
        if !required.iter().any(|required| required == name) {
            drop_null(inner);
        }
    }
}

/// `Option<T>` is left out when it is absent, so `null` needs no mention; a `null` that comes anyway is repaired.
fn drop_null(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    if let Some(Value::Array(kinds)) = object.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(branches)) = object.get_mut("anyOf") else { return };
    branches.retain(|branch| branch.get("type").is_none_or(|kind| kind != "null"));
    if let [Value::Object(only)] = branches.as_slice() {
        let only = only.clone();
        object.remove("anyOf");
        only.into_iter().for_each(|(word, inner)| {
            object.entry(word).or_insert(inner);
        });
    }
}
