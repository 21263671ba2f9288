//! What providers refuse: every captured model request is checked for it.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::Captured;

/// Says what is wrong with the messages or items of a request.
type Check = fn(&[Value]) -> Result<(), String>;

/// Says what a provider would refuse in the request.
pub(super) fn sound(request: &Captured) -> Result<(), String> {
    let path = request.path.split('?').next().unwrap_or_default();
    let is = |end: &str| request.method == "POST" && path.ends_with(end);
    let (list, check): (&str, Check) = if is("/messages") {
        ("messages", check_anthropic)
    } else if is("/chat/completions") {
        ("messages", check_openai)
    } else if is("/responses") {
        ("input", check_responses)
    } else if is("enerateContent") {
        ("contents", check_gemini)
    } else if is("/api/chat") {
        ("messages", check_ollama)
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
                let shown = |part: &Value| part["type"] == "input_text" || part["type"] == "input_image";
                let says = |output: &Value| match output.as_array() {
                    Some(parts) => parts.len() > 1 && parts.iter().all(shown),
                    None => output.is_string(),
                };
                if !open.remove(word("call_id")) || !says(&item["output"]) {
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

/// Calls by id and name. A model of today refuses a first call without a proof.
fn check_gemini(contents: &[Value]) -> Result<(), String> {
    let mut open: HashSet<(&str, &str)> = HashSet::new();
    for (at, content) in contents.iter().enumerate() {
        if content["role"] != if at % 2 == 0 { "user" } else { "model" } {
            return Err(format!("content {at} is out of turn"));
        }
        let parts = content["parts"].as_array().filter(|parts| !parts.is_empty()).ok_or("content without parts")?;
        let mut others = false;
        for part in parts {
            let (text, result) = (part["text"].as_str(), &part["functionResponse"]);
            if text.is_some_and(|text| text.trim().is_empty()) && part["thoughtSignature"].is_null() {
                return Err(format!("content {at} has an empty text"));
            }
            if result.is_object() && (others || !open.remove(&named(result)) || !result["response"].is_object()) {
                return Err(format!("result {result} answers no open call, or stands behind other parts"));
            }
            others |= !result.is_object();
        }
        if !open.is_empty() {
            return Err(format!("orphan calls {open:?}"));
        }
        let calls: Vec<&Value> = parts.iter().filter(|part| part["functionCall"].is_object()).collect();
        if calls.first().is_some_and(|call| call["thoughtSignature"].as_str().is_none_or(str::is_empty)) {
            return Err(format!("the first call of content {at} is missing a thought_signature"));
        }
        open = calls.iter().map(|part| named(&part["functionCall"])).collect();
        if open.len() != calls.len() || calls.iter().any(|part| !part["functionCall"]["args"].is_object()) {
            return Err(format!("content {at} has calls with the same id, or args that are no object"));
        }
    }
    let users = contents.last().is_some_and(|content| content["role"] == "user");
    if open.is_empty() && users {
        Ok(())
    } else {
        Err(format!("it ends with the model, or with orphan calls {open:?}"))
    }
}

fn named(value: &Value) -> (&str, &str) {
    (value["id"].as_str().unwrap_or_default(), value["name"].as_str().unwrap_or_default())
}

fn check_ollama(messages: &[Value]) -> Result<(), String> {
    let mut open: HashSet<(&str, &str)> = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        let text = |key: &str| message[key].as_str().unwrap_or_default();
        if message["role"] == "tool" {
            if !open.remove(&(text("tool_call_id"), text("tool_name"))) || text("content").is_empty() {
                return Err(format!("result {message} answers no open call, or says nothing"));
            }
            continue;
        }
        if !open.is_empty() {
            return Err(format!("orphan calls {open:?} before message {at}"));
        }
        let list: Vec<&Value> = message["tool_calls"].as_array().into_iter().flatten().collect();
        if list.iter().any(|call| !call["function"]["arguments"].is_object()) {
            return Err(format!("arguments of message {at} are no object"));
        }
        open = list.iter().map(|call| (named(call).0, named(&call["function"]).1)).collect();
        let images = message["images"].as_array().is_some_and(|images| !images.is_empty());
        if open.len() != list.len() || (list.is_empty() && !images && text("content").is_empty()) {
            return Err(format!("message {at} is empty or has calls with the same id"));
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
    let content = |mut content: Value| {
        if content["role"] == "model" {
            content["role"] = json!("assistant");
        }
        content
    };
    if body["input"].is_array() {
        list("input").into_iter().map(message).collect()
    } else if body["contents"].is_array() {
        list("contents").into_iter().map(content).collect()
    } else {
        list("messages")
    }
}

pub(super) fn user_text(message: &Value) -> Option<String> {
    if message["role"] != "user" {
        return None;
    }
    let content = message.get("content").unwrap_or(&message["parts"]);
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => Some(blocks.iter().filter_map(|block| block["text"].as_str()).collect()),
        _ => None,
    }
}

pub(super) fn results(message: &Value) -> Vec<(String, String)> {
    // Behind the words there may be pictures.
    let text = |value: &Value| value.as_str().or(value[0]["text"].as_str()).unwrap_or_default().to_owned();
    if message["role"] == "tool" {
        return vec![(text(&message["tool_call_id"]), text(&message["content"]))];
    }
    if let Some(parts) = message["parts"].as_array() {
        let results = parts.iter().map(|part| &part["functionResponse"]).filter(|result| result.is_object());
        let said = |response: &Value| text(response.get("output").unwrap_or(&response["error"]));
        return results.map(|result| (text(&result["id"]), said(&result["response"]))).collect();
    }
    let blocks = message["content"].as_array().into_iter().flatten();
    let results = blocks.filter(|block| block["type"] == "tool_result");
    results.map(|block| (text(&block["tool_use_id"]), text(&block["content"]))).collect()
}
