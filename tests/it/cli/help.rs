//! What the program says of itself: every command explains itself with examples that can be typed, and slips are answered
//! with what is nearest.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory};
use tillerman::args::Args;
use tillerman::terminal::exit::Exit;

use super::Place;

/// Columns that every terminal has.
const WIDTH: usize = 80;

/// Lines of the smallest usual terminal.
const HEIGHT: usize = 24;

fn read(words: &[&str]) -> Result<Args, clap::Error> {
    let words: Vec<OsString> = std::iter::once("tillerman").chain(words.iter().copied()).map(OsString::from).collect();
    Args::read(&words)
}

/// What is shown instead of doing something.
fn shown(words: &[&str]) -> String {
    read(words).unwrap_err().to_string()
}

/// The words of every command, the program itself first.
fn commands() -> Vec<Vec<String>> {
    fn walk(command: &Command, path: &[String], found: &mut Vec<Vec<String>>) {
        found.push(path.to_vec());
        for sub in command.get_subcommands() {
            walk(sub, &[path, &[sub.get_name().to_owned()]].concat(), found);
        }
    }
    let mut found = Vec::new();
    walk(&Args::command(), &[], &mut found);
    found
}

/// The lines of a section, each without its two spaces; an explanation on a line of its own is none.
fn section<'a>(help: &'a str, title: &str) -> Vec<&'a str> {
    let lines =
        help.lines().skip_while(|line| *line != format!("{title}:")).skip(1).take_while(|line| !line.is_empty());
    lines.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' ')).collect()
}

/// The words of a line as a shell would pass them on, from the program's name on and without files that are read.
fn typed(line: &str) -> Vec<String> {
    let begin = line.find("tillerman").unwrap_or_else(|| panic!("no tillerman in {line}"));
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for one in line[begin..].chars() {
        match (one, quote) {
            ('\'' | '"', None) => (quote, word) = (Some(one), word.or(Some(String::new()))),
            (one, Some(open)) if one == open => quote = None,
            (' ', None) => words.extend(word.take()),
            (one, _) => word.get_or_insert_default().push(one),
        }
    }
    words.extend(word);
    words.into_iter().take_while(|word| !["<", ">", "|"].contains(&word.as_str())).collect()
}

#[test]
fn every_command_explains_itself_with_examples_that_can_be_typed() {
    let mut wrong = Vec::new();
    for path in commands() {
        for flag in ["-h", "--help"] {
            let words: Vec<&str> = path.iter().map(String::as_str).chain([flag]).collect();
            let help = shown(&words);
            let mut fault = |what: &str| wrong.push(format!("tillerman {}: {what}", words.join(" ")));
            let about = help.lines().next().unwrap_or_default();
            if about.is_empty() || about.starts_with("Usage") || about.starts_with("Examples") {
                fault("says not what it does");
            }
            if help.find("Examples:") > help.find("Usage:") || !help.contains("Examples:") {
                fault("does not begin with examples");
            }
            for line in help.lines().filter(|line| line.chars().count() > WIDTH) {
                fault(&format!("too wide: {line}"));
            }
            let mut own = false;
            for example in section(&help, "Examples") {
                // What it does stands two spaces behind.
                let typed = typed(example.split("  ").next().unwrap());
                if let Err(error) = read(&typed[1..].iter().map(String::as_str).collect::<Vec<_>>()) {
                    fault(&format!("cannot be typed: {example}: {error}"));
                }
                own |= path.iter().all(|word| typed.contains(word));
            }
            if !own {
                fault("has no example of itself");
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn the_short_help_is_one_screen_and_the_long_one_tells_all_commands_variables_and_codes() {
    let short = shown(&["-h"]);
    assert!(short.lines().count() < HEIGHT, "{} lines\n{short}", short.lines().count());
    let long = shown(&["--help"]);
    for path in commands().iter().filter(|path| path.len() == 1) {
        assert!(long.lines().any(|line| line.starts_with(&format!("  {} ", path[0]))), "{path:?}\n{long}");
    }
    for exit in Exit::ALL {
        assert!(long.contains(&format!("{:<4} {}", exit.code(), exit.name())), "{exit:?}\n{long}");
    }
    assert!(long.contains("TILLERMAN_HOME") && long.contains("--base-url"), "{long}");
    assert_eq!(shown(&["help", "tasks", "steer"]), shown(&["tasks", "steer", "--help"]));
}

#[test]
fn a_slip_is_answered_with_the_nearest_and_the_code_of_a_slip() {
    let place = Place::new();
    let slips: [(&[&str], &str); 8] = [
        (&["taks"], "'tasks'"),
        (&["tasks", "stear", "t_001", "x"], "'steer'"),
        (&["sessions", "exprot"], "'export'"),
        (&["run", "--jsn", "x"], "'--json'"),
        (&["--modle", "pilot"], "'--model'"),
        (&["--sandbox", "ful"], "'full'"),
        (&["--color", "alway"], "'always'"),
        (&["sessions", "export", "-f", "htm"], "'html'"),
    ];
    for (words, nearest) in slips {
        let done = place.tillerman(words);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{words:?} {}", done.stderr);
        assert!(done.stderr.contains(nearest) && done.stderr.contains("--help"), "{words:?} {}", done.stderr);
    }
    assert_eq!(read(&["help", "nosuch"]).unwrap_err().kind(), ErrorKind::InvalidSubcommand);
}

#[test]
fn help_has_colours_where_they_are_wanted() {
    let place = Place::new();
    let colored = |words: &[&str], env: &[(&str, &str)]| place.tillerman_with(words, env, "").stdout.contains('\x1b');
    assert!(!colored(&["-h"], &[]), "a pipe");
    assert!(colored(&["--color", "always", "-h"], &[("NO_COLOR", "1")]));
    assert!(colored(&["-h"], &[("FORCE_COLOR", "1")]) && colored(&["run", "--help"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!colored(&["-h", "--color=never"], &[("FORCE_COLOR", "1")]));
    assert!(!colored(&["-h"], &[("FORCE_COLOR", "1"), ("NO_COLOR", "1")]));
}
