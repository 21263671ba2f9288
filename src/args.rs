//! The command line as it is typed. What the words do is told in `cli` and `repl`.

mod compaction;
mod doctor;
mod every;
mod examples;
mod help;
mod notes;
mod run;
mod sessions;
mod settings;
mod tasks;
mod tools;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

pub use self::compaction::Compaction;
pub use self::doctor::Doctor;
pub use self::every::{Common, Reach, When};
pub use self::help::{VARIABLES, exit_codes};
pub use self::notes::Notes;
pub use self::run::{Dialect, Most, Run};
pub use self::sessions::{Form, Sessions, Trash};
pub use self::settings::Settings;
pub use self::tasks::Tasks;
pub use self::tools::Tools;

/// One agent at the tiller, a crew of background workers below.
///
/// Without a command it opens a prompt in this folder. It works before you have any key: the built-in pilot, which is no
/// language model, then drives the same tools and workers.
#[derive(Debug, Parser)]
#[command(name = "tillerman", version)]
pub struct Args {
    /// What every command understands.
    #[command(flatten)]
    pub common: Common,
    /// What to do; nothing opens the prompt.
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl Args {
    /// Lines that can be typed for a command, by its words, each with what it does.
    pub fn examples(path: &str) -> &'static [(&'static str, &'static str)] {
        examples::of(path)
    }

    /// Reads a command line, the program's name first.
    ///
    /// # Errors
    /// Help that was asked for, and slips; both are shown with explanations and the nearest that exists.
    pub fn read(words: &[OsString]) -> Result<Args, clap::Error> {
        // The explanations are made only where somebody reads them.
        Args::try_parse_from(words).or_else(|_| Args::from_arg_matches(&help::dressed().try_get_matches_from(words)?))
    }
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Answer one prompt and end.
    ///
    /// The answer goes to stdout, what happens meanwhile to stderr.
    Run(Run),
    /// Be driven by another program.
    ///
    /// It reads orders as lines of JSON on stdin, and writes what happens and what came of each order on stdout.
    Rpc {
        /// When stdin ends, wait for the tasks too.
        #[arg(long)]
        wait: bool,
    },
    /// Watch two workers at work for a few seconds; no key, no network.
    Demo,
    /// Play a recording again.
    ///
    /// Lines and replies are those that were recorded; tools really run, in a folder of their own or in the one of -w.
    Replay {
        /// The file that --record wrote.
        file: PathBuf,
        /// Print every event as a line of JSON; the last is session.end.
        #[arg(long)]
        json: bool,
        /// Without the waits.
        #[arg(long)]
        fast: bool,
    },
    /// See the tasks of this folder and give their workers orders.
    ///
    /// It works from any terminal, also while another one runs them.
    Tasks {
        /// What to do; the list when not given.
        #[command(subcommand)]
        command: Option<Tasks>,
        /// Print JSON instead of text.
        #[arg(long, global = true)]
        json: bool,
    },
    /// See, search and tidy the conversations of this folder.
    ///
    /// An ID may be shortened as long as it fits one conversation only; "latest" is the one that was last written to.
    Sessions {
        /// What to do; the list when not given.
        #[command(subcommand)]
        command: Option<Sessions>,
        /// Print JSON instead of text.
        #[arg(long, global = true)]
        json: bool,
    },
    /// See what was summed up of a long conversation, and take it back.
    ///
    /// A conversation that gets too long for its model is shortened: older parts are summed up, and nothing is lost.
    Compaction {
        /// What to do; the list when not given.
        #[command(subcommand)]
        command: Option<Compaction>,
        /// Print JSON instead of text.
        #[arg(long, global = true)]
        json: bool,
    },
    /// Take out what agents noted for later.
    Notes {
        /// What to do.
        #[command(subcommand)]
        command: Notes,
    },
    /// See the tools that agents have, and run one by hand.
    Tool {
        /// What to do; the list when not given.
        #[command(subcommand)]
        command: Option<Tools>,
        /// Print JSON instead of text.
        #[arg(long, global = true)]
        json: bool,
    },
    /// Make a folder ready: settings, AGENTS.md, an example skill.
    ///
    /// Nothing is overwritten, so it can be run again. Settings that it wrote itself are trusted from then on.
    Init {
        /// The folder; made when missing, the current one when not given.
        dir: Option<PathBuf>,
    },
    /// List the models that you can use, with sizes and prices.
    Models {
        /// All models of this provider, also without a key.
        #[arg(value_name = "PROVIDER")]
        provider: Option<String>,
        /// Ask the providers first what they have; the answer is kept for a day.
        #[arg(long)]
        refresh: bool,
        /// Print JSON instead of text.
        #[arg(long)]
        json: bool,
    },
    /// See the rules about what agents may do.
    Permissions {
        /// What to do; the list when not given.
        #[command(subcommand)]
        command: Option<Permissions>,
        /// Print JSON instead of text.
        #[arg(long, global = true)]
        json: bool,
    },
    /// Check what works here and how to mend what does not.
    Doctor(Doctor),
    /// See every setting, its value and where it comes from.
    Config {
        /// What to do; the settings when not given.
        #[command(subcommand)]
        command: Option<Settings>,
        /// Print JSON instead of text.
        #[arg(long, global = true)]
        json: bool,
    },
    /// Print what makes a shell complete commands and options.
    Completions {
        /// Which shell.
        #[arg(value_name = "SHELL", value_enum)]
        shell: Shell,
    },
    /// Print the manual, or write its pages into a folder.
    Man {
        /// The folder, made when missing; one page for each command.
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// What to do with rules.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Permissions {
    /// List all rules in the order in which they count.
    List,
    /// Say what becomes of one call; ends with 7 unless it is allowed.
    Explain {
        /// The call, for example 'shell(git push)'.
        call: String,
    },
}
