//! `tillerman compaction`: what a conversation was shortened by, and taking some of it back. Looking needs no lock;
//! restoring writes an entry, so the session must be open nowhere else.

use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::json::VERSION;
use crate::agent::{self, Limits, Preview};
use crate::args::Compaction as Words;
use crate::session::{Compaction, Entry, Item, Session, SessionError, Store};
use crate::terminal::Look;
use crate::terminal::clean::one_line;
use crate::terminal::exit::Exit;
use crate::workspace::Workspace;

/// Most entries of a list that are shown with their words, and how many characters of these.
const SHOWN: usize = 200;
const WORDS: usize = 80;

/// What the command needs to know.
pub struct Setup<'a> {
    /// Whose sessions.
    pub workspace: &'a Workspace,
    /// Which session; the latest when absent.
    pub session: Option<&'a str>,
    /// When conversations are shortened here.
    pub limits: &'a Limits,
    /// Colours or not.
    pub look: Look,
    /// JSON instead of text.
    pub json: bool,
}

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
pub enum NotDone {
    /// The session, or an entry of it.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// There is no session yet.
    #[error("there is no session yet in this workspace")]
    None,
    /// It was not shortened so often.
    #[error("there is no compaction {0}; this session has {1} (tillerman compaction list)")]
    NoSuch(usize, usize),
    /// Nobody reads any more.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Shows or restores, on stdout.
///
/// # Errors
/// [`NotDone`] names the session, the entry or the number.
pub fn compaction(command: &Words, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let path = path(setup)?;
    if let Words::Restore { entry } = command {
        return restore(&mut Session::open(&path)?, entry, setup);
    }
    let session = Session::read(&path)?;
    match command {
        Words::Show { number } => show(&session, *number, setup),
        Words::Preview => preview(&session, setup),
        Words::List | Words::Restore { .. } => list(&session, setup),
    }
}

fn path(setup: &Setup<'_>) -> Result<PathBuf, NotDone> {
    let store = Store::new(setup.workspace.sessions());
    match setup.session {
        Some(id) => Ok(store.find(id)?),
        None => store.latest()?.ok_or(NotDone::None),
    }
}

fn list(session: &Session, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let all = session.compactions()?;
    let mut out = io::stdout().lock();
    if all.is_empty() && !setup.json {
        writeln!(out, "{} was never shortened", session.id())?;
    }
    for (at, (entry, compaction)) in all.iter().enumerate() {
        match setup.json {
            true => writeln!(out, "{}", summary(session, at + 1, entry, compaction))?,
            false => writeln!(out, "{}", line(at + 1, entry, compaction, setup.look))?,
        }
    }
    Ok(Exit::Done)
}

fn line(number: usize, entry: &Entry, compaction: &Compaction, look: Look) -> String {
    let Compaction { before, after, dropped, kept, pinned, why, .. } = compaction;
    let counts = format!("{} summed up, {} kept, {} pinned", dropped.len(), kept.len(), pinned.len());
    let why = if why.is_empty() { String::new() } else { format!(" · {why}") };
    let name = look.name(format!("{number}"));
    format!("{name}  m{} {}  {before} → {after} tokens · {counts}{why}", entry.number, entry.time())
}

fn show(session: &Session, number: Option<usize>, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let mut all = session.compactions()?;
    let count = all.len();
    let number = number.unwrap_or(count);
    if number == 0 || number > count {
        return Err(NotDone::NoSuch(number, count));
    }
    let (entry, compaction) = all.swap_remove(number - 1);
    let mut out = io::stdout().lock();
    let lists = [("summed up", &compaction.dropped), ("kept", &compaction.kept), ("pinned", &compaction.pinned)];
    if setup.json {
        let mut told = summary(session, number, &entry, &compaction);
        for (name, (_, items)) in ["dropped", "kept", "pinned"].into_iter().zip(&lists) {
            told[name] = told_items(session, items);
        }
        writeln!(out, "{told}")?;
        return Ok(Exit::Done);
    }
    writeln!(out, "{}", line(number, &entry, &compaction, setup.look))?;
    lists.into_iter().try_for_each(|(title, items)| write_items(&mut out, session, title, items, setup.look))?;
    Ok(Exit::Done)
}

fn summary(session: &Session, number: usize, entry: &Entry, compaction: &Compaction) -> Value {
    let Compaction { before, after, why, model, archive, .. } = compaction;
    json!({
        "v": VERSION, "session": session.id(), "number": number, "entry": entry.id, "name": format!("m{}", entry.number),
        "at": entry.at, "before": before, "after": after, "why": why, "model": model, "archive": archive,
        "counts": {"dropped": compaction.dropped.len(), "kept": compaction.kept.len(), "pinned": compaction.pinned.len()},
    })
}

fn told_items(session: &Session, items: &[Item]) -> Value {
    let told = |item: &Item| json!({"name": session.name(item.entry), "entry": item.entry, "kind": item.kind, "tokens": item.tokens});
    items.iter().map(told).collect()
}

fn write_items(
    out: &mut impl Write,
    session: &Session,
    title: &str,
    items: &[Item],
    look: Look,
) -> Result<(), NotDone> {
    let tokens: u64 = items.iter().map(|item| item.tokens).sum();
    if items.is_empty() {
        return Ok(());
    }
    writeln!(out, "{title}: {} entries, about {tokens} tokens", items.len())?;
    for item in items.iter().take(SHOWN) {
        // One whose line is damaged by now is listed without its words.
        let words = session.look(item.entry).ok().and_then(|entry| entry.words()).unwrap_or_default();
        let words: String = one_line(&words).chars().take(WORDS).collect();
        let (name, kind) = (look.name(session.name(item.entry)), item.kind.word());
        writeln!(out, "  {name} {kind}, {}  {}", item.tokens, look.dim(words))?;
    }
    if items.len() > SHOWN {
        writeln!(out, "  and {} more (--json tells all)", items.len() - SHOWN)?;
    }
    Ok(())
}

fn preview(session: &Session, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let Preview { tokens, dropped, kept, pinned } = agent::preview(setup.limits, session);
    let mut out = io::stdout().lock();
    if setup.json {
        let told = json!({
            "v": VERSION, "session": session.id(), "tokens": tokens, "window": setup.limits.context_window,
            "dropped": told_items(session, &dropped), "kept": told_items(session, &kept),
            "pinned": told_items(session, &pinned),
        });
        writeln!(out, "{told}")?;
        return Ok(Exit::Done);
    }
    writeln!(out, "{}: about {tokens} tokens of {}", session.id(), setup.limits.context_window)?;
    if dropped.is_empty() {
        writeln!(out, "nothing would be summed up")?;
    }
    let lists = [("would be summed up", &dropped), ("would stay", &kept), ("pinned", &pinned)];
    lists.into_iter().try_for_each(|(title, items)| write_items(&mut out, session, title, items, setup.look))?;
    Ok(Exit::Done)
}

fn restore(session: &mut Session, entry: &str, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let of = session.entry_named(entry)?;
    let name = session.name(of);
    let restored = session.restore(of)?;
    let restored = session.name(restored);
    let mut out = io::stdout().lock();
    match setup.json {
        true => writeln!(out, "{}", json!({"v": VERSION, "session": session.id(), "restored": name, "as": restored}))?,
        false => writeln!(out, "{name} is in the conversation again, as {restored}; it stays when that is shortened")?,
    }
    Ok(Exit::Done)
}

impl NotDone {
    /// What the program ends with.
    pub fn exit(&self) -> Exit {
        match self {
            NotDone::Session(SessionError::Locked { .. }) => Exit::Refused,
            NotDone::Session(_) | NotDone::None | NotDone::NoSuch(..) | NotDone::Io(_) => Exit::Failed,
        }
    }

    /// Whoever read is gone.
    pub fn nobody_reads(&self) -> bool {
        matches!(self, NotDone::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}
