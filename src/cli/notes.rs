//! `tillerman notes`: writes out what agents noted. How it is read from the files is in `runtime`.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::PathBuf;

use crate::args::Notes;
use crate::runtime::{NoNotes, noted};
use crate::terminal::exit::Exit;
use crate::workspace::Workspace;

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum NotDone {
    /// There is nothing, or it cannot be read.
    #[error(transparent)]
    Notes(#[from] NoNotes),
    /// The file that was asked for cannot be made.
    #[error("cannot write {}: {source}; name another file", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Nobody reads any more.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes the notes to stdout or into a file that is not there yet.
///
/// # Errors
/// [`NotDone`] names the file or the agent.
pub fn notes(command: &Notes, workspace: &Workspace) -> Result<Exit, NotDone> {
    let Notes::Export { agent, output } = command;
    let mut json = serde_json::to_vec_pretty(&noted(workspace, agent.as_deref())?).map_err(io::Error::from)?;
    json.push(b'\n');
    let Some(path) = output else {
        io::stdout().lock().write_all(&json)?;
        return Ok(Exit::Done);
    };
    let failed = |source| NotDone::File { path: path.clone(), source };
    let mut file = File::options().write(true).create_new(true).open(path).map_err(failed)?;
    file.write_all(&json).map_err(|error| {
        // Half of it would be taken for all of it.
        let _ = fs::remove_file(path);
        failed(error)
    })?;
    Ok(Exit::Done)
}

impl NotDone {
    /// The reader of stdout has gone, which is no fault.
    pub fn nobody_reads(&self) -> bool {
        matches!(self, NotDone::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// What the program ends with.
    pub fn exit(&self) -> Exit {
        match self {
            NotDone::Notes(NoNotes::Name(_)) => Exit::Usage,
            NotDone::Notes(_) | NotDone::File { .. } | NotDone::Io(_) => Exit::Failed,
        }
    }
}
