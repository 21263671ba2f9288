//! What the doctor finds on the machine: programs, walls, room on the disk, and what the terminal can.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Mark, Row};
use crate::args::Common;
use crate::sandbox::{Tier, WallSettings, Walls};
use crate::terminal::clean::one_line;
use crate::terminal::is_dumb;
use crate::workspace::home_from;
use crate::workspace::policy::Bounds;

/// Columns from which on lines are easy to read.
const NARROW: u16 = 60;

/// Free bytes below which work is likely to stop.
const LITTLE: u64 = 200 << 20;

type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Everything that is found there.
pub(super) fn rows(common: &Common, env: Env<'_>) -> Vec<Row> {
    let mut rows = vec![
        program("git", &["--version"], "install git; workers and checks use it"),
        program("bash", &["--version"], "install bash; shell commands then run in sh"),
        of_walls(),
    ];
    let root = common.workspace.as_deref().unwrap_or(Path::new("."));
    rows.extend(of_room("this folder", root));
    if let Ok(home) = home_from(&|name| std::env::var_os(name)) {
        // A home that is not there yet is made where its parent is.
        let there = home.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/"));
        rows.extend(of_room(&format!("home {}", home.display()), there));
    }
    rows.push(Row::of("programs", Mark::Good, concat!("tillerman ", env!("CARGO_PKG_VERSION"))));
    rows.extend(of_terminal(env));
    rows
}

/// How much of the disk is free there.
fn of_room(what: &str, path: &Path) -> Option<Row> {
    let room = rustix::fs::statvfs(path).ok()?;
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    let found = format!("{} MB are free for {what}", free >> 20);
    Some(match free < LITTLE {
        true => {
            Row::of("disk", Mark::Warn, found).remedy("free some of the disk: conversations and tasks are kept there")
        }
        false => Row::of("disk", Mark::Good, found),
    })
}

fn program(name: &str, arguments: &[&str], remedy: &str) -> Row {
    let ran = Command::new(name).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output();
    match ran {
        Ok(output) if output.status.success() => {
            let said = String::from_utf8_lossy(&output.stdout);
            Row::of("programs", Mark::Good, one_line(said.lines().next().unwrap_or(name)))
        }
        Ok(output) => Row {
            remedy: Some(remedy.to_owned()),
            ..Row::of("programs", Mark::Warn, format!("{name} ends with {}", output.status))
        },
        Err(error) => {
            Row { remedy: Some(remedy.to_owned()), ..Row::of("programs", Mark::Warn, format!("no {name}: {error}")) }
        }
    }
}

/// Walls around commands are built, as a run would build them, and tried; nothing is granted within.
fn of_walls() -> Row {
    let bounds = Bounds { base: std::env::temp_dir(), ..Bounds::default() };
    match Walls::around(WallSettings::new(bounds)).build() {
        Err(error) => Row::of("sandbox", Mark::Bad, one_line(&error.to_string()))
            .remedy("commands are not run here without walls; --sandbox full runs them with your rights"),
        Ok(built) => {
            let mark = if built.tier == Tier::Full { Mark::Good } else { Mark::Warn };
            let weaker = (built.tier != Tier::Full).then(|| {
                let why = built.notes.iter().map(|note| one_line(note)).collect::<Vec<_>>().join("; ");
                format!("allow user namespaces; docs/guarantees.md says what gets through without them ({why})")
            });
            Row { remedy: weaker, ..Row::of("sandbox", mark, format!("{}; tried, and they hold", built.tier)) }
        }
    }
}

/// What the terminal can, and whether signs look right in it.
fn of_terminal(env: Env<'_>) -> Vec<Row> {
    let mut rows = vec![of_lines(env), of_letters(env)];
    if env("NO_COLOR").is_some_and(|set| !set.is_empty()) {
        rows.push(Row::of("terminal", Mark::Absent, "no colours: NO_COLOR is set"));
    }
    if env("TMUX").is_some_and(|set| !set.is_empty()) {
        rows.push(Row::of(
            "terminal",
            Mark::Good,
            "inside tmux; notifications need `set -g allow-passthrough on` there",
        ));
    }
    rows
}

fn of_lines(env: Env<'_>) -> Row {
    let term = env("TERM").filter(|term| !term.is_empty()).unwrap_or_else(|| "unset".to_owned());
    if !io::stdin().is_terminal() {
        return Row::of("terminal", Mark::Absent, "stdin is no terminal: lines are read plainly");
    }
    if is_dumb(env) {
        return Row::of("terminal", Mark::Warn, format!("TERM is {term}: lines are read plainly"))
            .remedy("set TERM to what the terminal is, for example xterm-256color");
    }
    match crossterm::terminal::size() {
        Ok((columns, rows)) if columns < NARROW => {
            Row::of("terminal", Mark::Warn, format!("{term}, {columns}×{rows}: lines are cut"))
                .remedy("make it wider; 80 columns are enough")
        }
        Ok((columns, rows)) => Row::of("terminal", Mark::Good, format!("{term}, {columns}×{rows}")),
        Err(_) => Row::of("terminal", Mark::Good, format!("{term}, size unknown")),
    }
}

/// The first of the variables that is set says which letters there are.
fn of_letters(env: Env<'_>) -> Row {
    let set = |name: &str| env(name).filter(|value| !value.is_empty()).map(|value| (name.to_owned(), value));
    let said = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    let is_utf8 = |value: &str| value.to_lowercase().replace('-', "").contains("utf8");
    match said {
        Some((name, value)) if is_utf8(&value) => {
            Row::of("terminal", Mark::Good, format!("letters of UTF-8 ({name} is {})", one_line(&value)))
        }
        Some((name, value)) => {
            Row::of("terminal", Mark::Warn, format!("{name} is {}: signs like ✓ may look wrong", one_line(&value)))
                .remedy("export LANG=C.UTF-8, or use --plain")
        }
        None => Row::of("terminal", Mark::Absent, "LANG is not set: UTF-8 is written"),
    }
}
