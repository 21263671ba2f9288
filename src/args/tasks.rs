//! The words behind `tillerman tasks`.

use std::path::PathBuf;

use clap::Subcommand;

use crate::message::{Approval, Budget};

/// Ways to look at tasks, and orders. Orders go to the tillerman that works in this workspace.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Tasks {
    /// List all tasks, one per line.
    List,
    /// Show one task: what was asked, how far it is, what came out.
    Show {
        /// The task, for example t_003.
        id: String,
    },
    /// Follow what a worker says and does until its task ends.
    ///
    /// The exit code then tells how it ended.
    Tail {
        /// The task, for example t_003.
        id: String,
    },
    /// See all workers on one screen, as they go on.
    ///
    /// For each: its state, its cost, what it does now, and questions that wait for you.
    Watch,
    /// Hand work to a new worker.
    ///
    /// A tillerman has to be open in this folder: its main agent is told when the work is done.
    Dispatch {
        /// The work, told in full; - reads it from stdin.
        #[arg(value_name = "TEXT", required = true, num_args = 1..)]
        text: Vec<String>,
        /// Its title, instead of the beginning of the work.
        #[arg(long, value_name = "TITLE")]
        title: Option<String>,
        /// Who does it, for example coder; `tillerman doctor` lists them.
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// A path that it may change besides its own folder; any number of times.
        #[arg(long, value_name = "PATH")]
        touches: Vec<String>,
        /// Make a task for each row of this CSV or JSON-lines file; {{column}} in the text is filled in.
        #[arg(long, value_name = "FILE")]
        rows: Option<PathBuf>,
        /// Start when this task is over, and hand over its result; any number of times.
        #[arg(long, value_name = "ID")]
        after: Vec<String>,
        /// How soon: low, normal or high.
        #[arg(long, value_name = "WHEN")]
        priority: Option<String>,
        /// What it does when a rule says to ask: ask (and wait for you) or deny.
        #[arg(long, value_name = "WHAT")]
        approval: Option<Approval>,
        /// What it may use: dollars, tokens, minutes, turns, like "$0.50 400k 20m 40 turns".
        #[arg(long, value_name = "BUDGET", allow_negative_numbers = true)]
        budget: Option<Budget>,
    },
    /// Tell a worker something now; it hears it before its next step.
    Steer {
        /// The task, for example t_003.
        id: String,
        /// The words; - reads them from stdin.
        #[arg(value_name = "TEXT", required = true, num_args = 1..)]
        text: Vec<String>,
        /// Wait until the worker has seen it.
        #[arg(long)]
        wait: bool,
    },
    /// Tell a worker something that it hears when it is done.
    FollowUp {
        /// The task, for example t_003.
        id: String,
        /// The words; - reads them from stdin.
        #[arg(value_name = "TEXT", required = true, num_args = 1..)]
        text: Vec<String>,
        /// Wait until the worker has seen it.
        #[arg(long)]
        wait: bool,
    },
    /// Answer the question of a worker that waits.
    Answer {
        /// The task, for example t_003.
        id: String,
        /// The number or name of an option, or words of your own.
        #[arg(value_name = "ANSWER", required = true, num_args = 1..)]
        text: Vec<String>,
        /// Which of several questions; the oldest if you give none.
        #[arg(short, long, value_name = "N")]
        question: Option<u32>,
    },
    /// See what a task has used, or let it use more.
    Budget {
        /// The task, for example t_003.
        id: String,
        /// More (+0.25, +5m), or another limit (400k, 40 turns).
        #[arg(value_name = "CHANGE", num_args = 0.., allow_negative_numbers = true)]
        change: Vec<String>,
    },
    /// Stop tasks, running or waiting.
    Abort {
        /// The tasks, for example t_003 t_004.
        #[arg(value_name = "ID", required = true, num_args = 1..)]
        ids: Vec<String>,
    },
    /// Give more work to a worker that has ended; it knows what it did.
    Continue {
        /// The task, for example t_003.
        id: String,
        /// What to do now; - reads it from stdin.
        #[arg(value_name = "TEXT", required = true, num_args = 1..)]
        text: Vec<String>,
    },
    /// Go on with tasks that were stopped, failed or ran out of turns.
    ///
    /// Where no tillerman is open in this folder, this command does the work itself and waits for it.
    Resume {
        /// The tasks, for example t_003 t_004.
        #[arg(value_name = "ID", required = true, num_args = 1..)]
        ids: Vec<String>,
    },
}
