//! Named agents: `agents/*.md` with their model, tools, skills and limits. Who runs one is decided in `runtime`.

mod read;
mod words;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::markdown::Notice;
use crate::message::{Approval, Budget};
use crate::workspace::Workspace;
use crate::workspace::defaults::Layer;

/// A named agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// What it is dispatched by; unique in its set.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// `provider/model`, or `None` for the model that workers have.
    pub model: Option<String>,
    /// How hard it thinks, in the word of its file; `None` leaves it to the settings.
    pub effort: Option<String>,
    /// The tools it has, by our names; `None` for all (S1-33).
    pub tools: Option<Vec<String>>,
    /// Tools it does not have, whatever `tools` says.
    pub without: Vec<String>,
    /// The skills it has, which it need not load; `None` for all, to be loaded (S1-35).
    pub skills: Option<Vec<String>>,
    /// Model calls it may make; `None` leaves it to the configuration.
    pub max_turns: Option<u32>,
    /// What each of its tasks may use, where the brief does not say.
    pub budget: Budget,
    /// What becomes of calls that a person must allow; `None` leaves it to the configuration.
    pub approval: Option<Approval>,
    /// Whoever calls it does not wait for it.
    pub background: bool,
    /// Its instructions, with `{{task}}` where the task goes.
    pub body: String,
    /// Where it comes from.
    pub layer: Layer,
    /// Its file; for a built-in one the path below `defaults/`.
    pub path: PathBuf,
}

impl Role {
    /// It may use a tool of this name.
    pub fn allows(&self, tool: &str) -> bool {
        let listed = self.tools.as_ref().is_none_or(|tools| tools.iter().any(|name| name == tool));
        listed && !self.without.iter().any(|name| name == tool)
    }

    /// Its instructions for a task (S1-31).
    pub fn instructions(&self, task: &str) -> String {
        // One pass, so that a `{{task}}` in the task itself stays what it is.
        self.body.split("{{task}}").collect::<Vec<_>>().join(task.trim())
    }
}

/// Where named agents are looked for, and what may stand in their files.
#[derive(Clone, Copy, Default)]
pub struct Scope<'a> {
    /// Only those that are built in.
    pub built_in: bool,
    /// A folder of the person's, kept for another program; those of the home go before it.
    pub foreign: Option<&'a Path>,
    /// One more folder of them, which goes before all others (S1-32).
    pub folder: Option<&'a Path>,
    /// What there is to name; without it nothing that a file names is doubted.
    pub known: Option<Known<'a>>,
}

/// What a file of a named agent can name.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// Tools.
    pub tools: &'a [String],
    /// Skills.
    pub skills: &'a [String],
    /// Says why a model cannot be had, if it cannot.
    pub model: &'a dyn Fn(&str) -> Option<String>,
    /// Says why that model, or the one that workers have, cannot be asked for an effort, if it cannot.
    pub effort: &'a dyn Fn(Option<&str>, &str) -> Option<String>,
}

/// The named agents of a workspace, sorted by name. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Roles {
    roles: Arc<Vec<Role>>,
    notices: Arc<Vec<Notice>>,
}

impl Roles {
    /// Finds the roles of a workspace: built-in ones, those of the home, those of the workspace, where a later one
    /// replaces an earlier one of the same name (S3-56). One that cannot be read is left out and named in
    /// [`Roles::notices`].
    pub fn discover(workspace: &Workspace) -> Roles {
        Roles::within(workspace, Scope::default())
    }

    /// The same, with another scope.
    pub fn within(workspace: &Workspace, scope: Scope) -> Roles {
        let (roles, notices) = read::all(workspace, scope);
        Roles { roles: Arc::new(roles), notices: Arc::new(notices) }
    }

    /// All of them, sorted by name.
    pub fn list(&self) -> &[Role] {
        &self.roles
    }

    /// What a person should know: roles that were left out or replaced, fields that have no effect; one line each.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The role of this name.
    pub fn find(&self, name: &str) -> Option<&Role> {
        self.roles.iter().find(|role| role.name == name)
    }

    /// Names and descriptions for the main agent's prompt (S1-41); `None` when there are none.
    pub fn catalogue(&self) -> Option<String> {
        let line = |role: &Role| format!("- {}: {}\n", role.name, role.description);
        let lines: String = self.roles.iter().map(line).collect();
        let head = "Workers with a speciality; name one as `agent` in `dispatch`.";
        (!lines.is_empty()).then(|| format!("{head}\n{lines}"))
    }
}
