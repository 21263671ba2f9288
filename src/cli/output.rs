//! The file that the last answer is written into: whole or not at all, and known to be writable before a model is asked.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Where the answer goes.
pub struct Output {
    path: PathBuf,
    way: Way,
}

enum Way {
    /// Written beside it and put in its place.
    Beside { target: PathBuf, temp: NamedTempFile },
    /// A terminal, a pipe or a device, which nothing can take the place of.
    Through(File),
}

impl Output {
    /// Makes sure that the file can be written; what is in it stays until there is an answer.
    ///
    /// # Errors
    /// A sentence that names the file.
    pub fn open(path: &Path) -> Result<Output, String> {
        let way = way(path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(Output { path: path.to_owned(), way })
    }

    /// Writes the answer, with a line break at its end.
    ///
    /// # Errors
    /// A sentence when there is none, or when the disk refuses; then the file is as it was.
    pub fn write(&self, answer: Option<&str>) -> Result<(), String> {
        let shown = self.path.display();
        let answer = answer.ok_or_else(|| format!("there is no answer, so {shown} is left as it was"))?;
        self.put(answer.trim_end()).map_err(|error| format!("cannot write the answer into {shown}: {error}"))
    }

    fn put(&self, answer: &str) -> io::Result<()> {
        match &self.way {
            Way::Through(file) => writeln!(&*file, "{answer}"),
            Way::Beside { target, temp } => {
                writeln!(temp.as_file(), "{answer}")?;
                temp.as_file().sync_all()?;
                fs::rename(temp.path(), target)
            }
        }
    }
}

fn way(path: &Path) -> io::Result<Way> {
    let there = match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => return Err(io::Error::other("it is a folder; name a file")),
        Ok(meta) => Some(meta),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    // One that is there must be writable itself, though its folder is what changes.
    let open = || OpenOptions::new().append(true).open(path);
    if let Some(meta) = &there
        && !meta.is_file()
    {
        return open().map(Way::Through);
    }
    // Through links, so that these stay.
    let target = if there.is_some() { fs::canonicalize(path)? } else { path.to_owned() };
    let mode = match &there {
        Some(meta) => open().map(|_| meta.permissions())?,
        None => Permissions::from_mode(0o666),
    };
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temp = tempfile::Builder::new().prefix(".tillerman-").permissions(mode).tempfile_in(parent)?;
    Ok(Way::Beside { target, temp })
}
