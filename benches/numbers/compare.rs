//! Several builds of the program against each other, in turn, so that whatever else the machine does hits them alike:
//! `cargo bench --bench numbers -- compare OLD NEW`.

use std::time::Duration;

use crate::process::{Place, commands, run_of, version_of};
use crate::table::{mb, median};

/// The word that asks for it.
pub(crate) const WORD: &str = "compare";
/// How often each build runs.
const ROUNDS: usize = 60;

/// What was measured of one build.
#[derive(Default)]
struct Build {
    version: Vec<Duration>,
    start: Vec<Duration>,
    again: Vec<Duration>,
    exit: Vec<Duration>,
    first: Vec<u64>,
    fifty: Vec<u64>,
}

/// Prints a line for each build, with what each figure is of the first build's.
pub(crate) fn measure(binaries: &[&str]) {
    let mut builds: Vec<Build> = binaries.iter().map(|_| Build::default()).collect();
    for round in 0..ROUNDS {
        for (binary, build) in binaries.iter().zip(&mut builds) {
            build.version.push(version_of(binary));
            let place = Place::fresh();
            let first = run_of(binary, &place, commands(0, ""), (&[], true));
            let second = run_of(binary, &place, commands(0, ""), (&[], false));
            build.start.push(first.start());
            build.first.push(first.peak);
            build.again.push(second.start());
            build.exit.extend([first.exit(), second.exit()]);
            if round % 10 == 0 {
                build.fifty.push(run_of(binary, &Place::fresh(), commands(50, "true"), (&[], true)).peak);
            }
        }
    }
    println!("| build | `--version` | start | start again | last byte → exit | memory at first request | at turn 50 |");
    println!("|---|---|---|---|---|---|---|");
    for (binary, build) in binaries.iter().zip(&builds) {
        let base = &builds[0];
        let times = [
            of(&build.version, &base.version),
            of(&build.start, &base.start),
            of(&build.again, &base.again),
            of(&build.exit, &base.exit),
        ];
        let peaks = [&build.first, &build.fifty].map(|peaks| mb(peaks.iter().copied().max().unwrap_or(0)));
        println!("| {binary} | {} | {} |", times.join(" | "), peaks.join(" | "));
    }
}

/// The median in milliseconds, and as a part of the first build's.
fn of(times: &[Duration], base: &[Duration]) -> String {
    let [took, base] = [times, base].map(|times| median(times.iter().copied()).as_secs_f64() * 1e3);
    format!("{took:.2} ms ({:.2})", took / base)
}
