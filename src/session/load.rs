//! Opens a session file: what is torn is set aside, what is damaged is passed over and named, and the conversation of
//! the leaf is read so that every call in it has its answer.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::log::Log;
use super::record::{Kind, Record};
use super::scan::{self, Scanned, Tail};
use super::tree::Context;
use super::{EntryId, Refusal, Session, SessionError, SessionId};
use crate::message::{CallId, Message, ToolResult};

/// Why calls may be without an answer, and what the model is told then.
pub(super) struct Gap {
    started: &'static str,
    not_started: &'static str,
}

/// The program ended while the calls were open.
const INTERRUPTED: Gap = Gap {
    started: "interrupted, effects unknown: the program ended while this call was running. Check what it did before \
              you repeat it.",
    not_started: "interrupted: the program ended before this call started; it had no effect.",
};

/// The conversation went on from a point between calls and answers.
pub(super) const LEFT_BEHIND: Gap = Gap {
    started: "left behind: the conversation branched here; what this call did and answered is on the other branch.",
    not_started: "left behind: the conversation branched here before this call started.",
};

/// The answer was in a line that is damaged.
const LOST: &str = "lost: the answer to this call is damaged in the session's file; its effects are unknown.";

impl Session {
    /// An existing session, to go on with. Its torn end is set aside, calls that were never answered are answered as
    /// interrupted; see [`Session::damage`]. A file of a newer version opens for reading only.
    ///
    /// # Errors
    /// [`SessionError::NotASession`], [`SessionError::Locked`], or the file cannot be read.
    pub fn open(path: &Path) -> Result<Session, SessionError> {
        let mut log = Log::open(path)?;
        let mut scanned = scanned(&mut log, path)?;
        if scanned.newer.is_none() {
            match std::mem::take(&mut scanned.tail) {
                Tail::Clean => {}
                Tail::Unended(_) => {
                    let ended = log.append(b"\n");
                    ended.map_err(|source| SessionError::io("write", path, source))?;
                }
                Tail::Torn(tail) => {
                    let aside = log.set_torn_aside(&tail)?;
                    let bytes = tail.len();
                    scanned.damage.push(format!("the torn end of {bytes} bytes was moved to {}", aside.display()));
                }
            }
        }
        let mut session = Session::over(SessionId::of(path), log, scanned);
        if session.refusal.is_none() && session.tree.len() == 0 {
            session.begin()?;
        }
        session.load(INTERRUPTED)?;
        Ok(session)
    }

    /// An existing session, to look at while somebody else may write it. Nothing in its file changes.
    ///
    /// # Errors
    /// [`SessionError::NotASession`], or the file cannot be read.
    pub fn read(path: &Path) -> Result<Session, SessionError> {
        let mut log = Log::read_only(path)?;
        let scanned = scanned(&mut log, path)?;
        let mut session = Session::over(SessionId::of(path), log, scanned);
        session.refusal = session.refusal.or(Some(Refusal::Reading));
        session.load(INTERRUPTED)?;
        Ok(session)
    }

    /// Reads the conversation of the leaf anew.
    pub(super) fn load(&mut self, gap: Gap) -> Result<(), SessionError> {
        let mut way = Way::default();
        for (id, record) in self.way()? {
            way.go(id, &record, &mut self.damage);
        }
        let Way { context, started, .. } = way;
        self.context = context;
        for call in self.context.open_calls().to_vec() {
            let why = if started.contains(&call) { gap.started } else { gap.not_started };
            let record = Record::ToolResult { message: unanswered(&call, why) };
            match (self.refusal, self.leaf()) {
                (Some(_), Some(leaf)) => self.context.push(leaf, &record),
                _ => drop(self.append(record)?),
            }
        }
        Ok(())
    }

