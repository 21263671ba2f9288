//! What a person looks at: agents, skills, tools, rules, what the agent reads beforehand, what changed. Nothing here changes
//! anything.

use std::path::Path;

use tokio::task::spawn_blocking;

use super::answering;
use super::command::{self, Misread};
use super::help;
use super::out::width;
use super::talk::Talk;
use crate::config::Config;
use crate::markdown::Notice;
use crate::prompt::{self, Sources};
use crate::role::Roles;
use crate::runtime::{Vocabulary, named_agents};
use crate::task::TaskId;
use crate::terminal::Look;
use crate::terminal::clean::one_line;
use crate::terminal::wrap::{columns, cut};
use crate::tools::GROUPS;
use crate::tools::gate::Verdict;
use crate::workspace::defaults::Layer;

/// Columns of a name before what there is to say about it.
const NAME: usize = 20;

/// What to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inquiry {
    /// The named agents.
    Agents,
    /// Skills and templates.
    Skills,
    /// The tools of the agent.
    Tools,
    /// The rules.
    Permissions,
    /// What the agent reads before each conversation.
    Memory,
    /// What changed, or the files of a task.
    Diff(Option<TaskId>),
    /// What fills the window of the model.
    Context,
    /// The models that could answer, and the one that does.
    Models,
    /// What keys do.
    Keys,
}

/// Reads a command of these; `None` when it is none.
pub(super) fn read(name: &str, rest: &str) -> Option<Result<Inquiry, Misread>> {
    Some(Ok(match name {
        "/model" | "/effort" if rest.is_empty() => Inquiry::Models,
        "/diff" if rest.is_empty() => Inquiry::Diff(None),
        "/diff" => return Some(command::task(rest, "/diff [t_001]").map(|task| Inquiry::Diff(Some(task)))),
        "/agents" => Inquiry::Agents,
        "/skills" => Inquiry::Skills,
        "/tools" => Inquiry::Tools,
        "/permissions" => Inquiry::Permissions,
        "/memory" => Inquiry::Memory,
        "/context" => Inquiry::Context,
        "/keys" => Inquiry::Keys,
        _ => return None,
    }))
}

impl Talk<'_> {
    pub(super) async fn inquire(&self, inquiry: Inquiry) {
        let (look, width) = (self.look, width());
        let config = self.runtime.config();
        let lines = match inquiry {
            Inquiry::Diff(task) => return self.diff(task).await,
            Inquiry::Models => match self.runtime.status(&self.session).await {
                Ok(status) => answering::models(&status, config, look, width),
                Err(error) => return self.complain(error).await,
            },
            Inquiry::Context => match self.runtime.context(&self.session).await {
                Ok(window) => answering::context(&window, &self.root, look, width),
                Err(error) => return self.complain(error).await,
            },
            Inquiry::Keys => help::keys(look, width),
            Inquiry::Tools => tools(config, look, width),
            Inquiry::Permissions => permissions(config, look, width),
            Inquiry::Skills => skills(&self.runtime.vocabulary().await, &self.root, look, width),
            Inquiry::Agents | Inquiry::Memory => {
                let config = config.clone();
                let looked = spawn_blocking(move || match inquiry {
                    Inquiry::Memory => memory(&config, look, width),
                    _ => agents(&config, look, width),
                });
                match looked.await {
                    Ok(lines) => lines,
                    Err(error) => return self.complain(error).await,
                }
            }
        };
        self.out.answer(lines).await;
    }
}

pub(super) fn row(name: &str, help: &str, look: Look, width: usize) -> String {
    let gap = NAME.saturating_sub(columns(name)).max(1);
    let room = width.saturating_sub(columns(name) + gap);
    format!("{}{:gap$}{}", look.name(name), "", cut(&one_line(help), room))
}

fn of(layer: Layer) -> &'static str {
    match layer {
        Layer::BuiltIn => "built in",
        Layer::Home => "yours",
        Layer::Workspace => "of this folder",
    }
}

fn noticed<'a>(notices: impl IntoIterator<Item = &'a Notice>, look: Look) -> Vec<String> {
    notices.into_iter().map(|notice| format!("{} {}", look.warn("⚠"), one_line(&notice.to_string()))).collect()
}

