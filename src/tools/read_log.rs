//! What an agent knows of files: the state in which it last saw each. An edit needs to know what it changes.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Shared by the tools of one run.
#[derive(Debug, Default)]
pub(super) struct ReadLog {
    seen: Mutex<HashMap<PathBuf, u64>>,
}

/// How a file compares with what was last seen of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// It was never read or written.
    Unseen,
    /// Somebody else changed it since.
    Changed,
    /// It is as it was.
    Same,
}

impl ReadLog {
    /// Remembers the content of the file that really lies at `path`.
    pub(super) fn saw(&self, path: &Path, bytes: &[u8]) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), print(bytes));
    }

    pub(super) fn compare(&self, path: &Path, bytes: &[u8]) -> Sight {
        match self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            None => Sight::Unseen,
            Some(seen) if *seen == print(bytes) => Sight::Same,
            Some(_) => Sight::Changed,
        }
    }
}

/// Tells two states of a file apart; nobody attacks it.
fn print(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
