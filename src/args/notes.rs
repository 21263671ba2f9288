//! The words of `tillerman notes`.

use std::path::PathBuf;

use clap::Subcommand;

/// What to do with notes.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Notes {
    /// Write them out as JSON, in the form of `.agent_memory.json`, from which they are read again.
    Export {
        /// Those of this agent; the main agent's when not given.
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// Into this new file; stdout when not given.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}
