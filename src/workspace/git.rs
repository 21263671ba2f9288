//! What git knows of a folder, read from its files: no git is started, so nothing that a repository configures runs.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Most bytes of a file that are read: HEAD and a link to a directory are one line.
const MOST: u64 = 4 * 1024;

/// Characters of a commit that is shown instead of a branch.
const COMMIT: usize = 7;

/// The branch that is checked out in the folder or in one above it, or the first characters of the commit where none is.
/// `None` where there is no repository, or none that can be read. What is read has at most 4096 bytes and no control
/// characters.
pub fn branch(folder: &Path) -> Option<String> {
    let head = first_line(&folder.ancestors().find_map(repository)?.join("HEAD"))?;
    match head.strip_prefix("ref:").map(str::trim) {
        Some(name) => Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()),
        None => {
            head.get(..COMMIT).filter(|commit| commit.bytes().all(|byte| byte.is_ascii_hexdigit())).map(str::to_owned)
        }
    }
}

/// The directory in which a repository is kept: `.git`, or where the file of that name points (worktrees, submodules).
fn repository(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    let meta = fs::metadata(&git).ok()?;
    if meta.is_dir() {
        return Some(git);
    }
    let line = first_line(&git)?;
    Some(folder.join(line.strip_prefix("gitdir:")?.trim()))
}

fn first_line(path: &Path) -> Option<String> {
    // A FIFO would keep its reader waiting.
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut text = Vec::new();
    File::open(path).ok()?.take(MOST).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    let line: String = text.lines().next()?.chars().filter(|c| !c.is_control()).collect();
    Some(line.trim().to_owned()).filter(|line| !line.is_empty())
}
