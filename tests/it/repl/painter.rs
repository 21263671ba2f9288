//! What a terminal shows of what the prompt draws, also after it got another size.

use tillerman::repl::painter::{Frame, Painter, Panel, Size};

/// A terminal that cuts rows when it gets narrower, as xterm does.
struct Screen {
    parser: vt100::Parser,
    painter: Painter,
    size: Size,
}

impl Screen {
    fn new(width: u16, height: u16) -> Screen {
        let size = Size { width: width.into(), height: height.into() };
        Screen { parser: vt100::Parser::new(height, width, 100), painter: Painter::new(false), size }
    }

    fn paint(&mut self, lines: &[&str], rows: &[&str], cursor: (usize, usize)) -> usize {
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        let panel = Panel { rows: rows.iter().map(ToString::to_string).collect(), cursor };
        let mut out = Vec::new();
        self.painter.paint(&lines, &panel, self.size, &mut out);
        self.parser.process(&out);
        out.len()
    }

    fn resize(&mut self, width: u16, height: u16) {
        self.parser.screen_mut().set_size(height, width);
        self.size = Size { width: width.into(), height: height.into() };
    }

    fn rows(&self) -> Vec<String> {
        let screen = self.parser.screen();
        let mut rows: Vec<String> = screen.rows(0, screen.size().1).map(|row| row.trim_end().to_owned()).collect();
        let last = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
        rows.truncate(last);
        rows
    }

    fn cursor(&self) -> (u16, u16) {
        self.parser.screen().cursor_position()
    }
}

#[test]
fn lines_stay_above_and_the_panel_stays_below() {
    let mut screen = Screen::new(40, 10);
    screen.paint(&[], &[" > ", "status"], (0, 3));
    screen.paint(&["one", "\x1b[31mtwo\x1b[0m"], &[" > hé", "status"], (0, 5));
    assert_eq!(screen.rows(), ["one", "two", " > hé", "status"]);
    assert_eq!(screen.cursor(), (2, 5));
    screen.paint(&["three"], &["live", " > hé", "more", "status"], (1, 4));
    assert_eq!(screen.rows(), ["one", "two", "three", "live", " > hé", "more", "status"]);
    assert_eq!(screen.cursor(), (4, 4));
    screen.paint(&[], &[" >", "status"], (0, 3));
    assert_eq!(screen.rows(), ["one", "two", "three", " >", "status"]);
    assert_eq!(screen.cursor(), (3, 3));
}

#[test]
fn a_full_screen_scrolls_and_nothing_is_left_behind() {
    let mut screen = Screen::new(20, 4);
    for number in 0..9 {
        screen.paint(&[&format!("line {number}")], &[" > x", "status"], (0, 4));
    }
    assert_eq!(screen.rows(), ["line 7", "line 8", " > x", "status"]);
    // Wider than the terminal: it wraps, and what comes after stands right.
    screen.paint(&["abcdefghijklmnopqrstuvwxyz"], &[" > x", "status"], (0, 4));
    assert_eq!(screen.rows(), ["abcdefghijklmnopqrst", "uvwxyz", " > x", "status"]);
    screen.paint(&["exactly twenty signs"], &[" > x", "status"], (0, 4));
    assert_eq!(screen.rows(), ["uvwxyz", "exactly twenty signs", " > x", "status"]);
}

#[test]
fn only_what_differs_is_written() {
    let mut screen = Screen::new(80, 24);
    let strip = "a row that stays as it is for a long time";
    screen.paint(&[], &[strip, " > a", "status"], (1, 4));
    let typed = screen.paint(&[], &[strip, " > ab", "status"], (1, 5));
    assert!(typed < 70, "{typed} bytes for one letter");
    assert_eq!(screen.paint(&[], &[strip, " > ab", "status"], (1, 5)), 0);
    assert_eq!(screen.rows(), [strip, " > ab", "status"]);
}

#[test]
fn a_shorter_panel_leaves_no_rows_of_the_longer_one() {
    let mut screen = Screen::new(30, 8);
    screen.paint(&["above"], &["live 1", "live 2", "live 3", " > 字", "status"], (3, 5));
    screen.paint(&[], &["live 1", " > 字", "status"], (1, 5));
    assert_eq!(screen.rows(), ["above", "live 1", " > 字", "status"]);
    assert_eq!(screen.cursor(), (2, 5));
    screen.paint(&[], &["live 1"], (0, 0));
    assert_eq!(screen.rows(), ["above", "live 1"]);
}

#[test]
fn a_terminal_that_cuts_rows_is_drawn_anew_in_another_width() {
    let mut screen = Screen::new(40, 8);
    screen.paint(&["above"], &["a row of thirty signs, or about", " > half a line", "status"], (1, 15));
    screen.resize(20, 8);
    screen.paint(&[], &["a row", " > half a line", "st"], (1, 15));
    assert_eq!(screen.rows(), ["above", "a row", " > half a line", "st"]);
    screen.resize(60, 8);
    screen.paint(&["more"], &["a row", " > half a line", "status"], (1, 15));
    assert_eq!(screen.rows(), ["above", "more", "a row", " > half a line", "status"]);
}

#[test]
fn a_terminal_that_wraps_rows_is_gone_back_in_over_all_of_them() {
    let mut painter = Painter::new(true);
    let wide = Panel { rows: vec!["字".repeat(15), " > abcdefghij".to_owned()], cursor: (1, 13) };
    painter.paint(&[], &wide, Size { width: 40, height: 8 }, &mut Vec::new());
    let mut out = Vec::new();
    painter.paint(&[], &Panel::default(), Size { width: 10, height: 8 }, &mut out);
    // Three rows of fifteen wide signs, and the second row of the line.
    assert!(String::from_utf8_lossy(&out).contains("\x1b[4A\r\x1b[J"), "{:?}", String::from_utf8_lossy(&out));
}

#[test]
fn a_whole_screen_comes_and_goes_without_a_trace() {
    let mut screen = Screen::new(20, 6);
    screen.paint(&["above"], &[" > x", "status"], (0, 4));
    let mut fill = |rows: &[&str], cursor| {
        let mut out = Vec::new();
        let frame = Frame { rows: rows.iter().map(ToString::to_string).collect(), cursor };
        screen.painter.fill(&frame, screen.size, &mut out);
        screen.parser.process(&out);
        (screen.parser.screen().contents(), screen.parser.screen().cursor_position())
    };
    assert_eq!(fill(&["board", "two", "three"], None).0, "board\ntwo\nthree");
    assert_eq!(fill(&["board", "2"], Some((1, 1))), ("board\n2".to_owned(), (1, 1)));
    assert_eq!(fill(&["1", "2", "3", "4", "5", "6", "7"], None).0, "1\n2\n3\n4\n5\n6");
    screen.paint(&["news"], &[" > x", "status"], (0, 4));
    assert_eq!(screen.rows(), ["above", "news", " > x", "status"]);
}

#[test]
fn what_is_lifted_leaves_only_the_lines() {
    let mut screen = Screen::new(20, 6);
    screen.paint(&["above"], &["live", " > x", "status"], (1, 4));
    let mut out = Vec::new();
    screen.painter.lift(screen.size, &mut out);
    screen.parser.process(&out);
    assert_eq!(screen.rows(), ["above"]);
    assert_eq!(screen.cursor(), (1, 0));
}
