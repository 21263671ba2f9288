//! The tool `scan`: the frontmatter of the Markdown files below a folder.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::files;
use super::looking::Sight;
use crate::markdown;
use crate::tool::{Signature, ToolError, ToolOutput};

/// What other runtimes call our fields.
const NAMES: &[(&str, &str)] = &[("path", "dir"), ("directory", "dir"), ("folder", "dir"), ("glob", "pattern")];

/// The same for all agents: compiled once, whoever uses it.
pub(super) static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("scan", include_str!("scan.md"), true).understanding(NAMES));

#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    dir: String,
    /// Only names like this; * stands for anything.
    pattern: Option<String>,
}

/// Lists documents.
pub(super) fn list(args: &Args, sight: &Sight<'_>) -> Result<ToolOutput, ToolError> {
    let dir = sight.policy.resolve(&args.dir).map_err(files::told)?;
    let scan = markdown::scan(&dir, args.pattern.as_deref()).map_err(|error| ToolError::new(error.to_string()))?;
    let docs: Vec<_> = scan
        .docs
        .iter()
        .map(|doc| json!({ "path": files::shown(sight.policy, &doc.path), "name": doc.name, "front": doc.front }))
        .collect();
    let mut lines: Vec<String> = docs.iter().map(ToString::to_string).collect();
    lines.extend(scan.skipped.iter().map(|error| format!("[skipped: {error}]")));
    if docs.is_empty() {
        lines.push(format!("no Markdown file in {}", args.dir));
    }
    if scan.cut {
        lines.push("[cut: there are more files; name a folder below or a pattern]".to_owned());
    }
    let details = json!({ "docs": docs.len(), "skipped": scan.skipped.len(), "cut": scan.cut });
    Ok(ToolOutput::new(sight.output.fit(&lines.join("\n"), sight.cx).text, details))
}
