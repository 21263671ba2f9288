//! What a session is called: its title, kept near the end of its file so that a list finds it without reading the rest.

use super::record::{Kind, Record};
use super::{Session, SessionError};

/// Bytes from the end of a file in which its title is found: half of what a list reads there.
const REACH: u64 = 8 << 10;

/// Longest line that stands for a title, in characters.
const LINE: usize = 80;

impl Session {
    /// The title that must be said again before the record, because a list would not find it any more.
    pub(super) fn title_to_repeat(&self, record: &Record) -> Option<Record> {
        let title = self.facts.title.as_ref()?;
        self.log.file().filter(|_| matches!(record.kind(), Kind::User | Kind::Assistant | Kind::Ended))?;
        let near = self.log.len().saturating_sub(REACH);
        let mut young = self.tree.nodes().iter().rev().take_while(|node| node.span().offset >= near);
        let is_near = young.any(|node| node.kind == Kind::Title);
        (!is_near).then(|| Record::Title { title: title.clone() })
    }

    /// The title, else the beginning of the first line that a person said on the way to the leaf, else the id.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn headline(&self) -> Result<String, SessionError> {
        if let Some(title) = self.title() {
            return Ok(title.to_owned());
        }
        for place in self.way_to_leaf() {
            if self.tree.node(place).is_some_and(|node| node.kind == Kind::User)
                && let Some(Record::User { message, .. }) = self.said(place)?
                && let Some(line) = first_line(&message.text())
            {
                return Ok(line);
            }
        }
        Ok(self.id().to_string())
    }
}

/// The beginning of the first line that says something.
pub(super) fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let cut: String = line.chars().take(LINE).collect();
    Some(if cut.len() < line.len() { cut + "…" } else { cut })
}
