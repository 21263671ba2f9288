//! What a worker did as far as the program saw it: files that its tools wrote, commands and how they ended. What it says
//! of itself is not asked.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::event::{AgentEvent, Observer};
use crate::message::{CallId, Message, ToolCall, ToolResult};
use crate::task::{TaskReport, one_line};
use crate::tool::Toolbox;
use crate::tools::changed::{Changed, Span, changed};
use crate::tools::{self, ToolSettings};
use crate::workspace::policy::{PathPolicy, Profile};

/// Commands that are kept: the last ones, each once.
const COMMANDS: usize = 5;

/// Characters of a command.
const COMMAND: usize = 120;

/// Files that are kept; beyond them it is only said that there are more.
const FILES: usize = 200;

/// The same of files that changed while its commands ran.
const CHANGED: usize = 50;

/// Watches the runs of one worker.
pub(super) struct Evidence {
    tools: Toolbox,
    root: PathBuf,
    /// Its own directory: what it writes there changes nothing that a command could have checked.
    own: PathBuf,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    open: HashMap<CallId, Deed>,
    files: Vec<String>,
    unlisted: usize,
    commands: Vec<(String, String)>,
    /// When they ran.
    spans: Vec<Span>,
}

/// What a call that is under way does.
enum Deed {
    Write(PathBuf),
    Command(String),
}

impl Evidence {
    /// Of a worker with these tools in the workspace of that root.
    pub(super) fn of(tools: Toolbox, root: &Path, own: &Path) -> Evidence {
        Evidence { tools, root: root.to_owned(), own: own.to_owned(), seen: Mutex::default() }
    }

    /// Of a worker that is gone, by its conversation; `None` where the workspace cannot be looked at.
    pub(super) fn in_journal(root: &Path, own: &Path, context: &[Arc<Message>]) -> Option<Evidence> {
        let policy = PathPolicy::new(Profile::Task, root).ok()?;
        let tools = tools::made(&ToolSettings::new(Arc::new(policy)), |_| true);
        let evidence = Evidence::of(Toolbox::new(tools).ok()?, root, own);
        evidence.recall(context);
        Some(evidence)
    }

    /// Takes what the conversation tells of before: an earlier attempt, or the time before a rest.
    pub(super) fn recall(&self, context: &[Arc<Message>]) {
        for message in context {
            message.calls().for_each(|call| self.begun(call));
            message.results().for_each(|result| self.ended(result));
        }
    }

    /// Puts it into a report.
    pub(super) fn fill(&self, report: &mut TaskReport) {
        let seen = self.lock();
        report.verified = seen.commands.iter().map(|(command, end)| format!("{command}: {end}")).collect();
        report.files.clone_from(&seen.files);
        if seen.unlisted > 0 {
            report.files.push(format!("and {} more", seen.unlisted));
        }
    }

    /// Files that changed while its commands ran, besides those that its tools wrote. Whoever else worked in the same tree
    /// meanwhile may have changed them. Blocks: the whole tree is looked at, once.
    pub(super) fn changed(&self) -> Vec<String> {
        let (spans, written) = {
            let seen = self.lock();
            (seen.spans.clone(), seen.files.clone())
        };
        if spans.is_empty() {
            return Vec::new();
        }
        let Changed { files, cut } = changed(&self.root, &spans);
        let mut others: Vec<String> = files.iter().map(|file| one_line(file, 300)).collect();
        others.retain(|file| !written.contains(file));
        let more = others.len().saturating_sub(CHANGED);
        others.truncate(CHANGED);
        others.extend((more > 0).then(|| format!("and {more} more")));
        others.extend(cut.then(|| "and perhaps more: the workspace is too large to look at all of it".to_owned()));
        others
    }

    fn begun(&self, call: &ToolCall) {
        let Some(tool) = self.tools.find(&call.name) else { return };
        // A tool may panic here, as where it is called; an observer must not.
        let writes = std::panic::catch_unwind(AssertUnwindSafe(|| tool.writes(&call.args))).ok().flatten();
        let deed = writes.map(Deed::Write).or_else(|| command(call).map(Deed::Command));
        if let Some(deed) = deed {
            self.lock().open.insert(call.id.clone(), deed);
        }
    }

    fn ended(&self, result: &ToolResult) {
        let mut seen = self.lock();
        seen.spans.extend(span(&result.details));
        match seen.open.remove(&result.call) {
            Some(Deed::Write(path)) if !result.is_error => {
                if !path.starts_with(&self.own) {
                    // What ran before a change proves nothing about what is there now.
                    seen.commands.clear();
                }
                let shown = path.strip_prefix(&self.root).unwrap_or(&path).display().to_string();
                seen.wrote(one_line(&shown, 300));
            }
            Some(Deed::Command(command)) => {
                if let Some(end) = end(&result.details) {
                    seen.commands.retain(|(before, _)| *before != command);
                    seen.commands.push((command, end));
                    let old = seen.commands.len().saturating_sub(COMMANDS);
                    seen.commands.drain(..old);
                }
            }
            Some(Deed::Write(_)) | None => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn wrote(&mut self, file: String) {
        if self.files.contains(&file) {
            return;
        }
        match self.files.len() {
            ..FILES => self.files.push(file),
            _ => self.unlisted += 1,
        }
    }
}

impl Observer for Evidence {
    fn observe(&self, event: &AgentEvent) {
        match event {
            AgentEvent::ToolStarted { call } => self.begun(call),
            AgentEvent::ToolFinished { result, .. } => self.ended(result),
            _ => {}
        }
    }
}

fn command(call: &ToolCall) -> Option<String> {
    let args: Value = serde_json::from_str(&call.args.0).ok()?;
    let text = ["command", "cmd", "script"].iter().find_map(|key| args[*key].as_str())?;
    Some(one_line(text, COMMAND)).filter(|command| !command.is_empty())
}

/// When a command ran, as its tool says.
fn span(details: &Value) -> Option<Span> {
    let at = |key: &str| details.get(key)?.as_i64().map(i128::from);
    Some((at("began_us")?, at("ended_us")?))
}

/// How a command ended, by what its tool tells people; `None` when it was no command or did not run.
fn end(details: &Value) -> Option<String> {
    let code = details.get("exit_code")?;
    Some(match (code.as_i64(), details["signal"].as_i64()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) if details["timed_out"] == true => "timed out".to_owned(),
        (None, None) => "stopped".to_owned(),
    })
}
