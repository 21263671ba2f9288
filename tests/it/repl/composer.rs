//! Keys into a line: moves, cuts, pastes, lines of before, and what each ends in.

use std::path::PathBuf;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tempfile::TempDir;
use tillerman::repl::complete::Completer;
use tillerman::repl::composer::{Act, Around, Composer};
use tillerman::terminal::Look;

struct Typist {
    composer: Composer,
    around: Around,
    place: TempDir,
}

fn code(name: &str) -> KeyCode {
    match name {
        "enter" => KeyCode::Enter,
        "tab" => KeyCode::Tab,
        "esc" => KeyCode::Esc,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "back" => KeyCode::Backspace,
        "del" => KeyCode::Delete,
        letter => KeyCode::Char(letter.chars().next().unwrap()),
    }
}

impl Typist {
    fn new() -> Typist {
        let place = tempfile::tempdir().unwrap();
        Typist { composer: composer(place.path().join("history")), around: around(), place }
    }

    /// `a`, `C-w`, `M-b`, `enter` and so on; the last one's act.
    fn keys(&mut self, keys: &str) -> Act {
        let mut last = Act::Nothing;
        for name in keys.split_whitespace() {
            let (name, modifiers) = match name.split_once('-') {
                Some(("C", name)) => (name, KeyModifiers::CONTROL),
                Some(("M", name)) => (name, KeyModifiers::ALT),
                Some(("S", name)) => (name, KeyModifiers::SHIFT),
                _ => (name, KeyModifiers::NONE),
            };
            last = self.composer.key(KeyEvent::new(code(name), modifiers), self.around);
        }
        last
    }

    fn write(&mut self, text: &str) {
        for letter in text.chars() {
            self.composer.key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE), self.around);
        }
    }

    fn send(&mut self, text: &str) {
        self.write(text);
        assert_eq!(self.keys("enter"), Act::Send(text.to_owned()));
    }

    /// The rows of the line, and the cursor among them.
    fn view(&self, width: usize, rows: usize) -> (Vec<String>, (usize, usize)) {
        let view = self.composer.view(false, width, rows, Look::default());
        (view.rows, view.cursor)
    }
}

fn composer(history: PathBuf) -> Composer {
    let root = history.parent().unwrap().to_owned();
    Composer::new(history, Completer::new(root))
}

fn around() -> Around {
    Around { width: 80, busy: false, stops: false }
}

#[test]
fn words_are_moved_over_cut_and_put_back() {
    let mut typist = Typist::new();
    typist.write("one two-three 四五 six");
    typist.keys("C-w");
    assert_eq!(typist.composer.text(), "one two-three 四五 ");
    typist.keys("M-b M-b M-b");
    typist.write("X");
    assert_eq!(typist.composer.text(), "one two-Xthree 四五 ");
    typist.keys("C-k C-a C-y");
    assert_eq!(typist.composer.text(), "three 四五 one two-X");
    typist.keys("M-y");
    assert_eq!(typist.composer.text(), "sixone two-X", "the cut before");
    typist.keys("C-7 C-7");
    assert_eq!(typist.composer.text(), "one two-X");
    typist.keys("M-z");
    assert_eq!(typist.composer.text(), "three 四五 one two-X");
    typist.keys("C-u");
    assert_eq!(typist.composer.text(), "one two-X", "before the cursor only");
}

#[test]
fn a_sign_of_several_characters_is_one_sign() {
    let mut typist = Typist::new();
    typist.write("a👨‍👩‍👧é");
    typist.keys("left back");
    assert_eq!(typist.composer.text(), "aé");
    typist.keys("del back back");
    assert_eq!(typist.composer.text(), "");
}

