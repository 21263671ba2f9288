//! The worker board: whole screens at several sizes, keys to deeds, and that no line is ever too wide.

use std::path::PathBuf;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;
use tillerman::event::AgentEvent;
use tillerman::message::{CallId, RawArgs, Spent, ToolCall, ToolResult, Usd};
use tillerman::repl::board::{Board, Deed};
use tillerman::runtime::{Envelope, News, Source, TaskDetail, TaskRow};
use tillerman::task::{Asked, Asker, Brief, Question, TaskId, TaskReport, TaskStatus};
use tillerman::terminal::Look;
use unicode_width::UnicodeWidthStr;

const ONE: TaskId = TaskId(1);
const TWO: TaskId = TaskId(2);

fn now() -> Timestamp {
    "2026-11-21T14:00:00Z".parse().unwrap()
}

fn row(id: u32, status: TaskStatus, title: &str) -> TaskRow {
    let row = json!({
        "id": TaskId(id), "title": title, "status": status, "attempt": 1, "turn": 0, "doing": "", "started": null,
        "took": {"secs": 0, "nanos": 0}, "usage": {}, "spent": {}, "place_in_queue": null, "agent": null, "context": 0,
        "window": 0, "budget": null, "score": [], "flat": 0, "quiet": null, "questions": [], "after": [],
        "priority": "normal",
    });
    serde_json::from_value(row).unwrap()
}

fn question(task: TaskId) -> Question {
    Question {
        task,
        number: 1,
        text: "JWT or session cookie?".to_owned(),
        options: vec!["jwt".to_owned(), "cookie".to_owned()],
        default: "jwt".to_owned(),
        asked: now(),
        deadline: now() + Duration::from_secs(540),
        asker: Asker::Worker,
        state: Asked::Open,
    }
}

fn rows() -> Vec<TaskRow> {
    let began = |took: u64, row: TaskRow| TaskRow { started: Some(now()), took: Duration::from_secs(took), ..row };
    let spent = |usd: u64| Spent { known: Usd(usd), unknown: 0 };
    let coder = |row: TaskRow| TaskRow { agent: Some("coder".to_owned()), context: 31_000, window: 100_000, ..row };
    vec![
        coder(began(
            134,
            TaskRow { turn: 7, spent: spent(80_000_000), ..row(1, TaskStatus::Running, "Speed up the parser") },
        )),
        began(
            51,
            TaskRow {
                turn: 3, questions: vec![question(TWO)], ..row(2, TaskStatus::Parked, "ログイン 画面を作る")
            },
        ),
        TaskRow { place_in_queue: Some(1), ..row(3, TaskStatus::Queued, "Docs") },
        began(41, TaskRow { turn: 2, spent: spent(20_000_000), ..row(4, TaskStatus::Done, "Check the docs") }),
    ]
}

fn detail(row: TaskRow, progress: &str) -> TaskDetail {
    let (dir, brief) = (PathBuf::from("/proj/.tasks").join(row.id.to_string()), Brief::default());
    TaskDetail { row, brief, progress: progress.to_owned(), result: None, dir }
}

fn board(width: u16, height: u16) -> Board {
    let mut board = Board::new(Look::PLAIN, PathBuf::from("/proj"), (width, height));
    board.set_rows(rows());
    for (row, progress) in
        rows().into_iter().zip(["13:57 shell cargo bench (12.0 s)\n13:58 found 5 hot paths\n", "", "", ""])
    {
        board.seed(row.id, progress);
    }
    board
}

fn news(task: TaskId, event: AgentEvent) -> Envelope {
    Envelope { seq: 1, at: now(), source: Source::Task(task), news: News::Agent(event) }
}

