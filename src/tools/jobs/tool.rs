//! The tool `jobs`: a model's commands in the background.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::super::ShellSettings;
use super::{Job, JobRow, Jobs, RUNNING, read};
use crate::message::RawArgs;
use crate::tool::truncate::Whole;
use crate::tool::{Signature, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use crate::workspace::policy::PathPolicy;

/// How long a start waits for an end: a command that does not exist is told at once.
const EARLY: Duration = Duration::from_millis(100);
/// What other runtimes call our fields.
const NAMES: &[(&str, &str)] =
    &[("cmd", "command"), ("job_id", "id"), ("job", "id"), ("bash_id", "id"), ("shell_id", "id"), ("timeout", "wait")];

/// The same for all agents: compiled once, whoever uses it.
static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("jobs", include_str!("../jobs.md"), false).understanding(NAMES));

#[derive(Deserialize, JsonSchema)]
struct Args {
    action: Option<Action>,
    command: Option<String>,
    id: Option<u32>,
    wait: Option<u64>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    Start,
    List,
    Output,
    Kill,
}

/// Commands the jobs of one owner.
pub(in super::super) struct JobsTool {
    jobs: Arc<Jobs>,
    policy: Arc<PathPolicy>,
    settings: ShellSettings,
}

impl JobsTool {
    pub(in super::super) fn new(jobs: Arc<Jobs>, policy: Arc<PathPolicy>, settings: ShellSettings) -> JobsTool {
        JobsTool { jobs, policy, settings }
    }

    async fn act(&self, args: Args, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let action = args.action.unwrap_or(match (&args.command, args.id) {
            (Some(_), _) => Action::Start,
            (None, Some(_)) => Action::Output,
            (None, None) => Action::List,
        });
        let id = || args.id.ok_or_else(|| ToolError::new("id is missing; say which job, list shows them"));
        match action {
            Action::Start => self.start(args.command.unwrap_or_default(), cx).await,
            Action::List => Ok(self.list()),
            Action::Output => self.output(id()?, args.wait, cx).await,
            Action::Kill => {
                let id = id()?;
                let row = self.jobs.kill(id).await.ok_or_else(|| self.none(id))?;
                Ok(ToolOutput::new(row.to_string(), details(&row)))
            }
        }
    }

    async fn start(&self, text: String, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if text.trim().is_empty() {
            return Err(ToolError::new("command is empty; say what to start"));
        }
        let command = self.settings.command(text, self.policy.base(), cx);
        let path = command.spool.display().to_string();
        reserve(&command.spool).map_err(|error| ToolError::new(format!("{path} cannot be written: {error}")))?;
        let mut job = Job::start(command, &self.settings.limits, None);
        if let Ok(Err(why)) = tokio::time::timeout(EARLY, job.ended()).await {
            return Err(ToolError::new(why));
        }
        match self.jobs.keep(job) {
            Ok(id) => {
                let row = self.jobs.look(id).filter(|row| row.ended.is_some());
                let text = row.map_or_else(|| format!("started as job {id}"), |row| row.to_string());
                Ok(ToolOutput::new(text, json!({ "job": id })))
            }
            Err(mut job) => {
                let _ = job.stop().await;
                Err(ToolError::new(format!("{RUNNING} jobs run already; kill one or wait for its end")))
            }
        }
    }

    fn list(&self) -> ToolOutput {
        let rows = self.jobs.list();
        // Whoever reads the list knows who has ended.
        self.jobs.news();
        let lines: Vec<String> = rows.iter().map(JobRow::to_string).collect();
        let text = if lines.is_empty() { "no jobs".to_owned() } else { lines.join("\n") };
        ToolOutput::new(text, json!({ "jobs": rows.len() }))
    }

    async fn output(&self, id: u32, wait: Option<u64>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let end = self.jobs.end_of(id).ok_or_else(|| self.none(id))?;
        if let Some(seconds) = wait {
            let most = Duration::from_secs(seconds).min(self.settings.longest);
            tokio::select! {
                biased;
                () = cx.cancel.cancelled() => return Err(ToolError::new("aborted; the job goes on")),
                _ = tokio::time::timeout(most, end) => {}
            }
        }
        let row = self.jobs.look(id).ok_or_else(|| self.none(id))?;
        let (spool, most) = (row.output.clone(), self.settings.limits.spool);
        let read = tokio::task::spawn_blocking(move || read(&spool, most)).await;
        let bytes = read.map_err(|error| ToolError::new(format!("the tool broke: {error}")))?;
        let text = String::from_utf8_lossy(&bytes);
        let fitted = self.settings.output.cut(&Whole::of(&text), Some(&row.output));
        let gap = if fitted.text.is_empty() || fitted.text.ends_with('\n') { "" } else { "\n" };
        Ok(ToolOutput::new(format!("{}{gap}[{row}]", fitted.text), details(&row)))
    }

    fn none(&self, id: u32) -> ToolError {
        let known: Vec<String> = self.jobs.list().iter().map(|row| row.id.to_string()).collect();
        let known = if known.is_empty() { "no jobs".to_owned() } else { known.join(", ") };
        ToolError::new(format!("there is no job {id}; there are {known}"))
    }
}

/// Makes the file of a job, so that no other call takes its name while the job says nothing.
fn reserve(spool: &Path) -> std::io::Result<()> {
    spool.parent().map_or(Ok(()), fs::create_dir_all)?;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(spool).map(drop)
}

fn details(row: &JobRow) -> serde_json::Value {
    json!({ "job": row.id, "ended": row.ended, "file": row.output })
}

impl Tool for JobsTool {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            Ok(self.act(read.args, cx).await?.noting(&read.repairs))
        }
        .boxed()
    }
}
