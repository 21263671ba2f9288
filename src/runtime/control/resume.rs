//! The tool `resume`: another attempt at a task that has ended, with new words for its worker.

use std::sync::LazyLock;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Control, FOR_WORDS, refused, task_id};
use crate::message::{NoteKind, RawArgs, ToolSpec};
use crate::runtime::mail::Letter;
use crate::runtime::roster::Patron;
use crate::tool::args::Signature;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};

static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("resume", include_str!("resume.md"), false).understanding(FOR_WORDS));

/// The tool.
pub(super) struct Resume {
    control: Control,
}

#[derive(Deserialize, JsonSchema)]
struct Args {
    id: String,
    /// What to do now; needed when it was done.
    #[serde(default)]
    message: Option<String>,
}

impl Resume {
    pub(super) fn of(control: Control) -> Resume {
        Resume { control }
    }
}

impl Tool for Resume {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            let id = task_id(&read.args.id)?;
            let text = read.args.message.filter(|text| !text.trim().is_empty());
            let words = text.map(|text| Letter { kind: NoteKind::Steer, text, from: self.control.own.clone() });
            let patron = Patron { call: Some(cx.call.clone()), ..self.control.patron.clone() };
            let resumed = self.control.crew.resume(id, patron, words).await;
            let id = resumed.map_err(refused)?;
            Ok(ToolOutput::text(format!("{id} goes on. You will be told when it ends.")).noting(&read.repairs))
        })
    }
}
