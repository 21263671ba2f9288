//! Lists the Markdown files of a folder by their frontmatter alone, in time that does not depend on how long they are.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use serde::Serialize;
use serde_json::Value;
use walkdir::{DirEntry, WalkDir};

use super::head::{self, Split};
use super::{MarkdownError, not_text, open, yaml};

/// Most documents of one scan.
pub const MAX_DOCS: usize = 10_000;

/// Most entries of any kind that a scan looks at.
const MAX_ENTRIES: usize = 200_000;

/// How deep a scan goes.
const MAX_DEPTH: usize = 16;

/// What a folder holds.
#[derive(Debug, Default)]
pub struct Scan {
    /// The documents, sorted by path.
    pub docs: Vec<DocMeta>,
    /// What could not be read, in the same order; never a reason to fail.
    pub skipped: Vec<MarkdownError>,
    /// A limit ended the scan: there may be more.
    pub cut: bool,
}

/// A document without its body.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DocMeta {
    /// Below the folder as it was named.
    pub path: PathBuf,
    /// The frontmatter's `name`, or the file's name without ending.
    pub name: String,
    /// The frontmatter as a JSON object, keys sorted; empty if there is none.
    pub front: Value,
}

/// Lists the Markdown files below a folder (S3-45).
///
/// The pattern has `*` for any part of a name and, if it holds a `/`, is matched with the path below the folder (`**`
/// crosses folders); otherwise with the file's name or the document's. Hidden folders and `node_modules` are passed
/// over unless the pattern names a hidden one. Links to folders are not followed; a link to a file counts if the file
/// lies below the folder too.
///
/// # Errors
/// A folder that cannot be read, or a pattern that cannot be understood. A bad file is only skipped.
pub fn scan(dir: &Path, pattern: Option<&str>) -> Result<Scan, MarkdownError> {
    let pattern = pattern.map(Pattern::new).transpose()?;
    let inside = dir.canonicalize().and_then(|inside| std::fs::read_dir(&inside).map(|_| inside));
    let inside = inside.map_err(|cause| MarkdownError::Unreadable { path: dir.to_path_buf(), cause })?;
    let hidden = pattern.as_ref().is_some_and(|pattern| pattern.hidden);
    let enter = |entry: &DirEntry| entry.depth() == 0 || hidden || !is_left_out(entry);

    let mut scan = Scan::default();
    let walk = WalkDir::new(dir).max_depth(MAX_DEPTH).sort_by_file_name().into_iter().filter_entry(enter);
    for (seen, entry) in walk.enumerate() {
        if seen >= MAX_ENTRIES || scan.docs.len() >= MAX_DOCS {
            scan.cut = true;
            break;
        }
        let found = match entry {
            Ok(entry) if entry.depth() == 0 || entry.file_type().is_dir() || !is_markdown(entry.path()) => continue,
            Ok(entry) => look(dir, &inside, &entry, pattern.as_ref()),
            Err(error) => Err(unreadable(error, dir)),
        };
        match found {
            Ok(doc) => scan.docs.extend(doc),
            Err(error) => scan.skipped.push(error),
        }
    }
    scan.docs.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(scan)
}

/// What a scan asks for.
struct Pattern {
    glob: GlobMatcher,
    paths: bool,
    hidden: bool,
}

impl Pattern {
    fn new(text: &str) -> Result<Pattern, MarkdownError> {
        let glob = GlobBuilder::new(text).literal_separator(true).build();
        let wrong = |error: globset::Error| MarkdownError::Pattern {
            pattern: text.to_owned(),
            message: error.kind().to_string(),
        };
        let hidden = text.starts_with('.') || text.contains("/.");
        Ok(Pattern { glob: glob.map_err(wrong)?.compile_matcher(), paths: text.contains('/'), hidden })
    }

    /// The path decides alone, or the file's name does; `None` leaves it to the document's name.
    fn matches_path(&self, below: &Path) -> Option<bool> {
        if self.paths {
            return Some(self.glob.is_match(below));
        }
        below.file_name().is_some_and(|name| self.glob.is_match(name)).then_some(true)
    }
}

fn look(
    dir: &Path,
    inside: &Path,
    entry: &DirEntry,
    pattern: Option<&Pattern>,
) -> Result<Option<DocMeta>, MarkdownError> {
    let path = entry.path();
    let below = path.strip_prefix(dir).unwrap_or(path);
    let matched = pattern.map_or(Some(true), |pattern| pattern.matches_path(below));
    if matched == Some(false) {
        return Ok(None);
    }
    if entry.path_is_symlink() && !path.canonicalize().is_ok_and(|target| target.starts_with(inside)) {
        return Err(MarkdownError::NotAFile { path: path.to_path_buf(), why: "a link that leads out of the folder" });
    }
    let doc = match peek(path) {
        Ok(doc) => doc,
        // Nothing says that it was asked for.
        Err(_) if matched.is_none() => return Ok(None),
        Err(error) => return Err(error),
    };
    let named = || pattern.is_some_and(|pattern| pattern.glob.is_match(&doc.name));
    Ok((matched == Some(true) || named()).then_some(doc))
}

/// Reads a document without its body, in time that does not depend on how long that is.
///
/// # Errors
/// A file that is unreadable or no regular one, and a frontmatter that is too long, not UTF-8, or no YAML mapping.
pub fn peek(path: &Path) -> Result<DocMeta, MarkdownError> {
    let unreadable = |cause| MarkdownError::Unreadable { path: path.to_path_buf(), cause };
    let (bytes, split) = head::read(open(path)?).map_err(unreadable)?;
    let yaml = match split {
        Split::Front { yaml, .. } => &bytes[yaml],
        Split::Plain { .. } => b"",
        Split::More => return Err(MarkdownError::HeadTooLong { path: path.to_path_buf() }),
    };
    let yaml = str::from_utf8(yaml).map_err(|error| not_text(&bytes, error.valid_up_to(), path))?;
    let front = yaml::read_any(yaml, path)?;
    let stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = match &front["name"] {
        Value::String(name) => name.clone(),
        Value::Number(name) => name.to_string(),
        _ => stem(),
    };
    Ok(DocMeta { path: path.to_path_buf(), name, front })
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md") || ending.eq_ignore_ascii_case("markdown"))
}

fn is_left_out(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    entry.file_type().is_dir() && (name.starts_with('.') || name == "node_modules")
}

fn unreadable(error: walkdir::Error, dir: &Path) -> MarkdownError {
    let path = error.path().unwrap_or(dir).to_path_buf();
    MarkdownError::Unreadable { path, cause: error.into() }
}
