//! What the runtime's files take of the disk, and what may go: traces, logs and full outputs, the oldest first. Sessions,
//! notes, briefs and results are never taken away.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use walkdir::WalkDir;

use super::{Workspace, write_atomic};

/// What was written so shortly ago may still be in use.
const FRESH: Duration = Duration::from_secs(3_600);

/// From this part of the quota on a person is warned.
const WARNED: u64 = 90;
/// What is left of the quota after a sweep that had enough to take, so that the next one is not due at once.
const SWEPT: u64 = 75;

/// What the runtime's files take, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// Sessions with their notes: never taken away.
    pub kept: u64,
    /// Traces, logs and full outputs.
    pub spare: u64,
}

/// A file that may go.
struct Spare {
    path: PathBuf,
    size: u64,
    modified: SystemTime,
}

impl DiskUse {
    /// Of a workspace. Looks at every file.
    pub fn of(workspace: &Workspace) -> DiskUse {
        let kept = files(&workspace.sessions()).map(|(_, meta)| meta.len()).sum();
        DiskUse { kept, spare: spares(workspace).iter().map(|file| file.size).sum() }
    }

    /// All of it.
    pub fn total(self) -> u64 {
        self.kept + self.spare
    }

    /// What a person should know, from nine tenths of the quota on; 0 is no quota.
    pub fn warning(self, quota: u64) -> Option<String> {
        let near = quota > 0 && self.total() >= quota / 100 * WARNED;
        let mb = |bytes: u64| bytes.div_ceil(1 << 20);
        near.then(|| {
            format!(
                "what is kept of this workspace takes {} MB of {} MB (disk_quota), {} MB of it sessions; delete some with \
                 `tillerman sessions delete`, or set disk_quota higher",
                mb(self.total()),
                mb(quota),
                mb(self.kept)
            )
        })
    }
}

/// Takes away what may go when the quota is reached, the oldest first, until three quarters of it are used; leaves a
/// warning for the next start, or takes back the last one. Answers what is used then. Waits for the disk.
///
/// # Errors
/// When the warning cannot be written. A file that cannot be removed is left where it is.
pub fn sweep(workspace: &Workspace, quota: u64, now: SystemTime) -> io::Result<DiskUse> {
    let mut used = DiskUse::of(workspace);
    if quota > 0 && used.total() >= quota {
        let mut spares = spares(workspace);
        spares.retain(|file| now.duration_since(file.modified).is_ok_and(|age| age >= FRESH));
        spares.sort_by_key(|file| file.modified);
        for file in spares {
            if used.total() <= quota / 100 * SWEPT {
                break;
            }
            if fs::remove_file(&file.path).is_ok() {
                used.spare = used.spare.saturating_sub(file.size);
                let always = [workspace.traces(), workspace.logs()];
                // Of artifacts; one that still holds something stays.
                let _ =
                    file.path.parent().filter(|folder| !always.iter().any(|path| path == folder)).map(fs::remove_dir);
            }
        }
    }
    let note = note(workspace);
    match used.warning(quota) {
        Some(warning) => write_atomic(&note, warning.as_bytes())?,
        None if note.exists() => fs::remove_file(&note)?,
        None => {}
    }
    Ok(used)
}

/// What the last sweep left to be told.
pub fn warning(workspace: &Workspace) -> Option<String> {
    fs::read_to_string(note(workspace)).ok().filter(|warning| warning.len() < 4_096)
}

fn note(workspace: &Workspace) -> PathBuf {
    workspace.state().join("disk.warning")
}

/// Everything that may go: of the runtime itself, and the full outputs of tasks.
fn spares(workspace: &Workspace) -> Vec<Spare> {
    let own = [workspace.traces(), workspace.logs(), workspace.state().join("artifacts")];
    let tasks = fs::read_dir(workspace.tasks()).into_iter().flatten().flatten();
    // Whoever puts a link there wants something else to be taken away.
    let tasks = tasks.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let folders = own.into_iter().chain(tasks.map(|entry| entry.path().join("artifacts")));
    let spare =
        |(path, meta): (PathBuf, fs::Metadata)| Some(Spare { path, size: meta.len(), modified: meta.modified().ok()? });
    folders.flat_map(|folder| files(&folder).filter_map(spare).collect::<Vec<_>>()).collect()
}

/// Regular files below a folder; links are not followed.
fn files(folder: &Path) -> impl Iterator<Item = (PathBuf, fs::Metadata)> {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_dir());
    let walk = is_folder.then(|| WalkDir::new(folder).into_iter().flatten()).into_iter().flatten();
    let files = walk.filter(|entry| entry.file_type().is_file());
    files.filter_map(|entry| entry.metadata().ok().map(|meta| (entry.into_path(), meta)))
}
