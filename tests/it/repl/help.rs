//! What help shows, and that it fits.

use tillerman::repl::command::{COMMANDS, FORMS, KEYS, named};
use tillerman::repl::help::{command, keys, screen};
use tillerman::terminal::Look;
use tillerman::terminal::wrap::columns;

const PLAIN: Look = Look::PLAIN;

#[test]
fn help_is_one_screen_that_names_everything() {
    let lines = screen(PLAIN, 80);
    // The line being typed and the one below it stay in view.
    assert!(lines.len() <= 22, "{} lines:\n{}", lines.len(), lines.join("\n"));
    assert!(lines.iter().all(|line| columns(line) <= 80), "{}", lines.join("\n"));
    let text = lines.join(" ");
    let words: Vec<&str> = text.split([' ', '·']).collect();
    for entry in COMMANDS.iter() {
        assert!(words.contains(&entry.name), "{} is missing", entry.name);
    }
    for (name, _) in FORMS.iter().chain(&KEYS) {
        assert!(text.contains(name), "{name} is missing");
    }
}

#[test]
fn help_fits_a_narrow_terminal_too() {
    for width in [20, 40, 60] {
        let lines = screen(PLAIN, width).into_iter().chain(keys(PLAIN, width));
        let wide: Vec<String> = lines.filter(|line| columns(line) > width).collect();
        assert_eq!(wide, [""; 0], "{width}");
    }
}

#[test]
fn help_for_one_command_has_an_example() {
    let steer = command(named("/tell").unwrap(), PLAIN, 80);
    assert_eq!(
        steer,
        [
            "/steer t_001 TEXT  also /tell",
            "  tell a worker something; it reads it before its next step",
            "  The same as @t_001 TEXT. A worker that has ended hears nothing more;",
            "  /continue gives it new work.",
            "  for example /steer t_001 keep the public API as it is",
        ]
    );
    for entry in COMMANDS.iter() {
        let lines = command(entry, PLAIN, 80);
        assert!(lines.len() <= 8 && lines.iter().skip(1).all(|line| columns(line) <= 80), "{lines:#?}");
    }
}
