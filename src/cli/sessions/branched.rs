//! Conversations that part: their tree, their branches, going back, across, and into a session of its own.

use std::io::{self, Write};
use std::path::Path;

use jiff::Timestamp;
use serde_json::json;

use super::{NotDone, Setup, VERSION, tell};
use crate::session::{Page, Session, Store};
use crate::terminal::exit::Exit;
use crate::terminal::tree as drawn;

/// Columns where there is no terminal.
const WIDE: usize = 160;

/// Shows the tree, or the part that ends with an entry.
pub(super) fn tree(session: &Session, entry: Option<&str>, limit: usize, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let up_to = entry.map(|entry| session.entry_named(entry)).transpose()?;
    let outline = session.outline(Page { most: limit, up_to })?;
    let mut out = io::stdout().lock();
    if setup.json {
        for row in &outline.rows {
            let row = json!({
                "v": VERSION, "entry": format!("m{}", row.number), "last": format!("m{}", row.last),
                "entry_id": row.entry, "kind": row.kind, "depth": row.depth, "current": row.is_current,
                "here": row.is_here, "calls": row.calls, "words": row.words,
            });
            writeln!(out, "{row}")?;
        }
        return Ok(Exit::Done);
    }
    let how = "-n shows more, an entry at the end another part";
    for line in drawn::tree(&outline, how, setup.look, setup.width.unwrap_or(WIDE)) {
        writeln!(out, "{line}")?;
    }
    Ok(Exit::Done)
}

/// Shows the branches, the youngest last.
pub(super) fn branches(session: &Session, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let branches = session.branches()?;
    let mut out = io::stdout().lock();
    if setup.json {
        for branch in &branches {
            let row = json!({
                "v": VERSION, "entry": format!("m{}", branch.number), "entry_id": branch.entry,
                "current": branch.is_current, "messages": branch.messages,
                "parts_at": branch.parts_at.map(|at| format!("m{at}")), "kind": branch.kind, "at": branch.at,
                "words": branch.words,
            });
            writeln!(out, "{row}")?;
        }
        return Ok(Exit::Done);
    }
    for line in drawn::branches(&branches, Timestamp::now(), setup.look, setup.width.unwrap_or(WIDE)) {
        writeln!(out, "{line}")?;
    }
    Ok(Exit::Done)
}

/// Goes back to an entry.
pub(super) fn branch(store: &Store, id: &str, entry: &str, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let (id, name) = store.edit(id, |session| {
        let entry = session.entry_named(entry)?;
        session.branch(entry)?;
        Ok(session.name(entry))
    })?;
    tell(&id, "branched", &format!(" at {name}; what is said next goes on from there"), setup)
}

/// Goes to the end of the branch that an entry lies on.
pub(super) fn switch(store: &Store, id: &str, entry: &str, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let (id, name) = store.edit(id, |session| {
        let entry = session.entry_named(entry)?;
        let end = session.switch(entry)?;
        Ok(session.name(end))
    })?;
    tell(&id, "switched", &format!(" to {name}; what is said next goes on from there"), setup)
}

/// Makes a session of everything up to an entry. The old one is only read, so somebody else may have it open.
pub(super) fn fork(store: &Store, path: &Path, entry: Option<&str>, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let session = Session::read(path)?;
    let at = match entry {
        Some(entry) => session.entry_named(entry)?,
        None => session.leaf().ok_or_else(|| NotDone::Usage("nothing was said in it yet".to_owned()))?,
    };
    let from = format!(" from {} of {}", session.name(at), session.id());
    let forked = session.fork(at, store.dir())?;
    tell(forked.id(), "forked", &from, setup)
}
