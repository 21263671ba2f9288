//! The wait that a provider asks for, in all the places where providers say it (A08–A12).

use std::time::Duration;

use jiff::{Timestamp, ToSpan};
use serde_json::json;
use tillerman::message::Message;

use super::talk::{Ask, BOTH, model};
use crate::server::{Response, Server, says};

/// What the model understood. Waits in these tests are longer than anybody waits, so that the call fails at once.
async fn asked(headers: &[(&str, &str)], body: &str) -> Option<Duration> {
    let server = Server::list([Response::with(429, headers, body), says().text("ok").into()]);
    Ask::new([Message::user("hi")]).send(&model(&server, BOTH[1])).await.0.err()?.retry_after
}

fn date(at: Timestamp) -> String {
    jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&at).unwrap()
}

#[tokio::test]
async fn a_wait_is_read_wherever_it_stands() {
    let seconds = |n| Some(Duration::from_secs(n));
    let cases = [
        ("retry-after", "200", ""),
        ("retry-after-ms", "200000", ""),
        ("x-ratelimit-reset-after", "200.0", ""),
        ("x-other", "", r#"{"error":{"message":"slow down, please try again in 200s."}}"#),
        ("x-other", "", r#"{"error":{"details":[{"retryDelay":"200s"}]}}"#),
        ("x-other", "", r#"{"error":{"message":"retry in 200000ms"}}"#),
        ("retry-after", "200", r#"{"error":{"message":"retry in 7s"}}"#),
    ];
    for (name, value, body) in cases {
        assert_eq!(asked(&[(name, value)], body).await, seconds(200), "{name}: {value} {body}");
    }
    assert_eq!(asked(&[("retry-after", "86400")], "").await, seconds(86_400));
}

#[tokio::test]
async fn a_date_is_a_wait() {
    let later = Timestamp::now() + 300.seconds();
    for (name, value) in [
        ("retry-after", date(later)),
        ("x-ratelimit-reset", later.as_second().to_string()),
        ("x-ratelimit-reset", later.as_millisecond().to_string()),
    ] {
        let wait = asked(&[(name, &value)], "").await.expect("a wait");
        assert!((290..=300).contains(&wait.as_secs()), "{name}: {value} is {wait:?}");
    }
}

/// Then the call is simply tried again after our own wait.
#[tokio::test]
async fn a_wait_that_makes_no_sense_is_ignored() {
    let past = date(Timestamp::now() - 300.seconds());
    let long = "9".repeat(10_000);
    let values = ["-5", "NaN", "1e300", "inf", "soon", "Sun, 99 Foo 2026 00:00:00 MARS", "0", &past, &long];
    let plays = values.map(|value| async move {
        let body = json!({"error": {"message": "Too Many Requests"}}).to_string();
        assert_eq!(asked(&[("retry-after", value)], &body).await, None, "{value}");
    });
    futures_util::future::join_all(plays).await;
}
