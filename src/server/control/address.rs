//! Where the socket is: its file appears whole, belongs to its maker, and goes with it. A path that is too long for the
//! system is gone by another way.

use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

use super::SOCKET;

/// Bytes that a socket's path may have everywhere.
const LONGEST_PATH: usize = 100;

/// The file of a socket that somebody listens at; it is removed when this is dropped.
pub(super) struct Place {
    path: PathBuf,
    file: (u64, u64),
}

/// Listens in a state folder. What an ended process left there is replaced, so whoever calls this holds the workspace.
///
/// The socket has its name only when it is its owner's alone, and before that no one can connect.
pub(super) fn listen(state: &Path) -> io::Result<(UnixListener, Place)> {
    let (path, raw) = (state.join(SOCKET), format!("{SOCKET}.new"));
    let unnamed = state.join(&raw);
    match fs::remove_file(&unnamed) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let (listener, _way) = by_short_way(state, &raw, |way| UnixListener::bind(way))?;
    fs::set_permissions(&unnamed, Permissions::from_mode(0o600))?;
    fs::rename(&unnamed, &path)?;
    let file = inode(&fs::symlink_metadata(&path)?);
    Ok((listener, Place { path, file }))
}

/// Connects to whoever listens in a state folder.
pub(super) async fn connect(state: &Path) -> io::Result<UnixStream> {
    let (connecting, _way) = by_short_way(state, SOCKET, |way| Ok(UnixStream::connect(way.to_owned())))?;
    connecting.await
}

/// Uses the path of a file in a folder, or where that is too long the same file by way of the open folder. What is
/// answered besides has to live as long as the way is gone.
fn by_short_way<T>(
    folder: &Path,
    name: &str,
    go: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<(T, Option<File>)> {
    let plain = folder.join(name);
    if plain.as_os_str().len() <= LONGEST_PATH {
        return Ok((go(&plain)?, None));
    }
    let open = File::open(folder)?;
    let way = PathBuf::from(format!("/proc/self/fd/{}/{name}", open.as_raw_fd()));
    Ok((go(&way)?, Some(open)))
}

impl Drop for Place {
    fn drop(&mut self) {
        // Only one's own: the next owner of the workspace may have replaced it.
        let own = fs::symlink_metadata(&self.path).is_ok_and(|meta| inode(&meta) == self.file);
        if own && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, "the socket cannot be removed");
        }
    }
}

fn inode(meta: &Metadata) -> (u64, u64) {
    (meta.dev(), meta.ino())
}
