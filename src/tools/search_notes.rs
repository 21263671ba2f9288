//! The tool `search_notes`: paragraphs and list items below `memory/` that hold some words. How they are found is told in
//! `passages`.

use std::sync::LazyLock;

use super::looking::Sight;
use super::passages::{Args, NAMES, Shelf};
use crate::tool::{Signature, ToolError, ToolOutput};

static SHELF: Shelf = Shelf::new("memory", "note", &["md"], (10, 600));

/// The same for all agents: compiled once, whoever uses it.
pub(super) static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("search_notes", include_str!("search_notes.md"), true).understanding(NAMES));

/// Searches what a policy lets read.
pub(super) fn search(args: &Args, sight: &Sight<'_>) -> Result<ToolOutput, ToolError> {
    SHELF.search(args, sight)
}
