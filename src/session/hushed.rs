//! What does not enter a conversation: every entry is freed from secrets before it is in the file or in what a model reads.

use std::sync::Arc;

use super::Session;
use super::record::{End, Record};
use crate::secret::Secrets;

impl Session {
    /// From now on nothing of these enters the conversation.
    pub fn keep_from(&mut self, secrets: &Secrets) {
        self.secrets = secrets.clone();
    }

    /// What does not enter the conversation.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }
}

impl Record {
    /// It without secrets.
    pub(super) fn hushed(mut self, secrets: &Secrets) -> Record {
        match &mut self {
            Record::User { message, .. }
            | Record::Report { message, .. }
            | Record::Assistant { message, .. }
            | Record::ToolResult { message }
            | Record::Reminder { message }
            | Record::Restored { message, .. } => *message = Arc::clone(message).hushed(secrets),
            Record::Note { note, .. } => secrets.hide_known_in(&mut note.text),
            Record::Posted(posted) => secrets.hide_known_in(&mut posted.note.text),
            Record::Title { title } => secrets.hide_known_in(title),
            Record::Discarded { why, .. } | Record::Dropped { why, .. } => secrets.hide_in(why),
            Record::Ended { end: End::Failed { why } | End::Stuck { evidence: why } } => secrets.hide_in(why),
            Record::Session { .. }
            | Record::ToolStarted { .. }
            | Record::Compaction(_)
            | Record::Attempt { .. }
            | Record::Branch { .. }
            | Record::Ended { .. } => {}
        }
        self
    }
}
