//! Markdown as it streams: what becomes final when, how it looks, and that nothing is lost.

use proptest::prelude::*;
use tillerman::terminal::Look;
use tillerman::terminal::markdown::{Markdown, rendered};
use tillerman::terminal::theme::Theme;
use tillerman::terminal::wrap::columns;

use crate::cli::wait_until;

const COLORED: Look = Look { color: true, ..Look::PLAIN };

fn plain(text: &str, room: usize) -> String {
    rendered(text, Look::PLAIN, room).join("\n")
}

#[test]
fn a_block_is_final_when_it_is_complete() {
    let steps: [(&str, &[&str], &[&str]); 10] = [
        ("A para", &[], &["A para"]),
        ("graph\n", &[], &["A paragraph"]),
        ("\n", &["A paragraph"], &[]),
        ("- one\n", &[], &["", "• one"]),
        ("- tw", &[], &["", "• one", "• tw"]),
        ("o\n\n", &["", "• one", "• two"], &[]),
        ("```rust\nlet a", &[], &["", "  let a"]),
        (" = 1;\n", &["", "  let a = 1;"], &[]),
        ("```\n| a |", &[], &["| a |"]),
        (" b |\n|---|---|\n| 1 |", &[], &["a │ b", "──┼──", "1 │"]),
    ];
    let mut markdown = Markdown::default();
    for (piece, done, live) in steps {
        let finished = markdown.push(piece, Look::PLAIN, 40);
        assert_eq!(
            (finished.as_slice(), markdown.pending(Look::PLAIN, 40, 9).as_slice()),
            (
                done.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>().as_slice(),
                live.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>().as_slice(),
            ),
            "{piece:?}"
        );
    }
}

#[test]
fn what_stands_within_a_line_is_styled_or_marked() {
    let text = "**bold** *slanted* `a | b` ~~gone~~ [words](http://x.y/z) <http://a.b> ![sign](p.png \"T\")";
    let marked = "**bold** *slanted* `a | b` ~~gone~~ words (http://x.y/z) http://a.b sign (p.png “T”)";
    assert_eq!(plain(text, 200), marked);
    let colored = rendered("**b** *i* `c` ~~s~~ [w](u)", COLORED, 80);
    let expected = "\u{1b}[1mb\u{1b}[0m \u{1b}[3mi\u{1b}[0m \u{1b}[36mc\u{1b}[0m \u{1b}[9ms\u{1b}[0m \
                    \u{1b}[4;34mw\u{1b}[0m\u{1b}[2m (u)\u{1b}[0m";
    assert_eq!(colored, [expected]);
    assert_eq!(
        plain("a \\* b &amp; c <br>d <kbd>e</kbd> f_g_h [x] 2 * 3 * 4", 80),
        "a * b & c\nd <kbd>e</kbd> f_g_h [x] 2 * 3 * 4"
    );
    assert_eq!(plain("“**字**”和*字*。\n**\"q\"** `x\ny`", 80), "“**字**”和*字*。\n**\"q\"** `x y`");
}

// P15
#[test]
fn nothing_in_an_answer_reaches_the_terminal() {
    let evil = "a \u{1b}[2J&#27;[31mb&#x9b;2J `\u{1b}]0;t\u{7}c` [x](http://y&#27;]52;c;eA==)\n\n    \u{1b}[1mcode\n\n| \u{7} | b |\n|-|-|\n| &#10;z\u{8} | \u{202e} |";
    for look in [Look::PLAIN, COLORED] {
        let shown = rendered(evil, look, 60).join("\n").replace("\u{1b}[0m", "");
        let ours = ["\u{1b}[1m", "\u{1b}[2m", "\u{1b}[36m", "\u{1b}[4;34m"];
        let shown = ours.iter().fold(shown, |shown, sgr| shown.replace(sgr, ""));
        assert!(!shown.chars().any(|one| one.is_control() && one != '\n'), "{shown:?}");
        assert!(shown.contains("\\u{202e}"), "{shown}");
    }
}

