//! Reads the flat form from a file and makes a session of it: all of it, or none.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::{Flat, Line};
use crate::session::record::Record;
use crate::session::{Session, SessionError, SessionId, Store, fresh_name};

/// Largest file that is read.
const MOST: u64 = 256 << 20;

/// A file that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotFlat {
    /// It is neither of the two forms.
    #[error(
        "expected a JSON array of messages (v1) or an object with title, compressed_context and messages (v2), found \
         {found}"
    )]
    Strange {
        /// What it begins with.
        found: String,
    },
    /// Something in it is wrong.
    #[error("line {line}, column {column}{}: {why}", within(path))]
    Wrong {
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// Where in the object, `messages[3].role`; `.` for all of it.
        path: String,
        /// What is wrong, and what was expected.
        why: String,
    },
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum NotImported {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file is too large.
    #[error("{0} has over {MOST} bytes, which is more than a conversation of this form is taken to have")]
    TooLarge(PathBuf),
    /// The file does not say what it should.
    #[error("{path}: {source}; nothing was imported")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: NotFlat,
    },
    /// The new session cannot be written.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl Flat {
    /// Reads either form: a plain array of messages (v1, S2-20) or an object (v2).
    ///
    /// # Errors
    /// [`NotFlat`] says where what was found, and what was expected.
    pub fn parse(text: &[u8]) -> Result<Flat, NotFlat> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'[') => Ok(Flat { messages: parse::<Vec<Line>>(text)?, ..Flat::default() }),
            Some(b'{') => parse::<Flat>(text),
            found => {
                let found = found.map_or("nothing".to_owned(), |byte| format!("{:?}", char::from(*byte)));
                Err(NotFlat::Strange { found })
            }
        }
    }

    /// A session in memory that says the same.
    fn session(&self) -> Result<Session, SessionError> {
        let mut session = Session::in_memory();
        session.begin()?;
        if let Some(summary) = self.compressed_context.as_ref().filter(|summary| !summary.is_empty()) {
            session.compress_history(summary, 0)?;
        }
        for line in &self.messages {
            session.save_message(line)?;
        }
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        if !title.is_empty() {
            session.append(Record::Title { title })?;
        }
        Ok(session)
    }
}

impl Store {
    /// Makes a session of a file in the flat form. The session is in the folder whole, and on the disk, or not at all.
    ///
    /// # Errors
    /// [`NotImported`] names the file, and the line and column in it.
    pub fn import(&self, path: &Path) -> Result<SessionId, NotImported> {
        let failed = |source| NotImported::File { path: path.to_owned(), source };
        let mut text = Vec::new();
        File::open(path).and_then(|file| file.take(MOST + 1).read_to_end(&mut text)).map_err(failed)?;
        if text.len() as u64 > MOST {
            return Err(NotImported::TooLarge(path.to_owned()));
        }
        let flat = Flat::parse(&text).map_err(|source| NotImported::Content { path: path.to_owned(), source })?;
        Ok(self.put(&flat.session()?)?)
    }

    /// Writes a session that was made in memory into a new file.
    fn put(&self, session: &Session) -> Result<SessionId, SessionError> {
        let path = self.dir().join(format!("{}.jsonl", fresh_name()));
        let failed = |source| SessionError::io("create", &path, source);
        std::fs::create_dir_all(self.dir()).map_err(failed)?;
        let mut temp = tempfile::Builder::new().prefix(".import-").tempfile_in(self.dir()).map_err(failed)?;
        for place in 0..session.entries() {
            let mut line = session.line(place)?;
            line.push(b'\n');
            temp.write_all(&line).map_err(failed)?;
        }
        temp.as_file().sync_all().map_err(failed)?;
        temp.persist_noclobber(&path).map_err(|refused| failed(refused.error))?;
        File::open(self.dir()).and_then(|folder| folder.sync_all()).map_err(failed)?;
        Ok(SessionId::of(&path))
    }
}

fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, NotFlat> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let wrong = |error: &serde_json::Error, path: String| {
        let why = error.to_string();
        let why = why.rsplit_once(" at line ").map_or(why.as_str(), |(why, _)| why).to_owned();
        NotFlat::Wrong { line: error.line(), column: error.column(), path, why }
    };
    let read: Result<T, _> = serde_path_to_error::deserialize(&mut json);
    let read = read.map_err(|error| wrong(error.inner(), error.path().to_string()))?;
    json.end().map_err(|error| wrong(&error, ".".to_owned()))?;
    Ok(read)
}

fn within(path: &str) -> String {
    if path == "." { String::new() } else { format!(", {path}") }
}
