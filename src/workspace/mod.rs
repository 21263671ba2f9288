//! Where everything lives: the folder that the user owns and the state that the runtime owns. What the files mean is told elsewhere.

pub mod defaults;
pub mod git;
pub mod guarded;
mod lock;
pub mod policy;
pub mod scratch;
pub mod upkeep;

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use sha2::{Digest, Sha256};

pub use lock::{Lock, Owner};

/// Names the folder of the runtime's own files in the environment.
pub const HOME_VARIABLE: &str = "TILLERMAN_HOME";

/// A folder that somebody works in, and the private folder of the runtime that belongs to it.
///
/// All paths are absolute; root and home have no symlinks left in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    root: PathBuf,
    home: PathBuf,
    state: PathBuf,
    sessions: PathBuf,
    /// Where the state would be kept, when nothing is.
    instead_of: Option<PathBuf>,
}

/// A workspace that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The folder is missing or cannot be looked into.
    #[error("cannot open the workspace {}: {cause}; name an existing folder with -w", path.display())]
    NoFolder {
        /// As it was asked for.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The path names something else than a folder.
    #[error("the workspace {} is not a folder; name a folder with -w", path.display())]
    NotAFolder {
        /// As it was asked for.
        path: PathBuf,
    },
    /// The folder cannot be written to.
    #[error("the workspace {} is not writable: {cause}; change its permissions, work in another folder with -w, or only look with --ephemeral", path.display())]
    ReadOnly {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The runtime's own folder cannot be made or written.
    #[error("cannot keep state in {}: {cause}; make it writable, set {HOME_VARIABLE} to another folder, or keep nothing with --ephemeral", path.display())]
    NoState {
        /// The folder or file that failed.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// Neither the variable nor a home directory is known.
    #[error("no home directory is known; set {HOME_VARIABLE} to a folder for sessions and settings")]
    NoHome,
    /// Another process works here.
    #[error("another tillerman works in {} ({owner}); end it first, or work in another folder with -w", root.display())]
    Locked {
        /// The workspace.
        root: PathBuf,
        /// The other process: its pid and when it began.
        owner: Owner,
    },
}

/// The runtime's own folder: `TILLERMAN_HOME`, or `.tillerman` in the user's home directory.
///
/// # Errors
/// [`WorkspaceError::NoHome`] when neither is known.
pub fn default_home() -> Result<PathBuf, WorkspaceError> {
    home_from(&|name| std::env::var_os(name))
}

/// The runtime's own folder in a given environment; an empty variable counts as absent.
///
/// # Errors
/// [`WorkspaceError::NoHome`] when neither `TILLERMAN_HOME` nor a home directory is known.
pub fn home_from(env: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf, WorkspaceError> {
    let set = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = match set(HOME_VARIABLE) {
        Some(home) => home,
        None => set("HOME").or_else(|| etcetera::home_dir().ok()).ok_or(WorkspaceError::NoHome)?.join(".tillerman"),
    };
    std::path::absolute(&home).map_err(|_| WorkspaceError::NoHome)
}

impl Workspace {
    /// Opens a folder to work in and makes the runtime's folders for it, for the owner's eyes only.
    ///
    /// # Errors
    /// The root must be a writable folder, and state must be writable below `home`.
    pub fn open(root: &Path, home: &Path) -> Result<Workspace, WorkspaceError> {
        let canonical = folder(root)?;
        rustix::fs::access(&canonical, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|cause| WorkspaceError::ReadOnly { path: root.to_path_buf(), cause: cause.into() })?;

        let no_state = |path: &Path, cause| WorkspaceError::NoState { path: path.to_path_buf(), cause };
        private_dir(home).map_err(|cause| no_state(home, cause))?;
        let home = home.canonicalize().map_err(|cause| no_state(home, cause))?;
        let state = home.join("workspaces").join(state_name(&canonical));
        let sessions = state.join("sessions");
        let workspace = Workspace { root: canonical, home, state, sessions, instead_of: None };
        workspace.make_folders()?;
        rustix::fs::access(&workspace.state, Access::WRITE_OK)
            .map_err(|cause| no_state(&workspace.state, cause.into()))?;
        Ok(workspace)
    }

    /// Opens a folder to work in without keeping anything: what the runtime owns goes into `scratch`, which the caller
    /// removes. Settings are read from `home` if there are any; neither it nor the root need be writable.
    ///
    /// # Errors
    /// The root must be a folder, and `scratch` must be writable.
    pub fn ephemeral(root: &Path, home: &Path, scratch: &Path) -> Result<Workspace, WorkspaceError> {
        let root = folder(root)?;
        let home = home.canonicalize().unwrap_or_else(|_| home.to_path_buf());
        let instead_of = Some(home.join("workspaces").join(state_name(&root)));
        let (state, sessions) = (scratch.to_path_buf(), scratch.join("sessions"));
        let workspace = Workspace { root, home, state, sessions, instead_of };
        workspace.make_folders()?;
        Ok(workspace)
    }

    fn make_folders(&self) -> Result<(), WorkspaceError> {
        for folder in [self.worker_sessions(), self.traces(), self.logs()] {
            private_dir(&folder).map_err(|cause| WorkspaceError::NoState { path: folder, cause })?;
        }
        Ok(())
    }

    /// Nothing is kept: what the runtime owns ends with the process.
    pub fn is_ephemeral(&self) -> bool {
        self.instead_of.is_some()
    }

    /// Keeps journals in another folder than the workspace's state.
    ///
    /// # Errors
    /// [`WorkspaceError::NoState`] when it cannot be made.
    pub fn with_sessions(mut self, dir: &Path) -> Result<Workspace, WorkspaceError> {
        let no_state = |cause| WorkspaceError::NoState { path: dir.to_path_buf(), cause };
        self.sessions = std::path::absolute(dir).map_err(no_state)?;
        private_dir(&self.worker_sessions()).map_err(no_state)?;
        Ok(self)
    }

    /// The user's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The runtime's folder for all workspaces: settings and trust.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The runtime's folder for this workspace.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Task directories, `.tasks` in the root.
    pub fn tasks(&self) -> PathBuf {
        self.root.join(".tasks")
    }

    /// Journals of the conversations with main agents.
    pub fn sessions(&self) -> PathBuf {
        self.sessions.clone()
    }

    /// Journals of workers.
    pub fn worker_sessions(&self) -> PathBuf {
        self.sessions().join("workers")
    }

    /// Traces, one file per run.
    pub fn traces(&self) -> PathBuf {
        self.state.join("traces")
    }

    /// Logs for people.
    pub fn logs(&self) -> PathBuf {
        self.state.join("logs")
    }

    /// The list of what is to do in a conversation with a main agent; made on first use.
    pub fn todo(&self, session: &str) -> PathBuf {
        self.state.join("todo").join(format!("{session}.md"))
    }

    /// Full tool outputs of a session that were cut for the model; made on first use.
    pub fn artifacts(&self, session: &str) -> PathBuf {
        self.state.join("artifacts").join(session)
    }
}

/// Replaces a file in one step: whoever reads it sees the old bytes or the new ones, also after a power cut.
///
/// A new file is for the owner's eyes only; one that exists keeps its permissions.
///
/// # Errors
/// What the system said; the old file is then untouched and nothing is left beside it.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut temp = tempfile::Builder::new().prefix(".").suffix(".tmp").tempfile_in(folder)?;
    temp.write_all(bytes)?;
    match fs::metadata(path) {
        Ok(old) if old.is_file() => temp.as_file().set_permissions(old.permissions())?,
        _ => {}
    }
    temp.as_file().sync_all()?;
    temp.persist(path).map_err(|failed| failed.error)?;
    File::open(folder)?.sync_all()
}

/// The folder without symlinks in its path.
fn folder(root: &Path) -> Result<PathBuf, WorkspaceError> {
    let no_folder = |cause| WorkspaceError::NoFolder { path: root.to_path_buf(), cause };
    let canonical = root.canonicalize().map_err(no_folder)?;
    match fs::metadata(&canonical).map_err(no_folder)?.is_dir() {
        true => Ok(canonical),
        false => Err(WorkspaceError::NotAFolder { path: root.to_path_buf() }),
    }
}

fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Readable and unique: the folder's own name, made harmless, and a hash of its whole path.
fn state_name(root: &Path) -> String {
    let name = root.file_name().unwrap_or(OsStr::new("root")).to_string_lossy();
    let harmless = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = name.chars().take(40).map(harmless).collect();
    let hash = Sha256::digest(root.as_os_str().as_bytes());
    let hash: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{name}-{hash}")
}
