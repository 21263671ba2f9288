//! The words of foreign files: what other programs call our tools and fields, and how they write a list. Judges nothing.

use serde_json::Value;

use crate::tool::our_name;

/// Fields that other programs know and that change nothing here; a person who wrote one should not rely on it.
pub(super) const WITHOUT_EFFECT: [&str; 5] = ["permissionMode", "mcpServers", "hooks", "memory", "isolation"];

/// Fields that say something about the file.
pub(super) const ABOUT: [&str; 4] = ["title", "tags", "version", "color"];

/// Our fields, each with the other names it has.
pub(super) const FIELDS: [(&str, &[&str]); 11] = [
    ("name", &[]),
    ("description", &[]),
    ("model", &[]),
    ("effort", &[]),
    ("tools", &["allowedTools", "allowed_tools", "allowed-tools"]),
    ("disallowedTools", &["disallowed_tools", "disallowed-tools"]),
    ("skills", &[]),
    ("maxTurns", &["max_turns", "max_steps", "max_iterations"]),
    ("budget", &["limits"]),
    ("approval", &[]),
    ("background", &[]),
];

/// A field of ours as it is written in this file: under its own name or another one.
pub(super) fn written<'a>(front: &'a Value, field: &'static str) -> Option<(&'a str, &'a Value)> {
    let others = FIELDS.iter().find(|(name, _)| *name == field).map_or(&[] as &[&str], |(_, others)| others);
    let pairs = front.as_object()?;
    std::iter::once(&field)
        .chain(others)
        .find_map(|name| pairs.get_key_value(*name))
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.as_str(), value))
}

/// The field has a place here, under whatever name.
pub(super) fn is_ours(field: &str) -> bool {
    FIELDS.iter().any(|(name, others)| *name == field || others.contains(&field))
}

/// A list, or one text with commas; commas in brackets, as in `Bash(a, b)`, do not count. `None` for anything else.
pub(super) fn list(value: &Value) -> Option<Vec<String>> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?.join(","),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    let mut depth = 0_usize;
    let comma = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    Some(text.split(comma).map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect())
}

/// Our name of a tool; what stands in brackets behind it is a rule of another program.
pub(super) fn ours(tool: &str) -> String {
    let bare = tool.split('(').next().unwrap_or(tool).trim();
    our_name(bare).into_owned()
}

/// The list names no tool in particular: all of them.
pub(super) fn is_everything(tool: &str) -> bool {
    tool == "*" || tool == "all"
}
