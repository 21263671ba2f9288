//! From a command line to a runtime with an open conversation, or a sentence and an exit code.

use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tempfile::TempDir;

use tokio::sync::broadcast::Receiver;

use super::{log, permit};
use crate::args::{Common, Most};
use crate::config::{self, Config, ConfigError, Flags, Origin, Place};
use crate::markdown::Notice;
use crate::message::Budget;
use crate::model::catalog::NoModel;
use crate::model::recording::Recorder;
use crate::model::scripted::recorded::{self, Header};
use crate::prompt::{self, Sources};
use crate::runtime::{Envelope, Open, OpenError, Runtime, StartError, last_task, named_agents};
use crate::server::control::{Client, Host};
use crate::session::SessionId;
use crate::skill::Skills;
use crate::task::one_line;
use crate::terminal::exit::Exit;
use crate::workspace::{Workspace, WorkspaceError, home_from, upkeep};

/// Open files that a worker needs at most at one time, and those of everything else.
const OPEN_FILES_EACH: u64 = 8;
const OPEN_FILES: u64 = 256;

/// A runtime that can be talked to.
pub struct Ready {
    /// It.
    pub runtime: Runtime,
    /// The open conversation.
    pub session: SessionId,
    /// The conversation is not new.
    pub resumed: bool,
    /// The model's id.
    pub model: String,
    /// Why that one.
    pub why: String,
    /// Nobody named a model, neither now nor in the settings.
    pub unchosen: bool,
    /// The folder that is worked in.
    pub root: PathBuf,
    /// What the runtime owns of it.
    pub state: PathBuf,
    /// The colours of the prompt, by name.
    pub theme: &'static str,
    /// What a person should know before anything else.
    pub warnings: Vec<String>,
    /// Where other terminals are answered.
    control: Option<Host>,
}

/// What the program is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// Until a person leaves.
    Prompt {
        /// Somebody can see: where another process has the workspace, it is looked at.
        seen: bool,
    },
    /// Until the answer.
    Answer,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct NotReady {
    /// What the program ends with.
    pub exit: Exit,
    /// What happened and what to do.
    pub why: String,
}

/// Opens the workspace and reads its settings.
///
/// # Errors
/// [`NotReady`] names what is wrong and how to mend it.
pub fn settings(common: &Common) -> Result<Config, NotReady> {
    let (model, base_url) = (common.model.clone(), common.base_url.clone());
    let sandbox = common.sandbox.map(|reach| reach.name().to_owned());
    let (allow, ask, deny) = (common.allow.clone(), common.ask.clone(), common.deny.clone());
    let (network, trust) = (common.network, common.trust);
    let flags = Flags { model, base_url, sandbox, network, allow, ask, deny, trust, look: true };
    let mut config = config::load(workspace(common)?, &flags, &|name| std::env::var(name).ok())?;
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    config.secrets = config.secrets.with_suspected(variables);
    Ok(config)
}

/// Opens the workspace.
///
/// # Errors
/// [`NotReady`] when a folder is missing or cannot be written.
pub fn workspace(common: &Common) -> Result<Workspace, NotReady> {
    let home = home_from(&|name| std::env::var_os(name));
    let root = common.workspace.as_deref().unwrap_or(Path::new("."));
    if let Some(scratch) = &common.scratch {
        // Without a home there are no settings; nothing else is looked for in it.
        return Ok(Workspace::ephemeral(root, &home.unwrap_or_else(|_| scratch.clone()), scratch)?);
    }
    let workspace = Workspace::open(root, &home?)?;
    Ok(match &common.session_dir {
        Some(dir) => workspace.with_sessions(dir)?,
        None => workspace,
    })
}

/// Makes the folder for what is not kept, if nothing is to be; it is gone when the answer is dropped.
///
/// # Errors
/// [`NotReady`] when there is no room for it.
pub fn scratch(common: &mut Common) -> Result<Option<TempDir>, NotReady> {
    if !common.ephemeral {
        return Ok(None);
    }
    let parent = std::env::temp_dir();
    let made = tempfile::Builder::new().prefix("tillerman-").tempdir_in(&parent).map_err(|error| NotReady {
        exit: Exit::Failed,
        why: format!("cannot make a folder in {}: {error}; set TMPDIR to another", parent.display()),
    })?;
    common.scratch = Some(made.path().to_owned());
    Ok(Some(made))
}

/// Starts the runtime and opens the conversation that was asked for. The feed tells everything from the start on, also
/// what an earlier program left undone.
///
/// # Errors
/// [`NotReady`] names what is wrong and how to mend it.
pub async fn ready(common: &Common, stay: Stay) -> Result<(Ready, Receiver<Envelope>), NotReady> {
    begin_with(settings(common)?, common, stay).await
}

