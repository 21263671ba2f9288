//! The values of the setting `output`, by what a model reads.

use std::time::Duration;

use serde_json::json;
use tillerman::tools::preset::Preset;

use super::Bench;

fn with(preset: Preset) -> Bench {
    Bench::with(|mut settings| {
        settings.output = preset.files;
        settings.shell.output = preset.commands;
        settings.shell.limits.time = preset.time;
        settings
    })
}

/// The first and the last line of a command that counts, and how long it all is.
async fn counted(bench: &Bench) -> (String, String, usize) {
    let text = bench.text("shell", json!({ "command": "seq 1 20000" })).await;
    let line = |line: Option<&str>| line.unwrap_or_default().chars().take(40).collect::<String>();
    (line(text.lines().next()), line(text.lines().next_back()), text.lines().count())
}

#[tokio::test]
async fn s0_37_s2_36_s3_42_each_preset_keeps_its_part_of_a_long_output() {
    let [s0, s2, s3] = [Preset::S0, Preset::S2, Preset::S3].map(with);
    assert_eq!(counted(&s0).await, ("[the first 18000 lines, 94.6 KB are cut;".into(), "20000".into(), 2001));
    let (first, last, lines) = counted(&s2).await;
    assert_eq!((first.as_str(), lines), ("1", 1222));
    assert!(last.starts_with("[the last 18779 lines, "), "{last}");
    assert_eq!(counted(&s3).await, ("1".into(), "20000".into(), 2001));
}

#[tokio::test]
async fn s2_39_a_file_is_shown_up_to_10000_bytes_and_is_read_on_from_there() {
    let bench = with(Preset::S2);
    bench.put("f", format!("{}\n", "x".repeat(99)).repeat(500));
    let text = bench.text("read_file", json!({ "path": "f" })).await;
    assert!((9_800..10_200).contains(&text.len()), "{}", text.len());
    assert!(text.ends_with("of 500; go on with offset 97]"), "{}", &text[text.len() - 60..]);
}

#[test]
fn s2_35_s3_62_commands_have_30_seconds_where_the_presets_say_so() {
    let times = [Preset::S0, Preset::S2, Preset::S3].map(|preset| preset.time);
    assert_eq!(times, [120, 30, 30].map(Duration::from_secs));
}
