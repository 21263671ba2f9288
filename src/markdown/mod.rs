//! Markdown files with a YAML frontmatter: read the head, read the whole, list a folder, write one. No file has a meaning here.

mod head;
mod notice;
mod render;
mod scan;
mod unfold;
mod yaml;

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::de::DeserializeOwned;

pub use notice::Notice;
pub use render::render;
pub use scan::{DocMeta, MAX_DOCS, Scan, peek, scan};
pub use yaml::{Yaml, too_deep};

use head::Split;

/// Most bytes of a frontmatter, fences included.
pub const MAX_HEAD: usize = 64 * 1024;

/// Most bytes of a file that is loaded whole.
pub const MAX_FILE: u64 = 10 * 1024 * 1024;

/// A Markdown file in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document<T> {
    /// What the frontmatter says; a file without one reads like an empty one.
    pub front: T,
    /// Everything after the closing fence, byte for byte.
    pub body: String,
}

/// A Markdown file that cannot be used. Lines and columns count from 1 in the file.
#[derive(Debug, thiserror::Error)]
pub enum MarkdownError {
    /// The file cannot be opened or read.
    #[error("cannot read {}: {cause}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// Something else than a file, or a link that leads elsewhere.
    #[error("{}: {why}", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What it is instead.
        why: &'static str,
    },
    /// The file is over [`MAX_FILE`].
    #[error("{} has {size} bytes, over the limit of {MAX_FILE} for Markdown files; split it", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size, or a lower bound of it.
        size: u64,
    },
    /// The file is not UTF-8.
    #[error("{} is not UTF-8 text: bad byte in line {line}; save it as UTF-8", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The line of the first bad byte.
        line: usize,
    },
    /// The frontmatter does not end within [`MAX_HEAD`].
    #[error("the frontmatter of {} has no closing `---` within {MAX_HEAD} bytes", path.display())]
    HeadTooLong {
        /// The file.
        path: PathBuf,
    },
    /// The frontmatter is no YAML, or not what was expected.
    #[error("the frontmatter of {} is wrong at line {line}, column {column}: {message}", path.display())]
    Front {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The column in characters.
        column: usize,
        /// What is wrong, in one line.
        message: String,
    },
    /// The pattern of a scan cannot be understood.
    #[error("the pattern {pattern:?} is wrong: {message}; use * for any part of a name, as in t_*.md")]
    Pattern {
        /// As it was given.
        pattern: String,
        /// What is wrong.
        message: String,
    },
    /// A frontmatter cannot be written.
    #[error("cannot write this as frontmatter: {message}")]
    Unwritable {
        /// What is wrong.
        message: String,
    },
}

/// Reads a document from text.
///
/// A frontmatter begins in the first line with `---` and ends with the next line `---`; a byte order mark before it
/// is dropped, lines may end in CRLF. Without a closing fence there is no frontmatter and all is body.
///
/// # Errors
/// A frontmatter that is too long, no YAML, or not a `T`; the path in the error is then "the text".
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<Document<T>, MarkdownError> {
    parse_named(text, Path::new("the text"))
}

/// Reads a document from a file.
///
/// # Errors
/// What [`parse`] refuses, and a file that is unreadable, not a regular one, too large, or not UTF-8.
pub fn load<T: DeserializeOwned>(path: &Path) -> Result<Document<T>, MarkdownError> {
    load_open(&open(path)?, path)
}

/// Reads a document from a file that somebody has opened, whose path is only for errors.
///
/// # Errors
/// Like [`load`].
pub fn load_open<T: DeserializeOwned>(file: &File, path: &Path) -> Result<Document<T>, MarkdownError> {
    parse_named(&read_text(file, path)?, path)
}

/// The line of a top-level key of a file's frontmatter, or of a YAML file, for those who have something to say about it.
pub fn line_of(path: &Path, key: &str) -> Option<usize> {
    let (bytes, _) = head::read(open(path).ok()?).ok()?;
    let is_key = |line: &str| {
        let rest = line.trim_start_matches('\u{feff}').trim_start_matches(['"', '\'']).strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
    };
    String::from_utf8_lossy(&bytes).lines().position(is_key).map(|at| at + 1)
}

fn parse_named<T: DeserializeOwned>(text: &str, path: &Path) -> Result<Document<T>, MarkdownError> {
    match head::split_whole(text.as_bytes()) {
        Split::Front { yaml, body } => {
            Ok(Document { front: yaml::read(&text[yaml], path)?, body: text[body..].to_owned() })
        }
        Split::Plain { body } => Ok(Document { front: yaml::read("", path)?, body: text[body..].to_owned() }),
        Split::More => Err(MarkdownError::HeadTooLong { path: path.to_path_buf() }),
    }
}

/// Opens a regular file; a pipe or device in its place does not block.
fn open(path: &Path) -> Result<File, MarkdownError> {
    let unreadable = |cause| MarkdownError::Unreadable { path: path.to_path_buf(), cause };
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(unreadable)?;
    match file.metadata().map_err(unreadable)?.is_file() {
        true => Ok(file),
        false => Err(MarkdownError::NotAFile { path: path.to_path_buf(), why: "not a regular file" }),
    }
}

fn read_text(file: &File, path: &Path) -> Result<String, MarkdownError> {
    let unreadable = |cause| MarkdownError::Unreadable { path: path.to_path_buf(), cause };
    let too_large = |size| MarkdownError::TooLarge { path: path.to_path_buf(), size };
    let size = file.metadata().map_err(unreadable)?.len();
    if size > MAX_FILE {
        return Err(too_large(size));
    }
    let mut bytes = Vec::with_capacity(size.try_into().unwrap_or(0));
    // The file may grow while it is read.
    let read = file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if read as u64 > MAX_FILE {
        return Err(too_large(read as u64));
    }
    String::from_utf8(bytes).map_err(|error| not_text(error.as_bytes(), error.utf8_error().valid_up_to(), path))
}

fn not_text(bytes: &[u8], valid: usize, path: &Path) -> MarkdownError {
    let line = bytes.iter().take(valid).filter(|byte| **byte == b'\n').count() + 1;
    MarkdownError::NotText { path: path.to_path_buf(), line }
}
