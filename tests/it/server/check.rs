//! What providers refuse: every captured model request is checked for it.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::Captured;

/// Says what is wrong with the messages or items of a request.
type Check = fn(&[Value]) -> Result<(), String>;

/// Says what a provider would refuse in the request.
pub(super) fn sound(request: &Captured) -> Result<(), String> {
    let is = |end: &str| request.method == "POST" && request.path.ends_with(end);
    let (list, check): (&str, Check) = if is("/messages") {
        ("messages", check_anthropic)
    } else if is("/chat/completions") {
        ("messages", check_openai)
    } else if is("/responses") {
        ("input", check_responses)
    } else {
        return Ok(());
    };
    match request.body[list].as_array().filter(|list| !list.is_empty()) {
        None => Err(format!("no {list} in {}", String::from_utf8_lossy(&request.raw))),
        Some(items) => check(items).map_err(|why| format!("{} {why} in {}", request.path, request.body[list])),
    }
}

/// Every result behind its call and before the next turn, what is sealed before what it led to, and nothing twice.
fn check_responses(items: &[Value]) -> Result<(), String> {
    let mut open: HashSet<&str> = HashSet::new();
    let mut used: HashSet<&str> = HashSet::new();
    let mut answering = false;
    for (at, item) in items.iter().enumerate() {
        let word = |key: &str| item[key].as_str().unwrap_or_default();
        let kind = word("type");
        let spoken = kind != "function_call_output" && word("role") != "user";
        if item.get("id").is_some() || item.get("status").is_some() {
            return Err(format!("item {at} has an id, though nothing is stored"));
        }
        if (!spoken || answering) && kind != "function_call_output" && !open.is_empty() {
            return Err(format!("orphan calls {open:?} before item {at}"));
        }
        answering = !spoken;
        match kind {
            "message" => {
                let expected: &[&str] = if spoken { &["output_text"] } else { &["input_text", "input_image"] };
                let parts = item["content"].as_array().filter(|parts| !parts.is_empty()).ok_or("no content")?;
                let fits = |part: &Value| {
                    expected.contains(&part["type"].as_str().unwrap_or_default()) && part["text"].as_str() != Some("")
                };
                if !parts.iter().all(fits) {
                    return Err(format!("item {at} has a part that does not belong into it"));
                }
            }
            "function_call" => {
                let args = serde_json::from_str::<Value>(word("arguments"));
                let sound = fits(word("call_id")) && fits(word("name")) && args.is_ok_and(|args| args.is_object());
                if !sound || !used.insert(word("call_id")) || !open.insert(word("call_id")) {
                    return Err(format!("item {at} has a bad or used id, a bad name, or arguments that are no object"));
                }
            }
            "function_call_output" => {
                if !open.remove(word("call_id")) || !item["output"].is_string() {
                    return Err(format!("item {at} answers no open call"));
                }
            }
            "reasoning" => {
                let next = items.get(at + 1).map(|next| (&next["type"], &next["role"]));
                let led = next.is_some_and(|(kind, role)| {
                    kind == "reasoning" || kind == "function_call" || (kind == "message" && role == "assistant")
                });
                if !led || !item["summary"].is_array() || !used.insert(word("encrypted_content")) {
                    return Err(format!("item {at} leads to nothing, or is not sealed, or was sent before"));
                }
            }
            other => return Err(format!("item {at} is of type {other:?}")),
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("orphan calls {open:?}")) }
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

/// The conversation as messages; items that are no messages are made to look like those of Chat Completions.
pub(super) fn messages(body: &Value) -> Vec<Value> {
    let list = |name: &str| body[name].as_array().cloned().unwrap_or_default();
    let message = |item: Value| match item["type"].as_str() {
        Some("function_call_output") => {
            json!({"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]})
        }
        Some("message") => item,
        _ => json!({"role": "assistant", "item": item}),
    };
    if body["input"].is_array() { list("input").into_iter().map(message).collect() } else { list("messages") }
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
