//! What a conversation is made of for somebody who reads it: what was said and by whom, calls with their results, and
//! what happened to the conversation. How it looks is told in `markdown` and `html`.

use super::{Entry, ExportError};
use crate::message::{Block, Image, Message, NoteKind, ToolCall, ToolResult};
use crate::session::Session;
use crate::session::record::{End, Record};

/// One part, in order of the conversation.
pub(super) enum Part<'a> {
    /// Somebody begins to speak.
    Speaker(Speaker<'a>),
    /// What was said.
    Text(&'a str),
    /// What the model thought before it said something.
    Thought(&'a str),
    /// A picture.
    Picture(&'a Image),
    /// A call and what came of it.
    Call { call: &'a ToolCall, result: Option<&'a ToolResult> },
    /// Something happened to the conversation.
    Mark(String),
}

/// Who says what follows.
pub(super) struct Speaker<'a> {
    /// A word for the looks: `you`, `assistant`, `runtime`.
    pub(super) side: &'static str,
    /// For people.
    pub(super) name: String,
    /// The entry.
    pub(super) entry: &'a Entry,
}

impl Speaker<'_> {
    /// `2026-07-01 12:00:00` of the entry's time.
    pub(super) fn time(&self) -> String {
        second(&self.entry.at)
    }
}

/// `2026-07-01 12:00:00` of a time in a journal.
pub(super) fn second(at: &str) -> String {
    at.get(..19).unwrap_or(at).replace('T', " ")
}

type Tell<'a> = &'a mut dyn FnMut(Part<'_>) -> std::io::Result<()>;

/// A reply with calls waits here for their results, so that they stand together.
#[derive(Default)]
struct Waiting {
    reply: Option<Entry>,
    results: Vec<ToolResult>,
}

/// Hands every part of the conversation to `tell`.
pub(super) fn each(session: &Session, tell: Tell<'_>) -> Result<(), ExportError> {
    let mut waiting = Waiting::default();
    for place in session.way_to_leaf() {
        let Some(entry) = session.entry_at(place)? else { continue };
        match &entry.record {
            Record::ToolResult { message } => waiting.results.extend(message.results().cloned()),
            // These come between a reply and its results.
            Record::ToolStarted { .. } | Record::Title { .. } => {}
            _ => {
                waiting.done(tell)?;
                if matches!(entry.record, Record::Assistant { .. }) {
                    waiting.reply = Some(entry);
                } else {
                    one(&entry, tell)?;
                }
            }
        }
    }
    Ok(waiting.done(tell)?)
}

impl Waiting {
    /// Tells the reply and its calls with what came of them.
    fn done(&mut self, tell: Tell<'_>) -> std::io::Result<()> {
        let results = std::mem::take(&mut self.results);
        let Some(entry) = self.reply.take() else { return Ok(()) };
        let Record::Assistant { message, model, .. } = &entry.record else { return Ok(()) };
        tell(Part::Speaker(Speaker { side: "assistant", name: model.clone(), entry: &entry }))?;
        blocks(message, &results, tell)
    }
}

/// Any other entry.
fn one(entry: &Entry, tell: Tell<'_>) -> std::io::Result<()> {
    let mut said = |side, name: &str, message: &Message| {
        tell(Part::Speaker(Speaker { side, name: name.to_owned(), entry }))?;
        blocks(message, &[], tell)
    };
    match &entry.record {
        Record::User { message, .. } => said("you", "You", message),
        Record::Report { task, message, .. } => said("runtime", &format!("Report of {task}"), message),
        Record::Reminder { message } | Record::Restored { message, .. } => said("runtime", "tillerman", message),
        Record::Note { note, .. } => {
            let kind = match note.kind {
                NoteKind::Steer => "steer",
                NoteKind::FollowUp => "follow-up",
                NoteKind::Line => "line",
                NoteKind::Answer => "answer",
            };
            said("you", &format!("You, {kind} {}", note.id), &Message::user(note.text.clone()))
        }
        Record::Compaction(compaction) => {
            let (before, after) = (compaction.before, compaction.after);
            tell(Part::Mark(format!(
                "The model saw a shorter form of all this from here on: {before} → {after} tokens."
            )))
        }
        Record::Discarded { why, .. } => tell(Part::Mark(format!("A reply was left out: {why}."))),
        Record::Ended { end } => match end {
            End::Completed => Ok(()),
            End::Aborted => tell(Part::Mark("Stopped.".to_owned())),
            End::Interrupted => tell(Part::Mark("The program ended.".to_owned())),
            End::TurnLimit => tell(Part::Mark("The turns were used up.".to_owned())),
            End::BudgetSpent { what } => tell(Part::Mark(format!("Used up: {what}."))),
            End::Parked => tell(Part::Mark("It waited for an answer.".to_owned())),
            End::Stuck { evidence } => tell(Part::Mark(format!("Stuck: {evidence}."))),
            End::Failed { why } => tell(Part::Mark(format!("Failed: {why}."))),
        },
        Record::Dropped { notes, why } => {
            let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
            tell(Part::Mark(format!("{} was not heard: {why}.", notes.join(", "))))
        }
        Record::Session { .. }
        | Record::Assistant { .. }
        | Record::ToolStarted { .. }
        | Record::ToolResult { .. }
        | Record::Posted(_)
        | Record::Attempt { .. }
        | Record::Branch { .. }
        | Record::Title { .. } => Ok(()),
    }
}

fn blocks(message: &Message, results: &[ToolResult], tell: Tell<'_>) -> std::io::Result<()> {
    for block in &message.blocks {
        match block {
            Block::Text { text } if text.trim().is_empty() => {}
            Block::Text { text } => tell(Part::Text(text))?,
            Block::Thinking(thinking) if thinking.text.trim().is_empty() => {}
            Block::Thinking(thinking) => tell(Part::Thought(&thinking.text))?,
            Block::Image(image) => tell(Part::Picture(image))?,
            Block::Call(call) => {
                let result = results.iter().find(|result| result.call == call.id);
                tell(Part::Call { call, result })?;
            }
            Block::Result(result) => tell(Part::Text(&result.output))?,
        }
    }
    Ok(())
}

/// A call's name and the beginning of its arguments, as a line to unfold.
pub(super) fn headline(call: &ToolCall) -> String {
    let args: serde_json::Value = serde_json::from_str(&call.args.0).unwrap_or_default();
    let first = args.as_object().and_then(|args| args.values().find_map(|value| value.as_str()));
    let gist = first.unwrap_or(&call.args.0);
    let line: String = gist.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(80).collect();
    format!("{} {line}", call.name).trim_end().to_owned()
}

/// Arguments on lines of their own when they are JSON, else as the model wrote them.
pub(super) fn arguments(call: &ToolCall) -> String {
    let parsed = serde_json::from_str::<serde_json::Value>(&call.args.0);
    parsed.and_then(|args| serde_json::to_string_pretty(&args)).unwrap_or_else(|_| call.args.0.clone())
}

/// Text in which nothing can steer a terminal: control characters are shown by their pictures.
pub(super) fn harmless(text: &str) -> String {
    let shown = |one: char| match one {
        '\n' | '\t' => one,
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(one)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\x7f' => '␡',
        '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => char::REPLACEMENT_CHARACTER,
        _ => one,
    };
    text.replace("\r\n", "\n").chars().map(shown).collect()
}
