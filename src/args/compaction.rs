//! The words of `tillerman compaction`.

use clap::Subcommand;

/// Ways to look at what was summed up.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Compaction {
    /// List every time that the conversation was shortened.
    List,
    /// Show one of them: what stayed, what went.
    Show {
        /// Its number in the list; the last one if you give none.
        number: Option<usize>,
    },
    /// Put something back into the conversation, for good.
    Restore {
        /// What, as `compaction show` names it, for example m37.
        entry: String,
    },
    /// Show what would stay and go right now; asks no model.
    Preview,
}
