//! Trees, branches and lines as they are drawn.

use jiff::{SignedDuration, Timestamp};
use tillerman::session::{Branch, EntryId, Kind, Outline, Row, Turn};
use tillerman::terminal::wrap::columns;
use tillerman::terminal::{Look, tree};

const PLAIN: Look = Look::PLAIN;

fn entry() -> EntryId {
    "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap()
}

fn row(number: u64, kind: Kind, words: &str) -> Row {
    let (depth, calls) = (0, 0);
    let words = words.to_owned();
    Row { entry: entry(), number, last: number, kind, depth, is_current: true, is_here: false, calls, words }
}

fn outline() -> Outline {
    let rows = vec![
        row(1, Kind::User, "refactor \u{1b}[2Jmain.rs"),
        Row { last: 12, calls: 6, ..row(2, Kind::Assistant, "shell ×6") },
        Row { depth: 1, is_current: false, ..row(21, Kind::User, "no, the docs") },
        row(
            13,
            Kind::Assistant,
            "重构完成了，现在 main.rs 只剩下四十行，其余的都在 src/cli 里面，测试全部通过。还要做什么吗？",
        ),
        Row { is_here: true, ..row(14, Kind::Note, "hurry") },
    ];
    Outline { rows, before: 120, after: 0 }
}

#[test]
fn a_tree_shows_who_spoke_and_where_the_conversation_stands() {
    let expected = [
        "… 120 before; /tree m1",
        "  m1      > refactor main.rs",
        "  m2–m12  ├ 6 calls: shell ×6",
        "  m21     ┊ > no, the docs",
        "  m13     ◆ 重构完成了，现在 main.rs 只剩下四十行，其余的都在 src/cli 里面，测…",
        "● m14     ↳ hurry",
    ];
    assert_eq!(tree::tree(&outline(), "/tree m1", PLAIN, 80), expected);
    let none = Outline { rows: vec![], before: 0, after: 0 };
    assert_eq!(tree::tree(&none, "", PLAIN, 80), ["nothing was said yet"]);
}

#[test]
fn no_line_is_wider_than_the_terminal_however_deep() {
    let mut outline = outline();
    for depth in 0..40 {
        outline.rows.push(Row { depth, ..row(1000 + depth as u64, Kind::Assistant, &"宽".repeat(200)) });
    }
    for width in [20, 40, 80, 200] {
        for line in tree::tree(&outline, "/tree m1", PLAIN, width).iter().skip(1) {
            assert!(columns(line) <= width, "{width}: {line}");
        }
    }
}

#[test]
fn branches_and_lines_say_how_old_they_are() {
    let now = Timestamp::now();
    let ago = |seconds| Some(now - SignedDuration::from_secs(seconds));
    let branch = |number, is_current, parts_at, words: &str, at| Branch {
        entry: entry(),
        number,
        is_current,
        messages: 3,
        parts_at,
        kind: Kind::Assistant,
        words: words.into(),
        at,
    };
    let all = [branch(6, false, Some(2), "the other way", ago(7300)), branch(19, true, None, "this way", ago(-30))];
    let expected =
        ["  m6   ◆ the other way  3 messages, parts at m2, 2h01m ago", "● m19  ◆ this way  3 messages, just now"];
    assert_eq!(tree::branches(&all, now, PLAIN, 80), expected);
    assert_eq!(tree::branches(&[], now, PLAIN, 80), ["nothing was said yet"]);
    let turn = |before, words: &str, at| Turn { number: before + 1, before, words: words.into(), at };
    let turns = [turn(0, "one", ago(90)), turn(14, "two", None)];
    let expected = ["  m0   one  1m30s ago", "  m14  two  at an unknown time"];
    assert_eq!(tree::turns(&turns, now, PLAIN, 80), expected);
}