fn agents(config: &Config, look: Look, width: usize) -> Vec<String> {
    let vocabulary = Vocabulary::of(&config.workspace);
    let roles = named_agents(config, &vocabulary.skills, &[]);
    if roles.list().is_empty() {
        return vec!["no named agents: `agents` is off in the settings".to_owned()];
    }
    let lines = roles.list().iter().map(|role| {
        let model = role.model.as_ref().map(|model| format!(" · {model}")).unwrap_or_default();
        row(&role.name, &format!("{} ({}{model})", role.description, of(role.layer)), look, width)
    });
    lines.chain(noticed(roles.notices(), look)).collect()
}

fn skills(vocabulary: &Vocabulary, root: &Path, look: Look, width: usize) -> Vec<String> {
    let templates = vocabulary.templates.list().iter().map(|template| {
        let name = format!("/{} {}", template.name, template.hint);
        let path = template.path.strip_prefix(root).unwrap_or(&template.path).display();
        row(name.trim_end(), &format!("{} ({path})", template.description), look, width)
    });
    let skills = vocabulary.skills.list().iter().map(|skill| {
        row(&format!("/{}", skill.name), &format!("{} (skill, {})", skill.description, of(skill.layer)), look, width)
    });
    let notices = vocabulary.templates.notices().iter().chain(vocabulary.skills.notices());
    templates.chain(skills).chain(noticed(notices, look)).collect()
}

fn tools(config: &Config, look: Look, width: usize) -> Vec<String> {
    let line = |name: &str, words: Vec<&str>| row(name, &words.join(" "), look, width);
    let of_group = |on: bool, tools: &[&'static str]| {
        tools.iter().copied().filter(|tool| config.tools.has(tool) == on).collect::<Vec<&str>>()
    };
    let on = GROUPS.iter().map(|group| (group.name, of_group(true, group.tools)));
    let off = GROUPS.iter().map(|group| (group.name, of_group(false, group.tools)));
    let off: Vec<String> = off
        .filter(|(_, tools)| !tools.is_empty())
        .map(|(group, tools)| format!("{group}: {}", tools.join(" ")))
        .collect();
    let mut lines: Vec<String> =
        on.filter(|(_, tools)| !tools.is_empty()).map(|(name, tools)| line(name, tools)).collect();
    if !off.is_empty() {
        lines.push(look.dim(cut(&format!("off    {}", off.join(" · ")), width)));
    }
    lines
}

fn permissions(config: &Config, look: Look, width: usize) -> Vec<String> {
    let rules = &config.permissions.rules;
    let mut lines: Vec<String> = Vec::new();
    for rule in rules.all() {
        let verdict = format!("{:<6}", rule.verdict.to_string());
        let rest = format!("{}  {}", one_line(&rule.text), one_line(&rule.from));
        lines.push(format!("{}{}", look.name(verdict), cut(&rest, width.saturating_sub(6))));
    }
    lines.push(match rules.otherwise() {
        Verdict::Allow => format!("else  what the walls let through is done (profile {})", config.profile.name()),
        Verdict::Ask => "else  you are asked".to_owned(),
        Verdict::Deny => "else  nothing is done".to_owned(),
    });
    lines
}

/// The parts of the prompt that come from files, as they are now.
fn memory(config: &Config, look: Look, width: usize) -> Vec<String> {
    let workspace = &config.workspace;
    let skills = Vocabulary::of(workspace).skills;
    let roles = Roles::default();
    let told = prompt::main(&Sources { workspace, skills: &skills, roles: &roles, role: None, task: None });
    let files = told.parts.iter().filter_map(|part| Some((part.path.as_ref()?, part)));
    let mut lines: Vec<String> = files
        .filter(|(path, _)| path.is_absolute())
        .map(|(path, part)| {
            let cut = if part.cut { ", cut off: it is too long" } else { "" };
            let name = if part.name.is_empty() { "Prompt" } else { part.name };
            let path = path.strip_prefix(workspace.root()).unwrap_or(path).display();
            row(&path.to_string(), &format!("{name}, {} characters{cut}", part.chars), look, width)
        })
        .collect();
    if lines.is_empty() {
        lines.push("nothing yet: AGENTS.md, USER.md and memory/memory.md would be read; /init writes them".to_owned());
    }
    lines.extend(told.notices.iter().map(|notice| format!("{} {}", look.warn("⚠"), one_line(notice))));
    lines
}
