//! What an agent's tools stand on: its rights, a folder for what is not to be kept, and the walls around its commands.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::RunId;
use super::feed::{News, Source};
use super::site::Site;
use crate::sandbox::{Built, Tier, WallSettings, Walls};
use crate::session::SessionId;
use crate::task::TaskId;
use crate::tools::ToolSettings;
use crate::workspace::Workspace;
use crate::workspace::policy::{PathPolicy, Profile};
use crate::workspace::scratch::Scratch;

/// What conversations keep from one run to the next, for as long as the program is at work.
#[derive(Default)]
pub(super) struct Grounds {
    conversations: Mutex<HashMap<SessionId, Ground>>,
    /// It was said that walls are weaker than they could be, which is the same for all.
    told: Arc<AtomicBool>,
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

/// For a run of a conversation: commands find what earlier ones left in their folder for a while, and the same walls.
pub(super) fn main(site: &Site, session: &SessionId, policy: PathPolicy) -> Result<ToolSettings, String> {
    let settings = conversation(site, session, policy)?;
    let todo = site.config.workspace.todo(session.as_str());
    Ok(ToolSettings { todo, jobs: site.yard.of(session), ..settings })
}

fn conversation(site: &Site, session: &SessionId, policy: PathPolicy) -> Result<ToolSettings, String> {
    if policy.profile() == Profile::Full {
        return Ok(settings(site, Arc::new(policy), None));
    }
    let mut all = site.grounds.conversations.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(ground) = all.get(session) {
        return Ok(settings(site, Arc::new(policy.with_write(ground.scratch.path())), Some(ground.clone())));
    }
    let source = Source::Main { session: session.clone(), run: RunId(0) };
    let (policy, ground) = new(site, policy, Some(source))?;
    all.insert(session.clone(), ground.clone());
    Ok(settings(site, policy, Some(ground)))
}

/// For an attempt at a task with that directory, or for nobody's. Its commands in the background are its own.
pub(super) fn worker(
    site: &Site,
    policy: PathPolicy,
    dir: &Path,
    task: Option<TaskId>,
) -> Result<ToolSettings, String> {
    let settings = match policy.profile() {
        Profile::Full => settings(site, Arc::new(policy), None),
        _ => {
            let (policy, ground) = new(site, policy, task.map(Source::Task))?;
            settings(site, policy, Some(ground))
        }
    };
    Ok(ToolSettings { todo: dir.join("todo.md"), ..settings })
}

fn new(site: &Site, policy: PathPolicy, source: Option<Source>) -> Result<(Arc<PathPolicy>, Ground), String> {
    let none = |error| format!("no folder for temporary files can be made: {error}; TMPDIR says where they are");
    let scratch = Scratch::new().map_err(none)?;
    let policy = Arc::new(policy.with_write(scratch.path()));
    let (rights, network) = (Arc::clone(&policy), site.config.network);
    let notes = notes(&site.config.workspace);
    let tasks = site.config.workspace.tasks();
    let wanted = move || {
        // Ours to make: nothing may stand in its place. Without it tasks could not be made either, which is told then.
        let _ = fs::create_dir_all(&tasks);
        WallSettings { network, notes: Some(notes), ..WallSettings::new(rights.bounds()) }
    };
    Ok((policy, Ground { walls: Walls::later(wanted, tell(site, source)), scratch: Arc::new(scratch) }))
}

/// Says once, to whoever is there, that walls are weaker than they could be.
fn tell(site: &Site, source: Option<Source>) -> impl Fn(&Built) + Send + Sync + use<> {
    let (feed, told) = (site.feed.clone(), Arc::clone(&site.grounds.told));
    move |built| {
        if built.tier == Tier::Full || told.swap(true, Ordering::Relaxed) {
            return;
        }
        let (within, why) = (built.tier, built.notes.join("; "));
        let why = format!("commands run within {within} alone ({why}); `tillerman doctor` tells more");
        tracing::warn!("{why}");
        if let Some(source) = source.clone() {
            feed.tell(source, News::Walls { why });
        }
    }
}

/// The file that remembers what stands in the place of protected paths.
pub(super) fn notes(workspace: &Workspace) -> PathBuf {
    workspace.state().join("placeholders")
}

fn settings(site: &Site, policy: Arc<PathPolicy>, ground: Option<Ground>) -> ToolSettings {
    let mut settings = ToolSettings::new(policy);
    settings.output = site.config.output.files;
    settings.shell.output = site.config.output.commands;
    settings.shell.limits.time = site.config.shell_timeout;
    settings.fetch.hosts = site.config.fetch_hosts.clone();
    if let Some(Ground { walls, scratch }) = ground {
        settings.shell.walls = walls;
        settings.shell.environment = settings.shell.environment.with("TMPDIR", &scratch.path().to_string_lossy());
        settings.shell.scratch = Some(scratch);
    }
    settings
}
