//! What help knows of each slash command: how it is written, what it does, an example. The words are in `commands.md`; what a
//! command means is read beside it.

use std::sync::LazyLock;

/// A slash command as help shows it.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// With its slash.
    pub name: &'static str,
    /// Other names for it, also with their slash.
    pub also: Vec<&'static str>,
    /// What follows it.
    pub usage: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    /// A whole line that can be typed.
    pub example: &'static str,
    /// What else there is to know; may be empty.
    pub more: &'static str,
    /// The part of the help that it belongs to.
    pub group: &'static str,
}

/// All slash commands, in the order in which they are shown.
pub static COMMANDS: LazyLock<Vec<Entry>> = LazyLock::new(|| entries(include_str!("commands.md")));

/// The forms of a line besides slash commands.
pub const FORMS: [(&str, &str); 6] = [
    ("TEXT", "talk to the agent; while it works, it hears it at its next step"),
    ("@t_001 TEXT", "tell a worker something"),
    ("@src/main.rs", "anywhere in a line: a file or folder to look at; a picture to see"),
    ("!COMMAND", "run it here; the agent hears of it with your next line"),
    ("!!COMMAND", "the same, but the agent never hears of it"),
    ("/NAME TEXT", "a command, a prompt template of commands/, or a skill"),
];

/// What keys do.
pub const KEYS: [(&str, &str); 15] = [
    ("Enter", "send; while the agent works, it is told at its next step"),
    ("Shift+Enter", "a new row; also Ctrl-J, or a backslash before Enter"),
    ("Tab", "complete; while the agent works, queue the line for afterwards"),
    ("Alt+Enter", "queue the line for when the current work is done"),
    ("Alt+Up", "take back what was not read yet"),
    ("Esc", "stop what the agent does now, workers go on; twice: go back to a line"),
    ("Ctrl-C", "clear the line; on an empty line stop the agent; again: leave"),
    ("Ctrl-D", "leave"),
    ("Ctrl-R", "search in what was typed before"),
    ("Ctrl-G", "write the line in $EDITOR"),
    ("Ctrl-S", "put the line aside, or take it back"),
    ("Ctrl-T", "show or fold thoughts"),
    ("Ctrl-O", "show the last call in full"),
    ("Ctrl-/", "undo; Ctrl-A, Ctrl-E, Ctrl-W, Ctrl-K, Ctrl-Y and the like as in Emacs"),
    ("Left", "on an empty line: the board of all workers"),
];

/// The command of this name, which may be one of its other names.
pub fn named(name: &str) -> Option<&'static Entry> {
    COMMANDS.iter().find(|entry| entry.name == name || entry.also.contains(&name))
}

/// Reads blocks of lines: name and usage, perhaps other names, what it does, an example behind `>`, and more.
fn entries(text: &'static str) -> Vec<Entry> {
    let mut group = "";
    let mut entries = Vec::new();
    for block in text.split("\n\n").map(str::trim) {
        if let Some(head) = block.strip_prefix("# ") {
            group = head;
            continue;
        }
        let (first, rest) = block.split_once('\n').unwrap_or((block, ""));
        let (name, usage) = first.split_once(' ').unwrap_or((first, ""));
        let (also, rest) = match rest.strip_prefix("also ") {
            Some(rest) => rest.split_once('\n').unwrap_or((rest, "")),
            None => ("", rest),
        };
        let (help, rest) = rest.split_once("\n> ").unwrap_or((rest, ""));
        let (example, more) = rest.split_once('\n').unwrap_or((rest, ""));
        let also = also.split_whitespace().collect();
        entries.push(Entry { name, also, usage, help, example, more, group });
    }
    entries
}
