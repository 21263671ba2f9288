//! What stands between commands and the rest of the machine: wanted by the owner of a run, built once at its first
//! command, kept until the run is over. What walls are made of is the warden's business.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
#[cfg(target_os = "linux")]
use std::sync::{Mutex, PoisonError};

use super::SandboxError;
#[cfg(target_os = "linux")]
use super::keeper::Keeper;
use crate::workspace::policy::Bounds;

/// What walls are made of, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Namespaces, a read-only tree, Landlock and a filter of system calls.
    Full,
    /// Landlock and a filter of system calls, where namespaces are refused. docs/guarantees.md lists what it lets through.
    Landlock,
    /// Nothing: a command may do whatever this program may.
    Open,
}

impl Tier {
    /// All of them.
    pub const ALL: [Tier; 3] = [Tier::Full, Tier::Landlock, Tier::Open];
}

impl fmt::Display for Tier {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Tier::Full => "namespaces, Landlock and a filter of system calls",
            Tier::Landlock => "Landlock and a filter of system calls",
            Tier::Open => "none",
        })
    }
}

/// Which walls are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WallSettings {
    /// The program that has the warden in it, usually this one; `None` where there is none.
    pub program: Option<PathBuf>,
    /// What commands may touch.
    pub bounds: Bounds,
    /// Whether they may talk to other machines.
    pub network: bool,
    /// Folders that programs are in or need, read also where `bounds.read` does not name them.
    pub programs: Vec<PathBuf>,
    /// A file that remembers which empty folders were put in the place of protected paths, for the next start.
    pub notes: Option<PathBuf>,
    /// Only this kind of walls. With [`Tier::Open`] there are none, but as within walls nothing of a command survives a kill
    /// of this program.
    pub only: Option<Tier>,
}

impl WallSettings {
    /// The strongest walls there are around these rights, without a network.
    pub fn new(bounds: Bounds) -> WallSettings {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let homes = ["CARGO_HOME", "RUSTUP_HOME", "GOROOT", "JAVA_HOME", "NVM_DIR", "PYENV_ROOT", "VIRTUAL_ENV"];
        let homes = homes.iter().filter_map(std::env::var_os).map(PathBuf::from);
        WallSettings {
            program: program(),
            bounds,
            network: false,
            programs: std::env::split_paths(&paths).chain(homes).filter(|path| path.is_absolute()).collect(),
            notes: None,
            only: None,
        }
    }
}

/// This program, if its first line looks for the warden's word; otherwise one that lies beside it or a folder above, as
/// programs do that are built with this one.
fn program() -> Option<PathBuf> {
    #[cfg(target_os = "linux")]
    if super::warden::is_here() {
        return Some("/proc/self/exe".into());
    }
    let own = std::env::current_exe().ok()?;
    let beside = own.ancestors().skip(1).take(2).map(|folder| folder.join("tillerman"));
    beside.into_iter().find(|path| path.is_file())
}

/// Walls that stand, and were tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// What they are made of.
    pub tier: Tier,
    /// What a person should know of them, a sentence each: why they are not stronger, what they do not cover.
    pub notes: Vec<String>,
}

/// Walls around the commands of one run. Shared by all of them.
#[derive(Debug)]
pub struct Walls {
    #[cfg(target_os = "linux")]
    keeper: Mutex<Option<Arc<Keeper>>>,
    settings: Option<Wanted>,
    #[cfg(target_os = "linux")]
    tell: Tell,
}

/// Who hears what was built.
#[cfg(target_os = "linux")]
struct Tell(Box<dyn Fn(&Built) + Send + Sync>);

#[cfg(target_os = "linux")]
impl fmt::Debug for Tell {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("Tell")
    }
}

/// Found out when walls are built: it may mean to look at many folders.
type Wanted = LazyLock<WallSettings, Box<dyn FnOnce() -> WallSettings + Send>>;

impl Walls {
    /// No walls and nobody to keep them: a command is a child of this program.
    pub fn open() -> Arc<Walls> {
        Arc::new(Walls::of(None, |_| {}))
    }

