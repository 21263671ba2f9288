//! Files and folders that commands may write and that do not exist yet: a wall can be opened only where something is. Made
//! empty for as long as walls stand; what nobody touched goes again.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::workspace::policy::Bounds;

/// What was made for one set of walls. Dropping it removes what is as it was made.
#[derive(Debug, Default)]
pub(super) struct Granted {
    /// In the order in which they were made, a file with the time at which it was last changed.
    made: Vec<(PathBuf, Option<(i64, i64)>)>,
}

impl Granted {
    /// Makes what of `bounds.write` is not there: a file where the name has an ending, a folder otherwise.
    pub(super) fn make(bounds: &Bounds) -> io::Result<Granted> {
        let mut granted = Granted::default();
        for path in bounds.write.iter().filter(|path| is_absent(path)) {
            let mut above: Vec<&Path> = path.ancestors().skip(1).take_while(|path| is_absent(path)).collect();
            above.reverse();
            for folder in above {
                granted.folder(folder)?;
            }
            match path.extension() {
                Some(_) => granted.file(path)?,
                None => granted.folder(path)?,
            }
        }
        Ok(granted)
    }

    fn folder(&mut self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)?;
        self.made.push((path.to_owned(), None));
        Ok(())
    }

    fn file(&mut self, path: &Path) -> io::Result<()> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        self.made.push((path.to_owned(), Some(stamp(&file)?)));
        Ok(())
    }
}

impl Drop for Granted {
    fn drop(&mut self) {
        for (path, made) in self.made.iter().rev() {
            // A folder goes only if it is empty; who else wrote a file has changed its time.
            let _ = match made {
                None => fs::remove_dir(path),
                Some(made) => File::open(path).and_then(|file| match stamp(&file)? == *made {
                    true => fs::remove_file(path),
                    false => Ok(()),
                }),
            };
        }
    }
}

fn is_absent(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn stamp(file: &File) -> io::Result<(i64, i64)> {
    let meta = file.metadata()?;
    Ok((meta.mtime(), meta.mtime_nsec()))
}
