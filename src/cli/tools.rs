//! `tillerman tool`: which tools there are, what a model is told of one, and running one by hand.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::json::VERSION;
use crate::args::Tools as Words;
use crate::config::Config;
use crate::message::{CallId, RawArgs};
use crate::runtime::{ByHand, by_hand};
use crate::terminal::Look;
use crate::terminal::clean::{clean, one_line};
use crate::terminal::exit::{Exit, Signals};
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput, aliases, our_name};
use crate::tools::gate::{Answer, Asker};
use crate::tools::{GROUPS, Group};

/// Most bytes of arguments that are read from stdin.
const MOST_ARGS: u64 = 8 << 20;
/// Most characters of a description in the list.
const WORDS: usize = 90;

/// What the command needs to know.
pub struct Setup<'a> {
    /// Which tools agents have, and what tools may do.
    pub config: &'a Config,
    /// Colours or not.
    pub look: Look,
    /// JSON instead of text.
    pub json: bool,
}

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
pub enum NotDone {
    /// There is no such tool.
    #[error("there is no tool {0}; tillerman tool list shows those that there are")]
    NoSuch(String),
    /// It is nothing without an agent.
    #[error("{0} works only within a conversation; see tillerman tasks and tillerman sessions")]
    NeedsAgent(String),
    /// The tools cannot be made, or the arguments not read.
    #[error("{0}")]
    Broken(String),
    /// The tool refused or failed.
    #[error("{0}")]
    Failed(String),
    /// Rules or rights forbid it.
    #[error("{0}")]
    Refused(String),
    /// Nobody reads any more.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl NotDone {
    /// What the program ends with.
    pub fn exit(&self) -> Exit {
        match self {
            NotDone::NoSuch(_) | NotDone::NeedsAgent(_) => Exit::Usage,
            NotDone::Refused(_) => Exit::Refused,
            NotDone::Broken(_) | NotDone::Failed(_) | NotDone::Io(_) => Exit::Failed,
        }
    }

