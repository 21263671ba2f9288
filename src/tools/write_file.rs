//! The tool `write_file`: a whole new text for a file.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::files;
use super::read_log::ReadLog;
use crate::message::RawArgs;
use crate::tool::truncate::size;
use crate::tool::{Signature, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use crate::workspace::policy::PathPolicy;

/// What other runtimes call our fields.
const NAMES: &[(&str, &str)] =
    &[("file_path", "path"), ("file", "path"), ("filename", "path"), ("contents", "content"), ("text", "content")];

/// The same for all agents: compiled once, whoever uses it.
pub(super) static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("write_file", include_str!("write_file.md"), false).understanding(NAMES));

#[derive(Deserialize, JsonSchema)]
struct Args {
    path: String,
    content: String,
}

/// Writes files and remembers what was written.
pub(super) struct WriteFile {
    policy: Arc<PathPolicy>,
    log: Arc<ReadLog>,
}

impl WriteFile {
    pub(super) fn new(policy: Arc<PathPolicy>, log: Arc<ReadLog>) -> WriteFile {
        WriteFile { policy, log }
    }
}

impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn writes(&self, args: &RawArgs) -> Option<PathBuf> {
        let args = SIGNATURE.read::<Args>(args).ok()?.args;
        Some(self.policy.normal(&args.path))
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            let (policy, log) = (Arc::clone(&self.policy), Arc::clone(&self.log));
            let written = files::aside(cx, move |_| {
                let Args { path, content } = read.args;
                let written = policy.write(&path, content.as_bytes()).map_err(files::told)?;
                log.saw(&written.path, content.as_bytes());
                let (lines, bytes) = (content.lines().count(), content.len());
                let done = if written.created { "Created" } else { "Wrote" };
                let text = format!("{done} {path} ({lines} lines, {})", size(bytes as u64));
                let details =
                    json!({ "created": written.created, "path": written.path, "lines": lines, "bytes": bytes });
                Ok(ToolOutput::new(text, details))
            });
            Ok(written.await?.noting(&read.repairs))
        }
        .boxed()
    }
}
