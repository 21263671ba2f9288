//! The clock, and what this machine is.

use jiff::Timestamp;
use serde_json::json;

use super::Bench;

#[tokio::test]
async fn s4_22_the_clock_is_read_here_and_in_a_zone() {
    let bench = Bench::new();
    let before = Timestamp::now().as_second();
    let berlin = bench.call("get_current_time", json!({ "timezone": "+02:00" })).await.unwrap();
    let after = Timestamp::now().as_second();
    let iso = berlin.details["iso"].as_str().unwrap().to_owned();
    let told: Timestamp = iso.parse().unwrap();
    assert!((before..=after).contains(&told.as_second()) && iso.ends_with("+02:00"), "{iso}");
    let weekday = told.to_zoned(jiff::tz::TimeZone::fixed(jiff::tz::offset(2))).strftime("%A").to_string();
    assert_eq!(berlin.text, format!("{iso} {weekday}"));
    let here = bench.text("current_time", json!({})).await;
    assert!(here.starts_with("20"), "{here}");
    assert!(bench.text("current_time", json!({ "zone": "UTC" })).await.contains("+00:00 "));
    let error = bench.error("current_time", json!({ "zone": "Mars/Olympus\0" })).await;
    assert_eq!(error, r#"there is no zone "Mars/Olympus\0"; write one like Europe/Berlin, UTC or +02:00"#);
}

#[tokio::test]
async fn s4_23_the_machine_is_described_without_who_uses_it() {
    let bench = Bench::new();
    let told = bench.call("system_info", json!({})).await.unwrap();
    for fact in ["os: ", "arch: ", "processors: ", "disk of the workspace: "] {
        assert!(told.text.lines().any(|line| line.starts_with(fact)), "{fact} is missing in {}", told.text);
    }
    assert_eq!(told.details["arch"], std::env::consts::ARCH);
    assert!(told.details["bash"].as_str().is_some_and(|version| version.contains("bash")), "{}", told.text);
    let who = ["USER", "LOGNAME", "HOSTNAME"].into_iter().filter_map(|name| std::env::var(name).ok());
    let words: Vec<&str> = told.text.split(|c: char| !c.is_alphanumeric() && c != '-').collect();
    assert_eq!(who.filter(|who| who.len() > 4 && words.contains(&who.as_str())).collect::<Vec<_>>(), [""; 0]);
}