    /// Whoever read the output has gone.
    pub fn nobody_reads(&self) -> bool {
        matches!(self, NotDone::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Shows or runs tools; what they say goes to stdout.
///
/// # Errors
/// [`NotDone`] names the tool and what is wrong.
pub async fn tools(command: &Words, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    // Whoever types the call is the person that rules want asked; what comes from a script is nobody's word.
    let asker: Asker = Arc::new(|_| async { Answer::Yes }.boxed());
    let asker = io::stdin().is_terminal().then_some(asker);
    let hand = by_hand(setup.config.clone(), asker).map_err(NotDone::Broken)?;
    match command {
        Words::List => list(&hand, setup),
        Words::Show { name } => show(&hand, name, setup),
        Words::Call { name, args } => call(&hand, name, args, setup).await,
    }
}

/// What the settings say of a tool.
fn state(setup: &Setup<'_>, name: &str) -> &'static str {
    let enabled = &setup.config.tools;
    match (enabled.has(name), enabled.has_on_demand(name)) {
        (true, _) => "on",
        (false, true) => "off",
        (false, false) => "barred",
    }
}

fn list(hand: &ByHand, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let mut out = io::stdout().lock();
    if setup.json {
        let row = |group: &Group, name: &'static str| {
            let description = exact(hand, name).map(|tool| tool.spec().description.clone());
            json!({ "name": name, "group": group.name, "state": state(setup, name), "description": description })
        };
        let rows = GROUPS.iter().flat_map(|group| group.tools.iter().map(move |name| row(group, name)));
        writeln!(out, "{}", json!({ "v": VERSION, "tools": rows.collect::<Vec<_>>() }))?;
        return Ok(Exit::Done);
    }
    for group in GROUPS {
        let usual = if group.usual { "usually on" } else { "usually off" };
        writeln!(out, "{} · {}", setup.look.name(group.name), setup.look.dim(usual))?;
        for name in group.tools {
            let mark = match state(setup, name) {
                "on" => setup.look.good("✓"),
                "off" => setup.look.dim("·"),
                _ => setup.look.warn("-"),
            };
            let told = exact(hand, name).map_or("within a conversation", |tool| &tool.spec().description);
            let told: String = one_line(told).chars().take(WORDS).collect();
            writeln!(out, "  {mark} {name:<16}  {}", setup.look.dim(told))?;
        }
    }
    let how = "✓ agents have it; · those whose role names it; - nobody. To change it: tools: [default, web, -grep]";
    writeln!(out, "{}", setup.look.dim(how))?;
    Ok(Exit::Done)
}

fn show(hand: &ByHand, name: &str, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let tool = find(hand, name)?;
    let spec = tool.spec();
    let group = GROUPS.iter().find(|group| group.tools.contains(&spec.name.as_str())).map_or("", |group| group.name);
    let (state, others) = (state(setup, &spec.name), aliases(&spec.name).collect::<Vec<_>>());
    let mut out = io::stdout().lock();
    if setup.json {
        let told = json!({
            "v": VERSION, "name": spec.name, "group": group, "state": state, "description": spec.description,
            "read_only": spec.read_only, "aliases": others, "schema": spec.schema,
        });
        writeln!(out, "{told}")?;
        return Ok(Exit::Done);
    }
    let changes = if spec.read_only { "changes nothing" } else { "may change things" };
    writeln!(out, "{} · group {group}, {state}, {changes}", setup.look.bold(&spec.name))?;
    writeln!(out, "{}", clean(&spec.description))?;
    if !others.is_empty() {
        writeln!(out, "also called {}", others.join(", "))?;
    }
    writeln!(out, "{}", serde_json::to_string_pretty(&spec.schema).unwrap_or_default())?;
    Ok(Exit::Done)
}

async fn call(hand: &ByHand, name: &str, args: &str, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let tool = find(hand, name)?;
    let args = if args == "-" { typed()? } else { args.to_owned() };
    let cx = ToolContext {
        call: CallId("call".to_owned()),
        cancel: CancellationToken::new(),
        progress: Arc::new(|_| {}),
        artifacts: hand.artifacts.clone(),
        secrets: setup.config.secrets.clone(),
    };
    let mut signals = Signals::catch()?;
    let mut running = tool.call(RawArgs(args), &cx);
    let mut ended = None;
    let done = tokio::select! {
        done = &mut running => done,
        signal = signals.next() => {
            ended = Some(signal);
            cx.cancel.cancel();
            running.await
        }
    };
    let failed = |error: &ToolError| if error.is_refusal() { Exit::Refused } else { Exit::Failed };
    let exit = ended.unwrap_or_else(|| done.as_ref().map_or_else(failed, exit));
    let mut out = io::stdout().lock();
    match (done, setup.json) {
        (done, true) => {
            let (text, details) = match &done {
                Ok(output) => (output.text.clone(), output.details.clone()),
                Err(error) => (error.to_string(), Value::Null),
            };
            let told = json!({
                "v": VERSION, "tool": tool.spec().name, "is_error": done.is_err(), "output": text, "details": details,
            });
            writeln!(out, "{told}")?;
        }
        (Ok(output), false) => writeln!(out, "{}", clean(&output.text).trim_end_matches('\n'))?,
        (Err(error), false) if ended.is_none() && error.is_refusal() => {
            return Err(NotDone::Refused(clean(&error.to_string())));
        }
        (Err(error), false) if ended.is_none() => return Err(NotDone::Failed(clean(&error.to_string()))),
        (Err(_), false) => {}
    }
    Ok(exit)
}

/// A command that ended badly is a failure for a script, though for a model it is a result.
fn exit(output: &ToolOutput) -> Exit {
    let code = output.details.get("exit_code");
    if code.is_none_or(|code| *code == 0) { Exit::Done } else { Exit::Failed }
}

fn typed() -> Result<String, NotDone> {
    let mut text = String::new();
    io::stdin().lock().take(MOST_ARGS).read_to_string(&mut text)?;
    Ok(text)
}

fn exact<'a>(hand: &'a ByHand, name: &str) -> Option<&'a Arc<dyn Tool>> {
    hand.tools.find(name).filter(|tool| tool.spec().name == name)
}

fn find<'a>(hand: &'a ByHand, name: &str) -> Result<&'a Arc<dyn Tool>, NotDone> {
    let is_ours = |name: &str| GROUPS.iter().any(|group| group.tools.contains(&name));
    hand.tools.find(name).ok_or_else(|| match our_name(name) {
        ours if is_ours(&ours) => NotDone::NeedsAgent(ours.into_owned()),
        _ => NotDone::NoSuch(one_line(name)),
    })
}
