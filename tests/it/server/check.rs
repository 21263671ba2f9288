//! What providers refuse: every captured model request is checked for it.

use std::collections::HashSet;

use serde_json::Value;

use super::Captured;

/// Says what a provider would refuse in the request.
pub(super) fn sound(request: &Captured) -> Result<(), String> {
    let anthropic = request.path.ends_with("/messages");
    if request.method != "POST" || !(anthropic || request.path.ends_with("/chat/completions")) {
        return Ok(());
    }
    let messages = request.body["messages"].as_array().filter(|messages| !messages.is_empty());
    let Some(messages) = messages else {
        return Err(format!("no messages in {}", String::from_utf8_lossy(&request.raw)));
    };
    let checked = if anthropic { check_anthropic(messages) } else { check_openai(messages) };
    checked.map_err(|why| format!("{} {why} in {}", request.path, request.body["messages"]))
}

fn check_anthropic(messages: &[Value]) -> Result<(), String> {
    let mut open: HashSet<&str> = HashSet::new();
    let mut used: HashSet<&str> = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        let expected = if at % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != expected {
            return Err(format!("message {at} is not of role {expected}"));
        }
        let mut others = false;
        for block in message["content"].as_array().ok_or("content is no array")? {
            match block["type"].as_str() {
                Some("text") if block["text"].as_str().is_none_or(|text| text.trim().is_empty()) => {
                    return Err(format!("message {at} has an empty text block"));
                }
                Some("tool_result") => {
                    let id = block["tool_use_id"].as_str().unwrap_or_default();
                    if others || !open.remove(id) {
                        return Err(format!("result {id:?} answers no open call, or stands behind other content"));
                    }
                }
                Some("tool_use") => {
                    let id = block["id"].as_str().unwrap_or_default();
                    if !fits(id) || !used.insert(id) || !block["input"].is_object() {
                        return Err(format!("call {id:?} has a bad or used id, or an input that is no object"));
                    }
                }
                Some(_) | None => {}
            }
            others |= block["type"] != "tool_result";
        }
        if !open.is_empty() {
            return Err(format!("orphan calls {open:?}"));
        }
        open = calls(message, "content", "id");
        if message["content"].as_array().is_some_and(Vec::is_empty) {
            return Err(format!("message {at} is empty"));
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("orphan calls {open:?}")) }
}

fn check_openai(messages: &[Value]) -> Result<(), String> {
    let mut open: HashSet<&str> = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if !open.remove(id) {
                return Err(format!("result {id:?} answers no open call"));
            }
            continue;
        }
        if !open.is_empty() {
            return Err(format!("orphan calls {open:?} before message {at}"));
        }
        let list = message["tool_calls"].as_array();
        for call in list.into_iter().flatten() {
            let args = call["function"]["arguments"].as_str().unwrap_or_default();
            if !serde_json::from_str::<Value>(args).is_ok_and(|args| args.is_object()) {
                return Err(format!("arguments {args:?} are no object"));
            }
        }
        open = calls(message, "tool_calls", "id");
        if list.is_some_and(|list| list.len() != open.len()) {
            return Err(format!("message {at} has calls with the same id"));
        }
        if list.is_none() && message["content"].as_str() == Some("") {
            return Err(format!("message {at} is empty"));
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("orphan calls {open:?}")) }
}

fn calls<'a>(message: &'a Value, list: &str, id: &str) -> HashSet<&'a str> {
    let items = message[list].as_array().into_iter().flatten();
    items
        .filter(|item| item["type"] == "tool_use" || list == "tool_calls")
        .filter_map(|item| item[id].as_str())
        .collect()
}

fn fits(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// The messages after the assistant's last one.
pub(super) fn tail(body: &Value) -> &[Value] {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let last = messages.iter().rposition(|message| message["role"] == "assistant");
    &messages[last.map_or(0, |at| at + 1)..]
}

pub(super) fn user_text(message: &Value) -> Option<String> {
    if message["role"] != "user" {
        return None;
    }
    match &message["content"] {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => Some(blocks.iter().filter_map(|block| block["text"].as_str()).collect()),
        _ => None,
    }
}

pub(super) fn results(message: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if message["role"] == "tool" {
        return vec![(text(&message["tool_call_id"]), text(&message["content"]))];
    }
    let blocks = message["content"].as_array().into_iter().flatten();
    let results = blocks.filter(|block| block["type"] == "tool_result");
    results.map(|block| (text(&block["tool_use_id"]), text(&block["content"]))).collect()
}
