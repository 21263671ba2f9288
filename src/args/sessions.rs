//! The words behind `tillerman sessions`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

/// Ways to look at conversations and to put them in order. An ID may be shortened as long as it fits one session
/// only; `latest` is the one that was last written to.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Sessions {
    /// All sessions, the last written first.
    List {
        /// Those in the archive instead.
        #[arg(long, conflicts_with = "trash")]
        archived: bool,
        /// Those in the trash instead.
        #[arg(long)]
        trash: bool,
        /// At most so many.
        #[arg(short = 'n', long, value_name = "N")]
        limit: Option<usize>,
    },
    /// One session: title, size, branches, cost, and how the conversation ended; t_003 shows that worker's.
    Show {
        /// The session.
        #[arg(default_value = "latest")]
        id: String,
        /// So many of the last messages.
        #[arg(long, value_name = "N", default_value_t = 8)]
        last: usize,
    },
    /// Find entries in which all of the words are, in all sessions.
    Search {
        /// Words or parts of words, in whatever case.
        #[arg(value_name = "WORD", required = true, num_args = 1..)]
        words: Vec<String>,
        /// Also in the archive.
        #[arg(long)]
        archived: bool,
        /// Also in the conversations of workers.
        #[arg(long)]
        workers: bool,
        /// At most so many sessions.
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
        limit: usize,
        /// At most so many entries of each; the newest.
        #[arg(long, value_name = "N", default_value_t = 3)]
        each: usize,
    },
    /// Give a session another title.
    Rename {
        /// The session.
        id: String,
        /// The title.
        #[arg(required = true, num_args = 1..)]
        title: Vec<String>,
    },
    /// A conversation as a tree: what was said, branches beside the way that goes on.
    Tree {
        /// The session.
        #[arg(default_value = "latest")]
        id: String,
        /// The end of the part that is shown, for example m37; the end of the tree when not given.
        entry: Option<String>,
        /// At most so many rows.
        #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// The branches of a conversation.
    Branches {
        /// The session.
        #[arg(default_value = "latest")]
        id: String,
    },
    /// Go back to an entry: what is said next goes on from there, and nothing is deleted.
    Branch {
        /// The session.
        id: String,
        /// For example m37; `tree` shows them.
        entry: String,
    },
    /// Go to the end of the branch that an entry lies on.
    Switch {
        /// The session.
        id: String,
        /// For example m37; `branches` shows them.
        entry: String,
    },
    /// Begin a new session with everything up to an entry; the old one stays as it is.
    Fork {
        /// The session.
        #[arg(default_value = "latest")]
        id: String,
        /// For example m37; where the conversation stands when not given.
        entry: Option<String>,
    },
    /// Write a session out, to be read or worked with elsewhere.
    Export {
        /// The session; t_003 is that worker's.
        #[arg(default_value = "latest")]
        id: String,
        /// The form: md and html are to be read, json has every entry, v2 is one flat object.
        #[arg(short, long, value_enum, default_value_t)]
        format: Form,
        /// Into this file, which must not be there; to stdout when not given.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Begin a session from a JSON file: an array of messages (v1) or an object with messages (v2).
    Import {
        /// The file.
        file: PathBuf,
    },
    /// Put sessions away.
    Archive {
        /// The sessions.
        #[arg(value_name = "ID", required = true, num_args = 1..)]
        ids: Vec<String>,
    },
    /// Take sessions out of the archive.
    Unarchive {
        /// The sessions.
        #[arg(value_name = "ID", required = true, num_args = 1..)]
        ids: Vec<String>,
    },
    /// Put sessions into the trash.
    Delete {
        /// The sessions.
        #[arg(value_name = "ID", required = true, num_args = 1..)]
        ids: Vec<String>,
    },
    /// Look into the trash, take sessions out of it, or empty it.
    Trash {
        /// What to do; the list when not given.
        #[command(subcommand)]
        command: Option<Trash>,
    },
}

/// What can be done with the trash.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Trash {
    /// What is in it.
    List,
    /// Take sessions out of it.
    Restore {
        /// The sessions.
        #[arg(value_name = "ID", required = true, num_args = 1..)]
        ids: Vec<String>,
    },
    /// Remove what is in it from the disk, for good.
    Empty {
        /// Do not ask.
        #[arg(long)]
        yes: bool,
    },
}

/// How a session is written out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Markdown.
    #[default]
    Md,
    /// One HTML file without scripts.
    Html,
    /// All entries of all branches.
    Json,
    /// Title, summary and messages in one flat object, which `import` reads.
    V2,
}
