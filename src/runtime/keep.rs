//! What a person keeps by their own hand: a line for later conversations, a conversation as a file.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Runtime;
use super::site::Site;
use crate::session::export::Format;
use crate::session::{Session, SessionError, SessionId};
use crate::workspace::policy::Profile;

/// The files of which an agent reads the first that is there, before each conversation.
const MEMORY: [&str; 2] = ["memory/memory.md", "memory/MEMORY.md"];

/// Most bytes of a file that is added to; an agent reads a fraction of it.
const MOST: u64 = 1 << 20;

impl Runtime {
    /// Adds a line to what the main agent reads before each of its runs. Answers the file, relative to the workspace.
    ///
    /// # Errors
    /// A sentence: the file is too large or cannot be written.
    pub async fn remember(&self, text: &str) -> Result<String, String> {
        let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        self.inner.hush(&mut line);
        let site = Arc::clone(&self.inner.site);
        self.inner.site.on_disk(move || add(&site, &line)).await?
    }

    /// Writes a conversation into a file that is not there yet: as HTML or JSON if its name ends so, else as Markdown.
    ///
    /// # Errors
    /// A sentence that names the file.
    pub async fn export(&self, session: &SessionId, path: PathBuf) -> Result<(), String> {
        let write = move |session: &Session| Ok::<_, SessionError>(write(session, &path));
        self.look(session, write).await.map_err(|error| error.to_string())?
    }
}

fn add(site: &Site, line: &str) -> Result<String, String> {
    // It is the person's own, so what agents may write says nothing.
    let policy = site.policy(Profile::Workspace).map_err(|error| error.to_string())?;
    let path = MEMORY.into_iter().find(|path| policy.resolve(path).is_ok()).unwrap_or(MEMORY[0]);
    let mut text = String::new();
    if let Ok(file) = policy.open(path) {
        let read = file.take(MOST + 1).read_to_string(&mut text);
        read.map_err(|error| format!("cannot read {path}: {error}"))?;
    }
    if text.len() as u64 > MOST {
        return Err(format!("{path} has over {} MB, far more than an agent reads; shorten it", MOST >> 20));
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!("- {line}\n"));
    policy.write(path, text.as_bytes()).map_err(|error| error.to_string())?;
    Ok(path.to_owned())
}

fn write(session: &Session, path: &Path) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("cannot write {}: {error}; name another file", path.display());
    let format = match path.extension().and_then(|ending| ending.to_str()) {
        Some("html" | "htm") => Format::Html,
        Some("json") => Format::Json,
        _ => Format::Markdown,
    };
    let file = File::options().write(true).create_new(true).open(path).map_err(|error| failed(&error))?;
    let mut out = BufWriter::new(file);
    let written = session.export(format, &mut out).map_err(|error| failed(&error));
    written.and_then(|()| out.flush().map_err(|error| failed(&error))).inspect_err(|_| {
        // Half of it would be taken for all of it.
        let _ = fs::remove_file(path);
    })
}
