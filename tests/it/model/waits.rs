//! The wait that a provider asks for, in all the places and shapes in which providers say it (A08–A12).

use std::time::Duration;

use jiff::{Timestamp, ToSpan};
use serde_json::json;
use tillerman::message::Message;
use tillerman::model::Fault;
use tillerman::model::http::Timeouts;

use super::talk::{ALL, ANTHROPIC, Ask, CHAT, id_of, models};
use crate::server::{Response, Server, says};

/// What the model understood. Nobody has any patience here, so a call that is asked to wait fails at once.
async fn asked(headers: &[(&str, &str)], body: &str) -> Option<Duration> {
    let server = Server::list([Response::with(429, headers, body), says().text("ok").into()]);
    let models = models(&server, Timeouts::default()).with_patience(Duration::ZERO);
    let error = Ask::new([Message::user("hi")]).send(&models.get(&id_of(CHAT)).unwrap()).await.0.err()?;
    error.retry_after
}

async fn check(cases: &[(&str, &str, u64)]) {
    let plays = cases.iter().map(|(name, value, millis)| async move {
        let (headers, body) = if *name == "body" { (vec![], *value) } else { (vec![(*name, *value)], "") };
        let expected = (*millis > 0).then(|| Duration::from_millis(*millis));
        assert_eq!(asked(&headers, body).await, expected, "{name}: {value}");
    });
    futures_util::future::join_all(plays).await;
}

fn date(at: Timestamp) -> String {
    jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&at).unwrap()
}

/// A08, A10: header, value, milliseconds.
#[tokio::test]
async fn a_wait_is_read_in_any_header_and_shape() {
    check(&[
        ("retry-after", "200", 200_000),
        ("retry-after", " 1.5 ", 1_500),
        ("retry-after", "30s", 30_000),
        ("retry-after", "86400", 86_400_000),
        ("retry-after-ms", "250", 250),
        ("x-ratelimit-reset-after", "200.0", 200_000),
        ("x-ratelimit-reset-after", "1m2.5s", 62_500),
        ("x-ratelimit-reset", "45", 45_000),
        ("ratelimit-reset", "45", 45_000),
        ("x-ratelimit-reset-requests", "6ms", 6),
        ("x-ratelimit-reset-tokens", "1h2m3s", 3_723_000),
        ("x-ratelimit-reset-requests", "7.66s", 7_660),
        ("x-other", "7", 0),
    ])
    .await;
}

