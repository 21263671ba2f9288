//! The tool `load`: a Markdown file, front and body.

use std::path::Path;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::files::{self, PATH_NAMES};
use super::looking::Sight;
use crate::markdown;
use crate::tool::{Signature, ToolError, ToolOutput};

/// The same for all agents: compiled once, whoever uses it.
pub(super) static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("load", include_str!("load.md"), true).understanding(PATH_NAMES));

#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    path: String,
}

/// Loads documents.
pub(super) fn load(args: &Args, sight: &Sight<'_>) -> Result<ToolOutput, ToolError> {
    let file = sight.policy.open(&args.path).map_err(files::told)?;
    let document = markdown::load_open::<Value>(&file, Path::new(&args.path));
    let document = document.map_err(|error| ToolError::new(error.to_string()))?;
    let body = sight.output.fit(&document.body, sight.cx).text;
    // A file without frontmatter has none to show.
    let front = if document.front.is_null() { json!({}) } else { document.front };
    Ok(ToolOutput::new(format!("{front}\n\n{body}"), json!({ "front": front })))
}
