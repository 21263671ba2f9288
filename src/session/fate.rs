//! What became of the notes that were posted to a session, and what its tools told programs. Looks at its files beside whoever writes them, and locks none.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::SessionError;
use super::log::is_sealed;
use super::mailbox::path_of;
use super::record::{Posted, Record};
use super::scan::read_line;
use crate::message::NoteId;

/// A note that was posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The note and who sent it.
    pub posted: Posted,
    /// When.
    pub at: Timestamp,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// Nobody has heard it yet.
    Waits,
    /// It is in the conversation.
    Seen {
        /// The model call that answers it; 0 where that was not written down.
        turn: u32,
    },
    /// Nobody will hear it.
    Dropped {
        /// Why not.
        why: String,
    },
}

#[derive(Deserialize)]
struct Entry {
    at: Timestamp,
    #[serde(flatten)]
    record: Record,
}

/// All notes that were posted to the session with this file, oldest first, as far as the files are sound. Neither file
/// need exist.
///
/// # Errors
/// A file cannot be read.
pub fn sent(session: &Path) -> Result<Vec<Sent>, SessionError> {
    let (mut sent, mut fates): (Vec<(Posted, Timestamp)>, HashMap<NoteId, Fate>) = Default::default();
    each(&path_of(session), &["posted", "dropped"], |at, record| match record {
        Record::Posted(posted) => sent.push((posted, at)),
        Record::Dropped { notes, why } => fates.extend(dropped(notes, &why)),
        _ => {}
    })?;
    if sent.is_empty() {
        return Ok(Vec::new());
    }
    each(session, &["note", "dropped", "user"], |_, record| match record {
        Record::Note { note, turn } => drop(fates.insert(note.id, Fate::Seen { turn })),
        // It begins a run.
        Record::User { posted: Some(note), .. } => drop(fates.insert(note, Fate::Seen { turn: 1 })),
        Record::Dropped { notes, why } => fates.extend(dropped(notes, &why)),
        _ => {}
    })?;
    let told = |(posted, at): (Posted, Timestamp)| {
        let fate = fates.get(&posted.note.id).cloned().unwrap_or(Fate::Waits);
        Sent { posted, at, fate }
    };
    Ok(sent.into_iter().map(told).collect())
}

fn dropped(notes: Vec<NoteId>, why: &str) -> impl Iterator<Item = (NoteId, Fate)> {
    notes.into_iter().map(move |note| (note, Fate::Dropped { why: why.to_owned() }))
}

/// What tools told programs under this name, in the details of their results, oldest first, as far as the file is sound. It
/// need not exist.
///
/// # Errors
/// The file cannot be read.
pub fn details(session: &Path, name: &str) -> Result<Vec<Value>, SessionError> {
    let mut found = Vec::new();
    each(session, &["tool_result"], |_, record| {
        if let Record::ToolResult { message } = record {
            found.extend(message.results().filter_map(|result| result.details.get(name).cloned()));
        }
    })?;
    Ok(found)
}

/// Shows the sound entries of these types; the others are not even read.
fn each(path: &Path, kinds: &[&str], mut show: impl FnMut(Timestamp, Record)) -> Result<(), SessionError> {
    let failed = |source| SessionError::io("read", path, source);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    let marks: Vec<Vec<u8>> = kinds.iter().map(|kind| format!(r#""type":"{kind}""#).into_bytes()).collect();
    let (mut reader, mut line) = (BufReader::new(file), Vec::new());
    while read_line(&mut reader, &mut line).map_err(failed)? > 0 {
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        // The type stands before what is said, within the first few fields.
        let head = &line[..line.len().min(HEAD)];
        let wanted = marks.iter().any(|mark| head.windows(mark.len()).any(|part| part == mark));
        if wanted
            && is_sealed(&line)
            && let Ok(Entry { at, record }) = serde_json::from_slice(&line)
        {
            show(at, record);
        }
        line.clear();
    }
    Ok(())
}

/// Bytes of a line that hold its first fields, the type among them.
const HEAD: usize = 256;
