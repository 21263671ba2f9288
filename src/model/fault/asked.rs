//! The wait that a provider asks for, in its headers or in its words. What becomes of it is for `retry`.

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use reqwest::header::HeaderMap;

/// Limits that come with what is left of them and a moment of renewal: OpenAI, Groq and those like them; Anthropic.
const LIMITS: [(&str, &str); 6] = [
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
];

/// What stands before a wait in a text, in lower case.
const PHRASES: [&str; 9] = [
    "retrydelay",
    "retry_after",
    "retry-after",
    "retry in",
    "retry after",
    "again in",
    "again after",
    "please wait",
    "reset in",
];

/// The wait that the headers ask for. Values that are nothing, negative, no number or beyond any calendar are ignored.
pub(super) fn in_headers(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let until = |name: &str| wait(text(name)?, now);
    let millis = |name: &str| Duration::try_from_secs_f64(text(name)?.parse::<f64>().ok()? / 1000.0).ok();
    // A limit of which something is left is not the one that was reached.
    let spent = LIMITS.iter().filter(|(left, _)| text(left).is_none_or(|left| left.parse() == Ok(0.0)));
    let asked = [
        millis("retry-after-ms"),
        until("retry-after"),
        until("x-ratelimit-reset-after"),
        spent.filter_map(|(_, reset)| until(reset)).max(),
        until("x-ratelimit-reset"),
        until("ratelimit-reset"),
    ];
    asked.into_iter().flatten().find(|wait| !wait.is_zero())
}

/// Whether the provider says that trying again helps.
pub(super) fn again(headers: &HeaderMap) -> Option<bool> {
    headers.get("x-should-retry")?.to_str().ok()?.trim().parse().ok()
}

/// The wait that a text asks for: `"retryDelay": "39s"`, `Please try again in 1m20s`, `retry in 300ms`.
pub(super) fn in_text(text: &str) -> Option<Duration> {
    let text = text.to_lowercase();
    let mut found = PHRASES.iter().flat_map(|phrase| text.match_indices(phrase));
    found.find_map(|(at, phrase)| {
        let rest = text[at + phrase.len()..].trim_start_matches([' ', '"', ':', '=']);
        span(rest).map(|(wait, _)| wait).filter(|wait| !wait.is_zero())
    })
}

/// A wait as headers write it: seconds, a span, or the moment when it ends.
fn wait(text: &str, now: Timestamp) -> Option<Duration> {
    let until = |at: Timestamp| Duration::try_from(at.duration_since(now)).ok();
    match text.parse::<f64>() {
        Ok(seconds) if seconds < 1e9 => Duration::try_from_secs_f64(seconds).ok(),
        // No wait but a moment. OpenRouter counts in milliseconds, others in seconds.
        Ok(moment) => {
            let millis = if moment > 1e11 { moment } else { moment * 1000.0 };
            until(Timestamp::from_millisecond(millis as i64).ok()?)
        }
        Err(_) => match span(text) {
            Some((wait, "")) => Some(wait),
            Some(_) | None => until(date(text)?),
        },
    }
}

/// A moment in any form that HTTP allows (RFC 9110, section 5.6.7), or in that of RFC 3339. A zone that does not exist
/// counts as GMT, the only one that HTTP knows.
fn date(text: &str) -> Option<Timestamp> {
    let old = |form| DateTime::strptime(form, text).ok()?.to_zoned(TimeZone::UTC).ok();
    let mail = || Some(jiff::fmt::rfc2822::parse(text).ok()?.timestamp());
    let oldest = || Some(old("%A, %d-%b-%y %H:%M:%S GMT").or_else(|| old("%a %b %e %H:%M:%S %Y"))?.timestamp());
    mail().or_else(|| text.parse().ok()).or_else(oldest)
}

/// The span that a text begins with, and the rest: `39s`, `1m2.5s`, `6ms`, `1 minute and 20 seconds`. A number alone
/// counts seconds.
fn span(text: &str) -> Option<(Duration, &str)> {
    let mut total = None;
    let mut rest = text;
    while rest.starts_with(|c: char| c.is_ascii_digit()) {
        let (number, after) = split(rest, |c| c.is_ascii_digit() || c == '.');
        let (unit, after) = split(after.trim_start_matches(' '), char::is_alphabetic);
        let seconds = match unit {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" | "msec" | "millisecond" | "milliseconds" => 1e-3,
            "" | "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            _ => break,
        };
        let number: f64 = number.trim_end_matches('.').parse().ok()?;
        let part = Duration::try_from_secs_f64(number * seconds).ok()?;
        total = Some(total.unwrap_or(Duration::ZERO).checked_add(part)?);
        rest = after.trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    Some((total?, rest))
}

/// What a text begins with, and the rest.
fn split(text: &str, is_part: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !is_part(c)).unwrap_or(text.len()))
}
