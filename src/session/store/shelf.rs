//! Sessions that are put away: into the archive, into the trash, and back. Their files are moved, never copied and never
//! rewritten; only emptying the trash takes anything from the disk.
//!
//! The journal says where a session is. What lies beside it (notes that wait, torn ends) leaves the folder of the current
//! sessions after it and enters before it, so a session that can be opened always has them with it. What a move that was
//! cut short left behind is found by its name, and goes along with the next move.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::super::log::Log;
use super::{Place, Store, files};
use crate::session::{SessionError, SessionId};

/// Endings of the files beside a journal.
const BESIDE: [&str; 3] = ["inbox.jsonl", "jsonl.torn", "inbox.jsonl.torn"];

impl Store {
    /// Puts a current session into the archive.
    ///
    /// # Errors
    /// None or several begin with `prefix`, another program has it open, or the disk refuses.
    pub fn archive(&self, prefix: &str) -> Result<SessionId, SessionError> {
        self.carry(prefix, &[Place::Current], Place::Archive)
    }

    /// Takes a session out of the archive.
    ///
    /// # Errors
    /// As [`Store::archive`], and when there is a current session of that name.
    pub fn unarchive(&self, prefix: &str) -> Result<SessionId, SessionError> {
        self.carry(prefix, &[Place::Archive], Place::Current)
    }

    /// Puts a session, current or archived, into the trash.
    ///
    /// # Errors
    /// As [`Store::archive`].
    pub fn delete(&self, prefix: &str) -> Result<SessionId, SessionError> {
        self.carry(prefix, &[Place::Current, Place::Archive], Place::Trash)
    }

    /// Takes a session out of the trash; it is a current one then.
    ///
    /// # Errors
    /// As [`Store::unarchive`].
    pub fn restore(&self, prefix: &str) -> Result<SessionId, SessionError> {
        self.carry(prefix, &[Place::Trash], Place::Current)
    }

    /// The ids of all session files of a place, also of damaged ones, the last written first.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn ids_in(&self, place: Place) -> Result<Vec<SessionId>, SessionError> {
        Ok(files(&self.folder(place))?.iter().map(|(path, ..)| SessionId::of(path)).collect())
    }

    /// Takes a session of the trash from the disk, with all that lies beside it and with `also`, files and folders that
    /// belong to nothing else. This cannot be undone.
    ///
    /// # Errors
    /// It is not in the trash, another program has it open, or the disk refuses; what is left of it is still in the trash.
    pub fn destroy(&self, id: &SessionId, also: &[PathBuf]) -> Result<(), SessionError> {
        let journal = self.journal(Place::Trash, id);
        let held = Log::open(&journal)?;
        // Copies of what was summed up, in the form of another program.
        let copies = self.folder(Place::Archive).join(id.as_str());
        for other in also.iter().chain([&copies]) {
            remove(other)?;
        }
        // The journal goes last: as long as it is there, the rest is still to be found.
        let folders = self.folders(id, &[Place::Trash]);
        let beside = folders.iter().flat_map(|folder| beside(id).map(|name| folder.join(name)));
        for beside in beside.chain([journal]) {
            remove(&beside)?;
        }
        drop(held);
        sync(&self.folder(Place::Trash))
    }

    /// Moves the session that alone begins with `prefix` in the places that are named, looked at in that order.
    fn carry(&self, prefix: &str, from: &[Place], to: Place) -> Result<SessionId, SessionError> {
        let (place, path) = self.find_in(from, prefix)?;
        let id = SessionId::of(&path);
        let target = self.journal(to, &id);
        if fs::symlink_metadata(&target).is_ok() {
            return Err(SessionError::Exists(target));
        }
        // Its lock, so that nobody writes to it while it moves.
        let held = Log::open(&path)?;
        let folder = self.folder(to);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|source| SessionError::io("make the folder of", &target, source))?;
        if to == Place::Current {
            self.bring_what_lies_beside(&id, place, to)?;
            rename(&path, &target)?;
        } else {
            rename(&path, &target)?;
            sync(&folder)?;
            self.bring_what_lies_beside(&id, place, to)?;
        }
        sync(&folder)?;
        sync(&self.folder(place))?;
        drop(held);
        Ok(id)
    }

    fn bring_what_lies_beside(&self, id: &SessionId, from: Place, to: Place) -> Result<(), SessionError> {
        let target = self.folder(to);
        for folder in self.folders(id, &[from, to]).iter().filter(|folder| **folder != target) {
            for name in beside(id) {
                if fs::symlink_metadata(folder.join(&name)).is_ok() {
                    rename(&folder.join(&name), &target.join(&name))?;
                }
            }
        }
        sync(&target)
    }

    fn journal(&self, place: Place, id: &SessionId) -> PathBuf {
        self.folder(place).join(format!("{id}.jsonl"))
    }

    /// Folders in which something may lie that belongs to a session that is, or is about to be, in one of the places:
    /// also those in which a move that was cut short may have left it, but not that of a namesake.
    fn folders(&self, id: &SessionId, places: &[Place]) -> Vec<PathBuf> {
        let own = |place: &Place| places.contains(place) || !self.journal(*place, id).exists();
        Place::ALL.into_iter().filter(own).map(|place| self.folder(place)).collect()
    }
}

/// Names of the files that may lie beside a journal.
fn beside(id: &SessionId) -> [String; 3] {
    BESIDE.map(|ending| format!("{id}.{ending}"))
}

/// Moves a file and never replaces one.
fn rename(from: &Path, to: &Path) -> Result<(), SessionError> {
    let moved = match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system can refuse by itself; whoever makes sessions gives them names of their own.
        Err(Errno::INVAL | Errno::NOSYS) if fs::symlink_metadata(to).is_ok() => Err(Errno::EXIST.into()),
        Err(Errno::INVAL | Errno::NOSYS) => fs::rename(from, to),
        moved => moved.map_err(io::Error::from),
    };
    moved.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => SessionError::Exists(to.to_owned()),
        _ => SessionError::io("move", from, source),
    })
}

/// Removes a file, or a folder with all that is in it; it need not be there.
fn remove(path: &Path) -> Result<(), SessionError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(SessionError::io("remove", path, source)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn sync(folder: &Path) -> Result<(), SessionError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|source| SessionError::io("force to the disk the folder of", folder, source))
}
