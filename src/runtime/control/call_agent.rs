//! The tool `call_agent`: a dispatch that waits for its report, as long as nothing else is to be heard.

use std::sync::LazyLock;
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::{Control, refused};
use crate::agent::inbox::Tiller;
use crate::message::{CallId, RawArgs, ToolSpec};
use crate::role::Roles;
use crate::runtime::roster::Patron;
use crate::runtime::{Envelope, News, call, report};
use crate::task::{Brief, TaskId, TaskReport, one_line};
use crate::tool::args::Signature;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};

/// Minutes that are waited when the model does not say.
const MINUTES: u64 = 10;

/// Characters of a worker's question.
const QUESTION: usize = 400;

/// The most minutes; no call of a tool may take longer than an hour.
const LONGEST: u64 = 50;

static SIGNATURE: LazyLock<Signature> = LazyLock::new(|| {
    Signature::of::<Args>("call_agent", include_str!("call_agent.md"), false).understanding(&[
        ("agent", "agent_name"),
        ("name", "agent_name"),
        ("subagent_type", "agent_name"),
        ("prompt", "task"),
        ("message", "task"),
    ])
});

/// The tool. Only a main agent has it.
pub(super) struct CallAgent {
    control: Control,
    /// Tells when the caller is steered.
    tiller: Tiller,
    /// Agents that nobody waits for.
    in_background: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Args {
    agent_name: String,
    /// The whole brief.
    task: String,
    #[serde(default)]
    touches: Vec<String>,
    /// 10 if absent, at most 50.
    #[serde(default)]
    #[schemars(range(min = 1))]
    minutes: Option<u64>,
}

impl CallAgent {
    pub(super) fn of(control: Control, tiller: Tiller, roles: &Roles) -> CallAgent {
        let in_background = roles.list().iter().filter(|role| role.background).map(|role| role.name.clone());
        CallAgent { control, tiller, in_background: in_background.collect() }
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.control.ration.take(1)?;
        let brief = Brief {
            body: args.task,
            agent: Some(args.agent_name.clone()),
            touches: args.touches,
            session: Some(self.control.patron.session.to_string()),
            depth: self.control.depth + 1,
            parent: self.control.own.parse().ok(),
            ..Brief::default()
        };
        let patron = self.patron(&cx.call);
        if self.in_background.contains(&args.agent_name) {
            let id = self.control.crew.dispatch(brief, patron).await.map_err(refused)?;
            return Ok(goes_on(id, &format!("{} works in the background", args.agent_name)));
        }
        let minutes = args.minutes.unwrap_or(MINUTES).clamp(1, LONGEST);
        let (caller, mut awaited) = call::pair(self.control.crew.site(), patron.clone());
        let mut feed = self.control.crew.site().feed.subscribe();
        let id = self.control.crew.call(brief, caller, patron).await.map_err(refused)?;
        tokio::select! {
            biased;
            report = awaited.report() => match report {
                Some(report) => Ok(self.told(&report)),
                None => Err(ToolError::new(format!("nobody can tell any more how {id} ends; ask `tasks`"))),
            },
            () = cx.cancel.cancelled() => Err(ToolError::new(format!("aborted by the user; {id} goes on"))),
            question = asked(&mut feed, id) => Ok(goes_on(id, &format!("it asks: {question}"))),
            () = self.tiller.steered() => Ok(goes_on(id, "it is not over, and new words wait for you")),
            () = tokio::time::sleep(Duration::from_secs(minutes * 60)) => {
                Ok(goes_on(id, &format!("it is not over after {minutes} min")))
            }
        }
    }

    /// In whose name the task is done.
    fn patron(&self, call: &CallId) -> Patron {
        Patron { call: Some(call.clone()), ..self.control.patron.clone() }
    }

    /// From here on the answer of the call is the only place with the report, so no other may wait behind this.
    fn told(&self, report: &TaskReport) -> ToolOutput {
        self.control.ration.brought(report.id, report.attempt);
        ToolOutput::new(report::answer(report), report::details(report))
    }
}

/// Waits until the worker rests for an answer: whoever waits for it could be the one to give it.
async fn asked(feed: &mut Receiver<Envelope>, id: TaskId) -> String {
    loop {
        match feed.recv().await {
            Ok(Envelope { news: News::Asked(question), .. }) if question.task == id => {
                return one_line(&question.text, QUESTION);
            }
            // What was missed may have been the question; then the time that is waited ends it.
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return std::future::pending().await,
        }
    }
}

fn goes_on(id: TaskId, why: &str) -> ToolOutput {
    ToolOutput::text(format!("{id}: {why}. It goes on; you will be told when it ends."))
}

impl Tool for CallAgent {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            Ok(self.run(read.args, cx).await?.noting(&read.repairs))
        })
    }
}
