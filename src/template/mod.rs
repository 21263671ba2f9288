//! Prompt templates: Markdown files that become a person's line when their name is typed. Who runs the commands that one asks
//! for, and what is said in the end, is decided in `runtime`.

mod discover;
mod fill;

use std::path::PathBuf;

use serde_json::Value;

use crate::markdown::{MarkdownError, Notice};
use crate::workspace::Workspace;
use crate::workspace::defaults::Layer;

pub use fill::Part;

/// A template as far as it is known before it is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// What it is called by, without the slash; `sub:name` for one in a folder.
    pub name: String,
    /// What it is for, in one line.
    pub description: String,
    /// What its author wants behind the name, as in `[FILE]`; may be empty.
    pub hint: String,
    /// Where it comes from.
    pub layer: Layer,
    /// Its file.
    pub path: PathBuf,
    /// Fields of its frontmatter that other programs follow and this one does not.
    pub idle: Vec<String>,
}

/// The templates of a workspace, sorted by name.
#[derive(Debug, Clone, Default)]
pub struct Templates {
    templates: Vec<Template>,
    notices: Vec<Notice>,
}

impl Templates {
    /// Finds the templates of the home and of the workspace, where a later one replaces an earlier one of the same name:
    /// files ending in `.md` in `commands` and `prompts` of the home, then in `.claude/commands`, `.tillerman/commands`,
    /// `prompts` and `commands` of the workspace. `prompts/main.md` and `prompts/worker.md` are system prompts and none of
    /// them. What cannot be read is left out and named in [`Templates::notices`].
    pub fn discover(workspace: &Workspace) -> Templates {
        let (templates, notices) = discover::all(workspace);
        Templates { templates, notices }
    }

    /// All of them, sorted by name.
    pub fn list(&self) -> &[Template] {
        &self.templates
    }

    /// What a person should know: files that were left out, one line each.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The template of this name.
    pub fn find(&self, name: &str) -> Option<&Template> {
        self.templates.iter().find(|template| template.name == name)
    }
}

impl Template {
    /// What it says, with `args` in their places; see [`fill`](Part) for what is left to be done. Read from the file as it
    /// is now.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn filled(&self, args: &str) -> Result<Vec<Part>, MarkdownError> {
        let (_, body): (Value, String) = discover::document(&self.path)?;
        Ok(fill::fill(body.trim(), args.trim()))
    }
}
