//! The named sets of rights: where each reads, where it writes, and what it leaves alone nevertheless.

use std::path::{Path, PathBuf};

/// The folders that the profile `curated` writes.
const CURATED: [&str; 3] = ["memory", "skills", "knowledge"];
/// What configures the runtime, below the base: nothing for tools to touch.
const OWN: [&str; 6] = [".tasks", ".env", "agents", "config.md", "mcp.json", "skills"];
/// What configures it in a profile of earlier runtimes, whose agents write skills.
const LITTLE: [&str; 2] = ["config.md", "mcp.json"];

/// The named sets of rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Everything, and nothing is held back: no walls around commands either. Only a command line gives it.
    Full,
    /// Reads and writes everywhere; hidden and protected paths excepted.
    Free,
    /// Reads everywhere but what is hidden, writes below the base but what is protected.
    WorkspaceWrite,
    /// Reads everywhere but what is hidden, writes nowhere.
    ReadOnly,
    /// Reads and writes below the base.
    Workspace,
    /// Reads below the base, writes in its `memory`, `skills` and `knowledge`.
    Curated,
    /// Reads below the base, writes only in the write roots that are added.
    Task,
}

impl Profile {
    /// As it is written in settings.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Full => "full",
            Profile::Free => "free",
            Profile::WorkspaceWrite => "workspace-write",
            Profile::ReadOnly => "read-only",
            Profile::Workspace => "workspace",
            Profile::Curated => "curated",
            Profile::Task => "task",
        }
    }

    /// Reads not only in its roots.
    pub(super) fn reads_everywhere(self) -> bool {
        match self {
            Profile::Full | Profile::Free | Profile::WorkspaceWrite | Profile::ReadOnly => true,
            Profile::Workspace | Profile::Curated | Profile::Task => false,
        }
    }

    /// Writes wherever the system lets it, so that no handle of a root confines it.
    pub(super) fn writes_everywhere(self) -> bool {
        matches!(self, Profile::Full | Profile::Free)
    }

    /// What it writes below a base.
    pub(super) fn write(self, base: &Path) -> Vec<PathBuf> {
        match self {
            Profile::Full | Profile::Free => vec![PathBuf::from("/")],
            Profile::WorkspaceWrite | Profile::Workspace => vec![base.to_owned()],
            Profile::Curated => below(base, &CURATED),
            Profile::ReadOnly | Profile::Task => Vec::new(),
        }
    }

    /// What it leaves alone below a base.
    pub(super) fn protected(self, base: &Path) -> Vec<PathBuf> {
        match self {
            Profile::Full | Profile::Curated => Vec::new(),
            Profile::Workspace => below(base, &LITTLE),
            Profile::Free | Profile::WorkspaceWrite | Profile::ReadOnly | Profile::Task => below(base, &OWN),
        }
    }
}

fn below(base: &Path, names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(|name| base.join(name)).collect()
}
