//! The named agents that a configuration allows, and what their files name that does not exist. How a file is read is
//! the business of `role`.

use crate::config::{Agents, AgentsFrom, Config};
use crate::model::provider::Effort;
use crate::role::{Known, Role, Roles, Scope};
use crate::skill::Skills;
use crate::task::Brief;
use crate::tool::Tool;
use crate::tools;

/// The named agents there are (S1-30, S1-32). What is wrong in their files is in [`Roles::notices`].
///
/// `skills` are those that a file may name, `extra` the tools that a library user brought.
pub fn named_agents(config: &Config, skills: &Skills, extra: &[std::sync::Arc<dyn Tool>]) -> Roles {
    let built_in = match config.agents.from {
        AgentsFrom::Nowhere => return Roles::default(),
        AgentsFrom::BuiltIn => true,
        AgentsFrom::Everywhere => false,
    };
    let extra = extra.iter().map(|tool| tool.spec().name.clone());
    let ours = tools::groups::names().into_iter().map(ToOwned::to_owned);
    let mut tools: Vec<String> = ours.chain(extra).collect();
    tools.sort_unstable();
    let skills: Vec<String> = skills.list().iter().map(|skill| skill.name.clone()).collect();
    let model = |named: &str| {
        let model = config.models.read(named).and_then(|id| config.models.get(&id));
        model.err().map(|why| why.to_string())
    };
    let effort = |named: Option<&str>, word: &str| doubt(config, named, word);
    let known = Some(Known { tools: &tools, skills: &skills, model: &model, effort: &effort });
    let Agents { folder, foreign, .. } = &config.agents;
    Roles::within(&config.workspace, Scope { built_in, foreign: foreign.as_deref(), folder: folder.as_deref(), known })
}

/// Why a role cannot have this effort.
fn doubt(config: &Config, named: Option<&str>, word: &str) -> Option<String> {
    let Some(effort) = Effort::of(word) else {
        let words = Effort::WORDS.map(|(word, _)| word).join(", ");
        return Some(format!("`{word}` is none of {words}"));
    };
    let worker = || config.cast.worker.as_ref().map_or(&config.choice.id, |named| &named.id).clone();
    // One that cannot be had is told as that.
    let id = named.map_or_else(|| Some(worker()), |named| config.models.read(named).ok())?;
    let is_model = !["pilot", "scripted"].contains(&id.provider.as_str());
    (is_model && !config.models.knows_effort(&id, effort))
        .then(|| format!("nothing is known of how to ask {id} for it"))
}

/// The named agent that a brief asks for.
///
/// # Errors
/// There is none of that name; the sentence names those that there are.
pub(super) fn asked_for<'a>(roles: &'a Roles, brief: &Brief) -> Result<Option<&'a Role>, String> {
    let Some(name) = &brief.agent else { return Ok(None) };
    let known: Vec<&str> = roles.list().iter().map(|role| role.name.as_str()).collect();
    match roles.find(name) {
        Some(role) => Ok(Some(role)),
        None if known.is_empty() => {
            Err(format!("there is no agent {name}, nor any other: agents is off in the settings"))
        }
        None => Err(format!("there is no agent {name}; there are: {}", known.join(", "))),
    }
}
