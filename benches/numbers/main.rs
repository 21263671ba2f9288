//! Measures what DESIGN promises in figures and prints it as a Markdown table: `cargo bench --bench numbers`.
//! With `-- compare OLD NEW` it measures only the start, of other builds, in turn; with `-- journal` only the sessions,
//! with `-- limits` only the ledger and the judge of progress, with `-- walls` only the walls around commands, with `-- secrets` only
//! what it costs to hide secrets, with `-- turns` only the turns of a run, with `-- ink` only how an answer
//! becomes lines, with `-- screen` only what a person at the prompt waits for.
//! See docs/numbers.md for how each figure comes about.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a measurement that cannot be made should stop, loudly")]

mod compare;
mod crew;
mod ends;
mod hush;
mod ink;
mod journal;
mod limits;
mod process;
mod screen;
mod server;
mod stream;
mod table;
mod tokens;
mod walls;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let wanted: &[fn()] = match words.as_slice() {
        [crew::CHILD, workers, ..] => return crew::child(workers.parse().expect("a number of workers")),
        [journal::CHILD, session, ..] => return journal::child(session),
        [compare::WORD, binaries @ ..] => {
            println!("{}\n", process::machine());
            let binaries: Vec<&str> = binaries.iter().copied().filter(|word| !word.starts_with("--")).collect();
            return compare::measure(&binaries);
        }
        [journal::WORD, ..] => &[journal::measure],
        [limits::WORD, ..] => &[limits::measure],
        [walls::WORD, ..] => &[walls::measure],
        [process::TURNS, ..] => &[process::turns],
        [hush::WORD, ..] => &[hush::measure],
        [ink::WORD, ..] => &[ink::measure],
        [screen::WORD, ..] => &[screen::measure],
        _ => &[
            process::measure,
            walls::measure,
            ends::measure,
            crew::measure,
            journal::measure,
            limits::measure,
            stream::measure,
            tokens::measure,
            hush::measure,
            ink::measure,
            screen::measure,
        ],
    };
    println!("{}\n", process::machine());
    table::head();
    wanted.iter().for_each(|measure| measure());
}
