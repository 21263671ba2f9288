//! The file `.env` of a trusted workspace: variables that the process does not have, never put into its environment.

use std::fs;
use std::path::{Path, PathBuf};

use super::{ConfigError, raw::Place};

/// Most bytes of the file.
const MAX: u64 = 64 * 1024;

/// Variables of a file; empty when there is none or it may not be read.
#[derive(Default)]
pub(super) struct DotEnv {
    path: PathBuf,
    variables: Vec<Variable>,
    pub(super) warnings: Vec<String>,
}

/// A line `NAME=value`. It has no `Debug`, because its value may be a key.
struct Variable {
    line: usize,
    name: String,
    value: String,
}

impl DotEnv {
    /// Reads the file of a workspace, or says that it is ignored.
    pub(super) fn read(root: &Path, trusted: bool) -> Result<DotEnv, ConfigError> {
        let path = root.join(".env");
        let mut read = DotEnv { path: path.clone(), ..DotEnv::default() };
        let Ok(found) = fs::metadata(&path) else { return Ok(read) };
        if !found.is_file() {
            return Ok(read);
        }
        if !trusted {
            let why = "this workspace is not trusted yet; use --trust once you have read it";
            read.warnings.push(format!("{} ignored: {why}", path.display()));
            return Ok(read);
        }
        if found.len() > MAX {
            read.warnings.push(format!("{} ignored: it has over {MAX} bytes", path.display()));
            return Ok(read);
        }
        let text = fs::read_to_string(&path).map_err(|cause| ConfigError::Unreadable { path: path.clone(), cause })?;
        for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            match parse(line) {
                Some(Some((name, value))) => read.variables.push(Variable { line: at + 1, name, value }),
                Some(None) => {}
                None => {
                    let line = at + 1;
                    read.warnings.push(format!("{} line {line} ignored: write NAME=value", path.display()));
                }
            }
        }
        Ok(read)
    }

    /// The last value written for a name.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        self.find(name).map(|variable| variable.value.clone())
    }

    /// Names and values of all.
    pub(super) fn all(&self) -> impl Iterator<Item = (String, String)> {
        self.variables.iter().map(|variable| (variable.name.clone(), variable.value.clone()))
    }

    /// Where that is.
    pub(super) fn place(&self, name: &str) -> Place {
        Place::File { path: self.path.clone(), line: self.find(name).map(|variable| variable.line) }
    }

    fn find(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().rev().find(|variable| variable.name == name)
    }
}

/// A line: `Some(None)` for an empty one or a comment, `None` for one that cannot be read.
#[expect(clippy::option_option, reason = "nothing on the line, and no sense in it, are two things")]
fn parse(line: &str) -> Option<Option<(String, String)>> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Some(None);
    }
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(fits) || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    Some(Some((name.to_owned(), unquote(value.trim())?)))
}

/// `'as it is'`, `"with \n and \""`, or bare up to a ` #`.
fn unquote(value: &str) -> Option<String> {
    let mut chars = value.chars();
    match chars.next() {
        Some('\'') => chars.as_str().split_once('\'').map(|(inside, _)| inside.to_owned()),
        Some('"') => {
            let mut text = String::new();
            loop {
                match chars.next()? {
                    '"' => return Some(text),
                    '\\' => match chars.next()? {
                        'n' => text.push('\n'),
                        't' => text.push('\t'),
                        other => text.push(other),
                    },
                    other => text.push(other),
                }
            }
        }
        _ => Some(value.split_once(" #").map_or(value, |(before, _)| before).trim_end().to_owned()),
    }
}
