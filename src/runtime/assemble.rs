//! Builds the agent of one run from the files of this moment: prompt, model, tools with their rights, limits. What the
//! main agent sees and a worker does not (S3-57) is decided in `prompt`; what each may write, here (C-3, S3-58).

use std::path::PathBuf;
use std::sync::Arc;

use super::control::{self, Control};
use super::notes::Notes;
use super::permit::Permits;
use super::roles::{asked_for, named_agents};
use super::site::Site;
use super::{ground, history, ledger, purse};
use crate::agent::{Agent, Limits, Summariser};
use crate::markdown::Notice;
use crate::message::{Approval, Budget};
use crate::model::provider::Effort;
use crate::model::{Model, ModelId};
use crate::prompt::{self, Prompt, Sources};
use crate::role::Role;
use crate::skill::Skills;
use crate::task::{Brief, Task};
use crate::tool::{Tool, Toolbox};
use crate::tools::gate::{Asker, Keeper};
use crate::tools::{self, ToolSettings};
use crate::workspace::defaults::Layer;
use crate::workspace::policy::{PathPolicy, Profile};

/// The main agent of a session.
pub(super) fn main(site: &Site, control: Control) -> Result<Agent, String> {
    with_prompt(site, control).map(|(agent, _)| agent)
}

/// The same with its prompt, which tells where its parts come from.
pub(super) fn with_prompt(site: &Site, control: Control) -> Result<(Agent, Prompt), String> {
    let config = &site.config;
    let workspace = &config.workspace;
    let skills = Skills::discover(workspace);
    let roles = named_agents(config, &skills, &site.extra_tools);
    let session = &control.patron.session.clone();
    let artifacts = workspace.artifacts(session.as_str());
    let (id, effort) = (site.model_of(Some(session.as_str())), site.effort_of(session));
    let ledger = Some(ledger::of(site, session));
    let account = purse::main(site, session);
    let sources = Sources { workspace, skills: &skills, roles: &roles, role: None, task: None };
    let mut policy = site.policy(config.profile).map_err(text)?.with_read(&artifacts);
    for folder in config.permissions.directories.iter().filter(|_| config.profile != Profile::ReadOnly) {
        policy = policy.with_write(folder);
    }
    // A conversation that leaves no file has nothing to look through.
    let journal = Some(workspace.sessions().join(format!("{session}.jsonl"))).filter(|path| path.exists());
    let asked = [Some(control::answer(&control)), control::call_agent(&control, &roles)].into_iter().flatten();
    let notes = config.tools.has_notes().then(|| Notes::of_main(&policy).tool());
    let mut settings = ground::main(site, session, policy)?;
    let keeper = keeper(site, &settings, Permits::asker(&site.permits, &site.feed, session));
    // Where nobody answers, or nothing is held back, there is nothing to ask for.
    let is_asked = keeper.asker.is_some() && config.profile != Profile::Full && is_enabled(site, None, "escalate");
    settings.escalation = is_asked.then(|| keeper.clone());
    settings.shell.asks = is_asked;
    let tools = own_tools(site, settings, None).into_iter().chain(skills.tool()).chain(asked).chain(notes);
    let tools = tools.chain(control::tools(control)).chain(journal.iter().flat_map(|journal| history::tools(journal)));
    let prompt = prompt::main(&sources);
    let of_sets = skills.notices().iter().chain(roles.notices()).map(Notice::to_string);
    site.notice(of_sets.chain(prompt.notices.iter().cloned()));
    let agent = Agent {
        model: site.thinking(&id, effort).map_err(text)?,
        summariser: summariser(site, &id),
        counter: site.counters.of(&id),
        tools: toolbox(site, tools, None, &keeper)?,
        system: site.config.secrets.hide(&prompt.text).into_owned(),
        limits: site.fitted(&config.main, &id),
        artifacts,
        ledger,
        account: Some(account),
    };
    Ok((agent, prompt))
}

