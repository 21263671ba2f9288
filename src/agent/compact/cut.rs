//! Where a conversation is cut: which messages are replaced by a summary, which stand in the new beginning as they were
//! said, and from where on everything stays. A call and its answers are never parted. Decides nothing about when.

use std::sync::Arc;

use super::policy::Keep;
use super::summary;
use crate::message::Message;
use crate::session::{Kind, Origin};

/// Fewest messages that somebody who asks for it has summed up, where the older half goes.
const HALF: usize = 4;

/// The conversation as it is cut.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) messages: &'a [Arc<Message>],
    pub(super) origins: &'a [Origin],
    /// Estimated tokens of one message.
    pub(super) tokens: &'a dyn Fn(&Arc<Message>) -> u64,
}

/// What becomes of every message; numbers are places in the conversation.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// What the new beginning is made of, in order.
    pub(super) parts: Vec<Part>,
    /// From here on everything stays.
    pub(super) at: usize,
}

/// A part of the new beginning.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A summary stands in for these.
    Replaced(Vec<usize>),
    /// It stands there as it was said.
    Stays(usize),
    /// It is rendered anew, or not at all.
    Gone(usize),
}

impl Plan {
    /// Cuts so that `keep` stays. `asked` when a person wants it, so that the least is more.
    pub(super) fn of(view: View<'_>, keep: Keep, asked: bool) -> Plan {
        let headed = view.origins.iter().take_while(|origin| origin.headed).count();
        let at = match keep {
            Keep::Last(most) => whole(view, view.messages.len().saturating_sub(most)),
            Keep::Recent(tokens) => recent(view, tokens),
            Keep::Half => half(view, asked),
            Keep::People => people(view),
        };
        // What stands in an earlier beginning cannot stay behind a new one: in the journal it lies elsewhere.
        let at = at.max(headed);
        let parts = match keep {
            Keep::People => between(view, at),
            Keep::Last(_) | Keep::Recent(_) | Keep::Half => before(view, at),
        };
        Plan { parts, at }
    }

    /// Messages that a summary stands in for, piece by piece.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &[usize]> {
        self.parts.iter().filter_map(|part| match part {
            Part::Replaced(piece) => Some(piece.as_slice()),
            Part::Stays(_) | Part::Gone(_) => None,
        })
    }

    /// There is something to sum up that is no summary yet.
    pub(super) fn is_worth(&self, origins: &[Origin]) -> bool {
        let is_new = |at: &usize| origins.get(*at).is_some_and(|origin| !origin.headed);
        self.pieces().flatten().any(is_new)
    }
}

/// Whether it is a message of a person or of the model, with a place of its own in the count.
pub(super) fn counts(origin: &Origin) -> bool {
    !origin.headed && !matches!(origin.kind, Kind::ToolResult | Kind::Reminder | Kind::Compaction)
}

/// What a person said.
fn is_said(origin: &Origin) -> bool {
    matches!(origin.kind, Kind::User | Kind::Note)
}

/// The place itself, or that of the call when an answer stands there.
fn whole(view: View<'_>, at: usize) -> usize {
    let before = view.origins.get(..=at).unwrap_or(view.origins);
    match before.last() {
        Some(origin) if origin.kind == Kind::ToolResult => {
            before.iter().rposition(|origin| origin.kind != Kind::ToolResult).unwrap_or(0)
        }
        _ => at,
    }
}

fn recent(view: View<'_>, keep: u64) -> usize {
    let mut at = None;
    let mut sum: u64 = 0;
    for (index, origin) in view.origins.iter().enumerate().rev() {
        sum = sum.saturating_add(view.messages.get(index).map_or(0, view.tokens));
        if at.is_some() && sum > keep || origin.headed {
            break;
        }
        if origin.kind != Kind::ToolResult {
            at = Some(index);
        }
    }
    at.unwrap_or(view.messages.len())
}

fn half(view: View<'_>, asked: bool) -> usize {
    let all = view.origins.iter().filter(|origin| counts(origin)).count();
    let old = match asked {
        true if all < HALF => 0,
        true => (all / 2).max(HALF),
        false => all / 2,
    };
    let mut counted = view.origins.iter().enumerate().filter(|(_, origin)| counts(origin)).skip(old);
    counted.next().map_or(view.messages.len(), |(index, _)| index)
}

/// Behind the last thing that was done.
fn people(view: View<'_>) -> usize {
    view.origins.iter().rposition(|origin| !is_said(origin)).map_or(0, |last| last + 1)
}

/// One summary of everything before, except what is pinned.
fn before(view: View<'_>, at: usize) -> Vec<Part> {
    let (mut replaced, mut rest) = (Vec::new(), Vec::new());
    for index in 0..at {
        match part(view, index) {
            Some(part) => rest.push(part),
            None => replaced.push(index),
        }
    }
    let replaced = (!replaced.is_empty()).then_some(Part::Replaced(replaced));
    replaced.into_iter().chain(rest).collect()
}

/// A summary of each piece between two lines of a person. What is summed up already stays as it is.
fn between(view: View<'_>, at: usize) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for index in 0..at {
        let said = view.origins.get(index).is_some_and(is_said).then_some(Part::Stays(index));
        match (said.or_else(|| part(view, index)), parts.last_mut()) {
            (Some(part), _) => parts.push(part),
            (None, Some(Part::Replaced(piece))) => piece.push(index),
            (None, _) => parts.push(Part::Replaced(vec![index])),
        }
    }
    let is_summary = |at: &usize| view.origins.get(*at).is_some_and(|origin| origin.headed);
    for part in &mut parts {
        if let Part::Replaced(piece) = part
            && let [summary] = piece.as_slice()
            && is_summary(summary)
        {
            *part = Part::Stays(*summary);
        }
    }
    parts
}

/// What a message becomes wherever it stands; `None` when that depends on the place.
fn part(view: View<'_>, index: usize) -> Option<Part> {
    let (origin, message) = (view.origins.get(index)?, view.messages.get(index)?);
    match origin.kind {
        Kind::Restored => Some(Part::Stays(index)),
        Kind::Compaction if summary::is_ledger(message) => Some(Part::Gone(index)),
        _ => None,
    }
}
