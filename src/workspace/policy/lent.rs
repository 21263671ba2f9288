//! The right to one file that a person lends for one call: that file and nothing else, wherever links lead meanwhile. Who
//! is asked, and for what, is not known here.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{PathError, PathPolicy, Profile, Root, root};

/// Below the base, what the runtime goes by and where it keeps its records. Nobody can lend it: it decides what later calls may do.
const KEPT: [&str; 4] = [".env", ".tasks", "config.md", "mcp.json"];

impl PathPolicy {
    /// Where the file that a call names really lies, for a person to see, and the right to read and write it. What else the
    /// policy holds back does not count, but for what the runtime goes by. The folder is held open from now on: a file that
    /// comes to lie elsewhere is refused.
    ///
    /// # Errors
    /// [`PathError::Kept`], [`PathError::Hidden`] for what is no file, [`PathError::NotAFile`], [`PathError::Unusable`].
    pub fn lent(&self, path: &str) -> Result<(PathBuf, PathPolicy), PathError> {
        self.absolute(path)?;
        let unusable = |why| PathError::Unusable { path: path.to_owned(), why };
        let real = root::settled(&self.normal(path));
        if self.is_of_kernel(&real) {
            return Err(PathError::Hidden { path: path.to_owned(), why: "it is a part of the running system" });
        }
        if self.is_kept(&real) {
            return Err(PathError::Kept { path: path.to_owned() });
        }
        if path.ends_with('/') {
            return Err(unusable("it names a folder"));
        }
        if real.to_str().is_none() {
            return Err(unusable("it cannot be shown to a person"));
        }
        let there = fs::symlink_metadata(&real).ok();
        match &there {
            Some(there) if there.is_symlink() => {
                return Err(unusable("it is a link that leads nowhere; name the file"));
            }
            Some(there) => self.regular(path, there.mode())?,
            None => {}
        }
        let folder = real.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
        let base = Root::open(folder).map_err(|source| PathError::Io { path: path.to_owned(), source })?;
        let lent = PathPolicy {
            write: vec![Root::at(real.clone())],
            protected: Vec::new(),
            absent: if there.is_none() { vec![real.clone()] } else { Vec::new() },
            only: Some(real.clone()),
            ..PathPolicy::of(Profile::Task, Arc::new(base), Arc::clone(&self.guarded))
        };
        Ok((real, lent))
    }

    /// Whether it is what the runtime goes by or writes down. A workspace may lie in its home.
    fn is_kept(&self, real: &Path) -> bool {
        let base = &self.base.path;
        let below = |name: &&str| real.starts_with(base.join(name));
        let own = |own: &PathBuf| real.starts_with(own) && !(real.starts_with(base) && base.starts_with(own));
        KEPT.iter().any(below) || self.guarded.own.iter().any(own)
    }
}
