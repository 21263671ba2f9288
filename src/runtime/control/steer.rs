//! The tool `steer`: words for a worker.

use std::sync::LazyLock;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Door, FOR_WORDS, refused, task_id};
use crate::message::{NoteKind, RawArgs, ToolSpec};
use crate::runtime::mail::Letter;
use crate::tool::args::Signature;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};

static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("steer", include_str!("steer.md"), false).understanding(FOR_WORDS));

/// The tool.
pub(super) struct Steer {
    crew: Door,
    /// Who sends.
    own: String,
}

#[derive(Deserialize, JsonSchema)]
struct Args {
    id: String,
    message: String,
}

impl Steer {
    pub(super) fn of(crew: Door, own: String) -> Steer {
        Steer { crew, own }
    }
}

impl Tool for Steer {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, _: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            let id = task_id(&read.args.id)?;
            let letter = Letter { kind: NoteKind::Steer, text: read.args.message, from: self.own.clone() };
            let noted = self.crew.note(id, letter).await;
            let note = noted.map_err(refused)?;
            Ok(ToolOutput::text(format!("queued {note} for {id}")).noting(&read.repairs))
        })
    }
}
