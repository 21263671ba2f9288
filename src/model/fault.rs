//! What went wrong at a provider, and what one does about it: from status, error code and text to a [`Fault`], and
//! from headers and text to the wait that the provider asks for. Keys are blotted out here.

mod asked;
mod overflow;

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::Fault;

/// Most bytes of a provider's words that are shown.
const SHOWN: usize = 2 << 10;

/// A refusal as the provider worded it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Refusal {
    /// HTTP status, or the number that stands for one in a stream.
    pub(super) status: Option<u16>,
    /// Error code and type, in lower case, joined by a space.
    pub(super) code: String,
    /// The message for people, one line.
    pub(super) text: String,
    /// When to try again.
    pub(super) retry_after: Option<Duration>,
    /// Whether to try again at all.
    pub(super) should_retry: Option<bool>,
}

/// Texts by which servers say that they take no tools, whatever their status: 400 of Ollama, vLLM, DeepSeek, Alibaba
/// and Gemini's open models, 404 of OpenRouter, 405 of DeepInfra, 500 of llama.cpp.
const NO_TOOLS: &[&str] = &[
    "does not support tools",
    "does not support tool call",
    "does not support function call",
    "no endpoints found that support tool use",
    "no endpoints found that support the provided 'tool_choice'",
    "--enable-auto-tool-choice",
    "requires --jinja",
    "unsupported param: tools",
    "tool call is not supported",
    "tool calling is not supported",
    "tool calling` is not supported",
    "function call is not supported",
    "function calling is not supported",
    "function calling is not enabled",
];

/// Words of an account without money.
const BILLING: &[&str] = &[
    "insufficient_quota",
    "insufficient_balance",
    "insufficient balance",
    "billing_error",
    "billing_hard_limit",
    "billing_not_active",
    "credit balance is too low",
    "insufficient credit",
    "spend limit",
    "spending limit",
    "spend_limit",
    "payment required",
];

impl Refusal {
    /// Reads the error object that is, or is inside, a body or an event.
    pub(super) fn read(status: Option<u16>, body: &str) -> Refusal {
        let Ok(value) = serde_json::from_str::<Value>(body) else {
            let text = if body.trim_start().starts_with('<') { title(body) } else { one_line(body) };
            return Refusal { status, text, retry_after: asked::in_text(body), ..Refusal::default() };
        };
        // Gemini wraps its errors in a list.
        let value = value.get(0).unwrap_or(&value);
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        let words = |key: &str| match &error[key] {
            Value::String(text) => text.to_lowercase(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => String::new(),
        };
        let code = [words("code"), words("type"), words("status")].join(" ").trim().to_owned();
        let text = [&error["message"], &error["metadata"]["raw"], &value["message"], &value["detail"], error]
            .iter()
            .find_map(|text| text.as_str().filter(|text| !text.is_empty()));
        let status = status.or_else(|| error["code"].as_u64().and_then(|code| u16::try_from(code).ok()));
        let text = text.map_or_else(|| one_line(body), one_line);
        Refusal { status, text, code, retry_after: asked::in_text(body), should_retry: None }
    }

    /// Takes over what the headers say of trying again; they know better than the body.
    pub(super) fn heed(&mut self, headers: &HeaderMap, now: Timestamp) {
        self.retry_after = asked::in_headers(headers, now).or(self.retry_after);
        self.should_retry = asked::again(headers);
    }

    /// What kind of fault it is.
    pub(super) fn fault(&self) -> Fault {
        match (self.kind(), self.should_retry) {
            // The provider knows that it will pass.
            (Fault::BadRequest | Fault::NoSuchModel, Some(true)) => Fault::Unavailable,
            (fault, _) => fault,
        }
    }

    /// When to try again; never is the longest wait there is.
    pub(super) fn wait(&self) -> Option<Duration> {
        if self.should_retry == Some(false) { Some(Duration::MAX) } else { self.retry_after }
    }

    /// Status first, then code, then text.
    fn kind(&self) -> Fault {
        let text = self.text.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| self.code.contains(word) || text.contains(word));
        let no_credit = BILLING.iter().any(|word| self.code.contains(word));
        let rate = overflow::is_rate(&self.code, &text);
        let overflow = overflow::is_told(&self.code, &text);
        let no_tools = NO_TOOLS.iter().any(|words| text.contains(words));
        match self.status {
            Some(402) => Fault::Billing,
            Some(401 | 403) if says(BILLING) => Fault::Billing,
            Some(401 | 403) => Fault::Auth,
            Some(413) => Fault::Overflow,
            Some(429) if no_credit || (says(BILLING) && self.retry_after.is_none()) => Fault::Billing,
            Some(429) if overflow::never_fits(&text) => Fault::Overflow,
            Some(429) => Fault::RateLimited,
            Some(_) | None if overflow => Fault::Overflow,
            Some(_) | None if no_tools => Fault::NoTools,
            Some(404) => Fault::NoSuchModel,
            Some(408 | 409 | 425 | 500 | 502 | 503 | 504 | 520..=524 | 529) => Fault::Unavailable,
            Some(_) | None => self.by_code(&text, rate),
        }
    }

    fn by_code(&self, text: &str, rate: bool) -> Fault {
        let code = |words: &[&str]| words.iter().any(|word| self.code.contains(word));
        if code(BILLING) || BILLING.iter().any(|word| text.contains(word)) {
            Fault::Billing
        } else if rate || code(&["resource_exhausted"]) {
            Fault::RateLimited
        } else if code(&["authentication", "permission", "invalid_api_key"]) || text.contains("api key not valid") {
            Fault::Auth
        } else if code(&["model_not_found", "not_found_error"]) {
            Fault::NoSuchModel
        } else if code(&["invalid_", "_policy", "image_"]) || self.status.is_some() {
            Fault::BadRequest
        } else {
            // Only an event inside a stream has no status: the request was accepted and something broke later.
            Fault::Unavailable
        }
    }
}

/// What a web page calls itself: gateways answer with pages, and the rest of them tells a person nothing.
fn title(page: &str) -> String {
    let inner = page.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    inner.map_or_else(|| "a web page".to_owned(), |(title, _)| format!("a web page, {}", one_line(title)))
}

/// One line of at most 2 KB.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        let room = SHOWN.saturating_sub(line.len() + 4);
        if word.len() > room {
            line.push_str(&word[..word.floor_char_boundary(room)]);
            line.push('…');
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line.retain(|c| !c.is_control());
    line
}

/// Shortest key that is blotted out; anything shorter is a placeholder and part of ordinary words.
const SHORTEST_KEY: usize = 8;

/// Blots out a key wherever it stands, also when it is cut at the end of the text.
pub(super) fn without(key: &str, text: &str) -> String {
    if key.len() < SHORTEST_KEY {
        return text.to_owned();
    }
    let mut clean = text.replace(key, "[key]");
    let ends = |n: &usize| clean.trim_end_matches('…').ends_with(&key[..*n]);
    if let Some(cut) = (SHORTEST_KEY..key.len()).rev().find(ends) {
        let kept = clean.trim_end_matches('…').len() - cut;
        clean.truncate(kept);
        clean.push_str("[key]");
    }
    clean
}
