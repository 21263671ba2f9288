//! The part of a conversation that a reply must react to: everything after the last assistant message.

use std::sync::Arc;

use crate::message::{Message, Role, ToolCall, ToolResult};

/// What happened since the pilot last spoke.
pub(super) struct Talk<'a> {
    /// The calls of its last message with their results, in the order of the results.
    pub(super) answered: Vec<(&'a ToolCall, &'a ToolResult)>,
    /// What people, notes and reports said, in order.
    pub(super) lines: Vec<String>,
    /// How often it has spoken.
    pub(super) spoken: usize,
}

impl<'a> Talk<'a> {
    /// Reads the end of a conversation.
    pub(super) fn of(messages: &'a [Arc<Message>]) -> Talk<'a> {
        let last = messages.iter().rposition(|message| message.role == Role::Assistant);
        let calls: Vec<&ToolCall> = last.iter().flat_map(|at| messages[*at].calls()).collect();
        let since = &messages[last.map_or(0, |at| at + 1)..];
        let answered = since.iter().flat_map(|message| message.results()).filter_map(|result| {
            let call = calls.iter().find(|call| call.id == result.call)?;
            Some((*call, result))
        });
        let lines = since.iter().map(|message| message.text());
        let lines = lines.filter(|text| !text.trim().is_empty() && !is_reminder(text));
        let spoken = messages.iter().filter(|message| message.role == Role::Assistant).count();
        Talk { answered: answered.collect(), lines: lines.collect(), spoken }
    }
}

/// The program's own words: the turns or the budget are used up, a task goes on, or what came before it is handed over.
/// Nothing in them is an order of a person.
pub(super) fn is_reminder(text: &str) -> bool {
    const BEGIN: [&str; 3] = [
        "What the tasks that this one comes after came to.",
        "The budget is nearly used up",
        "Most of the budget is used",
    ];
    let turns = text.starts_with("All ") && text.contains(" turns of this run are used up");
    turns || BEGIN.iter().any(|words| text.starts_with(words)) || is_again(text)
}

/// The words with which a task goes on after an end.
pub(super) fn is_again(text: &str) -> bool {
    text.starts_with("This is attempt ")
}

/// That end came from outside, so a step that it cut off is neither done nor failed.
pub(super) fn was_cut_off(text: &str) -> bool {
    is_again(text) && (text.contains(" was interrupted") || text.contains(" was aborted"))
}
