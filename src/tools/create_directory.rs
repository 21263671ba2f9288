//! The tool `create_directory`: a folder and those above it.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::files;
use crate::message::RawArgs;
use crate::tool::{Signature, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use crate::workspace::policy::PathPolicy;

/// What other runtimes call our fields.
const NAMES: &[(&str, &str)] =
    &[("directory_path", "path"), ("dir", "path"), ("directory", "path"), ("folder", "path"), ("dir_path", "path")];

/// The same for all agents: compiled once, whoever uses it.
static SIGNATURE: LazyLock<Signature> = LazyLock::new(|| {
    Signature::of::<Args>("create_directory", include_str!("create_directory.md"), false).understanding(NAMES)
});

#[derive(Deserialize, JsonSchema)]
struct Args {
    path: String,
}

/// Makes folders.
pub(super) struct CreateDirectory {
    policy: Arc<PathPolicy>,
}

impl CreateDirectory {
    pub(super) fn new(policy: Arc<PathPolicy>) -> CreateDirectory {
        CreateDirectory { policy }
    }
}

impl Tool for CreateDirectory {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn writes(&self, args: &RawArgs) -> Option<PathBuf> {
        Some(self.policy.normal(&SIGNATURE.read::<Args>(args).ok()?.args.path))
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            let policy = Arc::clone(&self.policy);
            let made = files::aside(cx, move |_| {
                let made = policy.create_dir(&read.args.path).map_err(files::told)?;
                let what = if made.created { "made" } else { "was there already" };
                let text = format!("{} {what}", read.args.path);
                Ok(ToolOutput::new(text, json!({ "created": made.created, "path": made.path })))
            });
            Ok(made.await?.noting(&read.repairs))
        }
        .boxed()
    }
}