    /// No walls, but somebody who ends what a command leaves, also after a kill of this program, where the system has that.
    pub fn owned() -> Arc<Walls> {
        #[cfg(target_os = "linux")]
        return Walls::later(
            || WallSettings { network: true, only: Some(Tier::Open), ..WallSettings::new(Bounds::default()) },
            |_| {},
        );
        #[cfg(not(target_os = "linux"))]
        return Walls::open();
    }

    /// Walls as they are wanted, built at the first command or by [`Walls::build`].
    pub fn around(settings: WallSettings) -> Arc<Walls> {
        Walls::later(move || settings, |_| {})
    }

    /// The same; how they are wanted is asked when they are built, and what was built is told each time.
    pub fn later(
        settings: impl FnOnce() -> WallSettings + Send + 'static,
        tell: impl Fn(&Built) + Send + Sync + 'static,
    ) -> Arc<Walls> {
        Arc::new(Walls::of(Some(LazyLock::new(Box::new(settings))), tell))
    }

    #[cfg(target_os = "linux")]
    fn of(settings: Option<Wanted>, tell: impl Fn(&Built) + Send + Sync + 'static) -> Walls {
        Walls { keeper: Mutex::new(None), settings, tell: Tell(Box::new(tell)) }
    }

    #[cfg(not(target_os = "linux"))]
    fn of(settings: Option<Wanted>, _: impl Fn(&Built) + Send + Sync + 'static) -> Walls {
        Walls { settings }
    }

    /// Makes sure that some can be built here. Costs next to nothing where the kernel has Landlock; elsewhere they are
    /// built, to see.
    ///
    /// # Errors
    /// [`SandboxError::NoWalls`] where none can be built.
    pub fn try_here(&self) -> Result<(), SandboxError> {
        #[cfg(target_os = "linux")]
        if super::warden::is_of_use() {
            return Ok(());
        }
        self.build().map(drop)
    }

    /// Builds them, unless they stand already, and tries them. Waits for another process, some milliseconds.
    ///
    /// # Errors
    /// [`SandboxError::NoWalls`] where none can be built: commands must not run then.
    pub fn build(&self) -> Result<Built, SandboxError> {
        if self.settings.is_none() {
            return Ok(Built { tier: Tier::Open, notes: Vec::new() });
        }
        #[cfg(target_os = "linux")]
        return Ok(self.keep()?.built.clone());
        #[cfg(not(target_os = "linux"))]
        return Err(SandboxError::NoWalls("they need Linux".to_owned()));
    }

    /// Whether commands may talk to other machines.
    pub fn let_out(&self) -> bool {
        self.settings.as_ref().is_none_or(|settings| settings.network)
    }

    /// Whether there are none, and none are wanted.
    pub fn are_open(&self) -> bool {
        self.settings.is_none()
    }
}

#[cfg(target_os = "linux")]
impl Walls {
    /// Who keeps them, if they stand. Does not wait for somebody who is building them.
    pub(super) fn keeper(&self) -> Option<Arc<Keeper>> {
        self.keeper.try_lock().ok()?.clone()
    }

    /// The same, after they were built. Waits.
    pub(super) fn keep(&self) -> Result<Arc<Keeper>, SandboxError> {
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(keeper) = &*keeper {
            return Ok(Arc::clone(keeper));
        }
        let Some(settings) = &self.settings else { return Err(SandboxError::NoWalls("none are wanted".to_owned())) };
        let built = Arc::new(Keeper::start(settings).map_err(SandboxError::NoWalls)?);
        (self.tell.0)(&built.built);
        *keeper = Some(Arc::clone(&built));
        Ok(built)
    }

    /// After the warden was found dead: the next command gets another.
    pub(super) fn give_up(&self, dead: &Arc<Keeper>) {
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if keeper.as_ref().is_some_and(|keeper| Arc::ptr_eq(keeper, dead)) {
            *keeper = None;
        }
    }
}