fn call(board: &mut Board, task: TaskId, name: &str, args: &str, output: &str) {
    let id = CallId(format!("{name}{args}"));
    let call = ToolCall { id: id.clone(), name: name.to_owned(), args: RawArgs(args.to_owned()) };
    board.hear(&news(task, AgentEvent::ToolStarted { call }));
    let result = ToolResult { call: id, output: output.to_owned(), details: json!(null), is_error: false };
    board.hear(&news(task, AgentEvent::ToolFinished { result, took: Duration::from_millis(1_200) }));
}

fn key(board: &mut Board, code: KeyCode) -> Deed {
    board.key(KeyEvent::new(code, KeyModifiers::NONE))
}

fn typed(board: &mut Board, text: &str) -> Deed {
    for one in text.chars() {
        assert_eq!(key(board, KeyCode::Char(one)), Deed::Nothing);
    }
    key(board, KeyCode::Enter)
}

fn screen(board: &Board) -> String {
    let (lines, _) = board.draw(now());
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

#[test]
fn at_eighty_columns_a_narrow_list_stands_beside_the_log() {
    let mut board = board(80, 24);
    key(&mut board, KeyCode::Char('1'));
    call(&mut board, ONE, "shell", r#"{"command":"cargo test"}"#, "ok");
    assert_eq!(screen(&board), include_str!("board/80x24.txt"));
}

#[test]
fn on_a_large_screen_a_question_stands_below_the_log() {
    let mut board = board(200, 50);
    key(&mut board, KeyCode::Char('2'));
    call(&mut board, TWO, "edit_file", r#"{"path":"src/login.rs"}"#, "edited");
    assert_eq!(screen(&board), include_str!("board/200x50.txt"));
}

#[test]
fn where_it_is_narrow_there_is_one_column_at_a_time() {
    let mut board = board(40, 12);
    assert_eq!(screen(&board), include_str!("board/40x12-list.txt"));
    assert_eq!(key(&mut board, KeyCode::Tab), Deed::Nothing);
    assert_eq!(screen(&board), include_str!("board/40x12-log.txt"));
    assert_eq!(key(&mut board, KeyCode::Esc), Deed::Nothing, "back to the list");
    assert_eq!(key(&mut board, KeyCode::Esc), Deed::Back);
}

#[test]
fn even_twenty_columns_are_enough() {
    let mut board = board(20, 6);
    assert_eq!(screen(&board), include_str!("board/20x6.txt"));
    key(&mut board, KeyCode::Char('2'));
    key(&mut board, KeyCode::Char('s'));
    let (lines, cursor) = board.draw(now());
    assert_eq!((lines.len(), cursor), (6, Some((10, 5))));
    let none = Board::new(Look::PLAIN, PathBuf::from("/proj"), (20, 6)).draw(now()).0;
    assert!(none.iter().any(|line| line.contains("no workers yet")), "{none:?}");
}

#[test]
fn keys_become_deeds_for_the_chosen_worker() {
    let mut board = board(80, 24);
    assert_eq!(screen(&board).lines().nth(1).unwrap().find("t_002"), Some(34), "the one that asks comes first");
    key(&mut board, KeyCode::Char('s'));
    assert_eq!(typed(&mut board, "keep the API"), Deed::Steer(TWO, "keep the API".to_owned()));
    key(&mut board, KeyCode::Char('A'));
    assert_eq!(typed(&mut board, "2"), Deed::Answer(TWO, 1, "2".to_owned()));
    key(&mut board, KeyCode::Enter);
    assert_eq!(key(&mut board, KeyCode::Esc), Deed::Nothing, "nothing is sent");
    assert_eq!(key(&mut board, KeyCode::Enter), Deed::Nothing);
    assert_eq!(typed(&mut board, "   "), Deed::Nothing);

    assert_eq!(key(&mut board, KeyCode::Char('a')), Deed::Nothing, "it asks first");
    assert_eq!(key(&mut board, KeyCode::Char('n')), Deed::Nothing);
    key(&mut board, KeyCode::Char('a'));
    assert_eq!(key(&mut board, KeyCode::Char('y')), Deed::Abort(TWO));

    key(&mut board, KeyCode::Char('4'));
    assert_eq!(key(&mut board, KeyCode::Char('o')), Deed::Open(TaskId(4)));
    key(&mut board, KeyCode::Char('a'));
    assert!(screen(&board).ends_with("t_004 has ended already"));
    assert_eq!(key(&mut board, KeyCode::Char('y')), Deed::Nothing);
    key(&mut board, KeyCode::Char('r'));
    assert_eq!(typed(&mut board, "the tests too"), Deed::Retry(TaskId(4), Some("the tests too".to_owned())));
    key(&mut board, KeyCode::Char('1'));
    key(&mut board, KeyCode::Char('r'));
    assert!(screen(&board).ends_with("t_001 goes on already"));
    key(&mut board, KeyCode::Char('A'));
    assert!(screen(&board).ends_with("t_001 asks nothing"));
    board.set_rows(vec![row(1, TaskStatus::Failed, "Speed up the parser")]);
    assert_eq!(key(&mut board, KeyCode::Char('r')), Deed::Retry(ONE, None));
    assert_eq!(key(&mut board, KeyCode::Char('q')), Deed::Back);
    let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(board.key(control), Deed::Back);
}

#[test]
fn a_line_is_typed_changed_and_pasted_and_the_cursor_stays_in_sight() {
    let mut board = board(80, 24);
    key(&mut board, KeyCode::Char('s'));
    for one in "日本語x".chars() {
        key(&mut board, KeyCode::Char(one));
    }
    assert_eq!(board.draw(now()).1, Some((21, 23)));
    key(&mut board, KeyCode::Backspace);
    key(&mut board, KeyCode::Left);
    assert_eq!(board.draw(now()).1, Some((18, 23)));
    board.paste("one\ntwo\x1b[2J");
    assert!(screen(&board).ends_with("steer t_002 › 日本one two語"));
    board.paste(&"long ".repeat(10_000));
    let (lines, cursor) = board.draw(now());
    assert!(lines[23].as_str().width() <= 80 && cursor.unwrap().0 < 80, "{cursor:?}");
    match key(&mut board, KeyCode::Enter) {
        Deed::Steer(TWO, text) => assert!(text.len() <= 8 * 1024 && text.starts_with("日本one two"), "{}", text.len()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_log_scrolls_stays_where_it_is_read_and_follows_again() {
    let mut board = board(80, 12);
    key(&mut board, KeyCode::Char('1'));
    for at in 0..30 {
        call(&mut board, ONE, "list", &json!({"path": format!("dir{at}")}).to_string(), "");
    }
    assert!(screen(&board).contains("dir29") && !screen(&board).contains("dir3 "));
    key(&mut board, KeyCode::PageUp);
    let before = screen(&board);
    assert!(!before.contains("dir29"));
    call(&mut board, ONE, "list", r#"{"path":"new"}"#, "");
    assert_eq!(screen(&board), before, "what is read does not move");
    key(&mut board, KeyCode::Char('g'));
    assert!(screen(&board).contains("found 5 hot paths"));
    key(&mut board, KeyCode::Char('f'));
    assert!(screen(&board).contains("list new"));
    key(&mut board, KeyCode::Char('k'));
    key(&mut board, KeyCode::Char('j'));
    call(&mut board, ONE, "list", r#"{"path":"last"}"#, "");
    assert!(screen(&board).contains("list last"), "at its end it is followed");

    for at in 0..3_000 {
        call(&mut board, ONE, "list", &json!({"path": format!("more{at}")}).to_string(), "");
    }
    key(&mut board, KeyCode::Char('g'));
    assert!(screen(&board).contains("more1000") && !screen(&board).contains("dir"), "{}", screen(&board));
}

#[test]
fn changes_alone_and_the_result_are_seen_in_the_same_place() {
    let mut board = board(80, 24);
    key(&mut board, KeyCode::Char('1'));
    key(&mut board, KeyCode::Char('d'));
    assert!(screen(&board).contains("no file was changed"));
    call(&mut board, ONE, "edit_file", r#"{"path":"src/parse.rs"}"#, "edited");
    call(&mut board, ONE, "list", r#"{"path":"src"}"#, "");
    assert!(screen(&board).contains("edit_file src/parse.rs") && !screen(&board).contains("list src"));
    key(&mut board, KeyCode::Esc);
    assert!(screen(&board).contains("list src"));

    key(&mut board, KeyCode::Char('4'));
    let done = rows().remove(3);
    board.show_result(&detail(done.clone(), ""));
    assert!(screen(&board).ends_with("t_004 has no result yet"));
    let report = TaskReport {
        id: done.id,
        title: done.title.clone(),
        attempt: 1,
        status: TaskStatus::Done,
        answer: "Three stale flags.".to_owned(),
        turns: 2,
        usage: done.usage,
        spent: done.spent,
        started: Some(now()),
        ended: now(),
        took: Duration::from_secs(41),
        dir: PathBuf::from("/proj/.tasks/t_004"),
        verified: vec![],
        files: vec!["README.md".to_owned()],
        changed: vec![],
        assumptions: vec![],
        total: done.spent,
    };
    board.show_result(&TaskDetail { result: Some(report), ..detail(done, "") });
    let shown = screen(&board);
    assert!(shown.contains("Three stale flags.") && shown.contains("wrote README.md"), "{shown}");
    key(&mut board, KeyCode::Char('o'));
    assert!(!screen(&board).contains("Three stale flags."));
}

#[test]
fn what_it_does_not_know_is_asked_for_once() {
    let mut board = Board::new(Look::PLAIN, PathBuf::from("/proj"), (80, 24));
    board.set_rows(rows());
    assert_eq!(board.unknown(), [ONE, TWO, TaskId(3)], "those that go on");
    for row in rows() {
        board.seed(row.id, "");
    }
    assert_eq!(board.unknown(), []);
    board.set_rows(rows().into_iter().chain([row(5, TaskStatus::Done, "Later")]).collect());
    key(&mut board, KeyCode::Char('4'));
    assert_eq!(board.unknown(), [TaskId(5)], "and the chosen one: the youngest that ended stands first");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is in the texts, a screen has as many lines as the terminal has rows, and none is wider than it.
    #[test]
    fn no_line_is_ever_wider_than_the_screen(
        title in "[a-z日本語ｗ👩‍👩‍👧🇩🇪é\\t ]{0,60}", said in "\\PC{0,200}", size in (1_u16..130, 1_u16..40), keys in "[a-zA-G0-9 ]{0,12}",
    ) {
        let look = Look { color: true, ..Look::PLAIN };
        let mut board = Board::new(look, PathBuf::from("/proj"), size);
        let mut all = rows();
        all[0].title.clone_from(&title);
        all[1].questions[0].text.clone_from(&said);
        all[1].questions[0].options.push(title.clone());
        all[0].agent = Some(said.chars().take(20).collect());
        board.set_rows(all.clone());
        board.seed(ONE, &format!("13:00 {said}\n"));
        board.hear(&news(ONE, AgentEvent::Text { text: format!("{said}\n{title}\n") }));
        call(&mut board, ONE, "shell", &json!({"command": said}).to_string(), &said);
        for one in keys.chars() {
            key(&mut board, KeyCode::Char(one));
            let (lines, cursor) = board.draw(now());
            prop_assert_eq!(lines.len(), usize::from(size.1));
            for line in &lines {
                let seen = anstripped(line);
                prop_assert!(seen.width() <= usize::from(size.0), "{:?} {:?}", size, seen);
            }
            prop_assert!(cursor.is_none_or(|(x, y)| x < size.0 && y < size.1));
        }
    }
}

/// Without colours; any other control sequence stays and makes it wrong.
fn anstripped(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |seen, part| seen + part.split_once('m').map_or(part, |(_, rest)| rest))
}
