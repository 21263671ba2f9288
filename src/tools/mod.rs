//! The built-in tools, one small room each, with the text that the model reads beside it.

pub mod changed;
mod edit_file;
mod files;
mod grep;
mod list;
mod load;
mod read_file;
mod read_log;
mod scan;
mod shell;
mod walk;
mod write_file;

use std::sync::Arc;
use std::time::Duration;

use crate::sandbox::{Environment, Limits, Walls};
use crate::tool::{OutputPolicy, Tool};
use crate::workspace::policy::PathPolicy;

use self::read_log::ReadLog;

/// The names of the built-in tools, sorted.
pub const NAMES: [&str; 8] = ["edit_file", "grep", "list", "load", "read_file", "scan", "shell", "write_file"];

/// What the built-in tools of one agent may do.
#[derive(Debug, Clone)]
pub struct ToolSettings {
    /// What they may read and write. Commands start in its base.
    pub policy: Arc<PathPolicy>,
    /// Of commands.
    pub shell: ShellSettings,
    /// How much of a file, a listing or a search the model reads.
    pub output: OutputPolicy,
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
    /// How much of their output the model reads.
    pub output: OutputPolicy,
}

/// A name that is none of [`NAMES`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no built-in tool {0}; there are {known}", known = NAMES.join(", "))]
pub struct UnknownTool(pub String);

impl ToolSettings {
    /// The usual settings within the rights of `policy`.
    pub fn new(policy: Arc<PathPolicy>) -> ToolSettings {
        ToolSettings { policy, shell: ShellSettings::default(), output: OutputPolicy::HEAD }
    }
}

impl Default for ShellSettings {
    fn default() -> ShellSettings {
        ShellSettings {
            limits: Limits::default(),
            longest: Duration::from_secs(600),
            environment: Environment::inherited(),
            walls: Walls::open(),
            output: OutputPolicy::TAIL,
        }
    }
}

/// All built-in tools. They share what they remember of files that were read, so make them anew for each run.
pub fn builtin(settings: &ToolSettings) -> Vec<Arc<dyn Tool>> {
    let log = Arc::new(ReadLog::default());
    NAMES.iter().filter_map(|name| make(name, settings, &log)).collect()
}

/// The built-in tools of these names.
///
/// # Errors
/// [`UnknownTool`] for the first name that is not built in.
pub fn selected<S: AsRef<str>>(settings: &ToolSettings, names: &[S]) -> Result<Vec<Arc<dyn Tool>>, UnknownTool> {
    let log = Arc::new(ReadLog::default());
    let known = |name: &S| make(name.as_ref(), settings, &log).ok_or_else(|| UnknownTool(name.as_ref().to_owned()));
    names.iter().map(known).collect()
}

fn make(name: &str, settings: &ToolSettings, log: &Arc<ReadLog>) -> Option<Arc<dyn Tool>> {
    let policy = || Arc::clone(&settings.policy);
    let log = || Arc::clone(log);
    Some(match name {
        "edit_file" => Arc::new(edit_file::EditFile::new(policy(), log())),
        "grep" => Arc::new(grep::Grep::new(policy(), settings.output)),
        "list" => Arc::new(list::List::new(policy())),
        "load" => Arc::new(load::Load::new(policy(), settings.output)),
        "read_file" => Arc::new(read_file::ReadFile::new(policy(), log(), settings.output)),
        "scan" => Arc::new(scan::Scan::new(policy(), settings.output)),
        "shell" => Arc::new(shell::Shell::new(policy(), settings.shell.clone())),
        "write_file" => Arc::new(write_file::WriteFile::new(policy(), log())),
        _ => return None,
    })
}
