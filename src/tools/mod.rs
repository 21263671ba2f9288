//! The built-in tools, one small room each, with the text that the model reads beside it.

mod calculator;
pub mod changed;
mod create_directory;
mod current_time;
mod edit_file;
mod escalate;
mod fetch_url;
mod files;
pub mod gate;
mod glob;
mod grep;
pub mod groups;
mod hint;
pub mod jobs;
mod list;
mod load;
mod looking;
mod passages;
pub mod preset;
mod python;
mod read_file;
mod read_log;
mod scan;
mod search_knowledge;
mod search_notes;
mod shell;
mod system_info;
mod todo;
pub mod walk;
mod write_file;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::sandbox::{Command, Environment, Limits, Walls};
use crate::tool::{OutputPolicy, Tool, ToolContext, truncate};
use crate::workspace::policy::PathPolicy;
use crate::workspace::scratch::Scratch;

use self::escalate::Escalate;
pub use self::fetch_url::{FetchSettings, Hosts, Lookup};
use self::gate::Keeper;
pub use self::groups::{Enabled, GROUPS, Group, NoSuchTool};
use self::jobs::Jobs;
use self::looking::looking;
use self::read_log::ReadLog;

/// What the built-in tools of one agent may do.
#[derive(Debug, Clone)]
pub struct ToolSettings {
    /// What they may read and write. Commands start in its base.
    pub policy: Arc<PathPolicy>,
    /// Of commands.
    pub shell: ShellSettings,
    /// Of pages.
    pub fetch: FetchSettings,
    /// How much of a file, a listing or a search the model reads.
    pub output: OutputPolicy,
    /// The file of the list of what is to do; made on first use.
    pub todo: PathBuf,
    /// Who owns the commands in the background.
    pub jobs: Arc<Jobs>,
    /// Whoever is asked for wider rights; `None` where nobody can be asked, or there are none wider.
    pub escalation: Option<Keeper>,
}

/// How commands are run.
#[derive(Debug, Clone)]
pub struct ShellSettings {
    /// Of a command that asks for no time of its own.
    pub limits: Limits,
    /// The most time a command may ask for.
    pub longest: Duration,
    /// With which variables.
    pub environment: Environment,
    /// What they may touch.
    pub walls: Arc<Walls>,
    /// The folder for their temporary files, kept for as long as they may run.
    pub scratch: Option<Arc<Scratch>>,
    /// How much of their output the model reads.
    pub output: OutputPolicy,
    /// At its deadline a command goes on as a job instead of being stopped.
    pub leave: bool,
    /// The agent can ask a person for more than they may do.
    pub asks: bool,
}

impl ToolSettings {
    /// The usual settings within the rights of `policy`.
    pub fn new(policy: Arc<PathPolicy>) -> ToolSettings {
        let todo = policy.base().join("memory/todo.md");
        let (shell, output, jobs) = (ShellSettings::default(), OutputPolicy::HEAD, Arc::default());
        let fetch = FetchSettings::default();
        ToolSettings { policy, shell, fetch, output, todo, jobs, escalation: None }
    }
}

impl ShellSettings {
    /// A command of a call, with its output in a file of the call's if there is much of it.
    fn command(&self, text: String, base: &Path, cx: &ToolContext) -> Command {
        Command {
            text,
            cwd: base.to_owned(),
            environment: self.environment.clone(),
            spool: truncate::artifact(cx),
            stdin: None,
            walls: Arc::clone(&self.walls),
            secrets: cx.secrets.clone(),
        }
    }
}

impl Default for ShellSettings {
    fn default() -> ShellSettings {
        ShellSettings {
            limits: Limits::default(),
            longest: Duration::from_secs(600),
            environment: Environment::inherited(),
            walls: Walls::open(),
            scratch: None,
            output: OutputPolicy::TAIL,
            leave: false,
            asks: false,
        }
    }
}

/// The tools made here of which `wanted` says yes by name, sorted. They share what they remember of files that were read,
/// so make them anew for each run.
pub fn made(settings: &ToolSettings, wanted: impl Fn(&str) -> bool) -> Vec<Arc<dyn Tool>> {
    let log = Arc::new(ReadLog::default());
    let wanted: Vec<&str> = groups::names().into_iter().filter(|name| wanted(name)).collect();
    let escalate = Escalate::new(settings, &log, &wanted);
    wanted
        .iter()
        .filter_map(|name| make(name, settings, &log))
        .chain(escalate.map(|tool| Arc::new(tool) as _))
        .collect()
}

/// The tools made here that are meant by these words; see [`Enabled::read`].
///
/// # Errors
/// [`NoSuchTool`] for the first word that means nothing.
pub fn selected<S: AsRef<str>>(settings: &ToolSettings, words: &[S]) -> Result<Vec<Arc<dyn Tool>>, NoSuchTool> {
    let enabled = Enabled::read(words)?;
    Ok(made(settings, |name| enabled.has(name)))
}

/// The tool of that name, unless it lives with what it controls.
fn make(name: &str, settings: &ToolSettings, log: &Arc<ReadLog>) -> Option<Arc<dyn Tool>> {
    let policy = || Arc::clone(&settings.policy);
    let log = || Arc::clone(log);
    Some(match name {
        "calculator" => Arc::new(calculator::Calculator),
        "create_directory" => Arc::new(create_directory::CreateDirectory::new(policy())),
        "current_time" => Arc::new(current_time::CurrentTime),
        "edit_file" => Arc::new(edit_file::EditFile::new(policy(), log())),
        "fetch_url" => Arc::new(fetch_url::FetchUrl::new(settings.fetch.clone())),
        "glob" => looking(&glob::SIGNATURE, settings, glob::search),
        "grep" => looking(&grep::SIGNATURE, settings, grep::search),
        "jobs" => Arc::new(jobs::JobsTool::new(Arc::clone(&settings.jobs), policy(), settings.shell.clone())),
        "list" => looking(&list::SIGNATURE, settings, list::list),
        "load" => looking(&load::SIGNATURE, settings, load::load),
        "python" => Arc::new(python::Python::new(policy(), settings.shell.clone())),
        "read_file" => Arc::new(read_file::ReadFile::new(policy(), log(), settings.output)),
        "scan" => looking(&scan::SIGNATURE, settings, scan::list),
        "search_knowledge" => looking(&search_knowledge::SIGNATURE, settings, search_knowledge::search),
        "search_notes" => looking(&search_notes::SIGNATURE, settings, search_notes::search),
        "shell" => Arc::new(shell::Shell::new(policy(), settings.shell.clone(), Arc::clone(&settings.jobs))),
        "system_info" => Arc::new(system_info::SystemInfo::new(policy(), settings.shell.clone())),
        "todo" => Arc::new(todo::Todo::new(settings.todo.clone())),
        "write_file" => Arc::new(write_file::WriteFile::new(policy(), log())),
        _ => return None,
    })
}
