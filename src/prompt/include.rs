//! Reads files for a prompt: only from the workspace, lenient with what is no text, with `@path` lines included (S1-48).

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::markdown;

/// Most bytes read of a file; far more than a part may have.
const MOST: u64 = 256 * 1024;

/// How deep includes are followed.
const MAX_DEPTH: usize = 5;

/// Most files that one file includes, in all depths.
const MAX_FILES: usize = 50;

/// The text of a file without its frontmatter; `None` when it is not there or may not be read, which is then said.
pub(super) fn read(root: &Path, path: &str, notices: &mut Vec<String>) -> Option<String> {
    let full = root.join(path);
    let real = full.canonicalize().ok()?;
    if !real.starts_with(root) {
        notices.push(format!("{} left out: it lies outside of the workspace", full.display()));
        return None;
    }
    if !real.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    if let Err(cause) = File::open(&real).and_then(|file| file.take(MOST).read_to_end(&mut bytes)) {
        notices.push(format!("{} left out: {cause}", full.display()));
        return None;
    }
    let text = String::from_utf8_lossy(&bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) && bytes.len() < MOST as usize {
        notices.push(format!("{} is not UTF-8 text; save it as UTF-8", full.display()));
    }
    match markdown::parse::<Value>(&text) {
        Ok(document) => Some(document.body),
        // What stands in the frontmatter means nothing here, so a wrong one costs nothing but a word.
        Err(error) => {
            notices.push(format!("{}: {error}", full.display()));
            Some(text.into_owned())
        }
    }
}

/// Puts the text of a file in the place of each line that is `@path`, except in code blocks. The path starts at the
/// including file's folder or, with a slash in front, at the root.
pub(super) fn expand(root: &Path, path: &str, text: &str, notices: &mut Vec<String>) -> String {
    let mut expansion = Expansion { root, notices, open: vec![root.join(path)], left: MAX_FILES };
    expansion.lines(text)
}

struct Expansion<'a> {
    root: &'a Path,
    notices: &'a mut Vec<String>,
    /// The files that are being included, outermost first.
    open: Vec<PathBuf>,
    left: usize,
}

impl Expansion<'_> {
    fn lines(&mut self, text: &str) -> String {
        let mut in_code = false;
        let mut expanded = String::new();
        for line in text.lines() {
            in_code ^= line.trim_start().starts_with("```");
            match include_of(line).filter(|_| !in_code).and_then(|path| self.include(path)) {
                Some(text) => expanded.push_str(text.trim_end()),
                None => expanded.push_str(line),
            }
            expanded.push('\n');
        }
        expanded
    }

    fn include(&mut self, path: &str) -> Option<String> {
        let folder = self.open.last()?.parent()?.to_path_buf();
        let full = match path.strip_prefix('/') {
            Some(path) => self.root.join(path),
            None => folder.join(path),
        };
        let refused = |why: &str| Some(format!("[{path} is not included: {why}]"));
        let Ok(real) = full.canonicalize() else { return refused("there is no such file") };
        let Ok(below) = real.strip_prefix(self.root) else { return refused("it lies outside of the workspace") };
        if self.open.contains(&real) {
            return refused("it would include itself");
        }
        if self.open.len() > MAX_DEPTH || self.left == 0 {
            return refused("there are too many includes");
        }
        self.left -= 1;
        let Some(text) = read(self.root, &below.to_string_lossy(), self.notices) else {
            return refused("it is not a readable file");
        };
        self.open.push(real.clone());
        let text = self.lines(&text);
        self.open.pop();
        Some(text)
    }
}

/// The path of a line that is only `@path`; a name like `@alice` has neither a dot nor a slash.
fn include_of(line: &str) -> Option<&str> {
    let path = line.trim().strip_prefix('@')?;
    let is_path = !path.is_empty() && !path.contains(char::is_whitespace) && path.contains(['.', '/']);
    is_path.then_some(path)
}
