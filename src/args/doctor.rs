//! The words of `tillerman doctor`.

use clap::Args;

/// How the findings are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct Doctor {
    /// Only what is not as it should be, and how many checks there were.
    #[arg(long)]
    pub summary: bool,
    /// Only letters and signs that every terminal has.
    #[arg(long)]
    pub ascii: bool,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}
