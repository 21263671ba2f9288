//! What a person has done by the program itself, without an agent: a note kept, the conversation written out or copied, the
//! files of a workspace made.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::task::spawn_blocking;

use super::command::Misread;
use super::out::Out;
use super::talk::Talk;
use crate::config;
use crate::message::{Message, Role};
use crate::runtime::{Chosen, NotChosen};
use crate::terminal::theme::Theme;

/// Most bytes that are copied: terminals cut longer sequences.
const COPIED: usize = 100_000;

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Keep a line for later conversations.
    Note(String),
    /// Write the files of a workspace that are missing.
    Init,
    /// Write the conversation into a file; without one into a file of its id.
    Export(Option<String>),
    /// Put the last answer into the clipboard.
    Copy,
    /// Let another model answer.
    Model(String),
    /// Let it think more or less.
    Effort(String),
    /// Other colours, until the program ends.
    Theme(String),
    /// Run a command of this program, shown like one of the person's own.
    Own(&'static str),
}

/// Reads a command of these; `None` when it is none.
pub(super) fn read(name: &str, rest: &str) -> Option<Result<Deed, Misread>> {
    Some(match name {
        "/note" if rest.is_empty() => {
            Err(Misread::Usage("/note TEXT, for example /note tests run with `make check`".to_owned()))
        }
        "/note" => Ok(Deed::Note(rest.to_owned())),
        "/init" => Ok(Deed::Init),
        "/export" => Ok(Deed::Export((!rest.is_empty()).then(|| rest.to_owned()))),
        "/copy" => Ok(Deed::Copy),
        "/model" => Ok(Deed::Model(rest.to_owned())),
        "/effort" => Ok(Deed::Effort(rest.to_owned())),
        "/theme" => Ok(Deed::Theme(rest.to_owned())),
        "/doctor" => Ok(Deed::Own("doctor")),
        _ => return None,
    })
}

impl Talk<'_> {
    pub(super) async fn deed(&mut self, deed: Deed) {
        let done = match deed {
            Deed::Note(text) => self.runtime.remember(&text).await.map(|path| format!("kept in {path}")),
            Deed::Init => self.init().await,
            Deed::Export(file) => self.export(file).await,
            Deed::Copy => self.copy().await,
            Deed::Model(name) => self.chosen(self.runtime.set_model(&self.session, &name).await),
            Deed::Effort(word) => self.chosen(self.runtime.set_effort(&self.session, &word).await),
            Deed::Theme(name) => self.theme(&name),
            Deed::Own(command) => return self.own(command).await,
        };
        match done {
            Ok(done) => self.acknowledge(&done).await,
            Err(why) => self.complain(why).await,
        }
    }

    fn chosen(&self, chosen: Result<Chosen, NotChosen>) -> Result<String, String> {
        let Chosen { model, effort, doubt } = chosen.map_err(|error| error.to_string())?;
        let effort = effort.map(|effort| format!(", effort {}", effort.word())).unwrap_or_default();
        let doubt = doubt.map(|doubt| format!("; {doubt}")).unwrap_or_default();
        Ok(format!("{model}{effort} answers from the next line on{doubt}"))
    }

    fn theme(&mut self, name: &str) -> Result<String, String> {
        let names = Theme::NAMES.map(|(name, _)| name).join(", ");
        let Some(theme) = Theme::named(name) else {
            let what = if name.is_empty() { "which theme?".to_owned() } else { format!("no theme {name}") };
            return Err(format!("{what} There are {names}: /theme dark"));
        };
        self.look.theme = theme;
        self.screen.set_look(self.look);
        Ok(format!("{name} from here on; `theme: {name}` in config.md keeps it"))
    }

    async fn init(&self) -> Result<String, String> {
        let root = self.root.clone();
        let wrote = spawn_blocking(move || config::init(&root)).await.map_err(|error| error.to_string())?;
        let wrote = wrote.map_err(|error| error.to_string())?;
        let new: Vec<String> =
            wrote.iter().filter(|file| file.new).map(|file| file.path.display().to_string()).collect();
        Ok(match new.len() {
            0 => "nothing is missing here".to_owned(),
            _ => format!("wrote {}; `tillerman init` also trusts the folder", new.join(", ")),
        })
    }

    async fn export(&self, file: Option<String>) -> Result<String, String> {
        let name = file.unwrap_or_else(|| format!("{}.md", self.session));
        let path = self.root.join(&name);
        self.runtime.export(&self.session, path).await?;
        Ok(format!("wrote {name}"))
    }

    async fn copy(&self) -> Result<String, String> {
        let said = self.runtime.transcript(&self.session).await.map_err(|error| error.to_string())?;
        let answers = said.iter().rev().filter(|message| message.role == Role::Assistant);
        let answer = answers.map(|message| Message::text(message)).find(|text| !text.trim().is_empty());
        let Some(answer) = answer else { return Err("there is no answer yet".to_owned()) };
        if answer.len() > COPIED {
            return Err(format!("the answer has over {COPIED} bytes, more than terminals take; /export writes it out"));
        }
        let Out::Above(desk) = &self.out else {
            return Err("there is no terminal here that could copy it; /export writes it out".to_owned());
        };
        desk.signal(format!("\x1b]52;c;{}\x07", STANDARD.encode(&answer)));
        Ok(format!("copied the last answer, {} characters", answer.chars().count()))
    }

    /// A command of this program, in the same folder.
    async fn own(&mut self, command: &str) {
        let Ok(program) = std::env::current_exe() else {
            return self.complain("this program does not know where it lies").await;
        };
        let quoted = |path: &PathBuf| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
        let color = if self.look.color { "always" } else { "never" };
        let text = format!("{} -w {} --color {color} {command}", quoted(&program), quoted(&self.root));
        self.shell(text, true).await;
    }
}
