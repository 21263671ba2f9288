//! Looks through the whole file of a session, what compactions left out and other branches too, one line in memory at a
//! time. Needs no lock and no session: it works while the conversation goes on.

use std::fs::File;
use std::io::BufReader;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use super::SessionError;
use super::log::{MAX_LINE, is_sealed};
use super::restore::{Entry, excerpt};
use super::scan::read_line;

/// Characters shown around the first word that was found.
const AROUND: usize = 160;

/// What the answer of a search begins with, so that the next search does not find it.
pub const FOUND: &str = "Found in this conversation";

/// A session's file.
#[derive(Debug, Clone)]
pub struct History {
    path: PathBuf,
}

/// An entry with words that were looked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The entry without its words.
    pub number: u64,
    /// What it is, and when it was written.
    pub what: &'static str,
    /// `14:03`, here.
    pub time: String,
    /// The place where the words are, on one line.
    pub excerpt: String,
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The newest hits, oldest first.
    pub hits: Vec<Hit>,
    /// Older ones that are not shown.
    pub more: usize,
}

/// What entries said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Excerpts {
    /// Entries with their words, oldest first; the last one may be cut.
    pub shown: Vec<(Entry, String)>,
    /// Numbers of those that did not fit.
    pub left_out: Vec<u64>,
}

impl History {
    /// The history in that file.
    pub fn of(path: &Path) -> History {
        History { path: path.to_owned() }
    }

    /// Entries that hold all the words, whatever their case; the newest `most` of them. `stop` is asked between lines.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn search(&self, words: &str, most: usize, stop: &dyn Fn() -> bool) -> Result<Found, SessionError> {
        let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        let mut found = Found::default();
        self.each(stop, |entry| {
            let Some(said) = entry.words().filter(|said| !is_search(said)) else { return };
            let small = said.to_lowercase();
            if words.is_empty() || !words.iter().all(|word| small.contains(word)) {
                return;
            }
            if found.hits.len() == most {
                found.hits.remove(0);
                found.more += 1;
            }
            let excerpt = around(&said, &small, &words);
            found.hits.push(Hit { number: entry.number, what: entry.what(), time: entry.time(), excerpt });
        })?;
        Ok(found)
    }

    /// What entries said, oldest first, all together at most about so many bytes.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(
        &self,
        wanted: &[RangeInclusive<u64>],
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Excerpts, SessionError> {
        let Excerpts { mut shown, mut left_out } = Excerpts::default();
        let mut room = most;
        self.each(stop, |entry| {
            if !wanted.iter().any(|range| range.contains(&entry.number)) {
                return;
            }
            let Some(words) = entry.words() else { return };
            if room == 0 {
                left_out.push(entry.number);
                return;
            }
            let words = excerpt(&words, room);
            room = room.saturating_sub(words.len());
            shown.push((entry, words));
        })?;
        Ok(Excerpts { shown, left_out })
    }

    /// Shows every entry that can be read; the others are passed over.
    fn each(&self, stop: &dyn Fn() -> bool, mut show: impl FnMut(Entry)) -> Result<(), SessionError> {
        let failed = |source| SessionError::io("read", &self.path, source);
        let mut reader = BufReader::with_capacity(1 << 16, File::open(&self.path).map_err(failed)?);
        let mut line = Vec::new();
        loop {
            line.clear();
            if stop() || read_line(&mut reader, &mut line).map_err(failed)? == 0 {
                return Ok(());
            }
            if line.last() == Some(&b'\n') {
                line.pop();
            }
            if line.len() < MAX_LINE
                && is_sealed(&line)
                && let Ok(entry) = Entry::read(&line)
            {
                show(entry);
            }
        }
    }
}

/// It asks for a search, or is what one found.
fn is_search(said: &str) -> bool {
    said.starts_with(FOUND) || said.contains("[calls history_")
}

/// A piece of the text around the first of the words, on one line.
fn around(said: &str, small: &str, words: &[String]) -> String {
    let at = words.iter().filter_map(|word| small.find(word.as_str())).min().unwrap_or(0);
    // Small letters may take more or fewer bytes, so the place is only about right.
    let at = said.floor_char_boundary(at);
    let from = said.floor_char_boundary(at.saturating_sub(AROUND / 2));
    let text: String = said[from..].chars().take(AROUND).collect();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (before, after) = (if from > 0 { "…" } else { "" }, if from + text.len() < said.len() { "…" } else { "" });
    format!("{before}{line}{after}")
}
