//! Where a file is about to be written: an open directory, the folders still missing below it, and a name.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::{Dir, Metadata};

use super::root;

/// A file's place, existing or not.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) dir: Dir,
    pub(super) leaf: OsString,
    real: PathBuf,
    missing: Vec<OsString>,
}

impl Place {
    /// Opens the deepest folder above `asked` that exists; nothing is made yet.
    pub(super) fn find(asked: &Path, open: impl Fn(&Path) -> io::Result<Dir>) -> io::Result<Place> {
        let named = |path: &Path| match path.components().next_back() {
            Some(Component::Normal(name)) => Ok(name.to_owned()),
            _ => {
                Err(io::Error::new(io::ErrorKind::InvalidInput, "it names no file, or goes back from a missing folder"))
            }
        };
        let leaf = named(asked)?;
        let mut missing = Vec::new();
        let mut folder = asked.parent().unwrap_or(asked);
        loop {
            match open(folder) {
                Ok(dir) => {
                    missing.reverse();
                    return Ok(Place { real: root::real(&dir)?, dir, leaf, missing });
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    missing.push(named(folder)?);
                    folder = folder.parent().ok_or(error)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Where the file really lies, or will lie.
    pub(super) fn path(&self) -> PathBuf {
        let mut path = self.real.clone();
        path.extend(&self.missing);
        path.push(&self.leaf);
        path
    }

    /// What is there now; links are not followed.
    pub(super) fn metadata(&self) -> io::Result<Option<Metadata>> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        match self.dir.symlink_metadata(&self.leaf) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Where the name points to, if it is a link.
    pub(super) fn link(&self) -> io::Result<Option<PathBuf>> {
        match self.metadata()? {
            Some(metadata) if metadata.is_symlink() => {
                Ok(Some(self.real.join(self.dir.read_link_contents(&self.leaf)?)))
            }
            _ => Ok(None),
        }
    }

    /// Makes the missing folders, each below the handle of the one before.
    pub(super) fn with_parents(mut self) -> io::Result<Place> {
        for name in std::mem::take(&mut self.missing) {
            self.dir = made(&self.dir, &name)?;
        }
        self.real = root::real(&self.dir)?;
        Ok(self)
    }

    /// Makes a folder of its name; `false` when somebody else just did.
    pub(super) fn make_folder(&self) -> io::Result<bool> {
        match self.dir.create_dir(&self.leaf) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && self.dir.is_dir(&self.leaf) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn made(dir: &Dir, name: &OsStr) -> io::Result<Dir> {
    match dir.create_dir(name) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => dir.open_dir(name),
    }
}
