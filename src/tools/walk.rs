//! How folders are walked: in order of names, without what git ignores, never through links.

use std::path::Path;

use ignore::WalkBuilder;

/// A walk of the folder or file; `all` takes also what git ignores.
pub fn walk(root: &Path, all: bool) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(!all).hidden(false).require_git(false).follow_links(false);
    walk.sort_by_file_name(std::ffi::OsStr::cmp)
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
    walk
}
