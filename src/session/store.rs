//! The sessions of a folder: listed and found without reading them whole. How they are put away is in `shelf`, how
//! words are found in them in `search`.

mod search;
mod shelf;

use std::fs::{self, DirEntry, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use serde::Deserialize;

pub use self::search::{Found, Hit, Search};
use super::log::is_sealed;
use super::record::Record;
use super::{Session, SessionError, SessionId, title};

/// Stands for the session that was last written to.
const LATEST: &str = "latest";

/// How much of a file's beginning is read for its first line of a person, and of its end for its last title.
const PEEK: u64 = 16 << 10;

/// Most of the end that is read to find one whole line there.
const MOST_PEEK: u64 = 1 << 20;

/// Bytes at the beginning of a line that hold version, number, ids, time and type.
const HEAD: usize = 200;

#[derive(Deserialize)]
struct Numbered {
    seq: u64,
}

/// A folder of sessions, with its archive and its trash below it.
#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
}

/// Where in a store a session lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Among those that are worked with.
    Current,
    /// Put away.
    Archive,
    /// Put away to be forgotten.
    Trash,
}

impl Place {
    /// All of them, in the order in which a session is looked for.
    pub const ALL: [Place; 3] = [Place::Current, Place::Archive, Place::Trash];

    /// One word, as lists and JSON show it.
    pub fn name(self) -> &'static str {
        match self {
            Place::Current => "current",
            Place::Archive => "archive",
            Place::Trash => "trash",
        }
    }
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

    /// The folder of a place.
    pub fn folder(&self, place: Place) -> PathBuf {
        match place {
            Place::Current => self.dir.clone(),
            Place::Archive => self.dir.join("archive"),
            Place::Trash => self.dir.join("trash"),
        }
    }

    /// The current sessions, the last written first. Files that are none are left out.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn list(&self) -> Result<Vec<Summary>, SessionError> {
        self.list_of(Place::Current)
    }

    /// The sessions of a place, the last written first. Files that are none are left out.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn list_of(&self, place: Place) -> Result<Vec<Summary>, SessionError> {
        Ok(listed(&self.folder(place))?.collect())
    }

    /// The current session that was last written to; `None` when there is none.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn latest(&self) -> Result<Option<PathBuf>, SessionError> {
        Ok(listed(&self.dir)?.next().map(|found| found.path))
    }

    /// The current session whose id is, or alone begins with, `prefix`.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], [`SessionError::Ambiguous`], or the folder cannot be read.
    pub fn find(&self, prefix: &str) -> Result<PathBuf, SessionError> {
        self.find_in(&[Place::Current], prefix).map(|(_, path)| path)
    }

    /// The session whose id is, or alone begins with, `prefix`, in the first of the places that has one; `latest` is the
    /// current one that was last written to.
    ///
    /// # Errors
    /// As [`Store::find`]; [`SessionError::NotThere`] when the current ones are not looked at.
    pub fn find_in(&self, places: &[Place], prefix: &str) -> Result<(Place, PathBuf), SessionError> {
        if prefix == LATEST && places.contains(&Place::Current) {
            let latest = self.latest()?.ok_or_else(|| SessionError::NotFound(prefix.to_owned()))?;
            return Ok((Place::Current, latest));
        }
        for place in places {
            match only(files(&self.folder(*place))?, prefix) {
                Err(SessionError::NotFound(_)) => {}
                found => return Ok((*place, found?)),
            }
        }
        match places {
            [place, ..] if *place != Place::Current => {
                Err(SessionError::NotThere { place: *place, prefix: prefix.to_owned() })
            }
            _ => Err(SessionError::NotFound(prefix.to_owned())),
        }
    }

    /// A new session in the folder.
    ///
    /// # Errors
    /// The folder cannot be made or written.
    pub fn create(&self) -> Result<Session, SessionError> {
        Session::create(&self.dir)
    }

    /// Gives a current session another title.
    ///
    /// # Errors
    /// None or several begin with `prefix`, another program has it open, or the disk refuses.
    pub fn rename(&self, prefix: &str, title: &str) -> Result<SessionId, SessionError> {
        self.edit(prefix, |session| session.append(Record::Title { title: title.to_owned() })).map(|(id, _)| id)
    }

    /// Opens a current session, changes it, and waits until that survives the end of the power.
    ///
    /// # Errors
    /// As [`Store::rename`], and what `change` refuses.
    pub fn edit<T>(
        &self,
        prefix: &str,
        change: impl FnOnce(&mut Session) -> Result<T, SessionError>,
    ) -> Result<(SessionId, T), SessionError> {
        let path = self.find(prefix)?;
        let mut session = Session::open(&path)?;
        let changed = change(&mut session)?;
        let synced = File::open(&path).and_then(|file| file.sync_data());
        synced.map_err(|source| SessionError::io("force to the disk", &path, source))?;
        Ok((session.id().clone(), changed))
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
}

