//! What a person should know about a file of theirs, in one line.

use std::fmt;

/// A word about a file; what becomes of it tells how much it matters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Notice {
    /// No model will see it.
    LeftOut(String),
    /// It counts, perhaps not as it was meant.
    Remark(String),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::LeftOut(text) | Notice::Remark(text) => f.write_str(text),
        }
    }
}
