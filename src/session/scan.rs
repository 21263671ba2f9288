//! Reads a session file of unknown state: whole lines become entries, everything else is named and passed over. Only
//! what the tree and the totals need is taken from a line; messages are read later, for the branch that is wanted.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::EntryId;
use super::facts::Facts;
use super::log::{MAX_LINE, Span, VERSION, is_sealed};
use super::record::{End, Kind, Record};
use super::tree::{Node, Tree};
use crate::message::{NoteId, Usage, Usd};

/// Most findings that are kept; more are counted.
const MOST_FINDINGS: usize = 100;

/// What a file holds.
#[derive(Default)]
pub(super) struct Scanned {
    pub(super) tree: Tree,
    /// Where each entry is in the tree, to be forgotten with the scan.
    known: HashMap<EntryId, usize>,
    pub(super) facts: Facts,
    pub(super) next_seq: u64,
    /// Entries up to this number were taken over from another session; 0 when none were.
    inherited: u64,
    /// Bytes up to the end of the last line that ends in a newline.
    pub(super) whole: u64,
    /// What follows them.
    pub(super) tail: Tail,
    /// The version of a line that is newer than ours.
    pub(super) newer: Option<u32>,
    /// The file begins as ours do.
    pub(super) ours: bool,
    /// What was passed over, one sentence each.
    pub(super) damage: Vec<String>,
}

/// The end of a file that lacks its newline.
#[derive(Default)]
pub(super) enum Tail {
    /// There is none.
    #[default]
    Clean,
    /// A whole entry; only the newline is missing.
    Unended(usize),
    /// Part of an entry.
    Torn(Vec<u8>),
}

/// What the tree and the totals need of a line.
#[derive(Deserialize)]
struct Head<'a> {
    v: u32,
    seq: u64,
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    parent: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default)]
    data: Gist<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Gist<'a> {
    usage: Option<Usage>,
    cost: Option<Usd>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    note: Option<NoteGist>,
    #[serde(borrow)]
    title: Option<Cow<'a, str>>,
    #[serde(borrow)]
    to: Option<Cow<'a, str>>,
    posted: Option<u64>,
    notes: Option<Vec<u64>>,
    #[serde(borrow)]
    task: Option<Cow<'a, str>>,
    attempt: Option<u32>,
    number: Option<u32>,
    end: Option<Value>,
    from: Option<From>,
}

/// Where a session was forked from; or, in an inbox, who sent a note.
#[derive(Deserialize)]
#[serde(untagged)]
enum From {
    Fork {
        #[serde(default)]
        number: u64,
    },
    Sender(IgnoredAny),
}

#[derive(Deserialize)]
struct NoteGist {
    id: u64,
}

#[derive(Deserialize)]
struct Versioned {
    v: u32,
}

/// Reads the whole file once, one line in memory at a time.
pub(super) fn scan(file: &File) -> io::Result<Scanned> {
    let mut scanned = Scanned::default();
    let mut reader = BufReader::with_capacity(1 << 16, file);
    reader.seek(SeekFrom::Start(0))?;
    let mut line = Vec::new();
    for number in 1_usize.. {
        line.clear();
        let read = read_line(&mut reader, &mut line)?;
        if number == 1 {
            scanned.ours = begins_as_ours(&line);
        }
        let at = Place { number, offset: scanned.whole };
        match line.last() {
            None => break,
            Some(b'\n') => {
                line.pop();
                if line.len() as u64 + 1 == read {
                    scanned.take(&line, at);
                } else {
                    scanned.find(at, &format!("is longer than {MAX_LINE} bytes and was skipped"));
                }
                scanned.whole += read;
            }
            Some(_) => {
                scanned.tail = if is_sealed(&line) {
                    scanned.take(&line, at);
                    Tail::Unended(line.len())
                } else {
                    Tail::Torn(std::mem::take(&mut line))
                };
                break;
            }
        }
    }
    Ok(scanned)
}

