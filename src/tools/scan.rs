//! The tool `scan`: the frontmatter of the Markdown files below a folder.

use std::sync::{Arc, LazyLock};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::files;
use crate::markdown;
use crate::message::RawArgs;
use crate::tool::{OutputPolicy, Signature, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use crate::workspace::policy::PathPolicy;

/// What other runtimes call our fields.
const NAMES: &[(&str, &str)] = &[("path", "dir"), ("directory", "dir"), ("folder", "dir"), ("glob", "pattern")];

/// The same for all agents: compiled once, whoever uses it.
static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("scan", include_str!("scan.md"), true).understanding(NAMES));

#[derive(Deserialize, JsonSchema)]
struct Args {
    dir: String,
    /// Only names like this; * stands for anything.
    pattern: Option<String>,
}

/// Lists documents.
pub(super) struct Scan {
    policy: Arc<PathPolicy>,
    output: OutputPolicy,
}

impl Scan {
    pub(super) fn new(policy: Arc<PathPolicy>, output: OutputPolicy) -> Scan {
        Scan { policy, output }
    }
}

impl Tool for Scan {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            let policy = Arc::clone(&self.policy);
            let scanned = files::aside(cx, move |_| list(&read.args, &policy)).await?;
            let text = self.output.fit(&scanned.text, cx).text;
            Ok(ToolOutput { text, ..scanned }.noting(&read.repairs))
        }
        .boxed()
    }
}

fn list(args: &Args, policy: &PathPolicy) -> Result<ToolOutput, ToolError> {
    let dir = policy.resolve(&args.dir).map_err(files::told)?;
    let scan = markdown::scan(&dir, args.pattern.as_deref()).map_err(|error| ToolError::new(error.to_string()))?;
    let docs: Vec<_> = scan
        .docs
        .iter()
        .map(|doc| json!({ "path": files::shown(policy, &doc.path), "name": doc.name, "front": doc.front }))
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
    Ok(ToolOutput::new(lines.join("\n"), details))
}
