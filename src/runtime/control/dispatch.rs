//! The tool `dispatch`: work goes to the crew, the id comes back at once.

use std::sync::LazyLock;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Control, refused, task_id};
use crate::message::{Budget, BudgetError, CallId, RawArgs, ToolSpec};
use crate::runtime::batch::{Batch, Table};
use crate::runtime::roster::Patron;
use crate::task::{Brief, NoPriority, Priority};
use crate::tool::args::Signature;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};

static SIGNATURE: LazyLock<Signature> = LazyLock::new(|| {
    Signature::of::<Args>("dispatch", include_str!("dispatch.md"), false).understanding(&[
        ("prompt", "task"),
        ("body", "task"),
        ("description", "task"),
    ])
});

/// The tool.
pub(super) struct Dispatch {
    control: Control,
}

#[derive(Deserialize, JsonSchema)]
struct Args {
    /// The whole brief.
    task: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    agent: Option<String>,
    /// As provider/model.
    #[serde(default)]
    model: Option<String>,
    /// Paths that it may change.
    #[serde(default)]
    touches: Vec<String>,
    /// Model calls.
    #[serde(default)]
    #[schemars(range(min = 1))]
    max_turns: Option<u32>,
    /// Tasks to be over first; it is handed their results.
    #[serde(default)]
    after: Vec<String>,
    /// CSV with a header, or JSON lines: a task per row, `{{column}}` filled in.
    #[serde(default)]
    rows: Option<String>,
    /// low, normal or high.
    #[serde(default)]
    priority: Option<String>,
    /// Like `$0.50 400k tokens 20m`.
    #[serde(default)]
    budget: Option<String>,
}

impl Dispatch {
    pub(super) fn of(control: Control) -> Dispatch {
        Dispatch { control }
    }

    async fn dispatch(&self, args: Args, call: &CallId) -> Result<String, ToolError> {
        let budget = args.budget.as_deref().map(str::trim).filter(|budget| !budget.is_empty());
        let budget = budget.map(str::parse).transpose();
        let budget: Option<Budget> = budget.map_err(|error: BudgetError| refused(error))?;
        let brief = Brief {
            title: args.title.unwrap_or_default(),
            body: args.task,
            agent: args.agent.filter(|agent| !agent.is_empty()),
            model: args.model.filter(|model| !model.is_empty()),
            touches: args.touches,
            max_turns: args.max_turns,
            budget: budget.unwrap_or_default(),
            after: args.after.iter().map(|id| task_id(id)).collect::<Result<_, _>>()?,
            priority: args.priority.as_deref().map_or(Ok(Priority::Normal), priority)?,
            approval: None,
            session: Some(self.control.patron.session.to_string()),
            depth: self.control.depth + 1,
            parent: self.control.own.parse().ok(),
        };
        let patron = Patron { call: Some(call.clone()), ..self.control.patron.clone() };
        if let Some(rows) = args.rows.filter(|rows| !rows.trim().is_empty()) {
            return self.batch(&brief, &patron, rows).await;
        }
        self.control.ration.take(1)?;
        let dispatched = self.control.crew.grant(brief, patron).await;
        let (id, grant) = dispatched.map_err(refused)?;
        let grant = if grant.is_empty() { String::new() } else { format!(" Budget: {grant}.") };
        Ok(format!("{id} is dispatched; its files are in .tasks/{id}/. You will be told when it ends.{grant}"))
    }
}

impl Dispatch {
    async fn batch(&self, template: &Brief, patron: &Patron, rows: String) -> Result<String, ToolError> {
        let briefs = Table::Text(rows).fill(template).map_err(refused)?;
        self.control.ration.take_rows(briefs.len())?;
        let tasks = self.control.crew.batch(briefs, patron.clone()).await.map_err(refused)?;
        Ok(format!("{}. You will be told when each ends.", Batch { tasks }))
    }
}

fn priority(text: &str) -> Result<Priority, ToolError> {
    text.parse().map_err(|error: NoPriority| refused(error))
}

impl Tool for Dispatch {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            let text = self.dispatch(read.args, &cx.call).await?;
            Ok(ToolOutput::text(text).noting(&read.repairs))
        })
    }
}
