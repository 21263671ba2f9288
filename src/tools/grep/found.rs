//! Takes matches in and writes them as a model reads them: `path:line: text`, long lines cut around the match.

use std::fmt::Write as _;
use std::io;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

/// Characters of a line that are shown.
const WIDEST: usize = 300;

/// What a search has found so far.
pub(super) struct Found {
    pub(super) text: String,
    pub(super) matches: usize,
    pub(super) files: usize,
    most: usize,
}

/// The same, while one file is searched.
pub(super) struct InFile<'a> {
    found: &'a mut Found,
    name: &'a str,
    matcher: &'a RegexMatcher,
}

impl Found {
    pub(super) fn new(most: usize) -> Found {
        Found { text: String::new(), matches: 0, files: 0, most }
    }

    /// One more than asked for was seen, so that a cut is known to be one.
    pub(super) fn is_full(&self) -> bool {
        self.matches > self.most
    }

    pub(super) fn in_file<'a>(&'a mut self, name: &'a str, matcher: &'a RegexMatcher) -> InFile<'a> {
        InFile { found: self, name, matcher }
    }
}

impl InFile<'_> {
    fn line(&mut self, number: Option<u64>, mark: char, bytes: &[u8], at: usize) {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        let _ = writeln!(self.found.text, "{}{mark}{}{mark} {}", self.name, number.unwrap_or(0), around(text, at));
    }
}

impl Sink for InFile<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.found.matches += 1;
        if self.found.is_full() {
            return Ok(false);
        }
        let at = self.matcher.find(found.bytes()).ok().flatten().map_or(0, |place| place.start());
        self.line(found.line_number(), ':', found.bytes(), at);
        Ok(true)
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        self.line(context.line_number(), '-', context.bytes(), 0);
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> io::Result<bool> {
        self.found.text.push_str("--\n");
        Ok(true)
    }
}

/// The part of a long line around the byte `at`.
fn around(text: &str, at: usize) -> String {
    if text.chars().count() <= WIDEST {
        return text.to_owned();
    }
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let middle = starts.partition_point(|start| *start < at);
    let from = middle.saturating_sub(WIDEST / 3).min(starts.len() - WIDEST);
    let end = starts.get(from + WIDEST).copied().unwrap_or(text.len());
    let before = if from > 0 { "…" } else { "" };
    let after = if end < text.len() { "…" } else { "" };
    format!("{before}{}{after}", &text[starts[from]..end])
}
