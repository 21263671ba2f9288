//! The words of `tillerman config`.

use clap::Subcommand;

/// Ways to look at settings.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Settings {
    /// Show every setting and its value.
    Show {
        /// Also where each value comes from.
        #[arg(long)]
        origin: bool,
    },
}
