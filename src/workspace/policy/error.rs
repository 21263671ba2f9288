//! Why a path may not be used. The words are for models as well as for people; who is told is not decided here.

use std::io;

/// Why a path may not be used, in words that a model can act on.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// It lies outside of all read roots.
    #[error("{path} may not be read: it lies outside of {allowed}")]
    UnreadablePlace {
        /// As it was asked for.
        path: String,
        /// Where reading is allowed.
        allowed: String,
    },
    /// It lies outside of all write roots.
    #[error("{path} may not be written: writing is allowed in {allowed}")]
    UnwritablePlace {
        /// As it was asked for.
        path: String,
        /// Where writing is allowed.
        allowed: String,
    },
    /// It is protected, whether it exists or not.
    #[error("{path} may not be written: {why}; writing is allowed in {allowed} otherwise")]
    Protected {
        /// As it was asked for.
        path: String,
        /// What it belongs to.
        why: &'static str,
        /// Where writing is allowed.
        allowed: String,
    },
    /// It holds keys or passwords, or belongs to the running system.
    #[error("{path} is not for tools: {why}")]
    Hidden {
        /// As it was asked for.
        path: String,
        /// What it is.
        why: &'static str,
    },
    /// The program goes by it, or keeps its records there: nobody can lend it.
    #[error("{path} is not for tools, whoever allows it: it is a setting or a record of the program itself")]
    Kept {
        /// As it was asked for.
        path: String,
    },
    /// It is no longer the file that somebody lent.
    #[error("{path} was left as it is: it leads elsewhere than when a person was asked")]
    Moved {
        /// As it was asked for.
        path: String,
    },
    /// There is nothing of that name.
    #[error("{path} does not exist; use list to see what is there")]
    Missing {
        /// As it was asked for.
        path: String,
    },
    /// It is a directory, a pipe, a device or a socket.
    #[error("{path} is {kind}, not a regular file")]
    NotAFile {
        /// As it was asked for.
        path: String,
        /// What it is instead, with its article.
        kind: &'static str,
    },
    /// It cannot be a path.
    #[error("{path:?} is no usable path: {why}")]
    Unusable {
        /// As it was asked for.
        path: String,
        /// Why not.
        why: &'static str,
    },
    /// The operating system refused.
    #[error("{path}: {source}")]
    Io {
        /// As it was asked for.
        path: String,
        /// Why.
        source: io::Error,
    },
}

impl PathError {
    /// Rights forbid it; otherwise it is only that it cannot be done.
    pub fn is_refusal(&self) -> bool {
        match self {
            PathError::UnreadablePlace { .. }
            | PathError::UnwritablePlace { .. }
            | PathError::Protected { .. }
            | PathError::Hidden { .. }
            | PathError::Kept { .. }
            | PathError::Moved { .. } => true,
            PathError::Missing { .. }
            | PathError::NotAFile { .. }
            | PathError::Unusable { .. }
            | PathError::Io { .. } => false,
        }
    }
}
