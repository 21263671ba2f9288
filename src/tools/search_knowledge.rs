//! The tool `search_knowledge`: passages of the texts below `knowledge/` that hold some words. How they are found is told in
//! `passages`.

use std::sync::LazyLock;

use super::looking::Sight;
use super::passages::{Args, NAMES, Shelf};
use crate::tool::{Signature, ToolError, ToolOutput};

#[rustfmt::skip]
const ENDS: &[&str] =
    &["md", "markdown", "txt", "rst", "adoc", "org", "html", "csv", "tsv", "json", "jsonl", "yaml", "yml", "toml"];

static SHELF: Shelf = Shelf::new("knowledge", "text", ENDS, (3, 1_500));

/// The same for all agents: compiled once, whoever uses it.
pub(super) static SIGNATURE: LazyLock<Signature> = LazyLock::new(|| {
    Signature::of::<Args>("search_knowledge", include_str!("search_knowledge.md"), true).understanding(NAMES)
});

/// Searches what a policy lets read.
pub(super) fn search(args: &Args, sight: &Sight<'_>) -> Result<ToolOutput, ToolError> {
    SHELF.search(args, sight)
}
