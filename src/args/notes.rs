//! The words of `tillerman notes`.

use std::path::PathBuf;

use clap::Subcommand;

/// What to do with notes.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Notes {
    /// Write them out as JSON, for another program.
    ///
    /// It is the form of .agent_memory.json, a file that is also read.
    Export {
        /// Those of this agent, instead of the main agent's.
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// Into this new file, instead of stdout.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}