/// The worker of a task. It writes in its own directory and, unless nobody writes, in what the brief touches, and dispatches only if the depth
/// allows.
pub(super) fn worker(site: &Site, task: &Task, control: Control) -> Result<Agent, String> {
    let config = &site.config;
    let workspace = &config.workspace;
    let mut skills = Skills::discover(workspace);
    let roles = named_agents(config, &skills, &site.extra_tools);
    let role = asked_for(&roles, &task.brief)?;
    if let Some(names) = role.and_then(|role| role.skills.as_ref()) {
        skills = skills.only(names).at_hand();
    }
    let model = worker_model(site, &task.brief, role)?;
    // The brief is the first message of the conversation; a role that has a place for it gets it there too.
    let is_placed = role.is_some_and(|role| role.body.contains("{{task}}"));
    let text = if is_placed { task.brief.body.as_str() } else { "" };
    let place = prompt::Task { dir: task.dir.path(), text };
    let sources = Sources { workspace, skills: &skills, roles: &roles, role, task: Some(place) };
    let ask = control::ask(&control, task.dir.id());
    let approval = task.brief.approval.or_else(|| role.and_then(|role| role.approval));
    let asks = approval.unwrap_or(config.worker_approval) == Approval::Ask;
    let asker = asks.then(|| control::leave(&control, task.dir.id()));
    let may_dispatch = control.depth < config.crew.depth;
    let control = may_dispatch.then(|| control::tools(control)).into_iter().flatten();
    let rights = rights(site, task)?;
    let notes = role.map(|role| Notes::of(role, &rights));
    let noted = notes.as_ref().and_then(Notes::part).unwrap_or_default();
    let journal = workspace.worker_sessions().join(format!("{}.jsonl", task.dir.id()));
    let jobs = site.yard.for_run(task.dir.id());
    let settings = ToolSettings { jobs, ..ground::worker(site, rights, task.dir.path(), Some(task.dir.id()))? };
    let keeper = keeper(site, &settings, asker);
    let tools = own_tools(site, settings, role).into_iter().chain(skills.tool()).chain(control);
    let tools = tools.chain([ask]).chain(history::tools(&journal)).chain(notes.map(Notes::tool));
    Ok(Agent {
        summariser: summariser(site, model.id()),
        counter: site.counters.of(model.id()),
        tools: toolbox(site, tools, role, &keeper)?,
        system: site.config.secrets.hide(&(prompt::worker(&sources).text + &noted)).into_owned(),
        limits: limits(site, &task.brief, role, model.id()),
        artifacts: task.dir.artifacts(),
        ledger: None,
        account: Some(purse::worker(site, task, model.id())?),
        model,
    })
}

/// The model of a brief and what it may use, if the model and its role exist and the budget can be held. The brief's
/// word goes before the role's, that before the setting for workers.
pub(super) fn fits(site: &Site, brief: &Brief) -> Result<(ModelId, Budget), String> {
    let (model, own) = match brief.agent.is_none() {
        // Nothing on the disk has a say.
        true => (worker_model(site, brief, None)?, Budget::default()),
        false => {
            let skills = Skills::discover(&site.config.workspace);
            let roles = named_agents(&site.config, &skills, &site.extra_tools);
            let role = asked_for(&roles, brief)?;
            (worker_model(site, brief, role)?, role.map_or_else(Budget::default, |role| role.budget))
        }
    };
    let budget = brief.budget.or(purse::usual(site, brief, own.or(site.config.worker_budget)));
    purse::is_priced(site, budget, model.id())?;
    Ok((model.id().clone(), budget))
}

/// The brief's word goes before the role's, that before the setting for workers, and that before the main agent's model.
fn worker_model(site: &Site, brief: &Brief, role: Option<&Role>) -> Result<Arc<dyn Model>, String> {
    let config = &site.config;
    let named = brief.model.as_deref().or_else(|| role.and_then(|role| role.model.as_deref()));
    // A word that is none was told of where the file was read.
    let effort = role.and_then(|role| Effort::of(role.effort.as_deref()?));
    let model = |id: &ModelId| site.thinking(id, effort).map_err(text);
    match (named, &config.cast.worker) {
        (Some(named), _) => model(&config.models.read(named).map_err(text)?),
        (None, Some(worker)) => {
            model(&worker.id).map_err(|why| format!("{why} ({} is named in {})", worker.key, worker.from))
        }
        (None, None) => model(&site.model_of(brief.session.as_deref())),
    }
}

fn model(site: &Site, id: &ModelId) -> Result<Arc<dyn Model>, String> {
    site.model(id).map_err(text)
}

/// Who sums up for a model, if it is another one. One that cannot be had was warned of at the start.
fn summariser(site: &Site, own: &ModelId) -> Option<Summariser> {
    let id = &site.config.cast.compaction.as_ref().filter(|named| named.id != *own)?.id;
    let model = model(site, id).ok()?;
    Some(Summariser { model, context_window: site.config.models.window(id) })
}

