//! The command line as it is typed. What the words do is told in `cli` and `repl`.

mod compaction;
mod notes;
mod run;
mod sessions;
mod tasks;
mod tools;

use std::path::PathBuf;

use clap::{Args as Group, Parser, Subcommand, ValueEnum};

pub use self::compaction::Compaction;
pub use self::notes::Notes;
pub use self::run::{Dialect, Most, Run};
pub use self::sessions::{Form, Sessions, Trash};
pub use self::tasks::Tasks;
pub use self::tools::Tools;
use crate::terminal::{ColorChoice, exit::Exit};

/// One agent at the tiller, a crew of background workers below.
///
/// Without a command it opens a prompt in this folder. It works before any key exists: the built-in pilot (no language
/// model) drives the same tools and workers.
#[derive(Debug, Parser)]
#[command(name = "tillerman", version, max_term_width = 100, after_help = examples(), after_long_help = everything())]
#[command(disable_help_subcommand = true, infer_subcommands = false)]
pub struct Args {
    /// What every command understands.
    #[command(flatten)]
    pub common: Common,
    /// What to do; nothing opens the prompt.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What every command understands.
#[derive(Debug, Clone, Default, Group)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// The folder to work in; the current one when not given.
    #[arg(short, long, value_name = "DIR", global = true)]
    pub workspace: Option<PathBuf>,
    /// Trust this workspace's settings, for this run only.
    #[arg(long, global = true)]
    pub trust: bool,
    /// The model, for example anthropic/claude-sonnet-5-5 or pilot/pilot.
    #[arg(short, long, value_name = "PROVIDER/MODEL", global = true)]
    pub model: Option<String>,
    /// How far commands and tools reach.
    #[arg(long, value_name = "MODE", global = true, value_enum)]
    pub sandbox: Option<Reach>,
    /// Allow such calls without asking, for example 'shell(git push:*)'; deny goes before ask, ask before allow.
    #[arg(long, value_name = "RULE", global = true)]
    pub allow: Vec<String>,
    /// Ask before such calls.
    #[arg(long, value_name = "RULE", global = true)]
    pub ask: Vec<String>,
    /// Deny such calls.
    #[arg(long, value_name = "RULE", global = true)]
    pub deny: Vec<String>,
    /// Let commands use the network.
    #[arg(long, global = true)]
    pub network: bool,
    /// The provider's address, for a gateway or a local server.
    #[arg(long, value_name = "URL", global = true)]
    pub base_url: Option<String>,
    /// Go on with this session; the start of its id is enough.
    #[arg(long, value_name = "ID", global = true, conflicts_with = "resume")]
    pub session: Option<String>,
    /// Go on with the latest session.
    #[arg(short = 'c', long = "continue", global = true)]
    pub resume: bool,
    /// Keep the conversation in this folder, and go on with the latest one in it.
    #[arg(long, value_name = "DIR", global = true)]
    pub session_dir: Option<PathBuf>,
    /// Keep nothing: no conversation, no trace, no log; .tasks in the workspace stays.
    #[arg(long, global = true, conflicts_with_all = ["session", "resume", "session_dir"])]
    pub ephemeral: bool,
    /// The folder for what is not kept, made and removed by the program itself.
    #[arg(skip)]
    pub scratch: Option<PathBuf>,
    /// Write what the model really says into this file; `tillerman replay FILE` plays it again.
    #[arg(long, value_name = "FILE", global = true)]
    pub record: Option<PathBuf>,
    /// Go on with all tasks that were interrupted when an earlier program ended.
    #[arg(long, global = true)]
    pub resume_workers: bool,
    /// Colours: auto, always or never.
    #[arg(long, value_name = "WHEN", global = true, value_enum, default_value_t, hide_possible_values = true)]
    pub color: When,
}

/// How far commands and tools reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Reach {
    /// They read, and write nothing.
    ReadOnly,
    /// They write in the workspace, without its settings; the usual.
    WorkspaceWrite,
    /// No walls at all.
    Full,
}

impl Reach {
    /// As it is written in settings.
    pub fn name(self) -> &'static str {
        match self {
            Reach::ReadOnly => "read-only",
            Reach::WorkspaceWrite => "workspace-write",
            Reach::Full => "full",
        }
    }
}

