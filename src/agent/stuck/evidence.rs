//! What the last turns did, in a sentence that a person can judge.

use std::collections::VecDeque;

use super::Step;

/// Turns that are kept.
const KEPT: usize = 12;
/// Calls named of one turn, and characters of each part of a sentence.
const NAMED: usize = 3;
const PART: usize = 80;

/// The last turns.
#[derive(Debug, Default)]
pub(super) struct Trail {
    turns: VecDeque<Past>,
}

/// A turn that was.
#[derive(Debug)]
struct Past {
    key: u64,
    calls: String,
    said: String,
    failed: bool,
}

impl Trail {
    pub(super) fn push(&mut self, key: u64, steps: &[Step<'_>]) {
        if self.turns.len() == KEPT {
            self.turns.pop_front();
        }
        let mut calls: Vec<String> = steps.iter().take(NAMED).map(name).collect();
        if let Some(more) = steps.len().checked_sub(NAMED + 1) {
            calls.push(format!("{} more", more + 1));
        }
        let said = steps.last().map(said).unwrap_or_default();
        let failed = !steps.is_empty() && steps.iter().all(|step| step.failed);
        self.turns.push_back(Past { key, calls: calls.join(", "), said, failed });
    }

    /// Why a run with so many flat turns behind it gets nowhere.
    pub(super) fn evidence(&self, flat: u32) -> String {
        let flat_turns = usize::try_from(flat).unwrap_or(usize::MAX).min(self.turns.len());
        let turns: Vec<&Past> = self.turns.iter().skip(self.turns.len() - flat_turns).collect();
        let Some(last) = turns.last().or(self.turns.back().as_ref()).copied() else { return String::new() };
        if flat > 0 && turns.iter().all(|turn| turn.key == last.key) {
            return format!("{} was called {} times with the same result: {}", last.calls, flat + 1, last.said);
        }
        let circle = (2..=turns.len() / 2).find(|period| turns.windows(period + 1).all(is_round));
        if let Some(period) = circle {
            let round: Vec<String> =
                turns.iter().rev().take(period).rev().map(|turn| format!("{}: {}", turn.calls, turn.said)).collect();
            return format!("the same {period} turns go round and round: {}", round.join("; then "));
        }
        if flat > 0 && turns.iter().all(|turn| turn.failed) {
            return format!("{flat} turns in a row failed as before, the last with {}: {}", last.calls, last.said);
        }
        format!("turn after turn brings nothing new; the last called {}: {}", last.calls, last.said)
    }
}

/// Whether the first of some turns is the same as the last.
fn is_round(turns: &[&Past]) -> bool {
    turns.first().zip(turns.last()).is_some_and(|(first, last)| first.key == last.key)
}

/// A call in a few words: its tool and the first of its arguments that is text.
fn name(step: &Step<'_>) -> String {
    let args: Option<serde_json::Map<String, serde_json::Value>> = serde_json::from_str(step.args).ok();
    let first = args.iter().flat_map(|args| args.values()).find_map(|value| value.as_str());
    match first {
        Some(first) => format!("{} {}", step.tool, line(first)),
        None => step.tool.to_owned(),
    }
}

/// The beginning of an output, as it is quoted.
fn said(step: &Step<'_>) -> String {
    let first = step.output.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
    format!("“{}”", line(first))
}

/// One line of at most so many characters, without control characters.
fn line(text: &str) -> String {
    let mut words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = words.by_ref().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(PART) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
