//! A session written out: to be read as Markdown or HTML, to be worked with as JSON. What is written is what the
//! journal says from the root to the leaf, also what a compaction took from the model; nothing in memory but one turn.
//! The form of another program, which can be read in again too, is in `flat`.

mod html;
mod json;
mod markdown;
mod part;

use std::io::{self, Write};

use serde::Deserialize;

use super::record::Record;
use super::{EntryId, Session, SessionError};

/// How a session is written out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// Markdown: the conversation up to the leaf; calls and thoughts folded.
    #[default]
    Markdown,
    /// One HTML file: the same, without scripts and without anything from elsewhere.
    Html,
    /// JSON: all entries of all branches, with ids, parents, types, times and data.
    Json,
    /// JSON as `flat` tells: title, summary and messages of what the model sees.
    V2,
}

/// Why a session could not be written out whole.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// It cannot be read.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// What is written to does not take it.
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
}

/// An entry as it lies in the journal.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Entry {
    /// Its number; people see it as `m37`.
    pub seq: u64,
    /// Its id.
    pub id: EntryId,
    /// The entry that it follows.
    pub parent: Option<EntryId>,
    /// When it was written: UTC, to the millisecond, `2026-07-01T12:00:00.000Z`.
    pub at: String,
    /// What it says.
    #[serde(flatten)]
    pub record: Record,
}

impl Session {
    /// Writes the session out.
    ///
    /// # Errors
    /// The session cannot be read, or `out` does not take it; what was written until then is only a part.
    pub fn export(&self, format: Format, out: &mut dyn Write) -> Result<(), ExportError> {
        match format {
            Format::Markdown => markdown::write(self, out),
            Format::Html => html::write(self, out),
            Format::Json => json::write(self, out),
            Format::V2 => {
                serde_json::to_writer_pretty(&mut *out, &self.flat()?).map_err(io::Error::from)?;
                Ok(writeln!(out)?)
            }
        }
    }

    /// The entry at that place in the file, counted from 0 without what is damaged. `None` when there is none, or when
    /// this version does not know its type.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn entry_at(&self, place: usize) -> Result<Option<Entry>, SessionError> {
        Ok(serde_json::from_slice(&self.line(place)?).ok())
    }

    /// The places of the entries from the root to the leaf.
    pub fn way_to_leaf(&self) -> Vec<usize> {
        self.tree.path()
    }

    /// When the first and the last entry were written, as the file says; empty where there is none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn begun_and_changed(&self) -> Result<(String, String), SessionError> {
        #[derive(Deserialize)]
        struct At {
            at: String,
        }
        let at = |place: usize| {
            let at = serde_json::from_slice(&self.line(place)?).ok();
            Ok::<String, SessionError>(at.map(|At { at }| at).unwrap_or_default())
        };
        Ok((at(0)?, at(self.entries().saturating_sub(1))?))
    }
}
