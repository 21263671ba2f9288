//! An entry in a few words, for lists and trees. What a conversation is made of is in `load`.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;

use super::record::Record;
use super::{Session, SessionError};
use crate::message::{Block, Message};

/// Most characters of what is shown.
const WORDS: usize = 200;

#[derive(Deserialize)]
struct Dated {
    at: Timestamp,
}

impl Session {
    /// The words of an entry on one line and when it was written.
    pub(super) fn glance(&self, index: usize) -> Result<(String, Option<Timestamp>), SessionError> {
        let line = self.line(index)?;
        let at = serde_json::from_slice::<Dated>(&line).ok().map(|dated| dated.at);
        let record = serde_json::from_slice::<Record>(&line).ok();
        Ok((record.map(|record| words(&record)).unwrap_or_default(), at))
    }

    /// What an entry says; `None` when it makes no sense.
    pub(super) fn said(&self, index: usize) -> Result<Option<Record>, SessionError> {
        Ok(serde_json::from_slice(&self.line(index)?).ok())
    }

    /// The line of an entry, without its newline.
    pub(super) fn line(&self, index: usize) -> Result<Vec<u8>, SessionError> {
        let Some(node) = self.tree.node(index) else { return Ok(Vec::new()) };
        let line = self.log.read(node.span());
        line.map_err(|source| SessionError::io("read", self.log.path().unwrap_or(Path::new("")), source))
    }
}

/// An entry on one line.
pub(super) fn words(record: &Record) -> String {
    match record {
        Record::User { message, .. }
        | Record::Report { message, .. }
        | Record::Reminder { message }
        | Record::Restored { message, .. }
        | Record::Assistant { message, .. }
        | Record::ToolResult { message } => spoken(message),
        Record::Note { note, .. } => line(&note.text),
        Record::Compaction(compaction) => {
            format!("summary of what was said before: {} → {} tokens", compaction.before, compaction.after)
        }
        Record::Title { title } => line(title),
        Record::Session { .. }
        | Record::Discarded { .. }
        | Record::ToolStarted { .. }
        | Record::Dropped { .. }
        | Record::Posted(_)
        | Record::Attempt { .. }
        | Record::Branch { .. }
        | Record::Ended { .. } => String::new(),
    }
}

fn spoken(message: &Message) -> String {
    let text = line(&message.text());
    if !text.is_empty() {
        return text;
    }
    if let Some(result) = message.results().next() {
        return line(&result.output);
    }
    match calls([message]).as_str() {
        "" if message.blocks.iter().any(|block| matches!(block, Block::Image(_))) => "(a picture)".to_owned(),
        calls => calls.to_owned(),
    }
}

/// The tools that messages call, and how often: `shell ×3, read_file`.
pub(super) fn calls<'a>(messages: impl IntoIterator<Item = &'a Message>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let called = messages.into_iter().flat_map(Message::calls);
    called.for_each(|call| *counts.entry(&call.name).or_default() += 1);
    let each = counts.iter().map(|(name, count)| match count {
        1 => (*name).to_owned(),
        count => format!("{name} ×{count}"),
    });
    line(&each.collect::<Vec<_>>().join(", "))
}

/// One line of at most so many characters.
fn line(text: &str) -> String {
    let mut words = String::new();
    // A text of megabytes is not taken apart for the sake of its first words.
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.extend(word.chars().take(WORDS + 1));
        if words.chars().count() > WORDS {
            return words.chars().take(WORDS - 1).chain(['…']).collect();
        }
    }
    words
}
