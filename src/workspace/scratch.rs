//! A folder for what commands need only for a while: private, in the system's place for such things, gone with its owner.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// How such folders begin; then come the namespace of process numbers, and the number of the program.
const NAME: &str = "tillerman";

/// A private folder that is removed when it is dropped. After a kill the next start removes it ([`sweep`]).
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Scratch {
    /// Makes one, for nobody but this user.
    ///
    /// # Errors
    /// The system's place for temporary files cannot be written.
    pub fn new() -> io::Result<Scratch> {
        Scratch::below(&std::env::temp_dir())
    }

    /// Makes one in a folder.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn below(folder: &Path) -> io::Result<Scratch> {
        let name = format!("{NAME}-{}-{}-", place().unwrap_or_default(), std::process::id());
        tempfile::Builder::new()
            .prefix(&name)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(fs::canonicalize(folder)?)
            .map(Scratch)
    }

    /// Where; absolute, without links.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Removes the folders of programs that are dead, and answers how many. Looks at those of this user and of this
/// machine's view of processes only.
pub fn sweep(folder: &Path) -> usize {
    let Some(place) = place() else { return 0 };
    let left = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    left.filter(|path| is_left(path, &place)).filter(|path| fs::remove_dir_all(path).is_ok()).count()
}

fn is_left(path: &Path, place: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let mut parts = name.splitn(4, '-');
    let (Some(NAME), Some(there), Some(pid), Some(_)) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let ours = fs::symlink_metadata(path)
        .is_ok_and(|folder| folder.is_dir() && folder.uid() == rustix::process::geteuid().as_raw());
    let alive = |pid: u32| PathBuf::from(format!("/proc/{pid}")).exists();
    ours && there == place && pid.parse().is_ok_and(|pid| !alive(pid))
}

/// The namespace in which numbers of processes hold.
fn place() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    let digits: String = link.to_str()?.chars().filter(char::is_ascii_digit).collect();
    (!digits.is_empty()).then_some(digits)
}