/// A file with the time of its last change and its size.
type Seen = (PathBuf, SystemTime, u64);

/// The sessions of a folder, each looked at when its turn comes.
fn listed(dir: &Path) -> Result<impl Iterator<Item = Summary> + use<>, SessionError> {
    Ok(files(dir)?.into_iter().filter_map(|(path, updated, bytes)| summary(path, updated, bytes)))
}

/// The session files of a folder, which need not exist, the last written first.
fn files(dir: &Path) -> Result<Vec<Seen>, SessionError> {
    let failed = |source| SessionError::io("list the folder of", dir, source);
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut files: Vec<Seen> = entries.filter_map(|entry| entry.ok().as_ref().and_then(session_file)).collect();
    files.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| b.0.cmp(&a.0)));
    Ok(files)
}

fn session_file(entry: &DirEntry) -> Option<Seen> {
    let path = entry.path();
    let name = path.file_name()?.to_string_lossy();
    // Beside a session lie the notes that wait for it.
    let named = name.ends_with(".jsonl") && !name.ends_with(".inbox.jsonl");
    let meta = named.then(|| entry.metadata().ok()).flatten().filter(fs::Metadata::is_file)?;
    meta.modified().ok().map(|updated| (path, updated, meta.len()))
}

/// The one file whose session's id is, or alone begins with, `prefix`.
fn only(files: Vec<Seen>, prefix: &str) -> Result<PathBuf, SessionError> {
    let mut found: Vec<(PathBuf, SessionId)> = files
        .into_iter()
        .map(|(path, ..)| (SessionId::of(&path), path))
        .filter(|(id, _)| !prefix.is_empty() && id.as_str().starts_with(prefix))
        .map(|(id, path)| (path, id))
        .collect();
    if let Some(at) = found.iter().position(|(_, id)| id.as_str() == prefix) {
        return Ok(found.swap_remove(at).0);
    }
    match found.pop() {
        None => Err(SessionError::NotFound(prefix.to_owned())),
        Some((path, _)) if found.is_empty() => Ok(path),
        Some(last) => {
            let ids = found.into_iter().chain([last]).map(|(_, id)| id).collect();
            Err(SessionError::Ambiguous { prefix: prefix.to_owned(), ids })
        }
    }
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

/// The entries of a type. It stands within the first bytes of a line, so most lines are not looked at any further.
fn records<'a>(bytes: &'a [u8], wanted: &'static [u8]) -> impl DoubleEndedIterator<Item = Record> + use<'a> {
    let begins = move |line: &&[u8]| line[..line.len().min(HEAD)].windows(wanted.len()).any(|window| window == wanted);
    let named = bytes.split(|byte| *byte == b'\n').filter(begins).filter(|line| is_sealed(line));
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
        Record::User { message, .. } => title::first_line(&message.text()),
        _ => None,
    })
}
