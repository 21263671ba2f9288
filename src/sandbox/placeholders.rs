//! Empty folders in the place of protected paths that do not exist, so that no command can make something there. Made
//! for as long as walls stand, and removed by the next start when this program was killed.

use std::collections::HashMap;
use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::workspace::policy::Bounds;

/// Those of this program, and for how many walls each is there.
static THERE: LazyLock<Mutex<There>> = LazyLock::new(Mutex::default);

type There = HashMap<PathBuf, Held>;

#[derive(Default)]
struct Held {
    walls: usize,
    notes: Option<PathBuf>,
}

fn there() -> MutexGuard<'static, There> {
    THERE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The folders for one set of walls. Dropping it removes those that no other walls need.
#[derive(Debug, Default)]
pub(super) struct Placeholders {
    paths: Vec<PathBuf>,
    notes: Option<PathBuf>,
}

impl Placeholders {
    /// Makes them, after removing those that a killed program left, which `notes` names. Protected paths that are absent
    /// are replaced by what was made for them, or what is in their way.
    pub(super) fn make(bounds: &mut Bounds, notes: Option<&Path>) -> io::Result<Placeholders> {
        // Dropped after the list is free again, also when something fails in between.
        let mut made = Placeholders { paths: Vec::new(), notes: notes.map(Path::to_owned) };
        let mut there = there();
        if let Some(notes) = notes {
            clear(notes, &there);
        }
        for path in &mut bounds.protected {
            // In one that other walls need, nothing can be made.
            let absent = match there.keys().find(|known| path.starts_with(known)).cloned() {
                Some(known) => known,
                None => match first_absent(path, &bounds.write) {
                    Some(absent) => absent,
                    None => continue,
                },
            };
            if !made.paths.contains(&absent) {
                if !there.contains_key(&absent) {
                    note(notes, &absent)?;
                    DirBuilder::new().mode(0o555).create(&absent)?;
                }
                let held = there.entry(absent.clone()).or_default();
                held.walls += 1;
                held.notes = notes.map(Path::to_owned).or(held.notes.take());
                made.paths.push(absent.clone());
            }
            *path = absent;
        }
        Ok(made)
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        let mut there = there();
        for path in &self.paths {
            match there.get_mut(path) {
                Some(held) if held.walls > 1 => held.walls -= 1,
                _ => {
                    there.remove(path);
                    // Somebody else may have put something there, which is theirs then.
                    let _ = fs::remove_dir(path);
                }
            }
        }
        if let Some(notes) = &self.notes {
            forget(notes, &there);
        }
    }
}

/// The outermost part of a path that does not exist, if it lies where commands may write.
fn first_absent(path: &Path, granted: &[PathBuf]) -> Option<PathBuf> {
    let root = granted.iter().filter(|root| path.starts_with(root)).max_by_key(|root| root.components().count())?;
    let is_absent =
        |path: &&Path| fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    let below = path.ancestors().take_while(|above| above != root);
    below.filter(is_absent).last().filter(|_| root.is_dir()).map(Path::to_owned)
}

/// Remembers a path before there is anything.
fn note(notes: Option<&Path>, path: &Path) -> io::Result<()> {
    let Some(notes) = notes else { return Ok(()) };
    let mut file = fs::OpenOptions::new().append(true).create(true).mode(0o600).open(notes)?;
    file.write_all(&[path.as_os_str().as_bytes(), b"\0"].concat())
}

/// Removes those that a killed program left, which `notes` names.
pub fn tidy(notes: &Path) {
    clear(notes, &there());
}

/// Removes what is noted and not of this program.
fn clear(notes: &Path, there: &There) {
    let Ok(text) = fs::read(notes) else { return };
    for path in text.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
        let path = Path::new(std::ffi::OsStr::from_bytes(path));
        if !there.contains_key(path) {
            let _ = fs::remove_dir(path);
        }
    }
    forget(notes, there);
}

/// Removes notes of nothing.
fn forget(notes: &Path, there: &There) {
    if !there.values().any(|held| held.notes.as_deref() == Some(notes)) {
        let _ = fs::remove_file(notes);
    }
}
