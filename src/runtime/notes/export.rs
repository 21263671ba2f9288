//! Notes in the form of another program: `[{"timestamp", "category", "content"}]`, as they are read from there.

use std::fs;
use std::io::Read as _;

use serde::Serialize;

use super::{category_of, files, foreign};
use crate::workspace::Workspace;
use crate::workspace::policy::{PathError, PathPolicy, Profile};

/// Most bytes of a file of notes; agents write far less.
const MOST: u64 = 10 << 20;

/// Most names of agents in an error.
const NAMED: usize = 10;

/// A note as the other program has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Noted {
    /// The day, as `2025-03-01`; empty where the line has none.
    pub timestamp: String,
    /// A word for it, or empty.
    pub category: String,
    /// The words.
    pub content: String,
}

/// Why there is nothing to write out.
#[derive(Debug, thiserror::Error)]
pub enum NoNotes {
    /// The name is none that an agent can have.
    #[error("{0:?} is no name of an agent")]
    Name(String),
    /// Nobody noted anything there.
    #[error("nothing is noted in {path}{others}")]
    Nothing {
        /// The file, below the root.
        path: String,
        /// Who noted something, as the end of the sentence.
        others: String,
    },
    /// The file is none, or too large, or cannot be read.
    #[error("the notes in {path} cannot be read: {why}")]
    Unread {
        /// The file, below the root.
        path: String,
        /// Why not.
        why: String,
    },
}

/// What an agent noted in a workspace, or a main agent, the oldest first: every line that says something.
///
/// # Errors
/// [`NoNotes`] names the file.
pub fn noted(workspace: &Workspace, agent: Option<&str>) -> Result<Vec<Noted>, NoNotes> {
    let is_wrong = |name: &&str| name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']);
    if let Some(name) = agent.filter(is_wrong) {
        return Err(NoNotes::Name(name.to_owned()));
    }
    let (path, other) = files(agent, workspace.root());
    let unread = |why: String| NoNotes::Unread { path: path.clone(), why };
    let policy = PathPolicy::new(Profile::Free, workspace.root()).map_err(|error| unread(error.to_string()))?;
    let text = match policy.open(&path) {
        Ok(file) => {
            let mut text = String::new();
            file.take(MOST + 1).read_to_string(&mut text).map_err(|error| unread(error.to_string()))?;
            if text.len() as u64 > MOST {
                return Err(unread(format!("it is larger than {} MB", MOST >> 20)));
            }
            text
        }
        Err(PathError::Missing { .. }) => foreign(&other).unwrap_or_default(),
        Err(error) => return Err(unread(error.to_string())),
    };
    let all: Vec<Noted> = text.lines().filter(|line| !line.trim().is_empty()).map(read).collect();
    match all.is_empty() {
        true => Err(NoNotes::Nothing { others: others(workspace), path }),
        false => Ok(all),
    }
}

/// A line as agents write them, or any other.
fn read(line: &str) -> Noted {
    let category = category_of(line).unwrap_or_default();
    let rest = line.strip_prefix("- ").unwrap_or(line).trim();
    let is_day = |word: &&str| {
        let form = |(at, c): (usize, char)| if at == 4 || at == 7 { c == '-' } else { c.is_ascii_digit() };
        word.len() == 10 && word.char_indices().all(form)
    };
    let day = rest.split(' ').next().filter(is_day).unwrap_or_default();
    let rest = rest[day.len()..].trim_start();
    let rest = rest.strip_prefix(&format!("[{category}]")).unwrap_or(rest);
    Noted { timestamp: day.to_owned(), category: category.to_owned(), content: rest.trim().to_owned() }
}

/// Which agents noted something.
fn others(workspace: &Workspace) -> String {
    let entries = fs::read_dir(workspace.root().join("memory/agents"));
    let name = |path: std::path::PathBuf| Some(path.file_name()?.to_str()?.strip_suffix(".md")?.to_owned());
    let mut names: Vec<String> =
        entries.into_iter().flatten().flatten().filter_map(|entry| name(entry.path())).collect();
    names.sort_unstable();
    names.truncate(NAMED);
    if names.is_empty() { String::new() } else { format!("; --agent takes {}", names.join(", ")) }
}
