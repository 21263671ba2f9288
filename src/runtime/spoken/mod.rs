//! A person's line as it is said to an agent: a template or a skill that it names is filled in, files that it mentions are
//! added. Where it was typed, and what its other forms mean, is a front end's business.

mod attach;
mod mention;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::by_hand::{ByHand, of_site};
use super::{Runtime, Said};
use crate::message::{CallId, RawArgs};
use crate::session::SessionId;
use crate::skill::Skills;
use crate::template::{Part, Template, Templates};
use crate::tool::ToolContext;
use crate::workspace::Workspace;
use crate::workspace::defaults::Layer;

/// How long a command of a template may take.
const COMMAND: Duration = Duration::from_secs(30);

/// What can be said with a `/` besides the commands of a front end.
#[derive(Debug, Clone, Default)]
pub struct Vocabulary {
    /// Templates go before skills of the same name.
    pub templates: Templates,
    /// Skills.
    pub skills: Skills,
}

/// A line as it is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    /// What an agent gets.
    pub said: Said,
    /// What the person should know, one line each: files that were added, fields of a template that have no effect.
    pub told: Vec<String>,
}

/// Where a line comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seat {
    /// A person's own hands at a prompt: the path of a picture that stands in the line shows it, wherever it lies.
    Prompt,
    /// A command line, a pipe or a program: only what is below the workspace and begins with an `@` is added.
    Elsewhere,
}

/// Why a line was not said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsaid {
    /// Its name is none.
    #[error("there is no template or skill {0}; put a file into commands/, or write the line without the slash")]
    Unknown(String),
    /// A file cannot be read, or a command of a template was not run; the text says what to do.
    #[error("{0}")]
    Unfilled(String),
}

impl Vocabulary {
    /// What a workspace has at this moment. Reads the disk.
    pub fn of(workspace: &Workspace) -> Vocabulary {
        Vocabulary { templates: Templates::discover(workspace), skills: Skills::discover(workspace) }
    }

    /// Each name with its slash, and what it is for.
    pub fn names(&self) -> Vec<(String, String)> {
        let templates = self.templates.list().iter().map(|template| (&template.name, &template.description));
        let skills = self.skills.list().iter().map(|skill| (&skill.name, &skill.description));
        let skills = skills.filter(|(name, _)| self.templates.find(name).is_none());
        templates.chain(skills).map(|(name, help)| (format!("/{name}"), help.clone())).collect()
    }
}

impl Runtime {
    /// What can be said with a `/` at this moment.
    pub async fn vocabulary(&self) -> Vocabulary {
        let workspace = self.config().workspace.clone();
        self.inner.site.on_disk(move || Vocabulary::of(&workspace)).await.unwrap_or_default()
    }

    /// Makes of a line what is said to an agent. A line that begins with `/NAME` is the template or skill of that name, read
    /// from its file as it is now; commands in a template run within the walls and by the rules of the agent's own. Files
    /// that are mentioned as `@path` are added behind the words, if they are small texts; pictures are attached, if the
    /// model sees any.
    ///
    /// # Errors
    /// [`Unsaid`]; then nothing should be said.
    pub async fn spoken(&self, session: &SessionId, line: &str, seat: Seat) -> Result<Spoken, Unsaid> {
        let site = &self.inner.site;
        let mut told = Vec::new();
        let text = match named(line) {
            Some((name, args)) => self.named(name, args, &mut told).await?,
            None => line.to_owned(),
        };
        let (site, found) = (Arc::clone(site), mention::mentions(&text, seat));
        if found.is_empty() {
            return Ok(Spoken { said: Said::from(text), told });
        }
        let model = site.model_of(Some(session.as_str()));
        let attach = move || attach::attach(&site, &model, text, found);
        let (said, more) = self.inner.site.on_disk(attach).await.map_err(Unsaid::Unfilled)?;
        told.extend(more);
        Ok(Spoken { said, told })
    }

    async fn named(&self, name: &str, args: &str, told: &mut Vec<String>) -> Result<String, Unsaid> {
        let vocabulary = self.vocabulary().await;
        if let Some(template) = vocabulary.templates.find(&name[1..]) {
            if !template.idle.is_empty() {
                let path = shown(&template.path, self.config().workspace.root());
                told.push(format!("{path}: {} has no effect here", template.idle.join(", ")));
            }
            return self.filled(template, args).await;
        }
        if vocabulary.skills.find(&name[1..]).is_none() {
            return Err(Unsaid::Unknown(name.to_owned()));
        }
        let text = vocabulary.skills.text(&name[1..]).map_err(|error| Unsaid::Unfilled(error.to_string()))?;
        Ok(format!("{name} {args}").trim_end().to_owned() + "\n\n" + &text)
    }

    async fn filled(&self, template: &Template, args: &str) -> Result<String, Unsaid> {
        let (own, args) = (template.clone(), args.to_owned());
        let parts = self.inner.site.on_disk(move || own.filled(&args)).await.map_err(Unsaid::Unfilled)?;
        let parts = parts.map_err(|error| Unsaid::Unfilled(error.to_string()))?;
        let is_trusted = template.layer != Layer::Workspace || self.config().trusted;
        let mut text = String::new();
        for part in parts {
            match part {
                Part::Text(part) => text.push_str(&part),
                Part::Command(command) if is_trusted => text.push_str(&self.output(template, &command).await?),
                Part::Command(command) => {
                    return Err(Unsaid::Unfilled(format!(
                        "/{} would run `{command}`, and this folder is not trusted; read the template, then say \
                         tillerman init --trust",
                        template.name
                    )));
                }
            }
        }
        Ok(text)
    }

    /// What a command of a template writes.
    async fn output(&self, template: &Template, command: &str) -> Result<String, Unsaid> {
        let failed = |why: String| Unsaid::Unfilled(format!("/{}: `{command}` was not run: {why}", template.name));
        let site = Arc::clone(&self.inner.site);
        if !site.config.tools.has("shell") {
            return Err(failed("the tool shell is switched off in the settings".to_owned()));
        }
        let made = self.inner.site.on_disk(move || of_site(&site, None)).await;
        let ByHand { tools, artifacts } = made.and_then(|made| made).map_err(failed)?;
        let Some(shell) = tools.find("shell") else { return Err(failed("there is no shell".to_owned())) };
        let cx = ToolContext {
            call: CallId("template".to_owned()),
            cancel: CancellationToken::new(),
            progress: Arc::new(|_| {}),
            artifacts,
            secrets: self.config().secrets.clone(),
        };
        let args = RawArgs(json!({ "command": command, "timeout": COMMAND.as_secs() }).to_string());
        match timeout(COMMAND * 2, shell.call(args, &cx)).await {
            Ok(Ok(output)) => Ok(output.text),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(_) => Err(failed("it did not end".to_owned())),
        }
    }
}

/// The name, with its slash, that a line begins with, and what stands behind it. A path is none.
fn named(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (name, args) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let is_name = name.len() > 1 && name.starts_with('/') && !name[1..].contains('/');
    is_name.then(|| (name, args.trim()))
}

fn shown(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}
