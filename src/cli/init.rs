//! `tillerman init`: makes a folder a workspace, trusts it, and says what it did.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use super::ready::{self, NotReady};
use crate::args::Common;
use crate::config;
use crate::terminal::Look;
use crate::terminal::clean::clean;
use crate::terminal::exit::Exit;

/// Writes what is missing and keeps what is there. Trusts the folder when its settings are our own; settings that were
/// there before may be a stranger's, so they are trusted only if `--trust` says so too.
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
    let had_env = workspace.root().join(".env").exists();
    let mut is_ours = !had_env;
    for file in config::init(workspace.root())? {
        is_ours &= file.new || !file.path.ends_with("config.md");
        let path = file.path.display();
        lines.push(match file.new {
            true => format!("{} wrote {path}", look.good("✓")),
            false => look.dim(format!("· kept  {path}")),
        });
    }
    lines.extend(config::review(workspace.root()).iter().map(|what| format!("{} {}", look.warn("⚠"), clean(what))));
    if is_ours || common.trust {
        config::trust(&workspace)?;
        lines.push(format!("{} trusted: settings and keys of this folder are followed", look.good("✓")));
    } else if !config::is_trusted(&workspace)? {
        let found = if had_env { ".env was" } else { "config.md was" };
        let word = format!("not trusted: {found} here before; read it, then say tillerman init --trust");
        lines.push(format!("{} {word}", look.warn("⚠")));
    }
    lines.push(format!(
        "next: {} shows what works, {} opens the prompt",
        look.name("tillerman doctor"),
        look.name("tillerman")
    ));
    // Nobody reads: the files are there all the same.
    let _ = writeln!(io::stdout().lock(), "{}", lines.join("\n"));
    Ok(Exit::Done)
}
