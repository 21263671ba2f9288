//! What can go wrong with a session, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{EntryId, Place, SessionId};
use crate::message::CallId;

/// A session could not be made, read, changed or found.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The file system refused.
    #[error("cannot {what} session {path}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file was written by something else.
    #[error("{0} is not a session of tillerman; it was left as it is")]
    NotASession(PathBuf),
    /// A later version of the program wrote to it.
    #[error(
        "session {path} was written by a newer tillerman (format {version}); update to go on with it, reading works"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its format.
        version: u32,
    },
    /// It was opened for reading.
    #[error("session {0} was opened for reading only")]
    ReadOnly(SessionId),
    /// Somebody else writes to it.
    #[error(
        "session {path} is open in another tillerman{}; close it there or start a new session",
        owner.map_or_else(String::new, |pid| format!(" (process {pid})"))
    )]
    Locked {
        /// The file.
        path: PathBuf,
        /// The process that has it, when the system says.
        owner: Option<u32>,
    },
    /// There is a file already.
    #[error("session {0} exists already; open it or choose another name")]
    Exists(PathBuf),
    /// No such entry to branch from.
    #[error("there is no entry {0} in this session")]
    NoEntry(EntryId),
    /// No entry, or more than one, is called so.
    #[error("no single entry of this session is called {name:?}; entries are m0 to m{last}")]
    NoSuchEntry {
        /// What was asked for.
        name: String,
        /// The highest number.
        last: u64,
    },
    /// An entry cannot be said again.
    #[error("{name} was not restored: {why}")]
    NotRestored {
        /// What it is called.
        name: String,
        /// Why not.
        why: String,
    },
    /// The conversation would have a call without an answer.
    #[error("call {0} must be answered before the conversation goes on")]
    Unanswered(CallId),
    /// The conversation would have an answer without a call.
    #[error("there is no open call {0} to answer")]
    NoCall(CallId),
    /// Notes come faster than the disk takes them.
    #[error("{0} notes wait for the disk already; send this again later")]
    InboxFull(usize),
    /// A note could not be posted, nor those that were to be written with it.
    #[error(transparent)]
    Unposted(Arc<SessionError>),
    /// The entry is too large for a line.
    #[error("an entry of {0} bytes is too large for a session")]
    TooLong(usize),
    /// The entry cannot be written as JSON.
    #[error("the entry cannot be written as JSON: {0}")]
    Encode(serde_json::Error),
    /// No session of the store has an id that begins so.
    #[error("no session begins with {0:?}; `tillerman sessions` lists them, -c goes on with the latest one")]
    NotFound(String),
    /// No session of the archive, or of the trash, has an id that begins so.
    #[error("no session in the {} begins with {prefix:?}", place.name())]
    NotThere {
        /// Where it was looked for.
        place: Place,
        /// What was asked for.
        prefix: String,
    },
    /// Several sessions of the store have.
    #[error("{} sessions begin with {prefix:?}: {}; write more of it", ids.len(), list(ids))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// The ids, newest first.
        ids: Vec<SessionId>,
    },
}

impl SessionError {
    pub(super) fn io(what: &'static str, path: &Path, source: io::Error) -> SessionError {
        SessionError::Io { what, path: path.to_owned(), source }
    }
}

/// At most eight of the ids.
fn list(ids: &[SessionId]) -> String {
    let mut shown: Vec<&str> = ids.iter().take(8).map(SessionId::as_str).collect();
    if ids.len() > shown.len() {
        shown.push("…");
    }
    shown.join(", ")
}
