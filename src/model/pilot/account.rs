//! A worker's report: what each step did, and what was not done. Only facts that the conversation holds.

use std::fmt;

use super::answer::fenced;
use super::command::Outcome;
use crate::message::ToolResult;

/// Lines of a command's output that are shown, from its end.
const LAST_LINES: usize = 8;

/// Most characters of a line of it.
const WIDTH: usize = 200;

/// A step and what became of it.
pub(super) struct Entry {
    pub(super) command: String,
    pub(super) fate: Fate,
}

/// What became of a step.
pub(super) enum Fate {
    /// It ran, and this is what the tool told.
    Ran {
        /// How it ended and how long it took, as said in the report.
        end: String,
        succeeded: bool,
        /// The last lines of its output.
        last: Vec<String>,
    },
    /// It asked something: the answer, once there is one, and whether it is the default for want of another.
    Asked { answer: Option<String>, by_default: bool },
    /// A note said so.
    Skipped,
    /// The task was ended from outside while it ran.
    CutOff,
    /// Its result is not in the conversation.
    Unknown,
}

/// Everything there is to report.
pub(super) struct Account {
    pub(super) entries: Vec<Entry>,
    pub(super) left: Vec<String>,
    /// Why it stopped early, when a note or the lack of tools was the reason.
    pub(super) stop: Option<&'static str>,
    pub(super) unheeded: Vec<String>,
}

impl Fate {
    pub(super) fn of(result: &ToolResult) -> Fate {
        let Outcome { end, succeeded, took, output } = Outcome::of(result);
        let took = took.map(|took| format!(", {took}")).unwrap_or_default();
        let lines: Vec<&str> = output.lines().collect();
        let last = lines[lines.len().saturating_sub(LAST_LINES)..].iter().map(|line| shorten(line)).collect();
        Fate::Ran { end: format!("{}{took}", shorten(&end)), succeeded, last }
    }

    pub(super) fn ends_the_run(&self) -> bool {
        matches!(self, Fate::Ran { succeeded: false, .. })
    }
}

impl Account {
    fn headline(&self) -> String {
        let total = self.entries.len() + self.left.len();
        let count = |wanted: fn(&Fate) -> bool| self.entries.iter().filter(|entry| wanted(&entry.fate)).count();
        let succeeded = count(|fate| matches!(fate, Fate::Ran { succeeded: true, .. } | Fate::Asked { .. }));
        let failed = self.entries.iter().position(|entry| entry.fate.ends_the_run());
        match (failed, self.stop) {
            _ if total == 0 => {
                "Nothing was run: the brief holds no runbook. I am the built-in pilot, no language model, \
                and execute only `- [ ] command` items and `sh` blocks."
                    .to_owned()
            }
            (Some(at), _) => format!("Failed at step {} of {total}.", at + 1),
            (None, Some(why)) => format!("Stopped after {succeeded} of {total} steps: {why}."),
            (None, None) if succeeded == total => format!("Done: {} succeeded.", steps(total)),
            (None, None) => format!("Done: {succeeded} of {total} steps succeeded, see below for the others."),
        }
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.headline())?;
        for (at, entry) in self.entries.iter().enumerate() {
            write!(f, "\n{}{}. {entry}", if at == 0 { "\n" } else { "" }, at + 1)?;
        }
        if !self.left.is_empty() {
            write!(f, "\n\nNot run:")?;
            for command in &self.left {
                write!(f, "\n- {}", code(command))?;
            }
        }
        if !self.unheeded.is_empty() {
            write!(f, "\n\nNotes I did not understand (I know `skip`, `also run CMD` and `stop`):")?;
            for note in &self.unheeded {
                write!(f, "\n- {note}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", code(&self.command))?;
        match &self.fate {
            Fate::Asked { answer: None, .. } => f.write_str("asked; it went on before an answer came"),
            Fate::Asked { answer: Some(answer), by_default } => {
                write!(
                    f,
                    "{}{}",
                    shorten(answer),
                    if *by_default { ", by default: nobody answered in time" } else { "" }
                )
            }
            Fate::Skipped => f.write_str("skipped, a note said so"),
            Fate::CutOff => {
                f.write_str("cut off when the task was ended; what it did is unknown, it was not run again")
            }
            Fate::Unknown => f.write_str("started, but how it ended is not known"),
            Fate::Ran { end, succeeded, last } => {
                write!(f, "{}{end}", if *succeeded { "" } else { "failed, " })?;
                if last.is_empty() {
                    return Ok(());
                }
                fenced(&last.join("\n")).lines().try_for_each(|line| write!(f, "\n   {line}"))
            }
        }
    }
}

fn steps(count: usize) -> String {
    if count == 1 { "the one step".to_owned() } else { format!("all {count} steps") }
}

/// A command as inline code; of a script its first line.
fn code(command: &str) -> String {
    let mut lines = command.lines();
    let first = shorten(lines.next().unwrap_or_default());
    let more = if lines.next().is_some() { " …" } else { "" };
    if first.contains('`') { format!("`` {first} ``{more}") } else { format!("`{first}`{more}") }
}

fn shorten(line: &str) -> String {
    match line.char_indices().nth(WIDTH) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default()),
        None => line.to_owned(),
    }
}
