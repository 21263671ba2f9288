//! The words of `tillerman tool`.

use clap::Subcommand;

/// Ways to look at the tools and to use one.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Tools {
    /// Every tool by its group, and whether agents have it.
    List,
    /// One tool: what a model is told, its arguments, its other names.
    Show {
        /// Its name, or another program's for it.
        name: String,
    },
    /// Run one tool without an agent, within the same rights and walls.
    Call {
        /// Its name, or another program's for it.
        name: String,
        /// Its arguments as a JSON object; `-` reads them from stdin.
        #[arg(value_name = "JSON", default_value = "{}")]
        args: String,
    },
}
