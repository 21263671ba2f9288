//! What becomes of a worker's call that a person must allow. Which calls those are is for rules to say.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// It.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// It is denied at once, with the reason.
    #[default]
    Deny,
    /// A person is asked, and the task rests until there is an answer.
    Ask,
}

/// Text that is neither.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no approval; it is ask or deny")]
pub struct NoApproval(String);

impl Approval {
    /// The words, as they are written in files and settings.
    pub const WORDS: [(&str, Approval); 2] = [("deny", Approval::Deny), ("ask", Approval::Ask)];
}

impl FromStr for Approval {
    type Err = NoApproval;

    /// Reads `ask` or `deny`.
    fn from_str(text: &str) -> Result<Approval, NoApproval> {
        let written = text.trim().to_lowercase();
        let found = Approval::WORDS.iter().find(|(word, _)| *word == written);
        found.map(|(_, approval)| *approval).ok_or_else(|| NoApproval(text.chars().take(40).collect()))
    }
}
