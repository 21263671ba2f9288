//! What could stand where the cursor is, as a list to choose from. What there is to choose is found by the completer.

use crate::repl::complete::Candidate;
use crate::terminal::Look;
use crate::terminal::wrap::{columns, cut};

/// Choices that are shown at once.
pub(super) const SHOWN: usize = 6;
/// Columns for a choice, before what it does is told.
const NAME: usize = 28;

/// The list.
#[derive(Default)]
pub(super) struct Menu {
    choices: Vec<Candidate>,
    /// The one that the arrows went to.
    at: Option<usize>,
}

impl Menu {
    pub(super) fn set(&mut self, choices: Vec<Candidate>) {
        self.at = None;
        self.choices = choices;
    }

    pub(super) fn close(&mut self) {
        self.set(Vec::new());
    }

    pub(super) fn is_open(&self) -> bool {
        !self.choices.is_empty()
    }

    /// One further, round and round.
    pub(super) fn step(&mut self, down: bool) {
        let many = self.choices.len().max(1);
        self.at = Some(match self.at {
            None if down => 0,
            None => many - 1,
            Some(at) if down => (at + 1) % many,
            Some(at) => (at + many - 1) % many,
        });
    }

    /// The one that the arrows went to.
    pub(super) fn chosen(&self) -> Option<&Candidate> {
        self.choices.get(self.at?)
    }

    /// That one, else the first.
    pub(super) fn best(&self) -> Option<&Candidate> {
        self.choices.get(self.at.unwrap_or(0))
    }

    /// The list as rows, those around the chosen one.
    pub(super) fn rows(&self, width: usize, look: Look) -> Vec<String> {
        let at = self.at.unwrap_or(0);
        let first = (at + 1).saturating_sub(SHOWN);
        let shown = self.choices.iter().enumerate().skip(first).take(SHOWN);
        let names = shown.clone().map(|(_, choice)| columns(&choice.shown)).max().unwrap_or(0).min(NAME);
        let mut rows: Vec<String> =
            shown.map(|(which, choice)| row(choice, self.at == Some(which), names, width, look)).collect();
        let more = self.choices.len().saturating_sub(first + SHOWN);
        if more > 0 {
            rows.push(look.dim(cut(&format!("   … {more} more"), width)));
        }
        rows
    }
}

fn row(choice: &Candidate, chosen: bool, names: usize, width: usize, look: Look) -> String {
    let name = cut(&choice.shown, names.min(width.saturating_sub(3)));
    let gap = " ".repeat(names.saturating_sub(columns(&name)));
    let help = cut(&choice.help, width.saturating_sub(names + 5));
    let mark = if chosen { " › " } else { "   " };
    let name = if chosen { look.bold(&name) } else { look.name(&name) };
    if help.is_empty() { format!("{mark}{name}") } else { format!("{mark}{name}{gap}  {}", look.dim(help)) }
}
