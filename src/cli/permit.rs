//! Whether the program may work here at all. What is wrong with settings is not found here.

use super::ready::NotReady;
use crate::config::Config;
use crate::sandbox::{self, WallSettings, Walls};
use crate::terminal::exit::Exit;
use crate::workspace::policy::{Bounds, Profile};

/// Refuses to work inside a command of another tillerman: its limits and budgets would hold no more, and nobody would see
/// what is done.
pub(super) fn alone(config: &Config) -> Result<(), NotReady> {
    let nesting = sandbox::nesting(&|name| std::env::var_os(name));
    if nesting <= config.nesting {
        return Ok(());
    }
    let why = "this runs inside a command of another tillerman, where no limit or budget of that one would hold; let its \
               agent dispatch a task instead";
    Err(NotReady {
        exit: Exit::Refused,
        why: format!("{why} (a person may allow it: nesting: {nesting} in the settings)"),
    })
}

/// Refuses to work where nothing can stand around commands, unless the command line says that nothing shall.
pub(super) fn walled(config: &Config) -> Result<(), NotReady> {
    if config.profile == Profile::Full {
        return Ok(());
    }
    let bounds = Bounds { base: config.workspace.root().to_owned(), ..Bounds::default() };
    let tried = Walls::around(WallSettings::new(bounds)).try_here();
    tried.map_err(|error| NotReady { exit: Exit::Refused, why: error.to_string() })
}
