//! Reads Rust source far enough to see which rooms a file names. No parser: words and punctuation, comments and strings gone.

use std::path::{Path, PathBuf};

/// A source file: its path relative to `src/` (or to the crate, for the others) and its text.
#[derive(Debug, Clone)]
pub struct Source {
    pub path: PathBuf,
    pub text: String,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Source {
        Source { path: path.into(), text: text.to_owned() }
    }

    /// The first component of the path, without its extension: the room.
    pub fn room(&self) -> String {
        let first = self.path.iter().next().unwrap_or_default();
        Path::new(first).file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// How many `super::` lead out of this file to the root of the crate.
    fn depth(&self) -> usize {
        let parts = self.path.iter().count();
        if self.path.file_stem().is_some_and(|stem| stem == "mod") { parts - 1 } else { parts }
    }

    /// The rooms that this file names, each once, its own left out; `rooms` are the names that count.
    pub fn doors(&self, rooms: &[String]) -> Vec<String> {
        let code = strip(&self.text);
        let tokens = tokens(&code);
        let mut found: Vec<String> = Vec::new();
        for (at, word) in tokens.iter().enumerate() {
            let root = match *word {
                "crate" => Some(at + 1),
                "tillerman" if self.room() == "main" => Some(at + 1),
                "super" if at < 2 || tokens[at - 2] != "super" => self.climbs_out(&tokens, at),
                _ => None,
            };
            found.extend(root.map(|from| heads(&tokens, from)).unwrap_or_default());
        }
        found.retain(|name| rooms.contains(name) && *name != self.room());
        found.sort();
        found.dedup();
        found
    }

    fn climbs_out(&self, tokens: &[&str], at: usize) -> Option<usize> {
        let steps = tokens[at..].chunks(2).take_while(|pair| *pair == ["super", "::"]).count();
        (steps == self.depth()).then_some(at + 2 * steps - 1)
    }
}

/// All files with the extension below a folder, paths relative to it, sorted. Nothing if the folder is missing.
pub fn read(root: &Path, extension: &str) -> Vec<Source> {
    let walk = walkdir::WalkDir::new(root).sort_by_file_name().into_iter().filter_map(Result::ok);
    walk.filter(|entry| entry.path().extension().is_some_and(|found| found == extension))
        .map(|entry| Source {
            path: entry.path().strip_prefix(root).unwrap().to_owned(),
            text: std::fs::read_to_string(entry.path()).unwrap(),
        })
        .collect()
}

/// The first names after `crate::`: one, or those of a `{group}`.
fn heads(tokens: &[&str], from: usize) -> Vec<String> {
    if tokens.get(from) != Some(&"::") {
        return Vec::new();
    }
    match tokens.get(from + 1) {
        Some(&"{") => group_heads(&tokens[from + 2..]),
        Some(word) => vec![(*word).to_owned()],
        None => Vec::new(),
    }
}

fn group_heads(tokens: &[&str]) -> Vec<String> {
    let mut names = Vec::new();
    let (mut depth, mut fresh) = (0, true);
    for token in tokens {
        match *token {
            "{" => depth += 1,
            "}" if depth == 0 => break,
            "}" => depth -= 1,
            "," if depth == 0 => fresh = true,
            word if fresh => {
                names.push(word.to_owned());
                fresh = false;
            }
            _ => {}
        }
    }
    names
}

/// Words, `::` and single signs.
pub fn tokens(code: &str) -> Vec<&str> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let len = match first {
            c if word(c) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            c => c.len_utf8(),
        };
        out.push(&rest[..len]);
        rest = rest[len..].trim_start();
    }
    out
}

/// The text without comments, doc comments, strings and character literals.
pub fn strip(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => block_comment(rest),
            '"' => string(rest),
            'r' | 'b' if !out.ends_with(|c: char| c.is_alphanumeric() || c == '_') => raw_string(rest),
            '\'' => character(rest),
            _ => 0,
        };
        if skipped == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            out.push(' ');
            rest = &rest[skipped..];
        }
    }
    out
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let here = &text.as_bytes()[at..];
        match here {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    text.len()
}

fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a raw string, or 0 if here is none.
fn raw_string(text: &str) -> usize {
    let body = text.strip_prefix('b').unwrap_or(text);
    let Some(body) = body.strip_prefix('r') else { return 0 };
    let hashes = body.len() - body.trim_start_matches('#').len();
    if !body[hashes..].starts_with('"') {
        return 0;
    }
    let close = format!("\"{}", "#".repeat(hashes));
    let start = text.len() - body.len() + hashes + 1;
    text[start..].find(&close).map_or(text.len(), |end| start + end + close.len())
}

/// The length of a character literal, or 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), _) => text[3..].find('\'').map_or(0, |end| end + 4),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 0,
    }
}
