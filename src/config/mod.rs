//! Settings: what was written, where, and what it means. Nothing here starts anything.

mod authority;
mod cast;
mod checked;
mod compaction;
mod dotenv;
mod hosts;
mod init;
mod keys;
mod once;
mod permissions;
mod raw;
mod review;
mod trust;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::agent::Limits;
use crate::markdown::MarkdownError;
use crate::message::{Approval, Budget};
use crate::model::Model;
use crate::model::catalog::{Choice, Models, NoModel};
use crate::model::local;
use crate::model::recording::Recorder;
use crate::secret::Secrets;
use crate::tools::gate::{Ground, NoRule};
use crate::tools::preset::Preset;
use crate::tools::{Enabled, Hosts, NoSuchTool};
use crate::workspace::Workspace;
use crate::workspace::guarded::Guarded;
use crate::workspace::policy::Profile;

pub use authority::Authority;
pub use cast::{Cast, Named};
pub use init::{Wrote, init};
pub use keys::names;
pub use permissions::Permissions;
pub use raw::Place;
pub use review::review;
pub use trust::{is_trusted, trust};

use checked::Checked;
use dotenv::DotEnv;
use raw::Raw;

/// Everything that a runtime needs to know before it starts; each value is checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where it all lives.
    pub workspace: Workspace,
    /// The models within reach.
    pub models: Models,
    /// The model of the main agent, and of everything for which the cast names none.
    pub choice: Choice,
    /// The models of other parts of the work.
    pub cast: Cast,
    /// Conversations get titles. A program that ends with its answer shall not pay for one, and sets this to `false`.
    pub titles: bool,
    /// Limits of the main agent's runs.
    pub main: Limits,
    /// Limits of a worker's run.
    pub worker: Limits,
    /// What becomes of a worker's calls that a person must allow, when nobody says.
    pub worker_approval: Approval,
    /// What a task may use when nobody says.
    pub worker_budget: Budget,
    /// What all tasks of a day may use together.
    pub fleet: Budget,
    /// What this program may use, its main agent included; only a command line says.
    pub whole: Budget,
    /// Limits of the crew.
    pub crew: CrewLimits,
    /// Which named agents there are.
    pub agents: Agents,
    /// What the main agent may answer in a person's place.
    pub authority: Authority,
    /// How long a command may take when the model does not say.
    pub shell_timeout: Duration,
    /// At its deadline a command goes on in the background, where the tool `jobs` is on.
    pub leave: bool,
    /// How much of their output tools show a model.
    pub output: Preset,
    /// What the main agent's tools may read and write.
    pub profile: Profile,
    /// Commands may use the network.
    pub network: bool,
    /// What no tool may see or change.
    pub guarded: Guarded,
    /// The tools that agents have.
    pub tools: Enabled,
    /// Hosts that pages may be fetched from although they are not on the public internet.
    pub fetch_hosts: Hosts,
    /// When journals are forced to the disk.
    pub durability: Durability,
    /// Bytes that sessions, traces, logs and full outputs may take before old ones of the last three go; 0 for any.
    pub disk_quota: u64,
    /// In how many commands of a tillerman, one inside the other, this one may be at work.
    pub nesting: u64,
    /// The colours of the prompt, one of [`THEMES`].
    pub theme: &'static str,
    /// A person trusts the workspace, for good or for this run.
    pub trusted: bool,
    /// What agents may do without being asked.
    pub permissions: Permissions,
    /// What must not be said, written or sent: keys of providers, and what a trusted .env keeps.
    pub secrets: Secrets,
    /// Writes down what the models say and people do; only a command line asks for it.
    pub recorder: Option<Recorder>,
    /// What a person should know: settings that are unknown or ignored, one line each.
    pub warnings: Vec<String>,
    /// Every setting with its value and where that came from.
    pub origins: Vec<Origin>,
}

/// Themes by name, the default first; what they look like the terminal knows.
pub const THEMES: [&str; 3] = ["ansi", "dark", "light"];

