//! The tool `load`: a Markdown file, front and body.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::files::{self, PATH_NAMES};
use crate::markdown;
use crate::message::RawArgs;
use crate::tool::{OutputPolicy, Signature, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use crate::workspace::policy::PathPolicy;

/// The same for all agents: compiled once, whoever uses it.
static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("load", include_str!("load.md"), true).understanding(PATH_NAMES));

#[derive(Deserialize, JsonSchema)]
struct Args {
    path: String,
}

/// Loads documents.
pub(super) struct Load {
    policy: Arc<PathPolicy>,
    output: OutputPolicy,
}

impl Load {
    pub(super) fn new(policy: Arc<PathPolicy>, output: OutputPolicy) -> Load {
        Load { policy, output }
    }
}

impl Tool for Load {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            let policy = Arc::clone(&self.policy);
            let loaded = files::aside(cx, move |_| {
                let file = policy.open(&read.args.path).map_err(files::told)?;
                let document = markdown::load_open::<Value>(&file, Path::new(&read.args.path));
                document.map_err(|error| ToolError::new(error.to_string()))
            });
            let document = loaded.await?;
            let body = self.output.fit(&document.body, cx).text;
            // A file without frontmatter has none to show.
            let front = if document.front.is_null() { json!({}) } else { document.front };
            Ok(ToolOutput::new(format!("{front}\n\n{body}"), json!({ "front": front })).noting(&read.repairs))
        }
        .boxed()
    }
}
