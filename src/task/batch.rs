//! Many task directories that are made together: all of them, or none, also when the program is killed in between. What is
//! in them, and who works on them, is no business of this file.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::dir::prepare;
use super::rows::MAX_ROWS;
use super::{TaskDir, TaskError, TaskId};

/// How the mark begins that says that directories are being made: `.batch-5-1004`.
const MARK: &str = ".batch-";

/// Directories that are being made. Dropped before they are kept, all of them are gone again.
#[must_use = "dropped, the directories are removed"]
pub struct Making {
    mark: PathBuf,
    made: Vec<TaskDir>,
    durable: bool,
    kept: bool,
}

impl Making {
    /// Makes an empty directory for each of these tasks, which must follow each other.
    ///
    /// # Errors
    /// [`TaskError::Files`] names the directory that is there already, or what the disk refuses; then there is none.
    pub fn begin(tasks: &Path, dirs: Vec<TaskDir>) -> Result<Making, TaskError> {
        prepare(tasks)?;
        let range = |dirs: &[TaskDir]| Some((dirs.first()?.id().0, dirs.last()?.id().0));
        let (first, last) = range(&dirs).unwrap_or_default();
        let mark = tasks.join(format!("{MARK}{first}-{last}"));
        let durable = dirs.iter().all(TaskDir::is_durable);
        let files = |path: &Path| {
            let path = path.to_owned();
            |source| TaskError::Files { path, source }
        };
        OpenOptions::new().write(true).create_new(true).open(&mark).map_err(files(&mark))?;
        let mut making = Making { mark, made: Vec::new(), durable, kept: false };
        making.sync(tasks).map_err(files(tasks))?;
        for dir in dirs {
            fs::create_dir(dir.path()).map_err(files(dir.path()))?;
            making.made.push(dir);
        }
        Ok(making)
    }

    /// From here on they stay, whatever happens.
    ///
    /// # Errors
    /// [`TaskError::Files`] when the disk refuses; then they are gone.
    pub fn keep(mut self) -> Result<(), TaskError> {
        let tasks = self.mark.parent().unwrap_or(Path::new(".")).to_owned();
        let kept = fs::remove_file(&self.mark).and_then(|()| self.sync(&tasks));
        kept.map_err(|source| TaskError::Files { path: self.mark.clone(), source })?;
        self.kept = true;
        Ok(())
    }

    fn sync(&self, folder: &Path) -> io::Result<()> {
        if self.durable { File::open(folder)?.sync_all() } else { Ok(()) }
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        let left = self.made.iter().filter(|dir| fs::remove_dir_all(dir.path()).is_err()).count();
        // With the mark the next start removes what is left.
        if left == 0 {
            let _ = fs::remove_file(&self.mark);
        }
    }
}

/// Removes what a killed program was making: nobody was ever told of those tasks. A directory with more in it than what a
/// dispatch writes is left alone. Answers how many were removed.
///
/// # Errors
/// [`TaskError::Files`] when the tasks directory cannot be read.
pub fn sweep(tasks: &Path) -> Result<usize, TaskError> {
    let entries = match fs::read_dir(tasks) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        other => other.map_err(|source| TaskError::Files { path: tasks.to_owned(), source })?,
    };
    let mut removed = 0;
    for (mark, first, last) in entries.flatten().filter_map(|entry| range(&entry.path())) {
        let (ids, mut whole) = ((first..=last).map(TaskId), true);
        for dir in ids.filter_map(|id| TaskDir::open(tasks, id).ok()).filter(|dir| is_bare(dir.path())) {
            match fs::remove_dir_all(dir.path()) {
                Ok(()) => removed += 1,
                Err(_) => whole = false,
            }
        }
        if whole {
            let _ = fs::remove_file(mark);
        }
    }
    Ok(removed)
}

/// The mark's numbers. One that spans more than a table may have is not ours: it would be looked through for hours.
fn range(path: &Path) -> Option<(PathBuf, u32, u32)> {
    let (first, last) = path.file_name()?.to_str()?.strip_prefix(MARK)?.split_once('-')?;
    let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
    (last.saturating_sub(first) as usize <= MAX_ROWS).then(|| (path.to_owned(), first, last))
}

/// Nothing but task.md, or what it was being written as.
fn is_bare(dir: &Path) -> bool {
    let ours = |name: &str| name == "task.md" || (name.starts_with('.') && name.ends_with(".tmp"));
    fs::read_dir(dir).is_ok_and(|entries| entries.flatten().all(|entry| entry.file_name().to_str().is_some_and(ours)))
}
