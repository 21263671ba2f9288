//! The words of `tillerman tool`.

use clap::Subcommand;

/// Ways to look at the tools and to use one.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Tools {
    /// List every tool, and say whether agents have it.
    List,
    /// Show one tool: what it does, what it needs, its other names.
    Show {
        /// Its name; other programs' names for it are understood.
        name: String,
    },
    /// Run one tool by hand, with the rights that an agent has.
    Call {
        /// Its name; other programs' names for it are understood.
        name: String,
        /// What it needs, as a JSON object; - reads it from stdin.
        #[arg(value_name = "JSON", default_value = "{}")]
        args: String,
    },
}