/// When to colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal that can.
    #[default]
    Auto,
    /// Also into a pipe.
    Always,
    /// Not at all.
    Never,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Answer one prompt and end; the answer goes to stdout, progress to stderr.
    Run(Run),
    /// Watch a main agent and two real workers in a folder of their own; no key, no network, a few seconds.
    Demo,
    /// Play a recording again: same lines, same replies, real tools, in a folder of its own or in the one of -w.
    Replay {
        /// What `--record` wrote.
        file: PathBuf,
        /// Write what happens as JSON lines; the last one is session.end.
        #[arg(long)]
        json: bool,
        /// Leave out all waits.
        #[arg(long)]
        fast: bool,
    },
    /// Look at the tasks of this workspace and give orders, also while another terminal runs them.
    Tasks {
        /// What to do; the list when not given.
        #[command(subcommand)]
        command: Option<Tasks>,
        /// Write JSON instead of text.
        #[arg(long, global = true)]
        json: bool,
    },
    /// Look at the conversations of this workspace, find words in them, keep them in order; also while they go on.
    Sessions {
        /// What to do; the list when not given.
        #[command(subcommand)]
        command: Option<Sessions>,
        /// Write JSON instead of text.
        #[arg(long, global = true)]
        json: bool,
    },
    /// Look at what was summed up of a conversation, and take some of it back.
    Compaction {
        /// What to do; the list when not given.
        #[command(subcommand)]
        command: Option<Compaction>,
        /// Write JSON instead of text.
        #[arg(long, global = true)]
        json: bool,
    },
    /// What agents noted for later, for another program.
    Notes {
        /// What to do.
        #[command(subcommand)]
        command: Notes,
    },
    /// Look at the tools that agents have, and run one without an agent.
    Tool {
        /// What to do; the list when not given.
        #[command(subcommand)]
        command: Option<Tools>,
        /// Write JSON instead of text.
        #[arg(long, global = true)]
        json: bool,
    },
    /// Make a folder a workspace: settings, AGENTS.md, an example skill; nothing is overwritten.
    Init {
        /// The folder; made when missing, the current one when not given.
        dir: Option<PathBuf>,
    },
    /// List the models that can be used, and why, with window, output limit and price.
    Models {
        /// Only this provider, with all its models, also without a key.
        #[arg(value_name = "PROVIDER")]
        provider: Option<String>,
        /// Ask the providers for their lists first and say what has changed; kept for a day.
        #[arg(long)]
        refresh: bool,
        /// Write JSON instead of text.
        #[arg(long)]
        json: bool,
    },
    /// The rules about what agents may do, and what they say about a call.
    Permissions {
        /// What to do; the list when not given.
        #[command(subcommand)]
        command: Option<Permissions>,
        /// Write JSON instead of text.
        #[arg(long, global = true)]
        json: bool,
    },
    /// Check what works here and say how to mend what does not.
    Doctor {
        /// Write JSON instead of text.
        #[arg(long)]
        json: bool,
    },
}

/// What to do with rules.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Permissions {
    /// All rules in the order in which they count, with file and line.
    List,
    /// What they say about one call; exit 7 when it is not simply done.
    Explain {
        /// For example 'shell(git push)'.
        call: String,
    },
}

impl From<When> for ColorChoice {
    fn from(when: When) -> ColorChoice {
        match when {
            When::Auto => ColorChoice::Auto,
            When::Always => ColorChoice::Always,
            When::Never => ColorChoice::Never,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  tillerman                                     a prompt in this folder
  tillerman run \"explain src/main.rs\"           one answer on stdout
  git diff | tillerman run \"review\" -           the prompt's rest comes from stdin
  tillerman run --json --wait \"fix the tests\"   every event as a line of JSON
  tillerman -c                                  go on where you left
  tillerman run --image plan.png \"what is wrong here?\"
  tillerman replay story.json                   play what --record story.json kept
  tillerman tasks tail t_001                    watch a worker from another terminal
  tillerman tasks steer t_001 \"keep the API\"     tell it something from there
  tillerman sessions search parser bug          where was that said?";

const VARIABLES: &str = "\
Environment:
  ANTHROPIC_API_KEY OPENAI_API_KEY GEMINI_API_KEY OPENROUTER_API_KEY DEEPSEEK_API_KEY …
                        a key chooses its provider (`tillerman doctor` lists all)
  <PROVIDER>_BASE_URL   its address; <PROVIDER>_MODEL its model, for example DEEPSEEK_MODEL
  TILLERMAN_HOME        what the program owns, instead of ~/.tillerman
  TILLERMAN_OFFLINE     1: no server on this machine is looked for when no key is set
  TILLERMAN_LOG         what is logged, for example debug or tillerman::model=trace
  NO_COLOR, CLICOLOR_FORCE";

fn examples() -> String {
    format!("{EXAMPLES}\n\n{}", codes())
}

fn everything() -> String {
    format!("{EXAMPLES}\n\n{VARIABLES}\n\n{}", codes())
}

fn codes() -> String {
    let each = Exit::ALL.iter().map(|exit| format!("  {:<4} {:<14} {}", exit.code(), exit.name(), exit.meaning()));
    std::iter::once("Exit codes:".to_owned()).chain(each).collect::<Vec<_>>().join("\n")
}
