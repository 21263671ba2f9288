//! The tool `list`: what is in a folder.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::files::{self, FOLDER_NAMES};
use super::looking::Sight;
use super::walk::walk;
use crate::tool::{Signature, ToolError, ToolOutput};

/// Most entries shown.
const MOST: usize = 500;
/// Levels shown when none are asked for.
const DEPTH: usize = 3;

/// The same for all agents: compiled once, whoever uses it.
pub(super) static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("list", include_str!("list.md"), true).understanding(FOLDER_NAMES));

#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    path: Option<String>,
    #[schemars(range(min = 1))]
    depth: Option<usize>,
}

/// Lists folders.
pub(super) fn list(args: &Args, sight: &Sight<'_>) -> Result<ToolOutput, ToolError> {
    let path = args.path.as_deref().unwrap_or(".");
    let root = sight.policy.resolve(path).map_err(files::told)?;
    if !root.is_dir() {
        return Err(ToolError::new(format!("{path} is no folder; use read_file")));
    }
    let tree = |all| tree(&root, args.depth.unwrap_or(DEPTH), all, sight.stop);
    // A folder that git ignores as a whole is listed when it is asked for by name.
    let (tree, entries) = tree(false).filter(|(_, entries)| *entries > 0).or_else(|| tree(true)).unwrap_or_default();
    let name = files::shown(sight.policy, &root);
    let name = if name.is_empty() { "." } else { &name };
    let more = if entries > MOST {
        format!("[cut at {MOST} entries; name a folder below or a smaller depth]\n")
    } else {
        String::new()
    };
    let empty = if entries == 0 { "(empty)\n" } else { "" };
    let details = json!({ "entries": entries.min(MOST), "cut": entries > MOST });
    Ok(ToolOutput::new(format!("{name}/\n{tree}{empty}{more}"), details))
}

/// The lines below the folder and their number, one more than [`MOST`] when there are more.
fn tree(root: &Path, depth: usize, all: bool, stop: &CancellationToken) -> Option<(String, usize)> {
    let mut lines = String::new();
    let mut entries = 0;
    for entry in walk(root, all).max_depth(Some(depth)).build().flatten().filter(|entry| entry.depth() > 0) {
        if stop.is_cancelled() {
            return None;
        }
        entries += 1;
        if entries > MOST {
            break;
        }
        let kind = match entry.file_type() {
            Some(kind) if kind.is_dir() => "/",
            Some(kind) if kind.is_symlink() => " (link)",
            _ => "",
        };
        let _ =
            writeln!(lines, "{:indent$}{}{kind}", "", entry.file_name().to_string_lossy(), indent = 2 * entry.depth());
    }
    Some((lines, entries))
}
