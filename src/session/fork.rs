//! A new session that begins as another one did, up to some entry of it. The entries keep their ids, so that whatever
//! refers to one refers to it in both files; the first session is only read.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::load::{LEFT_BEHIND, scanned};
use super::log::{Line, Log, moved};
use super::record::{Forked, Kind, Record};
use super::{EntryId, PROGRAM, Refusal, Session, SessionError, SessionId};

/// The ending of a file that is being made. Lists pass over it, and one that a crash has left is swept away by the next
/// fork into the folder.
const UNFINISHED: &str = "fork";

/// The age of an unfinished file that nobody is at work on.
const LEFT: Duration = Duration::from_secs(60);

/// Bytes that are written at once.
const BATCH: usize = 1 << 20;

impl Session {
    /// Makes a new session in the folder out of everything up to and with an entry. Calls that are answered later than
    /// there are answered in it as left behind. It is on the disk when it is answered; until then there is none.
    ///
    /// Its model calls are billed to the session that made them. Waits for the disk.
    ///
    /// # Errors
    /// [`SessionError::NoEntry`], [`SessionError::Newer`], or a file cannot be read or written.
    pub fn fork(&self, at: EntryId, dir: &Path) -> Result<Session, SessionError> {
        let index = self.tree.find(at).ok_or(SessionError::NoEntry(at))?;
        if let (Some(Refusal::Newer(version)), Some(path)) = (self.refusal, self.path()) {
            return Err(SessionError::Newer { path: path.to_owned(), version });
        }
        sweep(dir);
        let path = dir.join(format!("{}.jsonl", super::fresh_name()));
        let unfinished = Unfinished(path.with_extension(UNFINISHED));
        let mut log = Log::create(&unfinished.0)?;
        self.copy(index, &mut log, &unfinished.0)?;
        let scanned = scanned(&mut log, &unfinished.0)?;
        let mut session = Session::over(SessionId::of(&path), log, scanned);
        session.load(LEFT_BEHIND)?;
        session.put_at(&path)?;
        Ok(session)
    }

    /// Writes the way to an entry.
    fn copy(&self, to: usize, log: &mut Log, path: &Path) -> Result<(), SessionError> {
        let failed = |source| SessionError::io("write", path, source);
        // The beginning of the one file is not the beginning of the other, and the leaf of a file was moved in it.
        let mut way = self.tree.path_to(Some(to));
        way.retain(|at| self.tree.node(*at).is_some_and(|node| !matches!(node.kind, Kind::Session | Kind::Branch)));
        let last = way.last().and_then(|last| self.tree.node(*last));
        let from = last.map(|last| Forked { session: self.id.clone(), entry: last.id, number: way.len() as u64 });
        let root = EntryId::generate();
        let record = Record::Session { program: PROGRAM.to_owned(), from };
        let mut batch = Line { seq: 0, id: root, parent: None, record: &record }.encode()?;
        let (mut seq, mut parent) = (1, root);
        for index in way {
            let Some(node) = self.tree.node(index) else { continue };
            batch.extend_from_slice(&moved(&self.line(index)?, seq, parent)?);
            (seq, parent) = (seq + 1, node.id);
            if batch.len() >= BATCH {
                log.append(&batch).map_err(failed)?;
                batch.clear();
            }
        }
        log.append(&batch).map_err(failed)?;
        Ok(())
    }

    /// Forces the file to the disk and gives it its name.
    fn put_at(&mut self, path: &Path) -> Result<(), SessionError> {
        let failed = |source| SessionError::io("finish", path, source);
        if let Some(file) = self.log.file() {
            file.sync_all().map_err(failed)?;
        }
        self.log.rename(path).map_err(failed)?;
        if let Some(dir) = path.parent() {
            File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed)?;
        }
        self.dirty = false;
        Ok(())
    }
}

/// A file that nobody has called finished.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // It has got its name, or is swept away by the next fork.
        let _ = fs::remove_file(&self.0);
    }
}

/// Removes what forks that died have left in the folder. Whoever is at work on one holds its lock, or has just made it.
fn sweep(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let age = entry.metadata().ok().and_then(|meta| meta.modified().ok()).and_then(|made| made.elapsed().ok());
        let is_left = path.extension().is_some_and(|ending| ending == UNFINISHED) && age > Some(LEFT);
        if let Some(left) = is_left.then(|| Log::open(&path).ok()).flatten() {
            // It only takes room.
            let _ = fs::remove_file(&path);
            drop(left);
        }
    }
}
