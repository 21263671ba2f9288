//! The files of `defaults/` that are built into the program: prompts, skills, agents, templates. What they mean is told elsewhere.

use rust_embed::Embed;

#[derive(Embed)]
#[folder = "defaults/"]
struct Embedded;

/// A built-in file by its path below `defaults/`; `None` when there is none, or when it is no text.
pub fn text(path: &str) -> Option<String> {
    String::from_utf8(Embedded::get(path)?.data.into_owned()).ok()
}

/// The paths of the built-in files in a folder of `defaults/` and below, sorted.
pub fn list(folder: &str) -> Vec<String> {
    let inside = format!("{folder}/");
    let mut paths: Vec<String> =
        Embedded::iter().filter(|path| path.starts_with(&inside)).map(|path| path.into_owned()).collect();
    paths.sort();
    paths
}

/// Where a skill or role comes from; a later one replaces an earlier one of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Built into the program.
    BuiltIn,
    /// The home folder, for all workspaces of a person.
    Home,
    /// The workspace.
    Workspace,
}