#[test]
fn code_has_the_colours_of_its_language_once_they_are_there() {
    let code = "```rust\nlet a = \"x\"; // note\n```";
    let line = "  \u{1b}[35mlet\u{1b}[0m a = \u{1b}[32m\"x\"\u{1b}[0m; \u{1b}[2m// note\u{1b}[0m";
    wait_until("the grammars to be loaded", || rendered(code, COLORED, 60) == [line]);
    let dark = Look { theme: Theme::Dark, ..COLORED };
    assert_eq!(rendered("```src/a.py\nNone\n```", dark, 60), ["  \u{1b}[38;5;173mNone\u{1b}[0m"]);
    assert_eq!(rendered("```nonsense\nlet a\n```", COLORED, 60), ["  let a"]);
    assert_eq!(rendered("```sh,ignore\n# note\n```", COLORED, 60), ["  \u{1b}[2m# note\u{1b}[0m"]);
    assert_eq!(plain(code, 60), "  let a = \"x\"; // note");
}

#[test]
fn lists_hang_and_nest() {
    let text = "1. First a long item that wraps\n   and goes on\n   - nested `one` that wraps as well\n     1) deep\n2. Second\n\n10. Tenth\n\
                - [ ] open\n- [x] done\n* \n";
    let expected = "\
1. First a long item
   that wraps
   and goes on
   • nested `one`
     that wraps as
     well
     1) deep
2. Second

10. Tenth
☐ open
☑ done
•";
    assert_eq!(plain(text, 20), expected);
    assert_eq!(plain("1. a\n1. b\n1. c", 20), "1. a\n2. b\n3. c");
    assert_eq!(plain("It was in\n1986. A year.\n- but\nlazy", 20), "It was in\n1986. A year.\n• but\n  lazy");
    assert_eq!(plain("1. Do:\n   ```sh\n   ls\n     -l\n   ```\n   then", 30), "1. Do:\n     ls\n       -l\n   then");
}

#[test]
fn quotes_headings_rules_and_code() {
    let text = "Text\n# Title\nMore\n> quoted that is long enough\n> - item\n>\n> end\n\n---\nUnder\n=====\n\n    four\n      six\n\n```\n\n# no title\n```\n#hash";
    let expected = "\
Text

# Title
More
│ quoted that is
│ long enough
│ • item
│
│ end

────────────────────

# Under

  four
    six


  # no title
#hash";
    assert_eq!(plain(text, 20), expected);
    let styled = rendered("# One\n### Three", COLORED, 40);
    assert_eq!(styled, ["\u{1b}[1;4mOne\u{1b}[0m", "", "\u{1b}[1mThree\u{1b}[0m"]);
    assert_eq!(plain("[name]: http://x \"t\"\ntext [name]", 40), "[name]: http://x \"t\"\ntext [name]");
}

#[test]
fn tables_fit() {
    let table = "| Name | 数量 | Note |\n|:--|--:|:-:|\n| a | 1 | `x \\| y` |\n| 中文字 | 12 | mid | more |\n\nend";
    let expected = "\
Name   │ 数量 │  Note   │
───────┼──────┼─────────┼─────
a      │    1 │ `x | y` │
中文字 │   12 │   mid   │ more

end";
    assert_eq!(plain(table, 60), expected);
    let long = "| Key | Words |\n|---|---|\n| one | some words that do not fit |\n| two | few |";
    let expected = "\
Key │ Words
────┼─────────────────
one │ some words that
    │ do not fit
────┼─────────────────
two │ few";
    assert_eq!(plain(long, 22), expected);
    let many = "| a | b | c | d |\n|---|---|---|---|\n| 1 | 2 | 3 | 4 |\n| 5 | 6 | 7 | 8 |";
    assert_eq!(plain(many, 20), "a: 1\nb: 2\nc: 3\nd: 4\n──\na: 5\nb: 6\nc: 7\nd: 8");
    assert_eq!(plain("a | b\n--- | ---\nno row", 40), "a │ b\n──┼──\nno row");
}

