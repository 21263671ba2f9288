//! Help: everything on one screen, or one command with an example. Pure text.

use super::command::{COMMANDS, Entry, FORMS, KEYS};
use crate::terminal::Look;
use crate::terminal::wrap::{columns, wrapped};

/// Columns of the words before each group, and of a key.
const MARGIN: usize = 14;
const KEY: usize = 13;
/// Where a terminal has fewer columns, text stands below such a word and not beside it.
const NARROW: usize = 50;

/// All that can be typed, on one screen of 80 × 24: forms of a line, commands in their groups, keys.
pub fn screen(look: Look, width: usize) -> Vec<String> {
    let width = width.max(20);
    let mut lines = Vec::new();
    for (form, help) in FORMS {
        lines.extend(beside((&look.name(form), columns(form)), help, MARGIN, width));
    }
    let mut groups: Vec<&str> = COMMANDS.iter().map(|entry| entry.group).collect();
    groups.dedup();
    for group in groups {
        let names: Vec<&str> = COMMANDS.iter().filter(|entry| entry.group == group).map(|entry| entry.name).collect();
        lines.extend(beside((&look.bold(group), columns(group)), &names.join(" "), MARGIN, width));
    }
    let keys: Vec<String> = KEYS.iter().map(|(key, _)| (*key).to_owned()).collect();
    lines.extend(beside((&look.bold("keys"), 4), &keys.join(" · "), MARGIN, width));
    lines.extend(
        wrapped("/help NAME explains one, with an example; /keys says what the keys do", width)
            .into_iter()
            .map(|line| look.dim(line)),
    );
    lines
}

/// What keys do.
pub fn keys(look: Look, width: usize) -> Vec<String> {
    KEYS.iter().flat_map(|(key, help)| beside((&look.name(key), columns(key)), help, KEY, width.max(20))).collect()
}

/// One command: how it is written, what it does, an example.
pub fn command(entry: &Entry, look: Look, width: usize) -> Vec<String> {
    let mut first = look.name(format!("{} {}", entry.name, entry.usage).trim_end());
    if !entry.also.is_empty() {
        first.push_str(&look.dim(format!("  also {}", entry.also.join(", "))));
    }
    let room = width.saturating_sub(4).max(16);
    let text = wrapped(entry.help, room).into_iter().chain(wrapped(entry.more, room)).filter(|line| !line.is_empty());
    let example = format!("  {} {}", look.dim("for example"), look.name(entry.example));
    std::iter::once(first).chain(text.map(|line| format!("  {line}"))).chain([example]).collect()
}

/// A word, with its columns, in the margin, and text beside it in as many lines as that takes.
fn beside((word, taken): (&str, usize), text: &str, margin: usize, width: usize) -> Vec<String> {
    if width < NARROW {
        let rows = wrapped(text, width - 2).into_iter().map(|row| format!("  {row}"));
        return std::iter::once(word.to_owned()).chain(rows).collect();
    }
    let rows = wrapped(text, width - margin).into_iter().enumerate();
    let beside = rows.map(|(at, row)| match at {
        0 => format!("{word}{:1$}{row}", "", margin.saturating_sub(taken)),
        _ => format!("{:margin$}{row}", ""),
    });
    beside.collect()
}
