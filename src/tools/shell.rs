//! The tool `shell`: a command's output and exit code as a result. Processes and their end belong to the sandbox.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::jobs::{self, Job, Jobs};
use super::{ShellSettings, hint};
use crate::message::RawArgs;
use crate::sandbox::{self, Captured, Command, End, Finished, Limits, SandboxError};
use crate::tool::truncate::{Whole, size};
use crate::tool::{Signature, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use crate::workspace::policy::PathPolicy;

/// What other runtimes call our fields.
const NAMES: &[(&str, &str)] = &[("cmd", "command"), ("script", "command"), ("timeout_seconds", "timeout")];

/// The same for all agents: compiled once, whoever uses it.
pub(super) static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("shell", include_str!("shell.md"), false).understanding(NAMES));

#[derive(Deserialize, JsonSchema)]
struct Args {
    command: String,
    /// Seconds, 120 if absent, at most 600.
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
}

/// Runs commands in the base of a policy.
pub(super) struct Shell {
    policy: Arc<PathPolicy>,
    settings: ShellSettings,
    jobs: Arc<Jobs>,
}

/// What became of a command that had so much time.
enum Became {
    Finished(Finished),
    /// It goes on as this job.
    Left(u32),
}

impl Shell {
    pub(super) fn new(policy: Arc<PathPolicy>, settings: ShellSettings, jobs: Arc<Jobs>) -> Shell {
        Shell { policy, settings, jobs }
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if args.command.trim().is_empty() {
            return Err(ToolError::new("command is empty; say what to run"));
        }
        let mut limits = self.settings.limits.clone();
        // What is shown must be in memory, whatever the policy is.
        limits.head = limits.head.max(self.settings.output.bytes);
        limits.tail = limits.tail.max(self.settings.output.bytes);
        if let Some(seconds) = args.timeout {
            limits.time = Duration::from_secs(seconds).min(self.settings.longest);
        }
        let command = self.settings.command(args.command, self.policy.base(), cx);
        let began = jiff::Timestamp::now().as_microsecond();
        let became = match self.settings.leave {
            true => self.leaving(command, &limits, cx).await.map_err(ToolError::new)?,
            false => {
                let mut show = |piece: &str| (cx.progress)(piece.to_owned());
                let run = sandbox::run(&command, &limits, &cx.cancel, &mut show).await;
                Became::Finished(run.map_err(|error| match error {
                    SandboxError::NoWalls(_) => ToolError::refused(error.to_string()),
                    _ => ToolError::new(error.to_string()),
                })?)
            }
        };
        let mut told = match &became {
            Became::Finished(finished) => self.told(finished, limits.time, cx),
            Became::Left(id) => self.left(*id, limits.time),
        };
        for line in self.jobs.news() {
            told.text = format!("{}\n{line}", told.text.trim_end_matches('\n'));
        }
        // What changed in between is looked for by these.
        told.details["began_us"] = began.into();
        told.details["ended_us"] = jiff::Timestamp::now().as_microsecond().into();
        Ok(told)
    }

    /// What a command of ours prints that ends well; nobody watches it.
    pub(super) async fn output(&self, command: &str, seconds: u64, cx: &ToolContext) -> Result<String, ToolError> {
        let quiet = ToolContext { progress: Arc::new(|_| {}), ..cx.clone() };
        let ran = self.run(Args { command: command.to_owned(), timeout: Some(seconds) }, &quiet).await?;
        if ran.details["exit_code"] == 0 { Ok(ran.text) } else { Err(ToolError::new(ran.text)) }
    }

