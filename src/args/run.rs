//! The words after `tillerman run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// One prompt, and how its answer is told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct Run {
    /// What to do; - stands for what comes from stdin, and so does a pipe alone.
    #[arg(value_name = "PROMPT")]
    pub prompt: Vec<String>,
    /// A picture to look at (PNG, JPEG, GIF, WebP); up to 8 times.
    #[arg(long, value_name = "FILE")]
    pub image: Vec<PathBuf>,
    /// Print every event as a line of JSON; =codex or =claude prints the lines of that program.
    #[arg(
        long, value_name = "AS", value_enum, num_args = 0..=1, require_equals = true,
        default_missing_value = "tillerman", hide_possible_values = true
    )]
    pub json: Option<Dialect>,
    /// Also write the last answer into this file.
    #[arg(short, long, alias = "output-last-message", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Answer with JSON that fits the schema in this file.
    #[arg(long, visible_alias = "output-schema", value_name = "FILE")]
    pub json_schema: Option<PathBuf>,
    /// Also wait for the tasks that it hands out, and for what it says to their results.
    #[arg(long)]
    pub wait: bool,
    /// How far it may go.
    #[command(flatten)]
    pub most: Most,
}

/// Whose JSON lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Dialect {
    /// Our own, with everything that happens.
    #[value(name = "tillerman")]
    Own,
    /// Those of `codex exec --json`.
    Codex,
    /// Those of `claude --print --output-format stream-json`.
    Claude,
}

/// How far a run may go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct Most {
    /// Spend at most so many dollars, its tasks included.
    #[arg(long, visible_alias = "max-cost", value_name = "USD", allow_negative_numbers = true)]
    pub max_budget_usd: Option<String>,
    /// Ask the model at most so often; one more time to sum up.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,
}