/// Starts likewise, for one answer within these limits.
///
/// # Errors
/// As [`ready`], and when the sum is none, or the price of the model is not known.
pub async fn answering(common: &Common, most: &Most) -> Result<(Ready, Receiver<Envelope>), NotReady> {
    let mut config = settings(common)?;
    let usage = |why: String| NotReady { exit: Exit::Usage, why };
    if let Some(usd) = &most.max_budget_usd {
        let read = Budget::read(&serde_json::json!({ "usd": usd }));
        config.whole = read.map_err(|_| usage(format!("--max-budget-usd is {usd}; write a sum like 0.50")))?;
        let model = &config.choice.id;
        if config.models.price(model).is_none() {
            return Err(usage(format!(
                "nobody knows the price of {model}, so --max-budget-usd cannot be held; use --max-turns, or write its price \
                 into models.yaml"
            )));
        }
    }
    config.main.max_turns = most.max_turns.or(config.main.max_turns);
    begin_with(config, common, Stay::Answer).await
}

async fn begin_with(mut config: Config, common: &Common, stay: Stay) -> Result<(Ready, Receiver<Envelope>), NotReady> {
    permit::alone(&config)?;
    permit::walled(&config)?;
    config.titles &= stay != Stay::Answer;
    // A missing key is known before anything is started, and nothing can be done without it.
    config
        .models
        .get(&config.choice.id)
        .map_err(|error| NotReady { exit: Exit::NoProvider, why: error.to_string() })?;
    if let Some(path) = &common.record {
        config.recorder = Some(recorder(path, &config)?);
    }
    let which = match (&common.session, common.resume) {
        (None, false) if config.workspace.is_ephemeral() => Open::Ephemeral,
        (Some(id), _) => Open::Named(id.clone()),
        // Who names a folder for the conversation goes on with what is in it.
        (None, resume) if resume || common.session_dir.is_some() => Open::Latest,
        (None, _) => Open::New,
    };
    let (mut ready, feed) = match stay {
        // There is nothing to look at in a folder of one's own.
        Stay::Prompt { seen: true } if which != Open::Ephemeral => begin(Runtime::attach, config, which).await,
        Stay::Prompt { .. } | Stay::Answer => start(config, which).await,
    }?;
    if common.resume_workers {
        ready.resume_workers().await;
    }
    Ok((ready, feed))
}

pub(super) fn recorder(path: &Path, config: &Config) -> Result<Recorder, NotReady> {
    let tasks = last_task(&config.workspace).map_err(StartError::from)?;
    let header = Header { recording: recorded::VERSION, window: config.main.context_window, tasks };
    let made = Recorder::create(path, &header, &config.models);
    made.map_err(|error| NotReady { exit: Exit::Usage, why: error.to_string() })
}

/// Starts the runtime with these settings and opens the conversation.
pub(super) async fn start(config: Config, which: Open) -> Result<(Ready, Receiver<Envelope>), NotReady> {
    begin(Runtime::start, config, which).await
}

async fn begin(
    start: impl AsyncFnOnce(Config) -> Result<Runtime, StartError>,
    config: Config,
    which: Open,
) -> Result<(Ready, Receiver<Envelope>), NotReady> {
    log::begin(&config.workspace.logs(), &config.secrets);
    let (model, why) = (config.choice.id.to_string(), config.choice.why.clone());
    let (root, state) = (config.workspace.root().to_owned(), config.workspace.state().to_owned());
    let (theme, mut warnings) = (config.theme, config.warnings.clone());
    let (settings, models, chosen) = (config.clone(), config.models.clone(), config.choice.id.clone());
    // Beside the opening of the conversation, which waits for the disk.
    let beside = tokio::task::spawn_blocking(move || {
        models.warm(&chosen);
        left_out(&settings)
    });
    let named = |origin: &Origin| matches!(origin.key, "model" | "provider") && origin.from != Place::Default;
    let unchosen = !config.origins.iter().any(named);
    warnings.extend(config.cast.absent(&config.models));
    warnings.extend(upkeep::warning(&config.workspace));
    raise_open_files(config.crew.running);
    let runtime = start(config).await?;
    let feed = runtime.feed();
    runtime.reach(Client::new(&runtime.config().workspace).remote()).await;
    let resumed = !matches!(which, Open::New | Open::Ephemeral) || runtime.looking().is_some();
    let (opened, left_out) = tokio::join!(runtime.open(which), beside);
    // A panic in there has been reported by its own hook; what was left out is in the doctor's list as well.
    warnings.extend(left_out.unwrap_or_default());
    match opened {
        Ok(session) => {
            if resumed {
                warnings.extend(left(&runtime, &session).await);
            }
            runtime.attend(&session);
            let control = Host::open(&runtime).unwrap_or_else(|error| {
                warnings.push(format!("other terminals cannot give orders here: {}: {error}", state.display()));
                None
            });
            let ready =
                Ready { runtime, session, resumed, model, why, unchosen, root, state, theme, warnings, control };
            Ok((ready, feed))
        }
        Err(error) => {
            runtime.shutdown().await;
            Err(error.into())
        }
    }
}