#[test]
fn several_rows_are_written_moved_in_and_sent_whole() {
    let mut typist = Typist::new();
    typist.write("first");
    typist.keys("S-enter");
    typist.write("second\\");
    typist.keys("enter");
    typist.write("third");
    typist.keys("C-j up up");
    typist.write("_");
    assert_eq!(typist.composer.text(), "first\n_second\nthird\n");
    assert_eq!(typist.keys("enter"), Act::Send("first\n_second\nthird\n".to_owned()));
    assert_eq!(typist.composer.text(), "");
}

#[test]
fn a_long_line_wraps_and_its_cursor_stands_right() {
    let mut typist = Typist::new();
    typist.write("abcdefgh字字ij");
    // Sixteen columns of text: the row is full before the second wide sign's successor.
    assert_eq!(typist.view(16, 5), (vec![" > abcdefgh字字".to_owned(), "   ij".to_owned()], (1, 5)));
    typist.around.width = 16;
    typist.keys("up");
    assert_eq!(typist.view(16, 5).1, (0, 5), "the row above, not the line of before");
    typist.keys("C-e");
    assert_eq!(
        typist.view(16, 1),
        (vec!["   ij".to_owned()].into_iter().map(|row| row.replacen("   ", " > ", 1)).collect(), (0, 5))
    );
}

#[test]
fn a_full_row_puts_the_cursor_into_the_next() {
    let mut typist = Typist::new();
    typist.write("abcd");
    assert_eq!(typist.view(8, 5), (vec![" > abcd".to_owned(), "   ".to_owned()], (1, 3)));
}

#[test]
fn a_long_paste_is_one_word_until_it_is_sent() {
    let mut typist = Typist::new();
    let lines: Vec<String> = (0..10_000).map(|line| format!("line {line}")).collect();
    let text = lines.join("\n");
    typist.write("look: ");
    assert_eq!(typist.composer.paste(&text), Act::Nothing);
    assert_eq!(typist.view(80, 5).0, [" > look: [pasted #1: 10000 lines]"]);
    typist.write(" and ");
    typist.composer.paste("short\r\n\x1b[31mred\ttab");
    assert_eq!(typist.keys("enter"), Act::Send(format!("look: {text} and short\nred\ttab")));
    typist.composer.paste(&text);
    typist.write("!");
    typist.keys("back back");
    assert_eq!(typist.composer.text(), "", "deleted whole");
    let Act::Refuse(why) = typist.composer.paste(&"x".repeat(11 * 1024 * 1024)) else { panic!("taken") };
    assert!(why.contains("11534336 bytes") && why.contains("@FILE"), "{why}");
}

#[test]
fn lines_of_before_come_back_and_the_one_begun_is_kept() {
    let mut typist = Typist::new();
    typist.send("first");
    typist.send("second");
    typist.write("begun");
    let mut seen = Vec::new();
    for key in ["up", "up", "up", "down", "down"] {
        typist.keys(key);
        seen.push(typist.composer.text());
    }
    assert_eq!(seen, ["second", "first", "first", "second", "begun"]);
    typist.composer.close();
    let mut next = composer(typist.place.path().join("history"));
    next.key(KeyEvent::new(KeyCode::Up, KeyModifiers::NONE), around());
    assert_eq!(next.text(), "second", "also for the next program");
}

#[test]
fn a_line_of_before_is_found_by_a_few_letters() {
    let mut typist = Typist::new();
    ["fix the parser", "write the docs", "fix the lexer"].iter().for_each(|line| typist.send(line));
    typist.keys("C-r");
    typist.write("FIX the");
    let view = typist.composer.view(false, 40, 3, Look::default());
    assert_eq!((view.rows, view.cursor), (vec![" ? FIX the".to_owned()], (0, 10)));
    assert_eq!(view.menu, [" › fix the lexer", "   fix the parser"]);
    typist.keys("C-r enter");
    assert_eq!(typist.composer.text(), "fix the parser");
    typist.keys("C-u C-r");
    typist.write("nobody said");
    let view = typist.composer.view(false, 60, 3, Look::default());
    assert_eq!(view.menu, ["   no earlier line says this; esc goes back"]);
    typist.keys("esc");
    assert_eq!(typist.composer.text(), "");
}

