//! The words of `tillerman compaction`.

use clap::Subcommand;

/// Ways to look at what was summed up.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Compaction {
    /// Every time that the conversation was shortened, one per line.
    List,
    /// One of them: what stayed, what went and what is pinned.
    Show {
        /// Its number in the list; the last one when not given.
        number: Option<usize>,
    },
    /// Put the words of an entry back into the conversation, for good.
    Restore {
        /// For example m37.
        entry: String,
    },
    /// What would stay and what would go right now; asks no model.
    Preview,
}