/// How much may happen at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrewLimits {
    /// Workers that run side by side.
    pub running: usize,
    /// Tasks that wait for a place.
    pub queued: usize,
    /// Dispatches above a task: at 1 only the main agent dispatches.
    pub depth: u32,
}

/// Which named agents there are (S1-32).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agents {
    /// Where they come from.
    pub from: AgentsFrom,
    /// One more folder of them, whose files go before all others of the same name.
    pub folder: Option<PathBuf>,
    /// `~/.claude/agents`, where the person keeps agents for another program; all others go before them.
    pub foreign: Option<PathBuf>,
}

/// Where named agents come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AgentsFrom {
    /// The program, the home and the workspace.
    #[default]
    Everywhere,
    /// The program alone.
    BuiltIn,
    /// Nowhere: all workers are plain ones.
    Nowhere,
}

fn foreign_agents(env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    env("HOME").filter(|home| !home.is_empty()).map(|home| PathBuf::from(home).join(".claude/agents"))
}

/// When a journal is forced to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// After every entry.
    Always,
    /// Where a turn would otherwise be lost: before a tool starts, and at the end of a run.
    Turn,
    /// When the system likes.
    Off,
}

/// A setting as it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Its name.
    pub key: &'static str,
    /// Its value on one line.
    pub value: String,
    /// Who won.
    pub from: Place,
}

/// What the command line says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--model`
    pub model: Option<String>,
    /// `--base-url`
    pub base_url: Option<String>,
    /// `--sandbox`: read-only, workspace-write or full.
    pub sandbox: Option<String>,
    /// `--network`: commands may use the network.
    pub network: bool,
    /// `--allow`, as often as given.
    pub allow: Vec<String>,
    /// `--ask`
    pub ask: Vec<String>,
    /// `--deny`
    pub deny: Vec<String>,
    /// `--trust`: follow the workspace's settings for this run.
    pub trust: bool,
    /// Look for a model server on this machine when nothing else chooses one, unless `TILLERMAN_OFFLINE` is set. The
    /// program does; a library user says so.
    pub look: bool,
}

/// Settings that cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// config.md cannot be read.
    #[error(transparent)]
    Markdown(#[from] MarkdownError),
    /// config.md begins with a fence that is never closed, so its settings would silently be text.
    #[error("the frontmatter of {} is not closed; add a line --- after the settings", path.display())]
    Unclosed {
        /// The file.
        path: PathBuf,
    },
    /// A YAML file of the home is wrong.
    #[error("{} is wrong at line {line}, column {column}: {message}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// A file cannot be read or written.
    #[error("cannot use {}: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A setting has a value that makes no sense.
    #[error("{key} is {value} in {from}; it must be {expected}")]
    Value {
        /// The setting.
        key: &'static str,
        /// As written.
        value: String,
        /// Where.
        from: Place,
        /// What would make sense.
        expected: String,
    },
    /// A tool that is switched on or off does not exist.
    #[error("tools in {from}: {source}")]
    Tools {
        /// Which, and what may be meant.
        source: NoSuchTool,
        /// Where it is named.
        from: Place,
    },
    /// A rule that cannot be read.
    #[error("permissions in {from}: {source}")]
    Rule {
        /// Which, and why.
        source: NoRule,
        /// Where it is written.
        from: Place,
    },
    /// The model that is asked for does not exist.
    #[error("{source} (asked for in {from})")]
    Model {
        /// Why not.
        source: NoModel,
        /// Where it is named.
        from: Place,
    },
    /// An address without a model that it could belong to.
    #[error("base_url in {from} belongs to no model; name one too, for example -m openai/MODEL")]
    NoModelForUrl {
        /// Where the address is written.
        from: Place,
    },
    /// The lists of providers cannot be read.
    #[error(transparent)]
    Models(NoModel),
}

