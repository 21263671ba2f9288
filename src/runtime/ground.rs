//! What an agent's tools stand on: its rights, a folder for what is not to be kept, and the walls around its commands.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::site::Site;
use crate::sandbox::Walls;
use crate::session::SessionId;
use crate::tools::ToolSettings;
use crate::workspace::policy::{PathPolicy, Profile};
use crate::workspace::scratch::Scratch;

/// What conversations keep from one run to the next, for as long as the program is at work.
#[derive(Default)]
pub(super) struct Grounds {
    conversations: Mutex<HashMap<SessionId, Ground>>,
}

impl Grounds {
    /// Nothing is kept any more: what no run uses goes.
    pub(super) fn clear(&self) {
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

#[derive(Clone)]
struct Ground {
    walls: Arc<Walls>,
    scratch: Arc<Scratch>,
}

/// For a run of a conversation: commands find what earlier ones left in their folder for a while.
pub(super) fn main(site: &Site, session: &SessionId, policy: PathPolicy) -> Result<ToolSettings, String> {
    let settings = conversation(site, session, policy)?;
    let todo = site.config.workspace.todo(session.as_str());
    Ok(ToolSettings { todo, jobs: site.yard.of(session), ..settings })
}

fn conversation(site: &Site, session: &SessionId, policy: PathPolicy) -> Result<ToolSettings, String> {
    if policy.profile() == Profile::Full {
        return Ok(settings(site, policy, None));
    }
    let mut all = site.grounds.conversations.lock().unwrap_or_else(PoisonError::into_inner);
    let ground = match all.get(session) {
        Some(ground) => ground.clone(),
        None => Ground { walls: Walls::open(), scratch: scratch()? },
    };
    all.insert(session.clone(), ground.clone());
    Ok(settings(site, policy.with_write(ground.scratch.path()), Some(ground)))
}

/// For an attempt at a task with that directory. Its commands in the background are its own.
pub(super) fn worker(site: &Site, policy: PathPolicy, dir: &Path) -> Result<ToolSettings, String> {
    let settings = match policy.profile() {
        Profile::Full => settings(site, policy, None),
        _ => {
            let scratch = scratch()?;
            settings(site, policy.with_write(scratch.path()), Some(Ground { walls: Walls::open(), scratch }))
        }
    };
    Ok(ToolSettings { todo: dir.join("todo.md"), ..settings })
}

fn scratch() -> Result<Arc<Scratch>, String> {
    let made = Scratch::new();
    made.map(Arc::new).map_err(|error| format!("no folder for temporary files can be made: {error}; see TMPDIR"))
}

fn settings(site: &Site, policy: PathPolicy, ground: Option<Ground>) -> ToolSettings {
    let mut settings = ToolSettings::new(Arc::new(policy));
    settings.output = site.config.output.files;
    settings.shell.output = site.config.output.commands;
    settings.shell.limits.time = site.config.shell_timeout;
    if let Some(Ground { walls, scratch }) = ground {
        settings.shell.walls = walls;
        settings.shell.environment = settings.shell.environment.with("TMPDIR", &scratch.path().to_string_lossy());
        settings.shell.scratch = Some(scratch);
    }
    settings
}