#[test]
fn keys_that_are_the_prompts_own() {
    let mut typist = Typist::new();
    assert_eq!(typist.keys("left"), Act::Board);
    assert_eq!(typist.keys("C-d"), Act::End);
    assert_eq!(typist.keys("C-c"), Act::Interrupt { empty: true });
    assert_eq!(typist.keys("M-up"), Act::TakeBack);
    assert_eq!([typist.keys("C-t"), typist.keys("C-o"), typist.keys("C-l")], [Act::Thoughts, Act::Expand, Act::Clear]);
    assert_eq!([typist.keys("C-g"), typist.keys("C-z")], [Act::Edit, Act::Suspend]);
    typist.write("later");
    assert_eq!(typist.keys("tab"), Act::Nothing, "nothing runs");
    typist.around = Around { busy: true, stops: true, ..around() };
    assert_eq!(typist.keys("tab"), Act::FollowUp("later".to_owned()));
    typist.write("gone");
    assert_eq!(typist.keys("C-c"), Act::Interrupt { empty: false });
    typist.keys("C-y");
    assert_eq!(typist.composer.text(), "gone", "what was cleared can be had again");
    assert_eq!(typist.keys("M-enter"), Act::FollowUp("gone".to_owned()));
    assert_eq!([typist.keys("esc"), typist.keys("esc")], [Act::Stop, Act::Rewind]);
}

#[test]
fn a_line_is_put_aside_and_taken_up_again() {
    let mut typist = Typist::new();
    typist.write("for later");
    typist.keys("C-s");
    assert_eq!(typist.composer.text(), "");
    typist.send("now");
    typist.keys("C-s");
    assert_eq!(typist.composer.text(), "for later");
    typist.composer.give("taken back");
    assert_eq!(typist.composer.text(), "taken back\nfor later");
}

#[test]
fn commands_are_chosen_from_a_list() {
    let mut typist = Typist::new();
    typist.write("/sta");
    let menu = typist.composer.view(false, 60, 3, Look::default()).menu;
    assert!(menu[0].starts_with("   /status "), "{menu:?}");
    assert_eq!(typist.keys("tab"), Act::Nothing);
    assert_eq!(typist.composer.text().trim_end(), "/status");
    typist.keys("C-u");
    typist.write("/ta");
    typist.keys("esc");
    assert_eq!(typist.composer.view(false, 60, 3, Look::default()).menu, [""; 0], "esc closes the list, no more");
    assert_eq!(typist.keys("enter"), Act::Send("/ta".to_owned()), "sent as typed");
}

/// Whatever is typed, the rows fit and the cursor stands in them.
#[test]
fn every_line_fits_every_width() {
    proptest::proptest!(|(keys in proptest::collection::vec(proptest::sample::select(vec![
        "a", "字", "👍", "\n", " ", "C-w", "C-k", "C-y", "left", "right", "up", "down", "back", "del", "home", "end",
        "M-b", "M-f", "M-d", "C-7", "M-z", "M-t", "tab", "S-enter",
    ]), 0..60), width in 4_usize..40)| {
        let mut typist = Typist::new();
        typist.around.width = width;
        for key in keys {
            match key {
                "a" | "字" | "👍" | "\n" | " " => typist.write(key),
                key => drop(typist.keys(key)),
            }
            let (rows, cursor) = typist.view(width, 6);
            proptest::prop_assert!(rows.len() <= 6 && cursor.0 < rows.len());
            for row in &rows {
                let wide = tillerman::terminal::wrap::columns(row);
                proptest::prop_assert!(wide < width.max(6), "{row:?} in {width}");
            }
            proptest::prop_assert!(cursor.1 <= width.max(6), "{cursor:?} in {width}");
        }
    });
}