    /// The entries that make the conversation, oldest first: of what a compaction replaced only what it kept.
    fn way(&mut self) -> Result<Vec<(EntryId, Record)>, SessionError> {
        let path = self.tree.path();
        let kinds = |index: &usize| self.tree.node(*index).map(|node| node.kind);
        let last = path.iter().rposition(|index| kinds(index) == Some(Kind::Compaction));
        let mut records = Vec::new();
        let mut findings = Vec::new();
        let mut first = 0;
        if let Some(at) = last
            && let Some((_, Record::Compaction(compaction))) =
                self.entry(path.get(at).copied().unwrap_or_default(), &mut findings)?
        {
            let kept = compaction.kept_from.and_then(|kept| self.tree.find(kept));
            first = path.iter().position(|index| Some(*index) == kept).unwrap_or(at);
        }
        for (position, index) in path.iter().enumerate().skip(first) {
            let superseded = kinds(index) == Some(Kind::Compaction) && Some(position) != last;
            if !superseded {
                records.extend(self.entry(*index, &mut findings)?);
            }
        }
        self.damage.append(&mut findings);
        Ok(records)
    }

    /// What an entry says; nothing when it is of a type that we do not know, or when its data make no sense.
    fn entry(&self, index: usize, findings: &mut Vec<String>) -> Result<Option<(EntryId, Record)>, SessionError> {
        let Some(node) = self.tree.node(index).filter(|node| node.kind != Kind::Unknown) else { return Ok(None) };
        let line = self.log.read(node.span());
        let line = line.map_err(|source| SessionError::io("read", self.log.path().unwrap_or(Path::new("")), source))?;
        match serde_json::from_slice::<Record>(&line) {
            Ok(record) => Ok(Some((node.id, record))),
            Err(error) => {
                findings.push(format!("entry {} makes no sense ({error}) and was skipped", node.id));
                Ok(None)
            }
        }
    }
}

/// The way from the root to the leaf, as far as it was gone.
#[derive(Default)]
struct Way {
    context: Context,
    started: HashSet<CallId>,
    last: Option<EntryId>,
}

impl Way {
    /// Takes an entry; what damage before it left open or alone is mended in memory.
    fn go(&mut self, id: EntryId, record: &Record, damage: &mut Vec<String>) {
        match record {
            Record::ToolStarted { call } => drop(self.started.insert(call.clone())),
            Record::ToolResult { message } => {
                let open = self.context.open_calls();
                if let Some(alone) = message.results().find(|result| !open.contains(&result.call)) {
                    damage.push(format!("entry {id} answers {}, which is no open call, and was left out", alone.call));
                    return;
                }
            }
            Record::User { .. }
            | Record::Report { .. }
            | Record::Note { .. }
            | Record::Reminder { .. }
            | Record::Restored { .. }
            | Record::Assistant { .. } => {
                for call in self.context.open_calls().to_vec() {
                    damage.push(format!("the answer to {call} is lost"));
                    let record = Record::ToolResult { message: unanswered(&call, LOST) };
                    self.context.push(self.last.unwrap_or(id), &record);
                }
            }
            Record::Session { .. }
            | Record::Discarded { .. }
            | Record::Compaction(_)
            | Record::Dropped { .. }
            | Record::Posted(_)
            | Record::Attempt { .. }
            | Record::Branch { .. }
            | Record::Title { .. }
            | Record::Ended { .. } => {}
        }
        self.context.push(id, record);
        self.last = Some(id);
    }
}

fn unanswered(call: &CallId, why: &str) -> Arc<Message> {
    let result = ToolResult { call: call.clone(), output: why.to_owned(), details: Value::Null, is_error: true };
    Arc::new(Message::result(result))
}

/// Reads the file and refuses what is not a session.
pub(super) fn scanned(log: &mut Log, path: &Path) -> Result<Scanned, SessionError> {
    let Some(file) = log.file() else { return Ok(Scanned::default()) };
    let scanned = scan::scan(file).map_err(|source| SessionError::io("read", path, source))?;
    let ours = scanned.ours || scanned.tree.len() > 0 || scanned.newer.is_some();
    if !ours {
        return Err(SessionError::NotASession(path.to_owned()));
    }
    let unended = match scanned.tail {
        Tail::Unended(len) => len as u64,
        Tail::Clean | Tail::Torn(_) => 0,
    };
    log.whole_up_to(scanned.whole + unended);
    Ok(scanned)
}
