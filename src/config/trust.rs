//! Which workspaces a person trusts: their paths in `trust.yaml` of the home, where no workspace can write.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::ConfigError;
use crate::workspace::{Workspace, write_atomic};

/// What is kept about a trusted folder.
#[derive(Debug, Serialize, Deserialize)]
struct Trusted {
    /// Tells it from another folder that has come to the same path since: its inode, which the next folder may get
    /// again, and where the file system knows it, when it was made.
    folder: String,
    /// The day.
    since: String,
}

/// A person trusts this workspace: its settings count from now on. Says so once, also if it was trusted before.
///
/// The path without symlinks and the folder itself are remembered, so a moved folder, or another one in its place, is
/// asked about anew; nothing in the folder plays a part.
///
/// # Errors
/// A `trust.yaml` that cannot be read or written.
pub fn trust(workspace: &Workspace) -> Result<(), ConfigError> {
    let path = workspace.home().join("trust.yaml");
    let mut list = read(&path)?;
    let since = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    list.insert(workspace.root().to_string_lossy().into_owned(), Trusted { folder: identity(workspace)?, since });
    let unreadable = |cause| ConfigError::Unreadable { path: path.clone(), cause };
    let text = serde_yaml::to_string(&list).map_err(|error| unreadable(std::io::Error::other(error)))?;
    let text = format!("# Folders whose settings tillerman follows. Delete an entry to be asked again.\n{text}");
    write_atomic(&path, text.as_bytes()).map_err(unreadable)
}

/// A person has said that this workspace is trusted.
///
/// # Errors
/// A `trust.yaml` that cannot be read.
pub fn is_trusted(workspace: &Workspace) -> Result<bool, ConfigError> {
    let list = read(&workspace.home().join("trust.yaml"))?;
    match list.get(workspace.root().to_string_lossy().as_ref()) {
        Some(trusted) => Ok(trusted.folder == identity(workspace)?),
        None => Ok(false),
    }
}

fn read(path: &Path) -> Result<BTreeMap<String, Trusted>, ConfigError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(cause) => return Err(ConfigError::Unreadable { path: path.to_path_buf(), cause }),
    };
    let list: Option<BTreeMap<String, Trusted>> =
        serde_yaml::from_str(&text).map_err(|error| ConfigError::broken(path, &error))?;
    Ok(list.unwrap_or_default())
}

fn identity(workspace: &Workspace) -> Result<String, ConfigError> {
    let path: PathBuf = workspace.root().to_path_buf();
    let folder = fs::metadata(&path).map_err(|cause| ConfigError::Unreadable { path, cause })?;
    let born = folder.created().ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    let born = born.map_or(String::new(), |born| format!(" made {}", born.as_nanos()));
    Ok(format!("inode {}{born}", folder.ino()))
}
