//! Words found in sessions: file by file and line by line, so that the memory it takes is that of the longest line.

use std::fs::File;
use std::io::{self, BufReader};
use std::ops::ControlFlow;

use regex::{RegexBuilder, bytes};
use serde::Deserialize;

use super::{Place, Store, Summary, listed};
use crate::message::{Block, Message};
use crate::session::log::is_sealed;
use crate::session::record::Record;
use crate::session::scan::read_line;
use crate::session::{EntryId, SessionError, SessionId};

/// Longest excerpt, in characters.
const EXCERPT: usize = 160;

/// Most words of a search.
const MOST_WORDS: usize = 16;

/// What is looked for, and where.
#[derive(Debug, Clone)]
pub struct Search {
    /// What must all be in an entry.
    pub words: Words,
    /// Also in the archive.
    pub archived: bool,
    /// Also in the journals of workers.
    pub workers: bool,
    /// Most hits of a session; the newest of them are kept.
    pub each: usize,
}

/// One to 16 words.
#[derive(Debug, Clone)]
pub struct Words(Vec<Word>);

/// A word as it is written in a line, and as it is said.
#[derive(Debug, Clone)]
struct Word {
    line: bytes::Regex,
    text: regex::Regex,
}

/// Entries of one session in which all words are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The session.
    pub session: Summary,
    /// Where it lies.
    pub place: Place,
    /// It is a worker's journal.
    pub worker: bool,
    /// The newest of the entries, oldest first.
    pub hits: Vec<Hit>,
    /// How many more there are, older than those.
    pub more: u64,
}

/// An entry in which all words are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The entry.
    pub entry: EntryId,
    /// Its number; people see it as `m37`.
    pub seq: u64,
    /// When it was written, as it is written in the file.
    pub at: String,
    /// Who said it: `user`, `assistant`, `tool`, `title`.
    pub said_by: &'static str,
    /// The text about the first place where the first word is, on one line.
    pub excerpt: String,
}

#[derive(Deserialize)]
struct Line {
    seq: u64,
    id: EntryId,
    at: String,
    #[serde(flatten)]
    record: Record,
}

impl Search {
    /// A search for entries in which all of the words are, in whatever case, also as parts of longer words. `None` when
    /// there is no word, or there are over 16.
    pub fn of(words: &str) -> Option<Search> {
        let words: Option<Vec<Word>> = words.split_whitespace().map(Word::new).collect();
        let words = words.filter(|words| (1..=MOST_WORDS).contains(&words.len()))?;
        Some(Search { words: Words(words), archived: false, workers: false, each: 3 })
    }

    /// Looks at a line of a session.
    fn hit(&self, line: &[u8]) -> Option<Hit> {
        // Nearly all lines end here, without being parsed.
        if !self.words.0.iter().all(|word| word.line.is_match(line)) || !is_sealed(line) {
            return None;
        }
        let Line { seq, id, at, record } = serde_json::from_slice(line).ok()?;
        let (said_by, text) = said(&record)?;
        let first = self.words.0.first()?.text.find(&text)?.range();
        let all = self.words.0.iter().all(|word| word.text.is_match(&text));
        all.then(|| Hit { entry: id, seq, at, said_by, excerpt: excerpt(&text, first.start) })
    }

    /// Looks through a session.
    fn session(&self, session: Summary, place: Place, worker: bool) -> io::Result<Option<Found>> {
        let mut reader = BufReader::with_capacity(1 << 16, File::open(&session.path)?);
        let mut found = Found { session, place, worker, hits: Vec::new(), more: 0 };
        let mut line = Vec::new();
        while read_line(&mut reader, &mut line)? > 0 {
            if let Some(hit) = self.hit(line.strip_suffix(b"\n").unwrap_or(&line)) {
                found.hits.push(hit);
                if found.hits.len() > self.each {
                    found.hits.remove(0);
                    found.more += 1;
                }
            }
            line.clear();
        }
        Ok(Some(found).filter(|found| !found.hits.is_empty()))
    }
}

impl Word {
    fn new(word: &str) -> Option<Word> {
        let written = serde_json::to_string(word).ok()?;
        let written = written.get(1..written.len() - 1)?;
        let line = bytes::RegexBuilder::new(&regex::escape(written)).case_insensitive(true).build().ok()?;
        let text = RegexBuilder::new(&regex::escape(word)).case_insensitive(true).build().ok()?;
        Some(Word { line, text })
    }
}

impl Store {
    /// Looks through the sessions, the last written first, and hands each one in which something is found to `tell`,
    /// until that has enough. Sessions that cannot be read are passed over; their ids are the answer.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn search(
        &self,
        search: &Search,
        tell: &mut dyn FnMut(Found) -> ControlFlow<()>,
    ) -> Result<Vec<SessionId>, SessionError> {
        let mut places = vec![(Place::Current, false)];
        places.extend(search.workers.then_some((Place::Current, true)));
        places.extend(search.archived.then_some((Place::Archive, false)));
        let mut passed_over = Vec::new();
        for (place, workers) in places {
            let folder = if workers { self.dir.join("workers") } else { self.folder(place) };
            for session in listed(&folder)? {
                let id = session.id.clone();
                match search.session(session, place, workers) {
                    Ok(None) => {}
                    Ok(Some(found)) => {
                        if tell(found).is_break() {
                            return Ok(passed_over);
                        }
                    }
                    Err(error) => {
                        tracing::warn!(session = %id, %error, "a session was not searched");
                        passed_over.push(id);
                    }
                }
            }
        }
        Ok(passed_over)
    }
}

/// What an entry says to people, and who says it. A compaction, and what it is asked to keep, was said before it.
fn said(record: &Record) -> Option<(&'static str, String)> {
    Some(match record {
        Record::User { message, .. } | Record::Report { message, .. } | Record::Reminder { message } => {
            ("user", words(message))
        }
        Record::Note { note, .. } => ("user", note.text.clone()),
        Record::Assistant { message, .. } => ("assistant", words(message)),
        Record::ToolResult { message } => ("tool", words(message)),
        Record::Title { title } => ("title", title.clone()),
        Record::Session { .. }
        | Record::Discarded { .. }
        | Record::ToolStarted { .. }
        | Record::Compaction(_)
        | Record::Restored { .. }
        | Record::Dropped { .. }
        | Record::Posted(_)
        | Record::Attempt { .. }
        | Record::Branch { .. }
        | Record::Ended { .. } => return None,
    })
}

/// Texts, calls with their arguments, and results; not pictures, and not what a model only thought.
fn words(message: &Message) -> String {
    let mut words = String::new();
    for block in &message.blocks {
        match block {
            Block::Text { text } => words.push_str(text),
            Block::Call(call) => words.extend([call.name.as_str(), " ", call.args.0.as_str()]),
            Block::Result(result) => words.push_str(&result.output),
            Block::Thinking(_) | Block::Image(_) => {}
        }
        words.push('\n');
    }
    words
}

/// The text about a place, words whole, spaces single.
fn excerpt(text: &str, at: usize) -> String {
    let start = text.get(..at).map_or(0, |before| {
        let mut back = before.char_indices().rev().map(|(place, _)| place).take(EXCERPT / 3);
        back.by_ref().last().unwrap_or(0)
    });
    let shown: String = text.get(start..).unwrap_or(text).chars().take(EXCERPT).collect();
    let mut line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    if start > 0 {
        line.insert(0, '…');
    }
    if start + shown.len() < text.trim_end().len() {
        line.push('…');
    }
    line
}
