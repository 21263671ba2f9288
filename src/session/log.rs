//! The bytes of a session: one JSON line per entry, its checksum last, appended in one write. What the entries mean to
//! each other is in `tree`; how a file of unknown state is read is in `scan`.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::record::Record;
use super::{EntryId, SessionError};

/// The version of the line format that is written.
pub(super) const VERSION: u32 = 1;

/// Longest line, newline included.
pub(super) const MAX_LINE: usize = 64 << 20;

/// `,"crc":"` + 8 hexadecimal digits + `"}`.
pub(super) const SEAL: usize = 18;

/// Where an entry's line lies, without its newline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) offset: u64,
    pub(super) len: usize,
}

/// An append-only run of lines, in a file or in memory.
pub(super) struct Log {
    place: Place,
    /// Bytes up to the end of the last whole line.
    len: u64,
    /// Something may lie behind `len`: an append that failed half way.
    ragged: bool,
}

enum Place {
    Memory(Vec<u8>),
    File { file: Arc<File>, path: PathBuf },
}

/// A line about to be written.
pub(super) struct Line<'a> {
    pub(super) seq: u64,
    pub(super) id: EntryId,
    pub(super) parent: Option<EntryId>,
    pub(super) record: &'a Record,
}

impl Log {
    pub(super) fn in_memory() -> Log {
        Log { place: Place::Memory(Vec::new()), len: 0, ragged: false }
    }

    /// A new, empty file that only its owner may read; its folder is made too.
    pub(super) fn create(path: &Path) -> Result<Log, SessionError> {
        make_folder(path)?;
        let file = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(path);
        let file = file.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => SessionError::Exists(path.to_owned()),
            _ => SessionError::io("create", path, source),
        })?;
        lock(&file, path)?;
        Ok(Log::over(file, path))
    }

    /// An existing file, locked for writing.
    pub(super) fn open(path: &Path) -> Result<Log, SessionError> {
        let failed = |source| SessionError::io("open", path, source);
        let file = OpenOptions::new().read(true).append(true).open(path).map_err(failed)?;
        lock(&file, path)?;
        // Somebody may have put it away between the opening and the locking.
        let (held, there) = (file.metadata().map_err(failed)?, fs::metadata(path).map_err(failed)?);
        match (held.dev(), held.ino()) == (there.dev(), there.ino()) {
            true => Ok(Log::over(file, path)),
            false => Err(failed(io::ErrorKind::NotFound.into())),
        }
    }

    /// A file beside a journal, made when it is missing. It has no lock of its own: the journal's holds for both.
    pub(super) fn beside(path: &Path) -> Result<Log, SessionError> {
        make_folder(path)?;
        let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path);
        file.map(|file| Log::over(file, path)).map_err(|source| SessionError::io("open", path, source))
    }

    /// An existing file, for reading only, whoever writes it.
    pub(super) fn read_only(path: &Path) -> Result<Log, SessionError> {
        let file = File::open(path).map_err(|source| SessionError::io("open", path, source))?;
        Ok(Log::over(file, path))
    }

    fn over(file: File, path: &Path) -> Log {
        Log { place: Place::File { file: Arc::new(file), path: path.to_owned() }, len: 0, ragged: false }
    }

    pub(super) fn file(&self) -> Option<&Arc<File>> {
        match &self.place {
            Place::File { file, .. } => Some(file),
            Place::Memory(_) => None,
        }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::File { path, .. } => Some(path),
            Place::Memory(_) => None,
        }
    }

    /// Gives the file another name in the same folder.
    pub(super) fn rename(&mut self, to: &Path) -> io::Result<()> {
        if let Place::File { path, .. } = &mut self.place {
            fs::rename(&*path, to)?;
            to.clone_into(path);
        }
        Ok(())
    }

    /// Says how far the file was found whole.
    pub(super) fn whole_up_to(&mut self, len: u64) {
        self.len = len;
    }

    /// Appends bytes that end in a newline: all of them or, as far as a reader can tell, none.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<Span> {
        let span = Span { offset: self.len, len: bytes.len().saturating_sub(1) };
        match &mut self.place {
            Place::Memory(all) => all.extend_from_slice(bytes),
            Place::File { file, .. } => {
                if self.ragged {
                    // Only bytes that were never acknowledged lie behind `len`.
                    file.set_len(self.len)?;
                    self.ragged = false;
                }
                if let Err(error) = (&**file).write_all(bytes) {
                    self.ragged = file.set_len(self.len).is_err();
                    return Err(error);
                }
            }
        }
        self.len += bytes.len() as u64;
        Ok(span)
    }

    /// Bytes up to the end of the last whole line.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Takes back what was appended behind that length and acknowledged to nobody.
    pub(super) fn cut_back(&mut self, len: u64) {
        self.len = len;
        match &mut self.place {
            Place::Memory(all) => all.truncate(usize::try_from(len).unwrap_or(usize::MAX)),
            Place::File { file, .. } => self.ragged = file.set_len(len).is_err(),
        }
    }

    /// Where the whole lines lie that are sealed.
    pub(super) fn spans(&self) -> io::Result<Vec<Span>> {
        let bytes = self.read(Span { offset: 0, len: usize::try_from(self.len).unwrap_or(usize::MAX) })?;
        let mut spans = Vec::new();
        let mut offset = 0;
        for line in bytes.split(|byte| *byte == b'\n') {
            if is_sealed(line) {
                spans.push(Span { offset, len: line.len() });
            }
            offset += line.len() as u64 + 1;
        }
        Ok(spans)
    }

    /// The bytes of a line.
    pub(super) fn read(&self, span: Span) -> io::Result<Vec<u8>> {
        match &self.place {
            Place::Memory(all) => {
                let start = usize::try_from(span.offset).unwrap_or(usize::MAX);
                let found = all.get(start..start.saturating_add(span.len));
                found.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
            }
            Place::File { file, .. } => {
                let mut bytes = vec![0; span.len];
                file.read_exact_at(&mut bytes, span.offset)?;
                Ok(bytes)
            }
        }
    }

    /// Moves what lies behind the whole lines into `<file>.torn`, behind what may be there already.
    pub(super) fn set_torn_aside(&mut self, tail: &[u8]) -> Result<PathBuf, SessionError> {
        let Place::File { file, path } = &self.place else { return Ok(PathBuf::new()) };
        let mut name = path.clone().into_os_string();
        name.push(".torn");
        let aside = PathBuf::from(name);
        let moved = OpenOptions::new().append(true).create(true).mode(0o600).open(&aside).and_then(|mut torn| {
            torn.write_all(tail)?;
            torn.write_all(b"\n")?;
            torn.sync_all()?;
            file.set_len(self.len)
        });
        moved.map_err(|source| SessionError::io("set aside the torn end of", path, source))?;
        Ok(aside)
    }
}