/// Whether a first line looks like one of a session, perhaps damaged, or could have become one.
fn begins_as_ours(line: &[u8]) -> bool {
    let ours = br#"{"v":"#;
    let compared = ours.len().min(line.len());
    let sealed = || line.windows(8).any(|window| window == br#","crc":""#);
    line.get(..compared) == ours.get(..compared) && (line.last() != Some(&b'\n') || sealed())
}

#[derive(Clone, Copy)]
struct Place {
    number: usize,
    offset: u64,
}

impl Scanned {
    fn find(&mut self, at: Place, what: &str) {
        self.damage.push(match self.damage.len() {
            ..MOST_FINDINGS => format!("line {} (byte {}) {what}", at.number, at.offset),
            MOST_FINDINGS => "and more".to_owned(),
            _ => return,
        });
    }

    fn take(&mut self, line: &[u8], at: Place) {
        if !is_sealed(line) {
            match serde_json::from_slice::<Versioned>(line) {
                Ok(Versioned { v }) if v > VERSION => self.newer = self.newer.max(Some(v)),
                Ok(_) | Err(_) => self.find(at, "does not match its checksum and was skipped"),
            }
            return;
        }
        match serde_json::from_slice::<Head<'_>>(line) {
            Ok(head) if head.v > VERSION => self.newer = self.newer.max(Some(head.v)),
            Ok(head) => {
                self.admit(&head, Span { offset: at.offset, len: line.len() }, at);
                self.look_for_report(&head, line);
            }
            Err(error) => self.find(at, &format!("cannot be read ({error}) and was skipped")),
        }
    }

    /// The answer to a call may be the only place with a report. Few are, so all others are not read.
    fn look_for_report(&mut self, head: &Head<'_>, line: &[u8]) {
        let mark = br#""report":""#;
        if Kind::parse(&head.kind) == Kind::ToolResult
            && line.windows(mark.len()).any(|part| part == mark)
            && let Ok(record) = serde_json::from_slice::<Record>(line)
        {
            self.facts.take(&record);
        }
    }

    fn admit(&mut self, head: &Head<'_>, span: Span, at: Place) {
        let id = match head.id.parse::<EntryId>() {
            Ok(id) => id,
            Err(error) => return self.find(at, &format!("cannot be read ({error}) and was skipped")),
        };
        if self.known.contains_key(&id) {
            return self.find(at, &format!("has the id {id} of an entry before it and was skipped"));
        }
        if head.seq < self.next_seq && self.tree.len() > 0 {
            self.find(at, &format!("has number {} after {}", head.seq, self.next_seq.saturating_sub(1)));
        } else if head.seq > self.next_seq {
            self.find(at, &format!("has number {}, expected {}", head.seq, self.next_seq));
        }
        self.next_seq = self.next_seq.max(head.seq.saturating_add(1));
        let kind = Kind::parse(&head.kind);
        let leaf = self.tree.leaf_at();
        let place = |name: &str| name.parse().ok().and_then(|id: EntryId| self.known.get(&id).copied());
        let parent = match head.parent.as_deref() {
            // When its parent was skipped, what was written before it is the best guess.
            Some(parent) => place(parent).or(leaf),
            None => None,
        };
        let to = head.data.to.as_deref().and_then(place);
        self.known.insert(id, self.tree.len());
        self.tree.grow(Node::new(id, head.seq, kind, span).behind(parent));
        if let (Kind::Session, Some(From::Fork { number })) = (kind, &head.data.from) {
            self.inherited = *number;
        }
        head.data.tell(kind, head.seq <= self.inherited, &mut self.facts);
        if kind == Kind::Branch {
            match to.or(leaf) {
                Some(to) => self.tree.turn_to(to),
                None => self.find(at, "branches to an entry that is not there"),
            }
        }
    }
}

impl Gist<'_> {
    /// What a line says besides the conversation; its type says what its fields mean. What is inherited was paid for in
    /// another session.
    fn tell(&self, kind: Kind, is_inherited: bool, facts: &mut Facts) {
        facts.went(kind);
        match kind {
            Kind::Assistant | Kind::Discarded | Kind::Compaction => {
                if let Some(usage) = self.usage.filter(|_| !is_inherited) {
                    facts.paid(self.model.as_deref(), usage, self.cost);
                }
            }
            Kind::Note => self.note.iter().for_each(|note| facts.hear(NoteId(note.id))),
            Kind::User => self.posted.iter().for_each(|note| facts.hear(NoteId(*note))),
            Kind::Dropped => self.notes.iter().flatten().for_each(|note| facts.hear(NoteId(*note))),
            Kind::Posted => self.note.iter().for_each(|note| facts.given(NoteId(note.id))),
            Kind::Report => {
                if let (Some(task), Some(attempt)) = (&self.task, self.attempt) {
                    facts.tell(task, attempt);
                }
            }
            Kind::Attempt => facts.attempt = self.number.unwrap_or(facts.attempt),
            Kind::Title => facts.title = self.title.clone().map(Cow::into_owned).or(facts.title.take()),
            // An end that a later version knows is an end too.
            Kind::Ended => {
                let end = self.end.clone().and_then(|end| serde_json::from_value(end).ok());
                facts.end = Some(end.unwrap_or(End::Interrupted));
            }
            Kind::Session
            | Kind::ToolStarted
            | Kind::ToolResult
            | Kind::Reminder
            | Kind::Restored
            | Kind::Branch
            | Kind::Unknown => {}
        }
    }
}

/// Reads up to and with the next newline into `line` and answers how many bytes that was. Of a line over the cap only
/// the beginning is kept, with its newline.
pub(super) fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<u64> {
    let mut read = 0;
    loop {
        let chunk = match reader.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if chunk.is_empty() {
            return Ok(read);
        }
        let newline = chunk.iter().position(|byte| *byte == b'\n');
        let used = newline.map_or(chunk.len(), |newline| newline + 1);
        if line.len() + used <= MAX_LINE {
            line.extend_from_slice(&chunk[..used]);
        } else if newline.is_some() {
            line.push(b'\n');
        }
        read += used as u64;
        reader.consume(used);
        if newline.is_some() {
            return Ok(read);
        }
    }
}
