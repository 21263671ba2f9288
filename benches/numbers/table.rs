//! The table that comes out, in Markdown, and the arithmetic behind it.

use std::time::Duration;

/// Begins the table.
pub(crate) fn head() {
    println!("| what | bar | measured |\n|---|---|---|");
}

/// One line, printed as soon as it is known.
pub(crate) fn row(what: &str, bar: &str, measured: String) {
    println!("| {what} | {bar} | {measured} |");
}

/// The middle one; zero of nothing.
pub(crate) fn median(values: impl Iterator<Item = Duration>) -> Duration {
    at(values, 0.5)
}

/// The value below which this part of all lies; zero of nothing.
pub(crate) fn at(values: impl Iterator<Item = Duration>, part: f64) -> Duration {
    let mut sorted: Vec<Duration> = values.collect();
    sorted.sort();
    let index = (sorted.len() as f64 * part) as usize;
    sorted.get(index.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// Milliseconds.
pub(crate) fn ms(took: Duration) -> String {
    format!("{:.2} ms", took.as_secs_f64() * 1e3)
}

/// Megabytes of a million bytes, as the bars count them.
pub(crate) fn mb(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