#[test]
fn what_never_ends_becomes_final_in_parts() {
    let mut markdown = Markdown::default();
    let mut done = 0;
    for _ in 0..4000 {
        done += markdown.push("word word word ", Look::PLAIN, 80).len();
    }
    assert!(done > 600, "a line without an end: {done} lines");
    let rows = "| a | b |\n".repeat(20_000);
    assert!(markdown.push(&format!("\n\n| x | y |\n|---|---|\n{rows}"), Look::PLAIN, 80).len() > 10_000, "a table");
    assert!(markdown.push(&"deep ".repeat(10), Look::PLAIN, 80).is_empty());
    let deep = format!("{}x", "> ".repeat(4000));
    assert_eq!(rendered(&deep, Look::PLAIN, 40).concat().matches('x').count(), 1);
}

/// Lines as models write them, and as they do not.
fn soup() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "alpha",
        "beta",
        "中文字",
        "👩\u{200d}🚀",
        "**",
        "*",
        "`",
        "``",
        "_",
        "|",
        "[",
        "](",
        ")",
        "<",
        ">",
        "#",
        "-",
        "1.",
        "2)",
        "!",
        "\\",
        "~~",
        ":",
        "---",
        "===",
        "&",
        "[ ]",
        "+",
        "\u{1b}[31m",
        "é",
        "  ",
    ]);
    let line = (
        prop::sample::select(vec![
            "", "", "", "- ", "1. ", "  ", "    ", "> ", "# ", "   - ", "| ", "> > ", "* ", "\t",
        ]),
        prop::collection::vec(word, 0..7),
        prop::sample::select(vec![" ", "", " | "]),
    )
        .prop_map(|(begin, words, gap)| {
            // The language of a fence is not shown.
            let line = format!("{begin}{}", words.join(gap));
            line.replace("``", "`").replace("``", "`").replace("~~~", "~").replace("~~~", "~")
        });
    let line = prop_oneof![
        8 => line,
        1 => Just("```".to_owned()),
        1 => Just("|---|:-:|".to_owned()),
        1 => Just("| alpha | beta |".to_owned()),
        2 => Just(String::new()),
    ];
    prop::collection::vec(line, 0..24).prop_map(|lines| lines.join("\n"))
}

fn letters(text: &str) -> Vec<usize> {
    "alphbeté中文字🚀".chars().map(|one| text.matches(one).count()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_lines_are_the_same_however_the_text_is_cut(
        text in soup(),
        cuts in prop::collection::vec(1usize..9, 1..200),
        room in 16usize..60,
    ) {
        let mut markdown = Markdown::default();
        let (mut shown, mut rest) = (Vec::new(), text.as_str());
        for cut in cuts {
            let at = rest.char_indices().nth(cut).map_or(rest.len(), |(at, _)| at);
            shown.extend(markdown.push(&rest[..at], Look::PLAIN, room));
            markdown.pending(Look::PLAIN, room, 5);
            rest = &rest[at..];
        }
        shown.extend(markdown.push(rest, Look::PLAIN, room));
        shown.extend(markdown.finish(Look::PLAIN, room));
        prop_assert_eq!(shown, rendered(&text, Look::PLAIN, room));
    }

    #[test]
    fn no_letter_is_lost_and_every_line_fits(text in soup(), width in prop::sample::select(vec![16usize, 36, 76, 196])) {
        let shown = rendered(&text, Look::PLAIN, width);
        for line in &shown {
            prop_assert!(columns(line) <= width, "{} columns: {:?}", columns(line), line);
            prop_assert!(!line.chars().any(char::is_control), "{:?}", line);
        }
        let (shown, said) = (letters(&shown.concat()), letters(&text));
        prop_assert!(said.iter().zip(&shown).all(|(said, shown)| said <= shown), "{said:?} {shown:?}");
    }
}
