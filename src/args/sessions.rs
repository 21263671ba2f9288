//! The words behind `tillerman sessions`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

/// Ways to look at conversations and to put them in order. An ID may be shortened as long as it fits one session
/// only; `latest` is the one that was last written to.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Sessions {
    /// List all conversations, the latest first.
    List {
        /// Those that were put away instead.
        #[arg(long, conflicts_with = "trash")]
        archived: bool,
        /// Those in the trash instead.
        #[arg(long)]
        trash: bool,
        /// At most so many conversations.
        #[arg(short = 'n', long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Show one: title, size, cost, and how it ended.
    ///
    /// t_003 instead of an ID shows what that worker said.
    Show {
        /// The conversation: the beginning of its id, or latest.
        #[arg(default_value = "latest")]
        id: String,
        /// Show so many of the last messages.
        #[arg(long, value_name = "N", default_value_t = 8)]
        last: usize,
    },
    /// Find where something was said, in all conversations.
    Search {
        /// Words or parts of words; all have to be there.
        #[arg(value_name = "WORD", required = true, num_args = 1..)]
        words: Vec<String>,
        /// Also in conversations that were put away.
        #[arg(long)]
        archived: bool,
        /// Also in the conversations of workers.
        #[arg(long)]
        workers: bool,
        /// At most so many conversations.
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
        limit: usize,
        /// At most so many places in each, the latest.
        #[arg(long, value_name = "N", default_value_t = 3)]
        each: usize,
    },
    /// Give a conversation another title.
    Rename {
        /// The conversation: the beginning of its id, or latest.
        id: String,
        /// The title.
        #[arg(required = true, num_args = 1..)]
        title: Vec<String>,
    },
    /// Draw a conversation with all ways that were tried.
    Tree {
        /// The conversation: the beginning of its id, or latest.
        #[arg(default_value = "latest")]
        id: String,
        /// Where the drawing ends, for example m37.
        entry: Option<String>,
        /// At most so many lines.
        #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// List the ways that were tried in a conversation.
    Branches {
        /// The conversation: the beginning of its id, or latest.
        #[arg(default_value = "latest")]
        id: String,
    },
    /// Go back: what you say next goes on from there.
    ///
    /// Nothing is deleted: `switch` goes to where you were.
    Branch {
        /// The conversation: the beginning of its id, or latest.
        id: String,
        /// The place, for example m37; `tree` shows them.
        entry: String,
    },
    /// Go to the end of another way that was tried.
    Switch {
        /// The conversation: the beginning of its id, or latest.
        id: String,
        /// A place on it, for example m52; `branches` shows them.
        entry: String,
    },
    /// Begin a new conversation with all that was said in this one.
    Fork {
        /// The conversation: the beginning of its id, or latest.
        #[arg(default_value = "latest")]
        id: String,
        /// Up to there, for example m37, instead of all.
        entry: Option<String>,
    },
    /// Write a conversation out, to read it elsewhere.
    Export {
        /// The conversation; t_003 is that worker's.
        #[arg(default_value = "latest")]
        id: String,
        /// The form.
        #[arg(short, long, value_enum, default_value_t)]
        format: Form,
        /// Into this new file, instead of stdout.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Begin a conversation with one that another program kept.
    ///
    /// The file is JSON: an array of messages, or an object that has one under "messages".
    Import {
        /// The file.
        file: PathBuf,
    },
    /// Put conversations away.
    Archive {
        /// The conversations: the beginnings of their ids, or latest.
        #[arg(value_name = "ID", required = true, num_args = 1..)]
        ids: Vec<String>,
    },
    /// Take back what was put away.
    Unarchive {
        /// The conversations: the beginnings of their ids, or latest.
        #[arg(value_name = "ID", required = true, num_args = 1..)]
        ids: Vec<String>,
    },
    /// Put conversations into the trash.
    Delete {
        /// The conversations: the beginnings of their ids, or latest.
        #[arg(value_name = "ID", required = true, num_args = 1..)]
        ids: Vec<String>,
    },
    /// Look into the trash, take something out, or empty it.
    Trash {
        /// What to do; the list when not given.
        #[command(subcommand)]
        command: Option<Trash>,
    },
}

/// What can be done with the trash.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Trash {
    /// List what is in it.
    List,
    /// Take conversations out of it.
    Restore {
        /// The conversations: the beginnings of their ids, or latest.
        #[arg(value_name = "ID", required = true, num_args = 1..)]
        ids: Vec<String>,
    },
    /// Remove what is in it, for good.
    Empty {
        /// Do not ask.
        #[arg(long)]
        yes: bool,
    },
}

/// How a session is written out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Markdown, to be read.
    #[default]
    Md,
    /// A web page in one file, to be read.
    Html,
    /// Everything, also ways that were left.
    Json,
    /// Title, summary and messages, which `import` reads.
    V2,
}
