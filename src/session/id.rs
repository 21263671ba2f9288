//! The names of sessions and entries.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

/// Names a session: its file's name without the ending.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(Arc<str>);

/// Names an entry: a ULID, unique everywhere and for ever. 16 bytes, so that a long history fits into little memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EntryId(Ulid);

/// A text that names no entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no id of an entry; one has 26 letters and digits")]
pub struct NoEntryId(pub String);

impl SessionId {
    /// An id as it is.
    pub fn new(id: &str) -> SessionId {
        SessionId(id.into())
    }

    /// The id of the session in the file.
    pub fn of(path: &Path) -> SessionId {
        SessionId(path.file_stem().unwrap_or_default().to_string_lossy().into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl EntryId {
    /// An id that no other entry has.
    pub(super) fn generate() -> EntryId {
        EntryId(Ulid::generate())
    }
}

impl FromStr for EntryId {
    type Err = NoEntryId;

    fn from_str(text: &str) -> Result<EntryId, NoEntryId> {
        Ulid::from_string(text).map(EntryId).map_err(|_| NoEntryId(text.to_owned()))
    }
}

impl TryFrom<String> for EntryId {
    type Error = NoEntryId;

    fn try_from(text: String) -> Result<EntryId, NoEntryId> {
        text.parse()
    }
}

impl From<EntryId> for String {
    fn from(id: EntryId) -> String {
        id.to_string()
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