impl Line<'_> {
    /// The bytes of the line with its newline.
    pub(super) fn encode(&self) -> Result<Vec<u8>, SessionError> {
        let mut bytes = Vec::with_capacity(512);
        let parent = self.parent.map_or_else(|| "null".to_owned(), |parent| format!("\"{parent}\""));
        let (id, seq, at) = (self.id, self.seq, Timestamp::now());
        let head = format!(r#"{{"v":{VERSION},"seq":{seq},"id":"{id}","parent":{parent},"at":"{at:.3}""#);
        bytes.extend_from_slice(head.as_bytes());
        let start = bytes.len();
        serde_json::to_writer(&mut bytes, self.record).map_err(SessionError::Encode)?;
        // `{"type":…,"data":…}` goes on where the head stops.
        if let Some(brace) = bytes.get_mut(start) {
            *brace = b',';
        }
        bytes.pop();
        sealed(bytes)
    }
}

/// A line as it is written in another place of another file: with all that it says, at that number, behind that entry.
pub(super) fn moved(line: &[u8], seq: u64, parent: EntryId) -> Result<Vec<u8>, SessionError> {
    let mut fields: Map<String, Value> = serde_json::from_slice(line).map_err(SessionError::Encode)?;
    fields.shift_remove("crc");
    fields.insert("seq".to_owned(), seq.into());
    fields.insert("parent".to_owned(), parent.to_string().into());
    let mut bytes = serde_json::to_vec(&fields).map_err(SessionError::Encode)?;
    bytes.pop();
    sealed(bytes)
}

/// The line with its checksum and its newline.
fn sealed(mut bytes: Vec<u8>) -> Result<Vec<u8>, SessionError> {
    let seal = format!("{:08x}", crc32fast::hash(&bytes));
    bytes.extend_from_slice(format!(",\"crc\":\"{seal}\"}}\n").as_bytes());
    match bytes.len() {
        len if len > MAX_LINE => Err(SessionError::TooLong(len)),
        _ => Ok(bytes),
    }
}

/// Whether a line's checksum is there and right.
pub(super) fn is_sealed(line: &[u8]) -> bool {
    let Some((body, seal)) = line.len().checked_sub(SEAL).map(|at| line.split_at(at)) else { return false };
    seal == format!(",\"crc\":\"{:08x}\"}}", crc32fast::hash(body)).as_bytes()
}

fn make_folder(path: &Path) -> Result<(), SessionError> {
    let Some(dir) = path.parent() else { return Ok(()) };
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|source| SessionError::io("make the folder of", path, source))
}

fn lock(file: &File, path: &Path) -> Result<(), SessionError> {
    file.try_lock().map_err(|refused| match refused {
        TryLockError::WouldBlock => SessionError::Locked { path: path.to_owned(), owner: owner(file) },
        TryLockError::Error(source) => SessionError::io("lock", path, source),
    })
}

/// The process that holds the lock, as the system lists it: `1: FLOCK ADVISORY WRITE 4711 08:01:99 0 EOF`.
fn owner(file: &File) -> Option<u32> {
    let inode = file.metadata().ok()?.ino().to_string();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| match line.split_whitespace().collect::<Vec<_>>().as_slice() {
        [_, "FLOCK", _, _, pid, place, ..] if place.rsplit(':').next() == Some(&inode) => pid.parse().ok(),
        _ => None,
    })
}

impl Drop for Log {
    /// A sync under way, or a child that has not yet run its program, may hold a copy of the handle for a moment; the
    /// lock must not wait for them.
    fn drop(&mut self) {
        if let Place::File { file, .. } = &self.place {
            // Closing the last copy unlocks too.
            let _ = file.unlock();
        }
    }
}
