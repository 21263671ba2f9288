//! The tool `ask`: a worker's question to whoever dispatched it. The worker rests until it is answered.

use std::sync::LazyLock;
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Door, refused};
use crate::message::{Budget, RawArgs, ToolSpec};
use crate::runtime::asking::{Asking, MOST_PATIENCE, PATIENCE};
use crate::task::{Asker, TaskId};
use crate::tool::args::Signature;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};

static SIGNATURE: LazyLock<Signature> = LazyLock::new(|| {
    Signature::of::<Args>("ask", include_str!("ask.md"), false).understanding(&[
        ("text", "question"),
        ("choices", "options"),
        ("timeout", "deadline"),
    ])
});

/// The tool.
pub(super) struct Ask {
    crew: Door,
    own: TaskId,
}

#[derive(Deserialize, JsonSchema)]
struct Args {
    /// The question, complete in itself.
    question: String,
    /// What may be chosen, at most nine.
    #[serde(default)]
    options: Vec<String>,
    /// What you do if nobody answers; one of the options if there are any.
    default: String,
    /// When the default is taken: `90s`, `10m`, `2h`; 30m if left out.
    #[serde(default)]
    deadline: Option<String>,
}

impl Ask {
    pub(super) fn of(crew: Door, own: TaskId) -> Ask {
        Ask { crew, own }
    }
}

impl Tool for Ask {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, _: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            let asking = asking(read.args)?;
            let asked = self.crew.ask(self.own, asking).await;
            let question = asked.map_err(refused)?;
            let text = format!("{} is asked; you go on when it is answered.", question.name());
            Ok(ToolOutput::text(text).noting(&read.repairs).parking())
        })
    }
}

fn asking(args: Args) -> Result<Asking, ToolError> {
    let Args { question, options, default, deadline } = args;
    let options: Vec<String> = options.into_iter().map(|option| option.trim().to_owned()).collect();
    let fault = match () {
        () if question.trim().is_empty() => "question is empty; say what you need to know",
        () if options.len() > 9 => "options has over nine entries; leave the unlikely ones out",
        () if options.iter().any(String::is_empty) => "options holds an empty one; leave it out",
        () if default.trim().is_empty() => "default is empty; say what you do if nobody answers",
        () => "",
    };
    if !fault.is_empty() {
        return Err(ToolError::new(fault));
    }
    let chosen = options.iter().find(|option| option.eq_ignore_ascii_case(default.trim()));
    let by_number = || default.trim().parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?));
    let default = match chosen.or_else(by_number) {
        Some(option) => option.clone(),
        None if options.is_empty() => default.trim().to_owned(),
        None => {
            let text = format!("default is `{}`, which is none of the options: {}", default.trim(), options.join(", "));
            return Err(ToolError::new(text));
        }
    };
    let patience = deadline.as_deref().map_or(Ok(PATIENCE), patience)?;
    Ok(Asking { text: question, options, default, patience, asker: Asker::Worker })
}

/// `90s`, `10m`, `2h`; a bare number is minutes.
fn patience(text: &str) -> Result<Duration, ToolError> {
    let text = text.trim();
    let minutes = text.parse::<f64>().ok().map(|minutes| minutes * 60.0);
    let minutes = minutes.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let read = minutes.or_else(|| text.parse::<Budget>().ok().and_then(|budget| budget.time));
    let most = Duration::from_secs(1)..=MOST_PATIENCE;
    read.filter(|read| most.contains(read)).ok_or_else(|| {
        ToolError::new(format!("deadline is `{text}`; write a time from 1s to 7 days, like 90s, 10m or 2h"))
    })
}
