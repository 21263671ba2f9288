//! Colours where they are wanted and nowhere else, plain lines for those who asked for them, and readers that leave early.

use std::io::Read as _;
use std::process::Stdio;

use super::Place;

/// Commands of which each shows something that may be coloured.
const SHOWN: [&[&str]; 7] =
    [&["doctor"], &["models"], &["tool", "list"], &["config", "show", "--origin"], &["sessions"], &["init"], &["-h"]];

/// Flags, variables, and whether there are colours.
type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], bool);

#[test]
fn colours_follow_the_flag_then_the_environment_then_the_terminal() {
    let place = Place::new();
    assert_eq!(place.tillerman(&["run", "17 * 4"]).code, Some(0));
    let table: [Case; 9] = [
        (&[], &[], false),
        (&["--color", "always"], &[], true),
        (&["--color", "always"], &[("NO_COLOR", "1")], true),
        (&[], &[("FORCE_COLOR", "1")], true),
        (&[], &[("CLICOLOR_FORCE", "1")], true),
        (&[], &[("FORCE_COLOR", "1"), ("NO_COLOR", "1")], false),
        (&["--color", "never"], &[("FORCE_COLOR", "1")], false),
        (&["--plain"], &[("FORCE_COLOR", "1")], false),
        (&[], &[("FORCE_COLOR", "1"), ("TILLERMAN_PLAIN", "1")], false),
    ];
    for (flags, env, colored) in table {
        for words in SHOWN {
            let done = place.tillerman_with(&[flags, words].concat(), env, "");
            assert_eq!(done.stdout.contains('\x1b'), colored, "{flags:?} {env:?} {words:?} {}", done.stdout);
        }
    }
}

#[test]
fn in_plain_lines_words_stand_for_signs() {
    let place = Place::new();
    for (flags, env) in [(&["--plain"][..], &[][..]), (&[], &[("TILLERMAN_PLAIN", "1")])] {
        let done = place.tillerman_with(&[flags, &["doctor"]].concat(), env, "");
        assert!(done.stdout.contains("[warn] not trusted") && !done.stdout.contains("⚠"), "{}", done.stdout);
        let done = place.tillerman_with(&[flags, &["run", "run false"]].concat(), env, "");
        let said = format!("{}{}", done.stdout, done.stderr);
        assert!(!["✓", "✗", "├", "▶", "⚠"].iter().any(|sign| done.stderr.contains(sign)), "{said}");
    }
    let done = place.tillerman_with(&["--plain"], &[("TERM", "xterm-256color")], "17 * 4\n");
    assert!(done.stdout.contains("68") && !done.stdout.contains('\x1b') && !done.stderr.contains('\x1b'), "{done:?}");
    assert!(place.tillerman_with(&["doctor"], &[("TILLERMAN_PLAIN", "0")], "").stdout.contains("⚠"));
}

#[test]
fn a_reader_that_leaves_early_is_no_fault() {
    let place = Place::new();
    assert_eq!(place.tillerman(&["run", "17 * 4"]).code, Some(0));
    let others: [&[&str]; 6] = [
        &["--help"],
        &["completions", "bash"],
        &["man"],
        &["tasks", "list"],
        &["sessions", "show"],
        &["tool", "show", "shell"],
    ];
    for words in SHOWN.iter().chain(&others) {
        let mut child =
            place.command(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let ended = child.wait().unwrap();
        assert!(ended.code().is_some_and(|code| code <= 1), "{words:?} {ended} {said}");
        assert!(!said.contains("panic") && !said.contains("roken pipe"), "{words:?} {said}");
    }
}
