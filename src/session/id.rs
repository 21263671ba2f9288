//! The names of sessions and entries.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

/// Names a session: its file's name without the ending.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(Arc<str>);

/// Names an entry: a ULID, unique everywhere and for ever.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryId(Arc<str>);

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
    /// An id as it is written in a file or by a person.
    pub fn new(id: &str) -> EntryId {
        EntryId(id.into())
    }

    /// An id that no other entry has.
    pub(super) fn generate() -> EntryId {
        EntryId(Ulid::generate().to_string().into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
