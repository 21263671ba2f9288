//! `tillerman doctor`: what works here, and how to mend what does not. It takes no lock, and what it starts ends with it.
//! What is looked at is in `folder` and `machine`.

mod folder;
mod machine;

use std::io::{self, Write};

use serde_json::json;

use super::ready::{self, NotReady};
use crate::args::{Common, Doctor};
use crate::secret::Secrets;
use crate::terminal::Look;
use crate::terminal::clean::clean;
use crate::terminal::exit::Exit;

/// What belongs together, in the order in which it is shown.
const GROUPS: [&str; 11] = [
    "model",
    "providers",
    "workspace",
    "settings",
    "files",
    "agents",
    "permissions",
    "programs",
    "sandbox",
    "disk",
    "terminal",
];

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// Works.
    Good,
    /// Works, but a person should know.
    Warn,
    /// Does not work.
    Bad,
    /// Neither good nor bad: something that is simply not there.
    Absent,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    /// What it belongs to; one of [`GROUPS`].
    group: &'static str,
    mark: Mark,
    found: String,
    /// What to do about it.
    remedy: Option<String>,
}

impl Row {
    fn of(group: &'static str, mark: Mark, found: impl Into<String>) -> Row {
        Row { group, mark, found: found.into(), remedy: None }
    }

    fn remedy(self, remedy: impl Into<String>) -> Row {
        Row { remedy: Some(remedy.into()), ..self }
    }
}

/// Prints what was found; fails when something does not work.
pub fn doctor(common: &Common, look: Look, asked: Doctor) -> Exit {
    let env = |name: &str| std::env::var(name).ok();
    let (mut rows, secrets) = match ready::settings(common) {
        Ok(config) => (folder::rows(&config), config.secrets.clone()),
        Err(NotReady { why, .. }) => {
            let row = Row::of("workspace", Mark::Bad, clean(&why));
            let suspected = std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
            (
                vec![row.remedy("do what it says and run tillerman doctor again")],
                Secrets::default().with_suspected(suspected),
            )
        }
    };
    rows.extend(machine::rows(common, &env));
    for row in &mut rows {
        secrets.hide_in(&mut row.found);
    }
    rows.sort_by_key(|row| GROUPS.iter().position(|group| *group == row.group));
    let text = if asked.json { as_json(&rows) } else { as_text(&rows, look, asked) };
    let text = if asked.ascii { ascii(&text) } else { text };
    // Nobody reads: the exit code still tells.
    let _ = writeln!(io::stdout().lock(), "{text}");
    if rows.iter().any(|row| row.mark == Mark::Bad) { Exit::Failed } else { Exit::Done }
}

fn as_text(rows: &[Row], look: Look, asked: Doctor) -> String {
    let mut lines = Vec::new();
    let mut group = "";
    let is_shown = |row: &&Row| !asked.summary || matches!(row.mark, Mark::Warn | Mark::Bad);
    for row in rows.iter().filter(is_shown) {
        if row.group != group {
            group = row.group;
            lines.push(look.bold(group));
        }
        let (word, sign) = match row.mark {
            Mark::Good => ("[ok]  ", "✓"),
            Mark::Warn => ("[warn]", "⚠"),
            Mark::Bad => ("[bad] ", "✗"),
            Mark::Absent => ("[-]   ", "·"),
        };
        let mark = if asked.ascii || look.words { word } else { sign };
        let (mark, found) = match row.mark {
            Mark::Good => (look.good(mark), row.found.clone()),
            Mark::Warn => (look.warn(mark), row.found.clone()),
            Mark::Bad => (look.bad(mark), row.found.clone()),
            Mark::Absent => (look.dim(mark), look.dim(&row.found)),
        };
        lines.push(format!("  {mark} {found}"));
        let remedy = |remedy: &String| look.dim(format!("    {} {remedy}", if look.words { "to do:" } else { "→" }));
        lines.extend(row.remedy.iter().map(remedy));
    }
    let count = |mark| rows.iter().filter(|row| row.mark == mark).count();
    let (good, warn, bad) = (count(Mark::Good), count(Mark::Warn), count(Mark::Bad));
    let end = if bad == 0 { "it can work" } else { "mend what does not work first" };
    lines.push(look.bold(format!("{good} good, {warn} to know, {bad} that do not work: {end}")));
    lines.join("\n")
}

/// The text without signs that an old terminal lacks.
fn ascii(text: &str) -> String {
    let one = |sign: char| match sign {
        '→' => "->".to_owned(),
        '×' => "x".to_owned(),
        '·' => "-".to_owned(),
        '…' => "...".to_owned(),
        sign if sign.is_ascii() => sign.to_string(),
        other => other.escape_unicode().to_string(),
    };
    text.chars().map(one).collect()
}

fn as_json(rows: &[Row]) -> String {
    let word = |mark| match mark {
        Mark::Good => "good",
        Mark::Warn => "warn",
        Mark::Bad => "bad",
        Mark::Absent => "absent",
    };
    let each = rows
        .iter()
        .map(|row| json!({"group": row.group, "mark": word(row.mark), "found": row.found, "remedy": row.remedy}));
    let ok = !rows.iter().any(|row| row.mark == Mark::Bad);
    json!({"v": super::json::VERSION, "ok": ok, "rows": each.collect::<Vec<_>>()}).to_string()
}
