//! Tools without an agent, for a person who tries one: on the same ground as those of agents. Tools that command the crew
//! or look through a conversation need one, and are not among them.

use std::path::PathBuf;

use super::site::Site;
use super::{assemble, ground};
use crate::config::Config;
use crate::skill::Skills;
use crate::tool::Toolbox;
use crate::tools;
use crate::tools::gate::Asker;

/// Tools that can be called, and where their full outputs go.
pub struct ByHand {
    /// All that can be made, those that agents do not have included.
    pub tools: Toolbox,
    /// The folder for what is cut; made on first use.
    pub artifacts: PathBuf,
}

/// The tools of a main agent under these settings, held to the same rules. `asker` is the way to the person, if there is one.
///
/// # Errors
/// A sentence, when the workspace cannot be opened or nothing can be put around commands.
pub fn by_hand(config: Config, asker: Option<Asker>) -> Result<ByHand, String> {
    of_site(&Site::new(config, Vec::new()), asker)
}

/// The same on a site that there is already.
pub(super) fn of_site(site: &Site, asker: Option<Asker>) -> Result<ByHand, String> {
    let config = &site.config;
    let artifacts = config.workspace.artifacts("by-hand");
    let skills = Skills::discover(&config.workspace);
    let policy = site.policy(config.profile).map_err(|error| error.to_string())?.with_read(&artifacts);
    let settings = ground::worker(site, policy, &artifacts, None)?;
    let keeper = assemble::keeper(site, &settings, asker);
    let tools = tools::made(&settings, |_| true).into_iter().chain(skills.tool()).map(|tool| keeper.before(tool));
    Ok(ByHand { tools: Toolbox::new(tools.collect()).map_err(|error| error.to_string())?, artifacts })
}