    /// Runs a command that goes on in the background at its deadline, if there is room for one more.
    async fn leaving(&self, command: Command, limits: &Limits, cx: &ToolContext) -> Result<Became, String> {
        // All of it is in a file as it comes, so that it can be read later; what fits into memory is shown from there.
        let whole = Limits { tail: limits.head + limits.tail, ..limits.clone() };
        let mut job = Job::start(command, &whole, Some(Arc::clone(&cx.progress)));
        let mut finished = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => job.stop().await?,
            () = tokio::time::sleep(limits.time) => match self.jobs.keep(job) {
                Ok(id) => return Ok(Became::Left(id)),
                Err(mut job) => Finished { end: End::TimedOut, ..job.stop().await? },
            },
            finished = job.ended() => finished?,
        };
        let output = &mut finished.output;
        let (gap, spool) = (output.gap(), output.spool.as_ref().map(|spool| spool.path.clone()));
        match spool {
            Some(spool) if gap == 0 => {
                // It is all in memory; a file that stays behind hurts nobody.
                let _ = std::fs::remove_file(spool);
                output.spool = None;
            }
            Some(spool) => output.head = jobs::read(&spool, gap.min(limits.head as u64)),
            None => {}
        }
        Ok(Became::Finished(finished))
    }

    /// What is said of a command that went to the background: its output so far, and how to go on.
    fn left(&self, id: u32, time: Duration) -> ToolOutput {
        let row = self.jobs.list().into_iter().find(|row| row.id == id);
        let bytes = row.map(|row| jobs::read(&row.output, self.settings.limits.spool)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let fitted = self.settings.output.cut(&Whole::of(&text), None);
        let gap = if fitted.text.is_empty() || fitted.text.ends_with('\n') { "" } else { "\n" };
        let still = format!("still running after {} s; it goes on in the background as job {id}", time.as_secs());
        let details =
            json!({ "exit_code": null, "timed_out": false, "aborted": false, "job": id, "bytes": bytes.len() });
        ToolOutput::new(format!("{}{gap}{still}", fitted.text), details)
    }

    /// The output, and below it what the output does not say.
    fn told(&self, finished: &Finished, time: Duration, cx: &ToolContext) -> ToolOutput {
        let (mut text, file) = self.fitted(&finished.output, cx);
        let (ending, code, seconds) = match finished.end {
            End::Exited(0) => (None, Some(0), None),
            End::Exited(code) => (Some(format!("exit code {code}")), Some(code), None),
            End::Signalled(signal) => (Some(format!("killed by signal {signal}")), None, None),
            End::TimedOut => {
                (Some(format!("timed out after {} s; the command was stopped", time.as_secs())), None, Some(time))
            }
            End::Aborted => (Some("aborted; the command was stopped".to_owned()), None, None),
        };
        let left = (finished.left > 0).then(|| {
            let one = if finished.left == 1 { "process was" } else { "processes were" };
            format!("{} background {one} left and stopped", finished.left)
        });
        let walls = &self.settings.walls;
        let failed = !matches!(finished.end, End::Exited(0) | End::Aborted);
        let hint = failed.then(|| hint::hint(&text, &self.policy, walls, self.settings.asks)).flatten();
        let silent = (text.is_empty() && ending.is_none()).then(|| "(no output)".to_owned());
        for line in [silent, left, ending, hint].into_iter().flatten() {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&line);
        }
        let signal = if let End::Signalled(signal) = finished.end { Some(signal) } else { None };
        let details = json!({
            "exit_code": code,
            "signal": signal,
            "timed_out": seconds.is_some(),
            "aborted": finished.end == End::Aborted,
            "bytes": finished.output.bytes,
            "left": finished.left,
            "took_ms": u64::try_from(finished.took.as_millis()).unwrap_or(u64::MAX),
            "file": file,
        });
        ToolOutput::new(text, details)
    }

    fn fitted(&self, output: &Captured, cx: &ToolContext) -> (String, Value) {
        let policy = &self.settings.output;
        if output.gap() == 0 {
            let all = [output.head.as_slice(), output.tail.as_slice()].concat();
            let text = String::from_utf8_lossy(&all);
            // What fits into memory needs no spool, but a model may still be shown less.
            let whole = Whole::of(&text);
            let kept = output.spool.as_ref().map(|spool| spool.path.as_path());
            let fitted = match kept {
                Some(_) => policy.cut(&whole, kept),
                None => policy.fit(&text, cx),
            };
            return (fitted.text, json!(fitted.file));
        }
        let (head, tail) = (String::from_utf8_lossy(&output.head), String::from_utf8_lossy(&output.tail));
        let whole = Whole { head: &head, tail: &tail, bytes: output.bytes, lines: output.lines.max(1) };
        let fitted = policy.cut(&whole, output.spool.as_ref().map(|spool| spool.path.as_path()));
        let short = output.spool.as_ref().filter(|spool| spool.bytes < output.bytes);
        let note =
            short.map(|spool| format!("[the file has only the first {}]\n", size(spool.bytes))).unwrap_or_default();
        (format!("{note}{}", fitted.text), json!(fitted.file))
    }
}

impl Tool for Shell {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            Ok(self.run(read.args, cx).await?.noting(&read.repairs))
        }
        .boxed()
    }
}
