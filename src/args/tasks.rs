//! The words behind `tillerman tasks`.

use std::path::PathBuf;

use clap::Subcommand;

use crate::message::{Approval, Budget};

/// Ways to look at tasks, and orders. Orders go to the tillerman that works in this workspace.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Tasks {
    /// All tasks, one per line.
    List,
    /// One task: what it was asked, how far it is, what came out.
    Show {
        /// For example t_003.
        id: String,
    },
    /// What a worker says and does, as it happens, until its task ends; the exit code then tells how.
    Tail {
        /// For example t_003.
        id: String,
    },
    /// One screen of all workers, as they go on: state, turn, window, cost, what each does, and questions that wait.
    Watch,
    /// Hand over work; the main agent that is open there is told of its end.
    Dispatch {
        /// The work, complete in itself; `-` reads it from stdin.
        #[arg(value_name = "TEXT", required = true, num_args = 1..)]
        text: Vec<String>,
        /// Its title; the beginning of the work when not given.
        #[arg(long, value_name = "TITLE")]
        title: Option<String>,
        /// The role that does it; agents/ and `tillerman doctor` know which there are.
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// A path that the worker may write besides its own directory; may be given several times.
        #[arg(long, value_name = "PATH")]
        touches: Vec<String>,
        /// A task for each row of this CSV (with a header) or JSON-lines file; {{column}} in the text is filled in.
        #[arg(long, value_name = "FILE")]
        rows: Option<PathBuf>,
        /// A task that must be over first, for example t_003, whose result is handed over; may be given several times.
        #[arg(long, value_name = "ID")]
        after: Vec<String>,
        /// low, normal or high.
        #[arg(long, value_name = "WHEN")]
        priority: Option<String>,
        /// What becomes of calls that a rule wants asked: ask (the task rests until a person answers) or deny.
        #[arg(long, value_name = "WHAT")]
        approval: Option<Approval>,
        /// What it may use, for example "$0.50 400k 20m 40 turns".
        #[arg(long, value_name = "BUDGET", allow_negative_numbers = true)]
        budget: Option<Budget>,
    },
    /// Tell a worker something; it hears it before its next model call.
    Steer {
        /// For example t_003.
        id: String,
        /// The words; `-` reads them from stdin.
        #[arg(value_name = "TEXT", required = true, num_args = 1..)]
        text: Vec<String>,
        /// Wait until it is seen.
        #[arg(long)]
        wait: bool,
    },
    /// Tell a worker something that it hears when it would be done.
    FollowUp {
        /// For example t_003.
        id: String,
        /// The words; `-` reads them from stdin.
        #[arg(value_name = "TEXT", required = true, num_args = 1..)]
        text: Vec<String>,
        /// Wait until it is seen.
        #[arg(long)]
        wait: bool,
    },
    /// Answer a question of a task that rests: an option by its number or name, or words of your own.
    Answer {
        /// For example t_003.
        id: String,
        /// The answer.
        #[arg(value_name = "ANSWER", required = true, num_args = 1..)]
        text: Vec<String>,
        /// Which question, for example 2; the one that has been open for longest when not given.
        #[arg(short, long, value_name = "N")]
        question: Option<u32>,
    },
    /// What a task has used of what it may use; with an order, more of it (+0.25, +5m) or another limit (20m).
    Budget {
        /// For example t_003.
        id: String,
        /// For example +0.25, or 400k 40 turns.
        #[arg(value_name = "CHANGE", num_args = 0.., allow_negative_numbers = true)]
        change: Vec<String>,
    },
    /// Stop tasks, running or waiting.
    Abort {
        /// For example t_003 t_004.
        #[arg(value_name = "ID", required = true, num_args = 1..)]
        ids: Vec<String>,
    },
    /// Go on with a task that has ended, also one that is done, with a new instruction in its old context.
    Continue {
        /// For example t_003.
        id: String,
        /// What to do now; `-` reads it from stdin.
        #[arg(value_name = "TEXT", required = true, num_args = 1..)]
        text: Vec<String>,
    },
    /// Go on with tasks that were interrupted, aborted, failed or ran out of turns; where no tillerman works, here, and
    /// wait for them.
    Resume {
        /// For example t_003 t_004.
        #[arg(value_name = "ID", required = true, num_args = 1..)]
        ids: Vec<String>,
    },
}