/// Reads the settings of a workspace: defaults < config.yaml of the home < config.md < .env < environment < flags.
///
/// Until a person trusts the workspace, its .env is not read, and config.md sets nothing that reaches out, lifts a
/// limit or costs more; a warning says what was ignored.
///
/// # Errors
/// A file that cannot be read, a value out of its range, or a model that does not exist; each names place and remedy.
pub fn load(workspace: Workspace, flags: &Flags, env: &dyn Fn(&str) -> Option<String>) -> Result<Config, ConfigError> {
    let trusted = flags.trust || is_trusted(&workspace)?;
    let dotenv = DotEnv::read(workspace.root(), trusted)?;
    let raw = Raw::read(&workspace, trusted, flags, &dotenv, env)?;
    let models = Models::from_home(workspace.home(), &|name| env(name).or_else(|| dotenv.get(name)));
    let mut models = models.map_err(ConfigError::Models)?;
    let offline = env("TILLERMAN_OFFLINE").is_some_and(|value| !["", "0"].contains(&value.trim()));
    if flags.look && !offline {
        models = models.looking(local::WITHIN);
    }

    let secrets = Secrets::of(models.secrets()).with_suspected(dotenv.all());
    let home = env("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let ground = Ground { root: workspace.root().to_path_buf(), home };
    let checked = Checked::of(&raw);
    let settings = checked.settings()?;
    let patience = checked.seconds("retry_patience", 0..=86_400)?;
    let (models, choice, unused_url) = checked.models(models.with_settings(settings).with_patience(patience))?;
    let unheard = checked.unheard(&models, &choice.id, settings);
    let main = checked.limits("max_turns", &models, &choice.id)?;
    let worker = checked.limits("worker_max_turns", &models, &choice.id)?;
    let cast = checked.cast(&models)?;
    let mut warnings: Vec<String> = dotenv.warnings.iter().chain(&raw.warnings).cloned().collect();
    warnings.extend(unused_url.into_iter().chain(unheard).chain(models.notes()));
    let ids = std::iter::once(&choice.id).chain(cast.all().map(|named| &named.id));
    warnings.extend(ids.filter_map(|id| models.doubt(id)));
    Ok(Config {
        worker_approval: checked.word("worker_approval", &Approval::WORDS, Approval::Deny)?,
        worker_budget: checked.worker_budget()?,
        fleet: checked.fleet_budget()?,
        whole: Budget::default(),
        crew: checked.crew()?,
        agents: Agents { foreign: foreign_agents(env), ..checked.agents(workspace.root())? },
        authority: checked.authority()?,
        shell_timeout: checked.shell_timeout()?,
        leave: checked.word("at_deadline", &[("background", true), ("kill", false)], true)?,
        output: checked.output()?,
        profile: checked.profile()?,
        network: checked.flag("network")?,
        guarded: Guarded::of(workspace.home(), &|name| env(name).map(OsString::from)),
        tools: checked.tools()?,
        permissions: checked.permissions(flags, ground)?,
        fetch_hosts: checked.fetch_hosts(workspace.home(), &mut warnings)?,
        durability: checked.durability()?,
        disk_quota: checked.number("disk_quota", 0..=1 << 30)?.unwrap_or_default() << 20,
        nesting: checked.number("nesting", 0..=8)?.unwrap_or_default(),
        theme: checked.word("theme", &THEMES.map(|name| (name, name)), THEMES[0])?,
        titles: checked.flag("titles")?,
        cast,
        origins: checked.origins(&choice, &main),
        workspace,
        models,
        choice,
        main,
        worker,
        trusted,
        secrets,
        recorder: None,
        warnings,
    })
}

impl Config {
    /// The same with this model for every agent, whatever was chosen: a model of one's own, or a scripted one.
    #[must_use]
    pub fn with_model(mut self, model: Arc<dyn Model>) -> Config {
        self.choice = Choice { id: model.id().clone(), why: "the program brings it".to_owned() };
        self.models = self.models.only(model);
        self.cast = Cast::default();
        self
    }
}

impl ConfigError {
    fn broken(path: &Path, error: &serde_yaml::Error) -> ConfigError {
        let (line, column) = error.location().map_or((1, 1), |place| (place.line(), place.column()));
        let message = error.to_string().replace(&format!(" at line {line} column {column}"), "");
        ConfigError::Broken { path: path.to_path_buf(), line, column, message }
    }
}
