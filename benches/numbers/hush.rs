//! What it costs to keep known secrets out of text: whole texts, and output as it comes.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use tillerman::secret::Secrets;

use crate::table::{median, row};

/// The argument that measures only this.
pub(crate) const WORD: &str = "secrets";
/// Bytes looked through at a time, about.
const LENGTH: usize = 10_000_000;
/// Bytes that come at once from a command.
const CHUNK: usize = 64 * 1024;

pub(crate) fn measure() {
    let line = "   Compiling some-crate v1.2.3 (/home/somebody/projects/some-crate) token=abc id: 0123456789abcdef\n";
    let text = line.repeat(LENGTH / line.len());
    for known in [1, 50] {
        let value = |n: usize| format!("sk-ant-api03-{n:04}{}", "Zq7xW2".repeat(8));
        let secrets = Secrets::of((0..known).map(|n| (format!("KEY_{n}"), value(n))));
        let took = median((0..7).map(|_| {
            let began = Instant::now();
            assert!(matches!(secrets.hide(&text), Cow::Borrowed(_)), "there is nothing to hide");
            began.elapsed()
        }));
        row(&format!("a text without secrets looked through for {known}"), "", rate(text.len(), took));
        let told = text.replace("0123456789abcdef", &value(0));
        let took = median((0..7).map(|_| {
            let began = Instant::now();
            assert!(!secrets.hide(&told).contains(&value(0)), "the secret is hidden");
            began.elapsed()
        }));
        row("… one in each line", "", rate(told.len(), took));
        let took = median((0..7).map(|_| {
            let mut stream = secrets.stream();
            let began = Instant::now();
            let shown: usize = told.as_bytes().chunks(CHUNK).map(|chunk| stream.push_bytes(chunk).len()).sum();
            assert!(shown > 0, "most of it is shown");
            stream.end_bytes();
            began.elapsed()
        }));
        row("… as the output of a command", "", rate(told.len(), took));
    }
}

fn rate(bytes: usize, took: Duration) -> String {
    format!("{:.0} MB/s", bytes as f64 / took.as_secs_f64() / 1e6)
}
