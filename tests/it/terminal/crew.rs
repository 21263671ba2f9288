//! One screen of all workers, at several widths.

use std::time::Duration;

use jiff::Timestamp;
use tillerman::message::{Spent, Usd};
use tillerman::runtime::TaskRow;
use tillerman::task::{Asked, Asker, Question, TaskId, TaskStatus};
use tillerman::terminal::Look;
use tillerman::terminal::crew::crew;

fn now() -> Timestamp {
    "2026-11-21T14:00:00Z".parse().unwrap()
}

pub fn row(id: u32, status: TaskStatus, title: &str) -> TaskRow {
    let row = serde_json::json!({
        "id": TaskId(id), "title": title, "status": status, "attempt": 1, "turn": 0, "doing": "", "started": null,
        "took": {"secs": 0, "nanos": 0}, "usage": {}, "spent": {}, "place_in_queue": null, "agent": null, "context": 0,
        "window": 0, "budget": null, "score": [], "flat": 0, "quiet": null, "questions": [], "after": [],
        "priority": "normal",
    });
    serde_json::from_value(row).unwrap()
}

fn rows() -> Vec<TaskRow> {
    let question = Question {
        task: TaskId(4),
        number: 1,
        text: "JWT or session cookie?".to_owned(),
        options: vec!["jwt".to_owned(), "cookie".to_owned()],
        default: "jwt".to_owned(),
        asked: now(),
        deadline: now() + Duration::from_secs(540),
        asker: Asker::Worker,
        state: Asked::Open,
    };
    let spent = |usd: u64| Spent { known: Usd(usd), unknown: 0 };
    let began = |took: u64, row: TaskRow| TaskRow { started: Some(now()), took: Duration::from_secs(took), ..row };
    vec![
        began(
            134,
            TaskRow {
                turn: 12,
                doing: "shell cargo test --workspace --all-features".to_owned(),
                context: 68_000,
                window: 200_000,
                spent: spent(31_200_000),
                score: vec![0, 2, 4, 0, 0],
                flat: 4,
                quiet: Some(Duration::from_secs(41)),
                ..row(1, TaskStatus::Running, "Refactor the parser")
            },
        ),
        began(12, TaskRow { turn: 3, spent: spent(2_000_000), ..row(2, TaskStatus::Done, "List the files") }),
        began(51, TaskRow { turn: 3, questions: vec![question], ..row(4, TaskStatus::Parked, "Login") }),
        TaskRow {
            place_in_queue: Some(1), after: vec![TaskId(1)], ..row(5, TaskStatus::Queued, "数据 docs\u{1b}[2J")
        },
    ]
}

fn drawn(width: usize) -> String {
    crew(&rows(), now(), Look::default(), width).join("\n")
}

#[test]
fn a_wide_screen_has_a_line_for_each_worker() {
    let expected = "\
▶ t_001 running  turn 12  2m14s  ▁▃▅▁▁ flat 4  68.0k 34%  $0.0312           Refactor the parser · shell cargo test --worksp…
? t_004 parked  turn 3  51s                                                 Login
  ? q_001 JWT or session cookie? [1] jwt* [2] cookie, default in 9m00s
◌ t_005 queued 1                                                            数据 docs · after t_001
✓ t_002 done  12s  $0.0020  List the files
1 running · 1 parked · 1 queued · 1 ended · $0.0332 · 1 question waits";
    assert_eq!(drawn(124), expected);
}

#[test]
fn on_eighty_columns_a_worker_has_two_lines() {
    let expected = "\
▶ t_001 running  turn 12  2m14s  ▁▃▅▁▁ flat 4  68.0k 34%  $0.0312  quiet 41s
  Refactor the parser · shell cargo test --workspace --all-features
? t_004 parked  turn 3  51s
  Login
  ? q_001 JWT or session cookie? [1] jwt* [2] cookie, default in 9m00s
◌ t_005 queued 1
  数据 docs · after t_001
✓ t_002 done  12s  $0.0020  List the files
1 running · 1 parked · 1 queued · 1 ended · $0.0332 · 1 question waits";
    assert_eq!(drawn(80), expected);
}

#[test]
fn on_forty_columns_a_long_title_gives_way_to_what_is_done() {
    let rows = [TaskRow {
        doing: "shell cargo test --all".to_owned(),
        ..row(1, TaskStatus::Running, "Refactor the parser of the front matter")
    }];
    let expected = ["▶ t_001 running", "  Refactor the parse… · shell cargo tes…", "1 running"];
    assert_eq!(crew(&rows, now(), Look::default(), 40), expected);
}

#[test]
fn no_line_is_wider_than_the_screen() {
    for width in 20..160 {
        for line in crew(&rows(), now(), Look::default(), width) {
            let columns = unicode_width::UnicodeWidthStr::width(line.as_str());
            assert!(columns <= width, "{columns} of {width}: {line}");
        }
    }
}

#[test]
fn many_that_have_ended_are_counted() {
    let many: Vec<TaskRow> = (1..=20).map(|id| row(id, TaskStatus::Done, "old")).collect();
    let lines = crew(&many, now(), Look::default(), 80);
    assert_eq!(lines.len(), 10);
    assert!(lines[0].contains("t_020") && lines[8].contains("12 more ended") && lines[9] == "20 ended", "{lines:?}");
    assert_eq!(crew(&[], now(), Look::default(), 80), ["no tasks yet"]);
}
