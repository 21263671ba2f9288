//! What tokens cost to know: the guess, the vocabulary's loading and memory, and the count.

use std::time::Instant;

use tillerman::model::tokens::Size;

use crate::table::{mb, ms, row};

/// Guesses and counts this program's own source, a Chinese text and one letter a million times. Before the first count
/// the vocabulary is not in memory.
pub(crate) fn measure() {
    let source = include_str!("../../src/agent/run.rs").repeat(100);
    let chinese =
        "那天早上港口很安静,只有海鸥好像有事可做。一个男人沿着码头走,把每条船的名字写进一个小本子里。".repeat(2_000);
    let letter = "a".repeat(1_000_000);
    for (name, text) in [("Rust source", &source), ("Chinese text", &chinese)] {
        row(&format!("tokens guessed, {name}"), "", rate(text, |text| Size::guess(text).text));
    }
    let (before, started) = (resident(), Instant::now());
    Size::count("hi");
    row("vocabulary loaded, at the first count", "never in a short run", ms(started.elapsed()));
    row("… its memory", "", mb(resident().saturating_sub(before)));
    for (name, text) in [("Rust source", &source), ("Chinese text", &chinese), ("one letter", &letter)] {
        row(&format!("tokens counted, {name}"), "", rate(text, |text| Size::count(text).text));
    }
}

fn rate(text: &str, size: impl Fn(&str) -> u64) -> String {
    let once = || {
        let started = Instant::now();
        assert!(size(text) > 0, "a text has tokens");
        text.len() as f64 / started.elapsed().as_secs_f64() / 1e6
    };
    format!("{:.0} MB/s", (0..5).map(|_| once()).fold(0.0, f64::max))
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
}
