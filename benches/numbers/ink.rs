//! What it costs to show an answer: a megabyte of Markdown in small deltas, made lines of and looked at after each.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tillerman::event::AgentEvent;
use tillerman::runtime::{Envelope, News, RunId, Source};
use tillerman::session::SessionId;
use tillerman::terminal::Look;
use tillerman::terminal::screen::{Screen, Texts};

use crate::table::{at, median, row};

/// The argument that measures only this.
pub(crate) const WORD: &str = "ink";
/// Bytes of a delta.
const DELTA: usize = 16;
/// Rows of the panel.
const ROWS: usize = 12;

const SECTION: &str = "## A heading\n\nSome **words** with `code` and a [link](https://example.org/a/b), long enough to be wrapped \
once or twice at the width of a terminal that somebody has.\n\n- one item\n- another with 中文字 in it\n  1. nested\n\n```rust\n\
fn answer(of: &str) -> u32 {\n    // what else\n    of.len() as u32 + 42\n}\n```\n\n| name | value |\n|---|--:|\n| a | 1 |\n| b | 22 |\n\n";

pub(crate) fn measure() {
    let cases = [
        ("a megabyte of everything", SECTION.repeat(1024 * 1024 / SECTION.len())),
        ("a megabyte without a line break", "word ".repeat(200_000)),
        ("one code block of a megabyte", format!("```rust\n{}", "let it = be + 1; // so\n".repeat(45_000))),
        ("one table of a megabyte", format!("| a | b |\n|---|---|\n{}", "| some | words |\n".repeat(60_000))),
    ];
    for (name, text) in cases {
        let (pushed, looked) = shown(&text);
        row(&format!("delta to lines: {name}"), "< 1 ms", of(&pushed));
        row(&format!("the unfinished rest, {ROWS} rows: {name}"), "< 1 ms", of(&looked));
    }
}

fn of(took: &[Duration]) -> String {
    let us = |took: Duration| format!("{:.1} µs", took.as_secs_f64() * 1e6);
    let tail = took.get(took.len() / 10 * 9..).unwrap_or_default();
    format!(
        "{} (p99 {}, last tenth {})",
        us(median(took.iter().copied())),
        us(at(took.iter().copied(), 0.99)),
        us(median(tail.iter().copied()))
    )
}

fn shown(text: &str) -> (Vec<Duration>, Vec<Duration>) {
    let mut screen = Screen::new(Look { color: true, ..Look::PLAIN }, 100, PathBuf::from("/"), Texts::Shown);
    let source = Source::Main { session: SessionId::new("s"), run: RunId(1) };
    let (mut pushed, mut looked) = (Vec::new(), Vec::new());
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(DELTA.min(rest.len())));
        rest = after;
        let news = News::Agent(AgentEvent::Text { text: piece.to_owned() });
        let envelope = Envelope { seq: 1, at: Timestamp::UNIX_EPOCH, source: source.clone(), news };
        let began = Instant::now();
        std::hint::black_box(screen.show(&envelope));
        pushed.push(began.elapsed());
        // The panel is drawn some sixty times a second, not for each delta.
        if pushed.len() % 16 == 0 {
            let began = Instant::now();
            std::hint::black_box(screen.live(ROWS));
            looked.push(began.elapsed());
        }
    }
    (pushed, looked)
}
