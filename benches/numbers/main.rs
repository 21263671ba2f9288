//! Measures what DESIGN promises in figures and prints it as a Markdown table: `cargo bench --bench numbers`.
//! See docs/numbers.md for how each figure comes about.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a measurement that cannot be made should stop, loudly")]

mod process;
mod server;
mod stream;
mod table;

fn main() {
    println!("{}\n", process::machine());
    table::head();
    process::measure();
    stream::measure();
}
