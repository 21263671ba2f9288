//! What a command wrote: beginning and end in memory, all of it in a file once it is too much. Memory is bounded
//! whatever comes.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Output of a command, perhaps with a gap between its beginning and its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The beginning.
    pub head: Vec<u8>,
    /// The end, without what `head` has already.
    pub tail: Vec<u8>,
    /// All bytes that were written.
    pub bytes: u64,
    /// All line ends that were written.
    pub lines: u64,
    /// The file with all of it; `None` when head and tail are all of it, or when no file could be made.
    pub spool: Option<Spool>,
}

/// A file with the whole output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spool {
    /// Where.
    pub path: PathBuf,
    /// How many bytes; less than were written when the limit was reached or the disk is full.
    pub bytes: u64,
}

impl Captured {
    /// Bytes between head and tail that are in neither.
    pub fn gap(&self) -> u64 {
        self.bytes.saturating_sub(self.head.len() as u64 + self.tail.len() as u64)
    }
}

/// Takes output in.
pub(super) struct Capture {
    head: Vec<u8>,
    head_limit: usize,
    /// Up to twice its limit, so that old bytes are dropped many at a time.
    tail: Vec<u8>,
    tail_limit: usize,
    bytes: u64,
    lines: u64,
    path: PathBuf,
    spool: Spooling,
    spool_limit: u64,
}

enum Spooling {
    NotNeeded,
    Open { file: File, bytes: u64 },
    Closed { bytes: u64 },
    Failed,
}

impl Capture {
    pub(super) fn new(path: &Path, head: usize, tail: usize, spool: u64) -> Capture {
        Capture {
            head: Vec::new(),
            head_limit: head,
            tail: Vec::new(),
            tail_limit: tail,
            bytes: 0,
            lines: 0,
            path: path.to_owned(),
            spool: Spooling::NotNeeded,
            spool_limit: spool,
        }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.bytes += chunk.len() as u64;
        self.lines += chunk.iter().filter(|byte| **byte == b'\n').count() as u64;
        let fits = chunk.len().min(self.head_limit - self.head.len());
        let (first, rest) = chunk.split_at(fits);
        self.head.extend_from_slice(first);
        if rest.is_empty() {
            return;
        }
        self.spool(rest);
        let rest = &rest[rest.len().saturating_sub(self.tail_limit)..];
        self.tail.extend_from_slice(rest);
        if self.tail.len() > 2 * self.tail_limit {
            self.tail.drain(..self.tail.len() - self.tail_limit);
        }
    }

    /// Keeps what does not fit into the head, and the head before it.
    fn spool(&mut self, chunk: &[u8]) {
        if matches!(self.spool, Spooling::NotNeeded) {
            self.spool = match create(&self.path) {
                Ok(file) => write(file, 0, &self.head, self.spool_limit),
                Err(_) => Spooling::Failed,
            };
        }
        if let Spooling::Open { .. } = self.spool
            && let Spooling::Open { file, bytes } = std::mem::replace(&mut self.spool, Spooling::Failed)
        {
            self.spool = write(file, bytes, chunk, self.spool_limit);
        }
    }

    pub(super) fn finish(mut self) -> Captured {
        self.tail.drain(..self.tail.len().saturating_sub(self.tail_limit));
        let spooled = match self.spool {
            Spooling::Open { bytes, .. } | Spooling::Closed { bytes } => Some(bytes),
            Spooling::NotNeeded | Spooling::Failed => None,
        };
        let spool = spooled.map(|bytes| Spool { path: self.path, bytes });
        Captured { head: self.head, tail: self.tail, bytes: self.bytes, lines: self.lines, spool }
    }
}

fn create(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// A full disk ends the spool, not the command.
fn write(mut file: File, bytes: u64, chunk: &[u8], limit: u64) -> Spooling {
    let room = usize::try_from(limit - bytes).unwrap_or(usize::MAX).min(chunk.len());
    if file.write_all(&chunk[..room]).is_err() {
        return Spooling::Closed { bytes };
    }
    let bytes = bytes + room as u64;
    if bytes >= limit { Spooling::Closed { bytes } } else { Spooling::Open { file, bytes } }
}