/// What was acknowledged when the conversation was last open, and not heard then.
async fn left(runtime: &Runtime, session: &SessionId) -> Option<String> {
    let left = runtime.status(session).await.ok()?.left;
    let notes: Vec<String> = left
        .iter()
        .take(LEFT_SHOWN)
        .map(|posted| format!("{} {}", posted.note.id, one_line(&posted.note.text, NOTE_SHOWN)))
        .collect();
    let more = if left.len() > LEFT_SHOWN { "; …" } else { "" };
    let waits = match left.len() {
        0 => return None,
        1 => "1 note of the last session waits".to_owned(),
        many => format!("{many} notes of the last session wait"),
    };
    Some(format!("{waits}: {}{more}; told with your next line", notes.join("; ")))
}

/// Notes of the last session that are shown.
const LEFT_SHOWN: usize = 5;

/// Characters of each.
const NOTE_SHOWN: usize = 60;

/// Files of the workspace that no model will see, or not as they were meant. Whoever wrote one learns it here; that a
/// skill or role replaces another is meant and needs no word.
fn left_out(config: &Config) -> Vec<String> {
    let workspace = &config.workspace;
    let skills = Skills::discover(workspace);
    let roles = named_agents(config, &skills, &[]);
    let sources = Sources { workspace, skills: &skills, roles: &roles, role: None, task: None };
    let notices = skills.notices().iter().chain(roles.notices());
    let left_out = notices.filter(|notice| matches!(notice, Notice::LeftOut(_))).map(Notice::to_string);
    left_out.chain(prompt::main(&sources).notices).collect()
}

/// Every running worker holds its journal open, and tools open more; the usual limit of 1,024 is for fewer.
fn raise_open_files(workers: usize) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let needed = workers as u64 * OPEN_FILES_EACH + OPEN_FILES;
    if current.is_some_and(|current| current < needed) {
        let current = Some(maximum.map_or(needed, |maximum| maximum.min(needed)));
        if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current, maximum }) {
            tracing::warn!(%error, "the limit of open files stays as it is");
        }
    }
}

impl Ready {
    /// Goes on with all interrupted tasks; what does not go on is warned of.
    async fn resume_workers(&mut self) {
        for (task, resumed) in self.runtime.resume_all(&self.session).await {
            match resumed.map(|resumed| resumed.gone) {
                Ok(None) => {}
                Ok(Some(gone)) => self.warnings.push(format!("{task} goes on for this conversation: {gone} is gone")),
                Err(error) => self.warnings.push(format!("{task} does not go on: {error}")),
            }
        }
    }

    /// Ends everything: other terminals are answered no more, then the runtime shuts down.
    pub async fn end(&mut self) {
        drop(self.control.take());
        self.runtime.shutdown().await;
    }

    /// Why the recording that was asked for is not whole, if it is not.
    pub fn recording_fault(&self) -> Option<String> {
        self.runtime.config().recorder.as_ref().and_then(Recorder::fault)
    }

    /// `tillerman 0.1.0 · ~/proj · anthropic/claude-sonnet-5-5 (ANTHROPIC_API_KEY is set)`.
    pub fn headline(&self) -> String {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let short = home.as_deref().and_then(|home| self.root.strip_prefix(home).ok());
        let folder = match short {
            Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Some(rest) => format!("~/{}", rest.display()),
            None => self.root.display().to_string(),
        };
        // Nobody chose the pilot: then what to do about it says more than the search that ended at it.
        let model = match self.model.strip_suffix("/pilot") {
            Some(pilot) if self.unchosen => {
                format!("{pilot}: no language model (export ANTHROPIC_API_KEY=… adds one)")
            }
            _ => format!("{} ({})", self.model, self.why),
        };
        let what = match self.runtime.looking() {
            Some(owner) => format!("looking on: another tillerman works here ({owner}), and orders go there"),
            None => model,
        };
        format!("tillerman {} · {folder} · {what}", env!("CARGO_PKG_VERSION"))
    }
}

impl From<WorkspaceError> for NotReady {
    fn from(error: WorkspaceError) -> NotReady {
        let exit = match error {
            WorkspaceError::NoFolder { .. } | WorkspaceError::NotAFolder { .. } => Exit::Usage,
            WorkspaceError::ReadOnly { .. } | WorkspaceError::NoState { .. } | WorkspaceError::NoHome => Exit::Failed,
            WorkspaceError::Locked { .. } => Exit::Refused,
        };
        NotReady { exit, why: error.to_string() }
    }
}

impl From<ConfigError> for NotReady {
    fn from(error: ConfigError) -> NotReady {
        let exit = match &error {
            ConfigError::Models(NoModel::Entry { .. }) => Exit::Usage,
            ConfigError::Model { .. } | ConfigError::Models(_) => Exit::NoProvider,
            _ => Exit::Usage,
        };
        NotReady { exit, why: error.to_string() }
    }
}

impl From<StartError> for NotReady {
    fn from(error: StartError) -> NotReady {
        match error {
            StartError::Workspace(error) => error.into(),
            other => NotReady { exit: Exit::Failed, why: other.to_string() },
        }
    }
}

impl From<OpenError> for NotReady {
    fn from(error: OpenError) -> NotReady {
        NotReady { exit: Exit::Usage, why: error.to_string() }
    }
}
