//! The entries of a session's file as they are written, for those who look on. Locks nothing and keeps no tree.

use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Deserialize;

use super::SessionError;
use super::log::is_sealed;
use super::record::Record;
use super::scan::read_line;

/// Of a long file the first look shows only so many bytes from its end.
pub const SHOWN: u64 = 256 * 1024;

/// Bytes after which a look ends; the next one goes on there.
const PIECE: u64 = 4 * 1024 * 1024;

/// Follows one file, which need not be there yet.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    at: Option<u64>,
}

/// An entry.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Written {
    /// When it was written.
    pub at: Timestamp,
    /// What it says.
    #[serde(flatten)]
    pub record: Record,
}

impl Follower {
    /// Nothing of the file is seen yet.
    pub fn of(path: &Path) -> Follower {
        Follower { path: path.to_owned(), at: None }
    }

    /// The next sound entries, in order; none when there are no new ones. A line that is still being written is left for
    /// a later look.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn fresh(&mut self) -> Result<Vec<Written>, SessionError> {
        let path = self.path.clone();
        self.look().map_err(|source| SessionError::io("read", &path, source))
    }

    fn look(&mut self) -> io::Result<Vec<Written>> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let skipped = file.metadata()?.len().saturating_sub(SHOWN);
        let mut at = self.at.unwrap_or(skipped);
        let end = at + PIECE;
        file.seek(SeekFrom::Start(at))?;
        let (mut reader, mut line, mut fresh) = (BufReader::new(file), Vec::new(), Vec::new());
        while at < end {
            line.clear();
            let read = read_line(&mut reader, &mut line)?;
            if line.pop_if(|last| *last == b'\n').is_none() {
                break;
            }
            at += read;
            // The half of a line before the first whole one has no sound checksum.
            if is_sealed(&line)
                && let Ok(written) = serde_json::from_slice(&line)
            {
                fresh.push(written);
            }
        }
        self.at = Some(at);
        Ok(fresh)
    }
}
