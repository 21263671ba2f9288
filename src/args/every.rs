//! The options that every command understands.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as Group, ValueEnum};

use crate::terminal::ColorChoice;

/// What every command understands.
#[derive(Debug, Clone, Default, Group)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// The folder to work in, instead of this one.
    #[arg(short, long, value_name = "DIR", global = true)]
    pub workspace: Option<PathBuf>,
    /// The model, for example anthropic or pilot.
    #[arg(short, long, value_name = "PROVIDER/MODEL", global = true)]
    pub model: Option<String>,
    /// The provider's address, for a gateway or a server of your own.
    #[arg(long, value_name = "URL", global = true, hide_short_help = true)]
    pub base_url: Option<String>,
    /// Go on with the latest conversation.
    #[arg(short = 'c', long = "continue", global = true, hide_short_help = true)]
    pub resume: bool,
    /// Go on with this conversation; the beginning of its id is enough.
    #[arg(long, value_name = "ID", global = true, conflicts_with = "resume", hide_short_help = true)]
    pub session: Option<String>,
    /// Keep the conversation in this folder, and go on with the latest one in it.
    #[arg(long, value_name = "DIR", global = true, hide_short_help = true)]
    pub session_dir: Option<PathBuf>,
    /// Keep no conversation and no log; the files of tasks stay.
    #[arg(long, global = true, conflicts_with_all = ["session", "resume", "session_dir"], hide_short_help = true)]
    pub ephemeral: bool,
    /// The folder for what is not kept, made and removed by the program itself.
    #[arg(skip)]
    pub scratch: Option<PathBuf>,
    /// Also go on with all tasks that were interrupted when an earlier program ended.
    #[arg(long, global = true, hide_short_help = true)]
    pub resume_workers: bool,
    /// Keep what the model says in this file; `tillerman replay FILE` plays it again.
    #[arg(long, value_name = "FILE", global = true, hide_short_help = true)]
    pub record: Option<PathBuf>,
    /// Trust this folder's settings, for this run only.
    #[arg(long, global = true, hide_short_help = true)]
    pub trust: bool,
    /// How far commands and tools reach.
    #[arg(long, value_name = "MODE", global = true, value_enum, hide_short_help = true)]
    pub sandbox: Option<Reach>,
    /// Let commands use the network.
    #[arg(long, global = true, hide_short_help = true)]
    pub network: bool,
    /// Allow such calls without asking, for example 'shell(git push:*)'.
    #[arg(long, value_name = "RULE", global = true, hide_short_help = true)]
    pub allow: Vec<String>,
    /// Ask before such calls; goes before --allow.
    #[arg(long, value_name = "RULE", global = true, hide_short_help = true)]
    pub ask: Vec<String>,
    /// Never allow such calls; goes before --ask and --allow.
    #[arg(long, value_name = "RULE", global = true, hide_short_help = true)]
    pub deny: Vec<String>,
    /// Plain lines: no colours, no moving about, words instead of signs.
    #[arg(long, global = true, hide_short_help = true)]
    pub plain: bool,
    /// When to use colours.
    #[arg(long, value_name = "WHEN", global = true, value_enum, default_value_t, hide_short_help = true)]
    pub color: When,
}

/// How far commands and tools reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Reach {
    /// They read, and write nothing.
    ReadOnly,
    /// They write in the folder that is worked in; this is the usual.
    WorkspaceWrite,
    /// They may do whatever you may do.
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

impl When {
    /// What a command line says that could not be read, and is to be told so in these colours.
    pub fn in_words(words: &[OsString]) -> When {
        let mut said = words.iter().filter_map(|word| word.to_str()).skip_while(|word| !word.starts_with("--color"));
        let word = match said.next().and_then(|word| word.strip_prefix("--color")) {
            Some("") => said.next(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        word.and_then(|word| When::from_str(word, false).ok()).unwrap_or_default()
    }
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