/// A10: words of OpenAI, Groq, Gemini, gateways.
#[tokio::test]
async fn a_wait_is_read_in_any_text() {
    check(&[
        ("body", r#"{"error":{"message":"slow down, please try again in 200s."}}"#, 200_000),
        ("body", r#"{"error":{"message":"Limit 30000. Please try again in 1m20s. Visit …"}}"#, 80_000),
        ("body", r#"{"error":{"message":"Please try again in 7m12s"}}"#, 432_000),
        ("body", r#"{"error":{"message":"Please try again in 6ms."}}"#, 6),
        ("body", r#"{"error":{"message":"Please retry in 39.369s."}}"#, 39_369),
        ("body", r#"{"error":{"message":"retry in 39s"}}"#, 39_000),
        ("body", r#"{"error":{"message":"Please retry after 20 seconds."}}"#, 20_000),
        ("body", r#"{"error":{"message":"try again in 1 minute and 5 seconds"}}"#, 65_000),
        ("body", r#"{"error":{"message":"Too busy. Please wait 3 minutes"}}"#, 180_000),
        ("body", r#"{"error":{"details":[{"@type":"…RetryInfo","retryDelay":"39s"}]}}"#, 39_000),
        ("body", r#"{"error":{"code":429},"retry_after":1.5}"#, 1_500),
        ("body", "retry in 5", 5_000),
        ("body", r#"{"error":{"message":"try again in a moment"}}"#, 0),
        ("body", r#"{"error":{"message":"retry in 5 apples"}}"#, 0),
        ("body", r#"{"error":{"message":"try again in 0s"}}"#, 0),
    ])
    .await;
}

/// A10: the headers go before the words, and of the limits the one that was reached counts.
#[tokio::test]
async fn the_clearest_word_counts() {
    let text = r#"{"error":{"message":"retry in 7s"}}"#;
    assert_eq!(asked(&[("retry-after", "200")], text).await, Some(Duration::from_secs(200)));
    assert_eq!(
        asked(&[("retry-after", "200"), ("retry-after-ms", "1500")], "").await,
        Some(Duration::from_millis(1500))
    );
    let limits = [
        ("x-ratelimit-remaining-requests", "0"),
        ("x-ratelimit-reset-requests", "8.5s"),
        ("x-ratelimit-remaining-tokens", "29999"),
        ("x-ratelimit-reset-tokens", "1h"),
    ];
    assert_eq!(asked(&limits, "").await, Some(Duration::from_millis(8500)));
    let spent =
        limits.map(|(name, value)| (name, if name.ends_with("tokens") && value == "29999" { "0" } else { value }));
    assert_eq!(asked(&spent, "").await, Some(Duration::from_secs(3600)));
    let reset = (Timestamp::now() + 90.seconds()).to_string();
    let anthropic = [
        ("anthropic-ratelimit-requests-remaining", "49"),
        ("anthropic-ratelimit-requests-reset", "2099-01-01T00:00:00Z"),
        ("anthropic-ratelimit-input-tokens-remaining", "0"),
        ("anthropic-ratelimit-input-tokens-reset", reset.as_str()),
    ];
    let wait = asked(&anthropic, "").await.expect("a wait").as_secs_f64();
    assert!((80.0..=90.0).contains(&wait), "{wait}");
}

/// A09: in the future, and from a zone that does not exist.
#[tokio::test]
async fn a_date_is_a_wait() {
    let later = Timestamp::now() + 300.seconds();
    let zoned = later.to_zoned(jiff::tz::TimeZone::UTC);
    for (name, value) in [
        ("retry-after", date(later)),
        ("retry-after", date(later).replace("GMT", "MARS")),
        ("retry-after", zoned.strftime("%A, %d-%b-%y %H:%M:%S GMT").to_string()),
        ("retry-after", zoned.strftime("%a %b %e %H:%M:%S %Y").to_string()),
        ("retry-after", later.to_string()),
        ("retry-after", zoned.strftime("%a, %d %b %Y %H:%M:%S +0000").to_string()),
        ("x-ratelimit-reset", later.as_second().to_string()),
        ("x-ratelimit-reset", later.as_millisecond().to_string()),
        ("anthropic-ratelimit-tokens-reset", later.to_string()),
    ] {
        let wait = asked(&[(name, &value)], "").await.expect(&value);
        assert!((290..=300).contains(&wait.as_secs()), "{name}: {value} is {wait:?}");
    }
}

/// A09, A12: past, nonsense. Then the call is simply tried again after our own wait.
#[tokio::test]
async fn a_wait_that_makes_no_sense_is_ignored() {
    let past = date(Timestamp::now() - 300.seconds());
    let digits = "9".repeat(10_000);
    let words = "x".repeat(10_000);
    let values = ["-5", "NaN", "1e300", "-1e300", "inf", "soon", "", "0", "5x", &past, &digits, &words];
    let names = ["retry-after", "retry-after-ms", "x-ratelimit-reset", "x-ratelimit-reset-requests"];
    let plays = names.into_iter().flat_map(|name| values.map(|value| (name, value))).map(|(name, value)| async move {
        let body = json!({"error": {"message": "Too Many Requests"}}).to_string();
        let server = Server::list([Response::with(429, &[(name, value)], &body), says().text("ok").into()]);
        let model = models(&server, Timeouts::default()).get(&id_of(ANTHROPIC)).unwrap();
        let reply = Ask::new([Message::user("hi")]).send(&model).await.0;
        assert!(reply.is_ok(), "{name}: {value:.40}: {reply:?}");
    });
    futures_util::future::join_all(plays).await;
}

/// A05, A13: the provider knows best whether trying again helps; a key or an account does not become right by it.
#[tokio::test]
async fn x_should_retry_is_obeyed() {
    let cases = [
        (503, "false", Some(Fault::Unavailable), 1),
        (429, "false", Some(Fault::RateLimited), 1),
        (400, "true", None, 2),
        (501, "true", None, 2),
        (503, "true", None, 2),
        (503, "perhaps", None, 2),
        (401, "true", Some(Fault::Auth), 1),
        (402, "true", Some(Fault::Billing), 1),
    ];
    for id in ALL {
        for (status, word, fault, requests) in cases {
            let refusal = Response::with(status, &[("x-should-retry", word)], r#"{"error":{"message":"no"}}"#);
            let server = Server::list([refusal, says().text("ok").into()]);
            let model = models(&server, Timeouts::default()).get(&id_of(id)).unwrap();
            let error = Ask::new([Message::user("hi")]).send(&model).await.0.err();
            assert_eq!(error.as_ref().map(|error| error.fault), fault, "{id} {status} {word}: {error:?}");
            assert_eq!(server.requests().len(), requests, "{id} {status} {word}");
            if let Some(error) = error.filter(|error| error.fault.is_transient()) {
                assert!(error.message.ends_with("no; it says that asking again does not help"), "{error}");
            }
        }
    }
}
