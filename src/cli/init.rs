//! `tillerman init`: makes a folder a workspace, trusts it, and says what it did.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use super::ready::{self, NotReady};
use crate::args::Common;
use crate::config;
use crate::terminal::Look;
use crate::terminal::exit::Exit;

/// Writes what is missing and keeps what is there; trusts the folder, because a person asked for it here.
///
/// # Errors
/// [`NotReady`] names the folder or file that could not be written.
pub fn init(common: &Common, dir: Option<PathBuf>, look: Look) -> Result<Exit, NotReady> {
    let dir = dir.or_else(|| common.workspace.clone()).unwrap_or_else(|| PathBuf::from("."));
    fs::create_dir_all(&dir).map_err(|error| NotReady {
        exit: Exit::Failed,
        why: format!("cannot make {}: {error}; name another folder", dir.display()),
    })?;
    let workspace = ready::workspace(&Common { workspace: Some(dir), ..common.clone() })?;
    let mut lines = Vec::new();
    for file in config::init(workspace.root())? {
        let path = file.path.display();
        lines.push(match file.new {
            true => format!("{} wrote {path}", look.good("✓")),
            false => look.dim(format!("· kept  {path}")),
        });
    }
    config::trust(&workspace)?;
    lines.push(format!("{} trusted: settings and keys of this folder are followed", look.good("✓")));
    lines.push(format!(
        "next: {} shows what works, {} opens the prompt",
        look.name("tillerman doctor"),
        look.name("tillerman")
    ));
    // Nobody reads: the files are there all the same.
    let _ = writeln!(io::stdout().lock(), "{}", lines.join("\n"));
    Ok(Exit::Done)
}
