//! Clean text, lines that fit, and when colours are written.

use proptest::prelude::*;
use tillerman::terminal::clean::{clean, one_line};
use tillerman::terminal::wrap::{Stream, columns, cut, wrapped};
use tillerman::terminal::{ColorChoice, colored};

// P15
#[test]
fn nothing_in_a_text_can_steer_the_terminal() {
    let cases = [
        ("plain\nτext 中文", "plain\nτext 中文"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[1;1Hhome", "home"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]52;c;aGVsbG8=\x1b\\text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;never ends\nnext", "\nnext"),
        ("\x1bP1$r\x1b\\a\x1b(Bb\x1b7c", "abc"),
        ("\u{9b}31mc1\u{9d}0;t\u{9c}", "c1"),
        ("bell\x07 back\x08 nul\0", "bell back nul"),
        ("a\tb", "a    b"),
        ("dos\r\nline", "dos\nline"),
        ("10%\r20%", "10%\n20%"),
        ("safe\u{202e}gnp.exe", "safe\\u{202e}gnp.exe"),
        ("cut off \x1b", "cut off "),
        ("\x1b[", ""),
    ];
    for (text, shown) in cases {
        assert_eq!(clean(text), shown, "{text:?}");
    }
    assert_eq!(one_line("  a\n\tb \x1b[1mc\x1b[0m  "), "a b c");
}

#[test]
fn p16_what_is_not_seen_or_reorders_a_line_is_shown_escaped() {
    let cases = [
        ("rm -rf\u{200b} /", "rm -rf\\u{200b} /"),
        ("a\u{200d}b c\u{200c}d", "a\\u{200d}b c\\u{200c}d"),
        ("x\u{2066}y\u{200e}z\u{61c}", "x\\u{2066}y\\u{200e}z\\u{61c}"),
        ("hi\u{e0001}\u{e0068}\u{e007f}", "hi\\u{e0001}\\u{e0068}\\u{e007f}"),
        ("a\u{ad}b\u{feff}c\u{2060}d\u{3164}e\u{fff9}f", "a\\u{ad}b\\u{feff}c\\u{2060}d\\u{3164}e\\u{fff9}f"),
        ("one\u{2028}two\u{2029}", "one\\u{2028}two\\u{2029}"),
        // Bytes can be hidden behind a letter as a row of variations.
        ("❤\u{fe0f}\u{fe01}a\u{fe0f}❤\u{e0100}", "❤\u{fe0f}\\u{fe01}a\\u{fe0f}❤\\u{e0100}"),
        // How people write.
        (
            "👩\u{200d}🚀 ❤\u{fe0f} 1\u{fe0f}\u{20e3} می\u{200c}خواهم",
            "👩\u{200d}🚀 ❤\u{fe0f} 1\u{fe0f}\u{20e3} می\u{200c}خواهم",
        ),
    ];
    for (text, shown) in cases {
        assert_eq!(clean(text), shown, "{text:?}");
    }
    assert_eq!(one_line("ls\u{202e} \u{200b}\n x"), "ls\\u{202e} \\u{200b} x");
}

proptest! {
    #[test]
    fn no_control_character_survives(text in any::<String>()) {
        prop_assert!(!clean(&text).chars().any(|one| one.is_control() && one != '\n'));
    }

    #[test]
    fn a_cut_text_fits(text in "[a-z 中文🚢]{0,60}", width in 1usize..40) {
        prop_assert!(columns(&cut(&text, width)) <= width);
    }

    #[test]
    fn a_stream_loses_no_word(pieces in prop::collection::vec("[a-z中文 \n]{0,12}", 0..30), width in 8usize..40) {
        let mut stream = Stream::default();
        let mut lines: Vec<String> = pieces.iter().flat_map(|piece| stream.push(piece, width)).collect();
        lines.extend(stream.finish(width));
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        prop_assert_eq!(squeezed(&lines.concat()), squeezed(&pieces.concat()));
    }
}

#[test]
fn a_long_paragraph_appears_while_it_is_written() {
    let mut stream = Stream::default();
    assert_eq!(stream.push("one two thr", 10), ["one two"]);
    assert_eq!(stream.push("ee four\nfi", 10), ["three four"]);
    assert_eq!(stream.finish(10), ["fi"]);
    assert_eq!(stream.finish(10), Vec::<String>::new());
}

#[test]
fn an_escape_sequence_that_arrives_in_pieces_is_still_removed() {
    let mut stream = Stream::default();
    assert_eq!(stream.push("a \x1b", 80), Vec::<String>::new());
    assert_eq!(stream.push("[31mred\x1b[0m\n", 80), ["a red"]);
}

#[test]
fn code_is_not_broken() {
    let code = "    let answer = compute(the, whole, thing);";
    assert_eq!(wrapped(code, 20), [code]);
    assert_eq!(wrapped("中文中文中文", 5), ["中文", "中文", "中文"]);
}

#[test]
fn colours_follow_the_flag_then_the_environment_then_the_terminal() {
    let env = |pairs: &'static [(&'static str, &'static str)]| {
        move |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    };
    const XTERM: (&str, &str) = ("TERM", "xterm");
    type Case = (ColorChoice, &'static [(&'static str, &'static str)], bool, bool);
    let cases: [Case; 9] = [
        (ColorChoice::Auto, &[XTERM], true, true),
        (ColorChoice::Auto, &[XTERM], false, false),
        (ColorChoice::Auto, &[("TERM", "dumb")], true, false),
        (ColorChoice::Auto, &[XTERM, ("NO_COLOR", "1")], true, false),
        (ColorChoice::Auto, &[XTERM, ("NO_COLOR", "")], true, true),
        (ColorChoice::Auto, &[XTERM, ("FORCE_COLOR", "1")], false, true),
        (ColorChoice::Auto, &[XTERM, ("CLICOLOR_FORCE", "0")], false, false),
        (ColorChoice::Always, &[("NO_COLOR", "1")], false, true),
        (ColorChoice::Never, &[XTERM, ("FORCE_COLOR", "1")], true, false),
    ];
    for (choice, pairs, terminal, expected) in cases {
        assert_eq!(colored(choice, &env(pairs), terminal), expected, "{choice:?} {pairs:?} {terminal}");
    }
}
