//! Who works in a workspace: a lock that the system frees with its process, and what its owner wrote about itself.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::{Workspace, WorkspaceError, private_dir};

/// Longest wait for a lock whose owner is gone.
const LET_GO: Duration = Duration::from_secs(5);

/// Held for the life of the process that works in a workspace; dropping it lets the next one in.
#[derive(Debug)]
pub struct Lock {
    file: File,
    left: bool,
}

impl Lock {
    /// The process before did not end in order, so that it may have left something behind.
    pub fn was_left(&self) -> bool {
        self.left
    }
}

/// The process that has a workspace, as it describes itself. Only informative: the lock alone decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its number; `None` when its file does not say.
    pub pid: Option<u32>,
    said: String,
}

impl Owner {
    /// Whether it is known that no such process works any more.
    fn is_gone(&self) -> bool {
        let Some(pid) = self.pid else { return false };
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let ended = number.is_none_or(|number| test_kill_process(number) == Err(Errno::SRCH));
        // One that was killed and not yet waited for has let go of everything, too.
        ended || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
    }

    /// What the owner wrote; a file that says nothing is no fault.
    fn read(file: &File) -> Owner {
        let mut said = String::new();
        let read = file.take(200).read_to_string(&mut said);
        let said = if read.is_ok() { said.trim().to_owned() } else { String::new() };
        let pid = said.strip_prefix("process ").and_then(|rest| rest.split(' ').next()?.parse().ok());
        Owner { pid, said }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.said.is_empty() { "it does not say which process" } else { &self.said })
    }
}

/// Closing the file is not enough: a child that is just being started has it open until it becomes its program.
impl Drop for Lock {
    fn drop(&mut self) {
        // Nothing is written in it after an end in order.
        let _ = self.file.set_len(0);
        // What cannot be let go now goes when the last of them closes it.
        let _ = self.file.unlock();
    }
}

impl Workspace {
    /// Who works here, by what the lock's file says, without touching the lock; `None` where nobody does, as far as can be
    /// told so.
    pub fn at_work(&self) -> Option<Owner> {
        let owner = Owner::read(&File::open(self.state().join("lock")).ok()?);
        (!owner.said.is_empty() && !owner.is_gone()).then_some(owner)
    }

    /// Takes the workspace for this process.
    ///
    /// What an ended process left in the file is harmless: the system frees the lock with the process.
    ///
    /// # Errors
    /// [`WorkspaceError::Locked`] names the process that has it.
    pub fn lock(&self) -> Result<Lock, WorkspaceError> {
        let own = self.state().join("lock");
        // Who keeps nothing must not work where another does either, as far as that one can be found.
        let kept = self.instead_of.as_ref().map(|state| state.join("lock"));
        let kept = kept.and_then(|path| open(&path).ok().map(|file| (path, file)));
        let (path, mut file) = match kept {
            Some(kept) => kept,
            None => (own.clone(), open(&own).map_err(|cause| WorkspaceError::NoState { path: own, cause })?),
        };
        let no_state = |cause| WorkspaceError::NoState { path: path.clone(), cause };
        match take(&mut file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                file.rewind().map_err(no_state)?;
                return Err(WorkspaceError::Locked { root: self.root().to_owned(), owner: Owner::read(&file) });
            }
            Err(TryLockError::Error(cause)) => return Err(no_state(cause)),
        }
        file.rewind().map_err(no_state)?;
        let left = !Owner::read(&file).said.is_empty();
        file.rewind().map_err(no_state)?;
        let now = jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%S UTC");
        file.set_len(0).map_err(no_state)?;
        file.write_all(format!("process {} since {now}\n", std::process::id()).as_bytes()).map_err(no_state)?;
        Ok(Lock { file, left })
    }
}

/// Takes the lock, or says that somebody has it. A child that a killed owner was just starting has the lock open until it
/// becomes its program, so one whose owner is gone is waited for, for a moment.
fn take(file: &mut File) -> Result<(), TryLockError> {
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if began.elapsed() < LET_GO => {}
            taken => return taken,
        }
        file.rewind().map_err(TryLockError::Error)?;
        if !Owner::read(file).is_gone() {
            return Err(TryLockError::WouldBlock);
        }
        thread::park_timeout(Duration::from_millis(5));
    }
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        private_dir(folder)?;
    }
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}
