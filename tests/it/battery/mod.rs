//! The battery: the real program and its files under kills, cuts, full disks and flipped bits. In `cargo test` a short
//! form of each; `tests/battery/run` runs the long ones, as the variables `KILLS`, `CREW`, `CUTS`, `MEGABYTES`, `EVERY`,
//! and for `fleet` `FLEET`, `WORKERS` and `TURNS` say.

pub mod after;
mod crew;
mod faults;
mod kernel;
mod kill;
pub mod live;
mod power;
mod prefix;
mod rows;
pub mod scene;
mod size;
mod tracer;

use std::env;
use std::io::{self, Write};

/// Whether everything is to be tried, however long that takes.
pub fn every() -> bool {
    env::var_os("EVERY").is_some()
}

/// Numbers from 1 to `all`: each of them in the long form, otherwise about `few` spread over them, other ones each time.
fn sample(all: usize, few: usize) -> Vec<usize> {
    let step = if every() { 1 } else { all.div_ceil(few).max(1) };
    let first = 1 + usize::try_from(std::process::id()).unwrap_or(0) % step;
    (first..=all).step_by(step).collect()
}

/// A count that the environment may set.
pub fn knob(name: &str, short: usize) -> usize {
    env::var(name).ok().and_then(|count| count.parse().ok()).unwrap_or(short)
}

/// Says how much was tried, for the table of `tests/battery/run`.
pub fn tally(what: &str) {
    say(&format!("tally: {what}"));
}

/// Says aloud why nothing was tried.
pub fn skipped(why: &str) {
    let _ = writeln!(io::stderr(), "skipped: {why}");
}

#[allow(clippy::print_stdout, reason = "shown by --nocapture only")]
fn say(line: &str) {
    println!("{line}");
}
