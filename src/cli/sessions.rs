//! `tillerman sessions`: looks at conversations and puts them in order. It needs no lock of the workspace, so it works
//! while another program talks; what that one has open is not moved. How it looks is in `table`, `told` and `branched`.

mod branched;
mod table;
mod told;

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::json::VERSION;
use crate::args::{Form, Sessions, Trash};
use crate::session::export::{ExportError, Format};
use crate::session::flat::NotImported;
use crate::session::store::Search;
use crate::session::{Place, Session, SessionError, SessionId, Store};
use crate::terminal::Look;
use crate::terminal::clean::one_line;
use crate::terminal::exit::Exit;
use crate::workspace::Workspace;

/// Longest title, in characters.
const TITLE: usize = 200;

/// What the command needs to know.
pub struct Setup<'a> {
    /// Whose sessions.
    pub workspace: &'a Workspace,
    /// Colours or not.
    pub look: Look,
    /// JSON lines instead of text.
    pub json: bool,
    /// Columns of the terminal, if there is one.
    pub width: Option<usize>,
}

/// Why nothing was done, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum NotDone {
    /// There is no such session, it is in use, or the disk refuses.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// It cannot be written out.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// It cannot be read in.
    #[error(transparent)]
    Import(#[from] NotImported),
    /// The file that was asked for cannot be made.
    #[error("cannot write {}: {source}; name another file", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The words make no sense.
    #[error("{0}")]
    Usage(String),
    /// Nobody reads any more, or the disk refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Does what was asked; what is shown goes to stdout.
///
/// # Errors
/// [`NotDone`] names the session or file.
pub fn sessions(command: &Sessions, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let store = &Store::new(setup.workspace.sessions());
    match command {
        Sessions::List { archived, trash, limit } => {
            let place = match (archived, trash) {
                (true, _) => Place::Archive,
                (_, true) => Place::Trash,
                _ => Place::Current,
            };
            table::list(store, place, limit.unwrap_or(usize::MAX), setup)
        }
        Sessions::Show { id, last } => {
            let (place, path) = find(store, id)?;
            told::show(&Session::read(&path)?, place, *last, setup)
        }
        Sessions::Search { words, archived, workers, limit, each } => {
            let search = Search::of(&words.join(" "));
            let search = search.ok_or_else(|| NotDone::Usage("say 1 to 16 words to look for".to_owned()))?;
            look_for(store, &Search { archived: *archived, workers: *workers, each: *each, ..search }, *limit, setup)
        }
        Sessions::Rename { id, title } => rename(store, id, &title.join(" "), setup),
        Sessions::Tree { id, entry, limit } => {
            branched::tree(&Session::read(&find(store, id)?.1)?, entry.as_deref(), *limit, setup)
        }
        Sessions::Branches { id } => branched::branches(&Session::read(&find(store, id)?.1)?, setup),
        Sessions::Branch { id, entry } => branched::branch(store, id, entry, setup),
        Sessions::Switch { id, entry } => branched::switch(store, id, entry, setup),
        Sessions::Fork { id, entry } => branched::fork(store, &find(store, id)?.1, entry.as_deref(), setup),
        Sessions::Export { id, format, output } => {
            let session = Session::read(&find(store, id)?.1)?;
            export(&session, *format, output.as_deref())
        }
        Sessions::Import { file } => tell(&store.import(file)?, "imported", "", setup),
        Sessions::Archive { ids } => each(ids, "archived", setup, |id| store.archive(id)),
        Sessions::Unarchive { ids } => each(ids, "unarchived", setup, |id| store.unarchive(id)),
        Sessions::Delete { ids } => {
            let done = each(ids, "deleted", setup, |id| store.delete(id))?;
            hint("`tillerman sessions trash restore ID` takes it back", setup);
            Ok(done)
        }
        Sessions::Trash { command } => match command.as_ref().unwrap_or(&Trash::List) {
            Trash::List => table::list(store, Place::Trash, usize::MAX, setup),
            Trash::Restore { ids } => each(ids, "restored", setup, |id| store.restore(id)),
            Trash::Empty { yes } => empty(store, *yes, setup),
        },
    }
}

/// The session with that id, wherever it lies, or a worker's.
fn find(store: &Store, id: &str) -> Result<(Option<Place>, PathBuf), SessionError> {
    match store.find_in(&Place::ALL, id) {
        Ok((place, path)) => Ok((Some(place), path)),
        Err(none @ SessionError::NotFound(_)) => {
            let worker = Store::new(store.dir().join("workers")).find(id);
            worker.map(|path| (None, path)).map_err(|_| none)
        }
        Err(error) => Err(error),
    }
}

/// Does the same to each; those before one that fails are done.
fn each(
    ids: &[String],
    what: &str,
    setup: &Setup<'_>,
    act: impl Fn(&str) -> Result<SessionId, SessionError>,
) -> Result<Exit, NotDone> {
    for id in ids {
        tell(&act(id)?, what, "", setup)?;
    }
    Ok(Exit::Done)
}

fn tell(id: &SessionId, what: &str, more: &str, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let mut out = io::stdout().lock();
    match setup.json {
        true => writeln!(out, "{}", json!({"v": VERSION, "id": id, "done": what}))?,
        false => writeln!(out, "{} {what} {}{more}", setup.look.good("✓"), setup.look.name(id))?,
    }
    Ok(Exit::Done)
}

fn hint(text: &str, setup: &Setup<'_>) {
    if !setup.json {
        // Only a help; whoever does not read it needs none.
        let _ = writeln!(io::stderr().lock(), "  {}", setup.look.dim(text));
    }
}

fn rename(store: &Store, id: &str, title: &str, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let title: String = one_line(title).chars().take(TITLE).collect();
    if title.is_empty() {
        return Err(NotDone::Usage("the title is empty; say some words".to_owned()));
    }
    let id = store.rename(id, &title)?;
    tell(&id, "renamed", &format!(": {title}"), setup)
}

fn look_for(store: &Store, search: &Search, limit: usize, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let (mut shown, mut more) = (0, false);
    let mut written = Ok(());
    let passed_over = store.search(search, &mut |found| {
        if shown == limit {
            more = true;
            return ControlFlow::Break(());
        }
        shown += 1;
        written = table::found(&found, setup);
        if written.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    written?;
    for id in passed_over {
        writeln!(io::stderr().lock(), "{} {id} could not be read", setup.look.warn("⚠"))?;
    }
    if more {
        hint("there are more sessions; -n shows more, or say more words", setup);
    }
    if shown == 0 && !setup.json {
        writeln!(io::stdout().lock(), "nothing found")?;
    }
    Ok(Exit::Done)
}

fn export(session: &Session, form: Form, output: Option<&Path>) -> Result<Exit, NotDone> {
    let format = match form {
        Form::Md => Format::Markdown,
        Form::Html => Format::Html,
        Form::Json => Format::Json,
        Form::V2 => Format::V2,
    };
    let Some(path) = output else {
        let mut out = BufWriter::new(io::stdout().lock());
        session.export(format, &mut out)?;
        out.flush()?;
        return Ok(Exit::Done);
    };
    let failed = |source| NotDone::File { path: path.to_owned(), source };
    let file = File::options().write(true).create_new(true).open(path).map_err(failed)?;
    let mut out = BufWriter::new(file);
    let written = session.export(format, &mut out).and_then(|()| Ok(out.flush()?));
    written.inspect_err(|_| {
        // Half of it would be taken for all of it.
        let _ = fs::remove_file(path);
    })?;
    Ok(Exit::Done)
}

/// Removes what is in the trash, with what was kept of it elsewhere: outputs that were cut, traces.
fn empty(store: &Store, yes: bool, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let ids = store.ids_in(Place::Trash)?;
    if ids.is_empty() {
        if !setup.json {
            writeln!(io::stdout().lock(), "the trash is empty")?;
        }
        return Ok(Exit::Done);
    }
    if !yes && !agreed(&format!("remove {} for good?", count(ids.len(), "session")))? {
        return Ok(Exit::Done);
    }
    for id in ids {
        let artifacts = setup.workspace.artifacts(id.as_str());
        let trace = setup.workspace.traces().join(format!("{id}.jsonl"));
        // Before the session: as long as it is there, the rest is still to be found.
        store.destroy(&id, &[artifacts, trace])?;
        tell(&id, "removed", "", setup)?;
    }
    Ok(Exit::Done)
}

fn agreed(question: &str) -> Result<bool, NotDone> {
    if !io::stdin().is_terminal() {
        return Err(NotDone::Usage(format!("{question} Say --yes; there is no terminal to ask at")));
    }
    write!(io::stderr().lock(), "{question} [y/N] ")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// `1 session`, `2 sessions`.
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

impl NotDone {
    /// The reader of stdout has gone, which is no fault.
    pub fn nobody_reads(&self) -> bool {
        let gone = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
        matches!(self, NotDone::Io(error) | NotDone::Export(ExportError::Write(error)) if gone(error))
    }

    /// What the program ends with.
    pub fn exit(&self) -> Exit {
        match self {
            NotDone::Usage(_)
            | NotDone::Session(
                SessionError::NotFound(_)
                | SessionError::NotThere { .. }
                | SessionError::NoSuchEntry { .. }
                | SessionError::Ambiguous { .. },
            ) => Exit::Usage,
            NotDone::Session(SessionError::Locked { .. }) => Exit::Refused,
            _ => Exit::Failed,
        }
    }
}
