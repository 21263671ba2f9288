//! Files and folders that commands may write and that do not exist yet: a wall can be opened only where something is. Made
//! empty for as long as walls stand; what nobody touched goes again.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::workspace::policy::Bounds;

/// What of this program is there, for how many walls, and a file with the time at which it was last changed.
static THERE: LazyLock<Mutex<There>> = LazyLock::new(Mutex::default);

type There = HashMap<PathBuf, (usize, Option<(i64, i64)>)>;

fn there() -> MutexGuard<'static, There> {
    THERE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What one set of walls needs. Dropping it removes what no other walls need and is as it was made.
#[derive(Debug, Default)]
pub(super) struct Granted {
    /// In the order in which they were made.
    paths: Vec<PathBuf>,
}

impl Granted {
    /// Makes what of `bounds.write` is not there: a file where the name has an ending, a folder otherwise.
    pub(super) fn make(bounds: &Bounds) -> io::Result<Granted> {
        // Dropped after the list is free again, also when something fails in between.
        let mut granted = Granted::default();
        let mut there = there();
        for path in &bounds.write {
            let mut above: Vec<&Path> = path.ancestors().collect();
            above.reverse();
            for part in above {
                let is_file = part == path && path.extension().is_some();
                granted.part(part, is_file, &mut there)?;
            }
        }
        Ok(granted)
    }

    fn part(&mut self, path: &Path, is_file: bool, there: &mut There) -> io::Result<()> {
        if let Some((walls, _)) = there.get_mut(path) {
            *walls += 1;
        } else if is_absent(path) {
            let made = match is_file {
                true => Some(stamp(&OpenOptions::new().write(true).create_new(true).open(path)?)?),
                false => fs::create_dir(path).map(|()| None)?,
            };
            there.insert(path.to_owned(), (1, made));
        } else {
            return Ok(());
        }
        self.paths.push(path.to_owned());
        Ok(())
    }
}

impl Drop for Granted {
    fn drop(&mut self) {
        let mut there = there();
        for path in self.paths.iter().rev() {
            match there.get_mut(path) {
                Some((walls, _)) if *walls > 1 => *walls -= 1,
                Some(_) => {
                    let made = there.remove(path).and_then(|(_, made)| made);
                    let _ = remove(path, made);
                }
                None => {}
            }
        }
    }
}

/// A folder goes only if it is empty; who wrote a file has changed its time.
fn remove(path: &Path, made: Option<(i64, i64)>) -> io::Result<()> {
    match made {
        None => fs::remove_dir(path),
        Some(made) if stamp(&File::open(path)?)? == made => fs::remove_file(path),
        Some(_) => Ok(()),
    }
}

fn is_absent(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn stamp(file: &File) -> io::Result<(i64, i64)> {
    let meta = file.metadata()?;
    Ok((meta.mtime(), meta.mtime_nsec()))
}
