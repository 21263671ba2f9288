//! Writes a document. Strings that any YAML reader might take for something else are quoted.

use serde::Serialize;
use serde_json::Value;

use super::MarkdownError;

/// Plain words that are truth values or nothing to some YAML reader.
const WORDS: [&str; 11] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"];

/// Writes a document so that [`super::parse`] reads the same front and the same body, byte for byte.
///
/// # Errors
/// A front that is no structure or mapping.
pub fn render<T: Serialize>(front: &T, body: &str) -> Result<String, MarkdownError> {
    let unwritable = |message: String| MarkdownError::Unwritable { message };
    let front = serde_json::to_value(front).map_err(|error| unwritable(error.to_string()))?;
    let Value::Object(pairs) = front else {
        return Err(unwritable("it has no keys".to_owned()));
    };
    let mut text = String::from("---\n");
    block(&mut text, &pairs, 0);
    text.push_str("---\n");
    text.push_str(body);
    Ok(text)
}

fn block(text: &mut String, pairs: &serde_json::Map<String, Value>, depth: usize) {
    let indent = "  ".repeat(depth);
    for (name, value) in pairs {
        text.push_str(&format!("{indent}{}:", scalar(name)));
        match value {
            Value::Object(pairs) if !pairs.is_empty() => {
                text.push('\n');
                block(text, pairs, depth + 1);
            }
            Value::Array(items) if !items.is_empty() => {
                text.push('\n');
                items.iter().for_each(|item| text.push_str(&format!("{indent}  - {}\n", flow(item))));
            }
            value => text.push_str(&format!(" {}\n", flow(value))),
        }
    }
}

/// A value on one line.
fn flow(value: &Value) -> String {
    let listed = |items: Vec<String>| items.join(", ");
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(string) => scalar(string),
        Value::Array(items) => format!("[{}]", listed(items.iter().map(quoted_flow).collect())),
        Value::Object(pairs) => {
            let pairs = pairs.iter().map(|(name, value)| format!("{}: {}", quoted(name), quoted_flow(value)));
            format!("{{{}}}", listed(pairs.collect()))
        }
    }
}

/// Inside brackets a comma or a brace ends a plain word, so every string is quoted.
fn quoted_flow(value: &Value) -> String {
    match value {
        Value::String(string) => quoted(string),
        other => flow(other),
    }
}

fn scalar(string: &str) -> String {
    if is_plain(string) { string.to_owned() } else { quoted(string) }
}

/// Begins like a word and holds nothing that YAML gives a meaning to.
fn is_plain(string: &str) -> bool {
    let word = |c: char| c.is_alphabetic() || "_/".contains(c);
    let inside = |c: char| c.is_alphanumeric() || " _-./+()'".contains(c);
    string.starts_with(word)
        && string.chars().all(inside)
        && !string.ends_with(' ')
        && !WORDS.iter().any(|ambiguous| string.eq_ignore_ascii_case(ambiguous))
}

fn quoted(string: &str) -> String {
    let mut text = String::from("\"");
    for c in string.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\r' => text.push_str("\\r"),
            // Line and paragraph separators would be folded, marks dropped, controls refused.
            '\0'..=' ' if c != ' ' => text.push_str(&format!("\\x{:02x}", u32::from(c))),
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => text.push(c),
        }
    }
    text.push('"');
    text
}
