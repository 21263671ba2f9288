//! A directory below which paths may lead, held open so that nobody can put another in its place.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{FileType, Mode, OFlags};

/// Most links followed for one path, as the kernel does.
pub(super) const LINKS: usize = 40;

/// A file opened for reading neither waits for the other end of a pipe nor becomes our terminal.
pub(super) const CAREFULLY: i32 = OFlags::NONBLOCK.union(OFlags::NOCTTY).bits() as i32;

/// A path, and the handle of the directory that was there when it was first used.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) path: PathBuf,
    dir: OnceLock<Dir>,
}

impl Root {
    /// A root that is opened when it is needed; it may come into being later.
    pub(super) fn at(path: PathBuf) -> Root {
        Root { path, dir: OnceLock::new() }
    }

    /// A root that exists now.
    pub(super) fn open(path: &Path) -> io::Result<Root> {
        let root = Root::at(path.to_owned());
        root.dir()?;
        Ok(root)
    }

    pub(super) fn dir(&self) -> io::Result<&Dir> {
        match self.dir.get() {
            Some(dir) => Ok(dir),
            None => {
                let dir = Dir::open_ambient_dir(&self.path, ambient_authority())?;
                Ok(self.dir.get_or_init(|| dir))
            }
        }
    }

    pub(super) fn into_dir(self) -> io::Result<Dir> {
        self.dir()?;
        self.dir.into_inner().ok_or_else(escape)
    }
}

/// Tries the roots that contain `path`: as it is written, then, if it leads out of them, as it is without links.
///
/// The text of a path only picks roots; whether it stays inside is decided below the root's handle.
pub(super) fn through<'r, T>(
    path: &Path,
    roots: impl Iterator<Item = &'r Root>,
    attempt: impl Fn(&Root, &Path) -> io::Result<T>,
) -> io::Result<T> {
    let roots: Vec<&Root> = roots.collect();
    let below = |path: &Path| {
        for root in &roots {
            let Ok(rel) = path.strip_prefix(&root.path) else { continue };
            let rel = if rel.as_os_str().is_empty() { Path::new(".") } else { rel };
            match attempt(root, rel) {
                Err(error) if is_escape(&error) => {}
                done => return Some(done),
            }
        }
        None
    };
    let unlinked = || Some(settled(path)).filter(|real| real != path).and_then(|real| below(&real));
    below(path).or_else(unlinked).unwrap_or_else(|| Err(escape()))
}

/// A handle on what lies at a path, without opening it; links that the kernel makes up, as in `/proc`, are not followed.
pub(super) fn look(path: &Path) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, ResolveFlags, openat2};
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS) {
            Err(rustix::io::Errno::NOSYS) => Ok(rustix::fs::open(path, flags, Mode::empty())?),
            looked => Ok(looked?),
        }
    }
    #[cfg(not(target_os = "linux"))]
    return Ok(rustix::fs::open(
        path,
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC,
        Mode::empty(),
    )?);
}

/// The same thing, open for reading: what was looked at, and not what has come to its path since.
pub(super) fn reopened(seen: &OwnedFd, path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = fs::OpenOptions::new();
    options.read(true).custom_flags(CAREFULLY);
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;
        let _ = path;
        options.open(format!("/proc/self/fd/{}", seen.as_raw_fd()))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = seen;
        options.open(path)
    }
}

/// Where an open file or directory really lies.
pub(super) fn real(file: &impl AsFd) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd as _;
    let dir = file.as_fd();
    #[cfg(target_os = "linux")]
    return fs::read_link(format!("/proc/self/fd/{}", dir.as_raw_fd()));
    #[cfg(target_vendor = "apple")]
    return {
        use std::os::unix::ffi::OsStringExt as _;
        Ok(PathBuf::from(OsString::from_vec(rustix::fs::getpath(dir)?.into_bytes())))
    };
    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    return Err(io::Error::new(io::ErrorKind::Unsupported, "this system cannot say where an open directory lies"));
}

/// The path without links as far as it exists, and the rest as it is written.
pub(crate) fn settled(path: &Path) -> PathBuf {
    let mut rest: Vec<OsString> = Vec::new();
    let mut here = path;
    loop {
        if let Ok(real) = fs::canonicalize(here) {
            return rest.iter().rev().fold(real, |path, name| path.join(name));
        }
        match (here.parent(), here.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name.to_owned());
                here = parent;
            }
            _ => return path.to_owned(),
        }
    }
}

/// The error of a path that leads out.
pub(super) fn escape() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "the path leads outside")
}

/// Whether a path led out, as opposed to a refusal of the operating system.
pub(super) fn is_escape(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// What a thing of this mode is, with its article, if it is no regular file.
pub(super) fn kind(mode: u32) -> Option<&'static str> {
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile => None,
        FileType::Directory => Some("a folder"),
        FileType::Fifo => Some("a pipe"),
        FileType::Socket => Some("a socket"),
        _ => Some("a device"),
    }
}
