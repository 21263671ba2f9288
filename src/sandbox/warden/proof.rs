//! Whether walls hold, found out by trying: a process within them writes where it must not and where it may, and calls
//! somebody outside. What the walls are made of is not here.

use std::fs::{self, OpenOptions};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::WaitOptions;
use rustix::thread::UnshareFlags;

use super::super::Tier;
use super::super::plan::Plan;
use super::{Ready, first, kernel, mounts};

/// Places that nearly everybody, or the administrator, may write to.
const OUTSIDE: [&str; 5] = ["/tmp", "/var/tmp", "/", "/etc", "/dev"];
/// An address that is nobody's, so that nothing is sent to anybody if there is no wall.
const NOBODY: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 0, 2, 1), 9);

/// Ways in which walls may fail, as exit codes.
const FAULTS: [&str; 5] = [
    "a process within them could not be made ready",
    "a file outside could be written",
    "a file inside could not be written",
    "a program outside could be called through the network",
    "the processes cannot be listed",
];

/// Tries the walls.
pub(super) fn prove(ready: &Ready, plan: &Plan) -> Result<(), String> {
    let namespaces = match ready.tier {
        Tier::Full => UnshareFlags::NEWPID | UnshareFlags::NEWNS,
        _ => UnshareFlags::empty(),
    };
    let failed = |error: &dyn std::fmt::Display| format!("the walls could not be tried: {error}");
    let Some(child) = kernel::fork(namespaces).map_err(|error| failed(&error))? else {
        kernel::leave(attempt(ready, plan));
    };
    let ended = rustix::process::waitpid(Some(child), WaitOptions::empty()).map_err(|error| failed(&error))?;
    match ended.and_then(|(_, status)| status.exit_status()) {
        Some(0) => Ok(()),
        Some(fault) => {
            let fault = usize::try_from(fault).ok().and_then(|fault| FAULTS.get(fault.checked_sub(1)?));
            Err(format!("the walls do not hold: {}", fault.unwrap_or(&"it is unknown why")))
        }
        None => Err(failed(&"the process that tried them was killed")),
    }
}

/// The number of the first fault; zero for none.
fn attempt(ready: &Ready, plan: &Plan) -> i32 {
    let listed = ready.tier != Tier::Full || mounts::processes(64).is_ok();
    if first::confine(ready).is_err() {
        return 1;
    }
    let granted = |path: &Path| plan.bounds.write.iter().any(|root| path.starts_with(root));
    let near = plan.bounds.write.iter().filter_map(|root| root.parent()).chain([plan.bounds.base.as_path()]);
    let outside = OUTSIDE.iter().map(Path::new).chain(near).filter(|path| !granted(path));
    let name = format!(".tillerman-{}", std::process::id());
    let writes = |folder: &Path| {
        let path = folder.join(&name);
        let written = OpenOptions::new().write(true).create_new(true).open(&path).is_ok();
        let _ = fs::remove_file(&path);
        written
    };
    if outside.into_iter().any(writes) {
        return 2;
    }
    let inside: Vec<&PathBuf> = plan.bounds.write.iter().filter(|root| root.is_dir()).collect();
    if !inside.is_empty() && !inside.into_iter().any(|root| writes(root)) {
        return 3;
    }
    if !plan.network && TcpStream::connect_timeout(&NOBODY.into(), Duration::from_millis(1)).is_err_and(may_come) {
        return 4;
    }
    if listed { 0 } else { 5 }
}

/// Whether a call was under way when it was given up.
fn may_come(error: std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::TimedOut
}
