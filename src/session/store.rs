//! The sessions of a folder: listed and found without reading them whole.

use std::fs::{self, DirEntry, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use serde::Deserialize;

use super::log::is_sealed;
use super::record::Record;
use super::{Session, SessionError, SessionId};

/// How much of a file's beginning is read for its first line of a person, and of its end for its last title.
const PEEK: u64 = 16 << 10;

/// Most of the end that is read to find one whole line there.
const MOST_PEEK: u64 = 1 << 20;

/// Longest title that is made from a line.
const TITLE: usize = 80;

#[derive(Deserialize)]
struct Numbered {
    seq: u64,
}

/// A folder of sessions.
#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
}

/// A session as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Its id.
    pub id: SessionId,
    /// Its file.
    pub path: PathBuf,
    /// Its title, or else the beginning of the first line that a person said; empty when nobody said anything near the
    /// beginning.
    pub title: String,
    /// When something was last written to it.
    pub updated: Timestamp,
    /// How many entries it has, on all branches; 0 when its last line is too long to look at.
    pub entries: u64,
    /// How large its file is.
    pub bytes: u64,
}

impl Store {
    /// The sessions of the folder, which need not exist.
    pub fn new(dir: impl Into<PathBuf>) -> Store {
        Store { dir: dir.into() }
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// All sessions, the last written first. Files that are none are left out.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn list(&self) -> Result<Vec<Summary>, SessionError> {
        let files = self.files()?;
        Ok(files.into_iter().filter_map(|(path, updated, bytes)| summary(path, updated, bytes)).collect())
    }

    /// The session that was last written to; `None` when there is none.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn latest(&self) -> Result<Option<PathBuf>, SessionError> {
        let files = self.files()?;
        Ok(files.into_iter().find_map(|(path, updated, bytes)| summary(path, updated, bytes)).map(|found| found.path))
    }

    /// The session whose id is, or alone begins with, `prefix`.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], [`SessionError::Ambiguous`], or the folder cannot be read.
    pub fn find(&self, prefix: &str) -> Result<PathBuf, SessionError> {
        let files = self.files()?;
        let found: Vec<(PathBuf, SessionId)> = files
            .into_iter()
            .map(|(path, ..)| (SessionId::of(&path), path))
            .filter(|(id, _)| !prefix.is_empty() && id.as_str().starts_with(prefix))
            .map(|(id, path)| (path, id))
            .collect();
        if let Some((path, _)) = found.iter().find(|(_, id)| id.as_str() == prefix) {
            return Ok(path.clone());
        }
        match found.as_slice() {
            [] => Err(SessionError::NotFound(prefix.to_owned())),
            [(path, _)] => Ok(path.clone()),
            _ => {
                let ids = found.into_iter().map(|(_, id)| id).collect();
                Err(SessionError::Ambiguous { prefix: prefix.to_owned(), ids })
            }
        }
    }

    /// A new session in the folder.
    ///
    /// # Errors
    /// The folder cannot be made or written.
    pub fn create(&self) -> Result<Session, SessionError> {
        Session::create(&self.dir)
    }

    /// The session that was last written to, or a new one.
    ///
    /// # Errors
    /// The session cannot be opened or made.
    pub fn continue_latest(&self) -> Result<Session, SessionError> {
        match self.latest()? {
            Some(path) => Session::open(&path),
            None => self.create(),
        }
    }

    fn files(&self) -> Result<Vec<(PathBuf, SystemTime, u64)>, SessionError> {
        let failed = |source| SessionError::io("list the folder of", &self.dir, source);
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut files: Vec<(PathBuf, SystemTime, u64)> =
            entries.filter_map(|entry| entry.ok().as_ref().and_then(session_file)).collect();
        files.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| b.0.cmp(&a.0)));
        Ok(files)
    }
}

fn session_file(entry: &DirEntry) -> Option<(PathBuf, SystemTime, u64)> {
    let path = entry.path();
    let meta = entry.metadata().ok().filter(fs::Metadata::is_file)?;
    let named = path.extension().is_some_and(|ending| ending == "jsonl");
    named.then(|| meta.modified().ok().map(|updated| (path, updated, meta.len())))?
}

/// `None` when the file cannot be read or does not begin as a session.
fn summary(path: PathBuf, updated: SystemTime, bytes: u64) -> Option<Summary> {
    let file = File::open(&path).ok()?;
    let head = read_at(&file, 0, PEEK.min(bytes))?;
    if !head.starts_with(br#"{"v":"#) {
        return None;
    }
    let tail = tail(&file, bytes)?;
    let title = title_in(&tail).or_else(|| title_in(&head)).or_else(|| first_line_in(&head)).unwrap_or_default();
    let entries = lines(&tail).rev().find_map(|line| serde_json::from_slice::<Numbered>(line).ok());
    let entries = entries.map_or(0, |last| last.seq + 1);
    Some(Summary { id: SessionId::of(&path), path, title, updated: Timestamp::try_from(updated).ok()?, entries, bytes })
}

/// The end of the file with at least one whole line, if that is not too much.
fn tail(file: &File, bytes: u64) -> Option<Vec<u8>> {
    let mut peek = PEEK;
    loop {
        let tail = read_at(file, bytes.saturating_sub(peek), peek.min(bytes))?;
        if lines(&tail).next().is_some() || peek >= bytes.min(MOST_PEEK) {
            return Some(tail);
        }
        peek *= 8;
    }
}

fn read_at(file: &File, offset: u64, len: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len).ok()?];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], offset + filled as u64).ok()? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Some(bytes)
}

fn lines(bytes: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| is_sealed(line))
}

fn records<'a>(bytes: &'a [u8], wanted: &'static [u8]) -> impl DoubleEndedIterator<Item = Record> + use<'a> {
    let named = lines(bytes).filter(move |line| line.windows(wanted.len()).any(|window| window == wanted));
    named.filter_map(|line| serde_json::from_slice(line).ok())
}

fn title_in(bytes: &[u8]) -> Option<String> {
    records(bytes, br#""type":"title""#).rev().find_map(|record| match record {
        Record::Title { title } => Some(title),
        _ => None,
    })
}

fn first_line_in(bytes: &[u8]) -> Option<String> {
    records(bytes, br#""type":"user""#).find_map(|record| match record {
        Record::User { message, .. } => {
            let text = message.text();
            let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
            let cut: String = line.chars().take(TITLE).collect();
            Some(if cut.len() < line.len() { cut + "…" } else { cut })
        }
        _ => None,
    })
}
