//! Measures what DESIGN promises in figures and prints it as a Markdown table: `cargo bench --bench numbers`.
//! With `-- compare OLD NEW` it measures only the start, of other builds, in turn; with `-- journal` only the sessions,
//! with `-- limits` only the ledger and the judge of progress, with `-- walls` only the walls around commands, with `-- secrets` only
//! what it costs to hide secrets, with `-- turns` only the turns of a run.
//! See docs/numbers.md for how each figure comes about.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a measurement that cannot be made should stop, loudly")]

mod compare;
mod crew;
mod ends;
mod hush;
mod journal;
mod limits;
mod process;
mod server;
mod stream;
mod table;
mod tokens;
mod walls;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if let [_, word, workers, ..] = words.as_slice()
        && word == crew::CHILD
    {
        return crew::child(workers.parse().expect("a number of workers"));
    }
    if let [_, word, session, ..] = words.as_slice()
        && word == journal::CHILD
    {
        return journal::child(session);
    }
    println!("{}\n", process::machine());
    if words.get(1).is_some_and(|word| word == journal::WORD) {
        table::head();
        return journal::measure();
    }
    if words.get(1).is_some_and(|word| word == limits::WORD) {
        table::head();
        return limits::measure();
    }
    if words.get(1).is_some_and(|word| word == walls::WORD) {
        table::head();
        return walls::measure();
    }
    if words.get(1).is_some_and(|word| word == process::TURNS) {
        table::head();
        return process::turns();
    }
    if words.get(1).is_some_and(|word| word == hush::WORD) {
        table::head();
        return hush::measure();
    }
    if let [_, word, binaries @ ..] = words.as_slice()
        && word == compare::WORD
    {
        let binaries: Vec<&String> = binaries.iter().filter(|word| !word.starts_with("--")).collect();
        return compare::measure(&binaries);
    }
    table::head();
    process::measure();
    walls::measure();
    ends::measure();
    crew::measure();
    journal::measure();
    limits::measure();
    stream::measure();
    tokens::measure();
    hush::measure();
}
