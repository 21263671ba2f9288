//! The files that `tillerman init` makes in a folder. It only adds: what is there stays as it is.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::ConfigError;
use crate::workspace::defaults;

/// A file that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrote {
    /// Below the folder.
    pub path: PathBuf,
    /// It was written now; otherwise it was there and was kept.
    pub new: bool,
}

/// Makes a folder a workspace: config.md, AGENTS.md, memory, an example skill, `.tasks/.gitignore`.
///
/// Files that exist are kept to the byte, so it can be run again. It trusts nothing: that is for a person to say.
///
/// # Errors
/// The folder or a file cannot be written; what was made before that stays.
pub fn init(dir: &Path) -> Result<Vec<Wrote>, ConfigError> {
    let templates = defaults::list("workspace").into_iter().filter_map(|path| {
        let text = defaults::text(&path)?;
        Some((path.strip_prefix("workspace/")?.to_owned(), text))
    });
    let tasks = (".tasks/.gitignore".to_owned(), "*\n".to_owned());
    let mut wrote = Vec::new();
    for (path, text) in templates.chain([tasks]) {
        let full = dir.join(&path);
        let new = create(&full, &text).map_err(|cause| ConfigError::Unreadable { path: full, cause })?;
        wrote.push(Wrote { path: path.into(), new });
    }
    Ok(wrote)
}

/// Writes a file that is not there; a link that leads nowhere counts as there.
fn create(path: &Path, text: &str) -> io::Result<bool> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(text.as_bytes()).map(|()| true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