fn limits(site: &Site, brief: &Brief, role: Option<&Role>, id: &ModelId) -> Limits {
    Limits { max_turns: max_turns(site, brief, role), ..site.fitted(&site.config.worker, id) }
}

/// How many turns an attempt may have where no budget says it. The brief's word goes before the role's.
fn max_turns(site: &Site, brief: &Brief, role: Option<&Role>) -> Option<u32> {
    brief.max_turns.or_else(|| role.and_then(|role| role.max_turns)).or(site.config.worker.max_turns)
}

/// The budget of a task as it is raised: turns that only an attempt is limited to count from here on over all of them.
pub(super) fn raisable(site: &Site, brief: &Brief) -> Budget {
    let skills = Skills::discover(&site.config.workspace);
    let roles = named_agents(&site.config, &skills, &site.extra_tools);
    let role = asked_for(&roles, brief).ok().flatten();
    Budget { turns: brief.budget.turns.or_else(|| max_turns(site, brief, role)), ..brief.budget }
}

fn rights(site: &Site, task: &Task) -> Result<PathPolicy, String> {
    let policy = site.policy(site.config.profile).map_err(text)?.narrowed().with_write(task.dir.path());
    // What it may write is read from there when it goes on.
    let policy = policy.with_protected(&task.dir.path().join("task.md"));
    let granted = granted(site, &task.brief)?;
    Ok(granted.iter().fold(policy, |policy, path| policy.with_write(path)))
}

/// What a brief lets its worker write, without links: nothing that the main agent may not write itself.
pub(super) fn granted(site: &Site, brief: &Brief) -> Result<Vec<PathBuf>, String> {
    if site.config.profile == Profile::ReadOnly {
        return Ok(Vec::new());
    }
    let own = site.policy(site.config.profile).map_err(text)?;
    let granted = brief.touches.iter().map(|path| own.may_write(path));
    granted.collect::<Result<_, _>>().map_err(|error| format!("touches: {error}"))
}

fn own_tools(site: &Site, mut settings: ToolSettings, role: Option<&Role>) -> Vec<Arc<dyn Tool>> {
    // What goes on in the background must be seen and ended by somebody.
    settings.shell.leave = site.config.leave && is_enabled(site, role, "jobs");
    tools::made(&settings, |name| is_enabled(site, role, name))
}

/// Tools that the configuration and the role allow, and those that the library's user brought.
fn toolbox(
    site: &Site,
    tools: impl Iterator<Item = Arc<dyn Tool>>,
    role: Option<&Role>,
    keeper: &Keeper,
) -> Result<Toolbox, String> {
    // Who asks for wider rights asks the rules itself.
    let gated = |tool: Arc<dyn Tool>| if tool.spec().name == "escalate" { tool } else { keeper.before(tool) };
    let tools = tools.filter(|tool| is_enabled(site, role, &tool.spec().name)).map(gated);
    let brought = site.extra_tools.iter().filter(|tool| role.is_none_or(|role| role.allows(&tool.spec().name)));
    Toolbox::new(tools.chain(brought.map(|tool| keeper.before(Arc::clone(tool)))).collect()).map_err(text)
}

/// What the gates of an agent share. An approval holds for the same variables and the same rights only; where temporary
/// files are differs from one run of a worker to the next.
pub(super) fn keeper(site: &Site, settings: &ToolSettings, asker: Option<Asker>) -> Keeper {
    let variables: Vec<_> = settings.shell.environment.variables().filter(|(name, _)| *name != "TMPDIR").collect();
    let around = format!("{} {} {variables:?}", settings.policy.profile().name(), site.config.network);
    let rules = Arc::clone(&site.config.permissions.rules);
    Keeper { rules, base: settings.policy.base().to_owned(), around, asker }
}

/// The settings say which tools there are; a role leaves some out, and adds those that it names and that are only usually
/// off. A role of a workspace that nobody trusts adds nothing: such a tool may reach further than the usual ones.
fn is_enabled(site: &Site, role: Option<&Role>, name: &str) -> bool {
    let enabled = &site.config.tools;
    let Some(role) = role else { return enabled.has(name) };
    let adds = role.tools.is_some() && (site.config.trusted || role.layer != Layer::Workspace);
    role.allows(name) && if adds { enabled.has_on_demand(name) } else { enabled.has(name) }
}

fn text(error: impl std::error::Error) -> String {
    error.to_string()
}
