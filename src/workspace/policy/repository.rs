//! What of a git repository runs programs when git is used: nothing for tools to write. Git itself writes the rest.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Folders below a root in which repositories are looked for, and how deep.
const FOLDERS: usize = 2_000;
const DEPTH: usize = 3;
/// Repositories within a repository that are looked at.
const MODULES: usize = 256;
/// Names that lead to programs, in the folder of a repository.
const NAMES: [&str; 3] = ["config", "config.worktree", "hooks"];

/// Whether a path is, or lies in, what git takes programs from.
pub(super) fn is_program(path: &Path) -> bool {
    let parts: Vec<&OsStr> = path.components().filter_map(named).collect();
    let Some(at) = parts.iter().position(|part| part.eq_ignore_ascii_case(".git")) else { return false };
    let below = &parts[at + 1..];
    // The folder itself, or the file that says where it is.
    let Some(first) = below.first() else { return true };
    let is_name = |part: &&OsStr| NAMES.iter().any(|name| part.eq_ignore_ascii_case(name));
    let within = ["modules", "worktrees"].iter().any(|name| first.eq_ignore_ascii_case(name));
    is_name(first) || within && below.iter().any(is_name)
}

fn named(part: Component<'_>) -> Option<&OsStr> {
    match part {
        Component::Normal(name) => Some(name),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    }
}

/// The same below a folder as paths, for those that need to be told each: of the repositories that are there.
pub(super) fn programs(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let walk = walkdir::WalkDir::new(root).min_depth(1).max_depth(DEPTH).follow_links(false).into_iter();
    let of_interest = |entry: &walkdir::DirEntry| entry.file_type().is_dir() || entry.file_name() == ".git";
    let inside = |entry: &walkdir::DirEntry| entry.path().parent().is_none_or(|parent| !parent.ends_with(".git"));
    let folders = walk.filter_entry(move |entry| of_interest(entry) && inside(entry)).flatten().take(FOLDERS);
    for entry in folders.filter(|entry| entry.file_name() == ".git") {
        found.extend(programs_of(entry.path()));
    }
    found
}

/// Of one repository, also of one that could be made there.
pub(super) fn programs_of(git: &Path) -> Vec<PathBuf> {
    if git.is_file() {
        // A worktree: what the file names decides which programs run.
        return vec![git.to_owned()];
    }
    // One that is only read where a repository asks for it must not come into being as a folder.
    let of = |folder: &Path| {
        let paths = NAMES.map(|name| folder.join(name));
        paths.into_iter().filter(|path| !path.ends_with("config.worktree") || path.exists()).collect::<Vec<_>>()
    };
    let mut found = of(git);
    let modules = walkdir::WalkDir::new(git.join("modules")).follow_links(false).max_depth(DEPTH).into_iter();
    for entry in modules.flatten().filter(|entry| entry.file_name() == "HEAD").take(MODULES) {
        found.extend(entry.path().parent().into_iter().flat_map(of));
    }
    let trees = fs::read_dir(git.join("worktrees")).into_iter().flatten().flatten().take(MODULES);
    found.extend(trees.map(|tree| tree.path().join("config.worktree")).filter(|path| path.exists()));
    found
}
