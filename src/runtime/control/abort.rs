//! The tool `abort`: ends a task.

use std::sync::LazyLock;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Door, FOR_ID, refused, task_id};
use crate::message::{RawArgs, ToolSpec};
use crate::tool::args::Signature;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};

static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("abort", include_str!("abort.md"), false).understanding(FOR_ID));

/// The tool.
pub(super) struct Abort {
    crew: Door,
}

#[derive(Deserialize, JsonSchema)]
struct Args {
    id: String,
}

impl Abort {
    pub(super) fn of(crew: Door) -> Abort {
        Abort { crew }
    }
}

impl Tool for Abort {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, _: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            let id = task_id(&read.args.id)?;
            self.crew.abort(id).await.map_err(refused)?;
            Ok(ToolOutput::text(format!("{id} is being aborted")).noting(&read.repairs))
        })
    }
}
