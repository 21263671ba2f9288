//! The tool `answer`: the main agent's word on what a worker asks, as far as it may give it.

use std::sync::LazyLock;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Control, refused, task_id};
use crate::message::{RawArgs, ToolSpec};
use crate::runtime::ask::may_decide;
use crate::tool::args::Signature;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};

static SIGNATURE: LazyLock<Signature> = LazyLock::new(|| {
    Signature::of::<Args>("answer", include_str!("answer.md"), false).understanding(&[
        ("task", "id"),
        ("task_id", "id"),
        ("message", "answer"),
        ("text", "answer"),
    ])
});

/// The tool.
pub(super) struct Answer {
    control: Control,
}

#[derive(Deserialize, JsonSchema)]
struct Args {
    id: String,
    answer: String,
}

impl Answer {
    pub(super) fn of(control: Control) -> Answer {
        Answer { control }
    }

    /// Whether a person spoke in this run, or the question is one that the agent may decide.
    async fn may(&self, id: crate::task::TaskId, number: Option<u32>) -> Result<(), ToolError> {
        if self.control.ration.is_attended() {
            return Ok(());
        }
        let questions = self.control.crew.questions().await.map_err(refused)?;
        let asked = questions.iter().find(|it| it.task == id && number.is_none_or(|number| number == it.number));
        match asked {
            Some(question) if !may_decide(self.control.crew.authority(), question) => Err(ToolError::new(format!(
                "{question} is not yours to answer: leave it to the person, who has been told"
            ))),
            Some(_) | None => Ok(()),
        }
    }
}

impl Tool for Answer {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, _: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            let id = task_id(&read.args.id)?;
            let (number, words) = crate::task::Question::addressed(&read.args.answer);
            self.may(id, number).await?;
            let answered = self.control.crew.answer(id, number, words.to_owned(), self.control.own.clone()).await;
            let replied = answered.map_err(refused)?;
            Ok(ToolOutput::text(replied.to_string()).noting(&read.repairs))
        })
    }
}
