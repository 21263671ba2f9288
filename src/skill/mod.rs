//! Skills: short guides in Markdown that an agent loads when it needs them. What they say is in `defaults/` and in workspaces.

mod discover;
mod load;

use std::path::PathBuf;
use std::sync::Arc;

use crate::markdown::Notice;
use crate::tool::Tool;
use crate::workspace::Workspace;
pub use crate::workspace::defaults::Layer;

/// Most characters of a description in the catalogue.
const DESCRIPTION: usize = 400;

/// Most characters of the texts that an agent has without loading them.
const AT_HAND: usize = 16_000;

/// A skill as far as it is known before it is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// What it is called by; unique in its set.
    pub name: String,
    /// What it is for and when to use it.
    pub description: String,
    /// Where it comes from.
    pub layer: Layer,
    /// Its file; for a built-in one the path below `defaults/`.
    pub path: PathBuf,
    /// A model may load it by itself; otherwise only a person calls for it.
    pub for_models: bool,
}

/// The skills of an agent, sorted by name. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Skills {
    skills: Arc<Vec<Skill>>,
    notices: Arc<Vec<Notice>>,
    /// Names and texts of those that need not be loaded.
    at_hand: Arc<Vec<(String, String)>>,
}

impl Skills {
    /// Finds the skills of a workspace: built-in ones, those of the home, those of the workspace, where a later one
    /// replaces an earlier one of the same name (S3-56).
    ///
    /// In each folder of skills three layouts are known: `name.md`, `name/SKILL.md` and `…/skill.md` in any depth up to
    /// six. A skill that cannot be read is left out and named in [`Skills::notices`]. The catalogue is also left in
    /// `SKILLS_SNAPSHOT.md` of the workspace's state, for people to see what a model sees.
    pub fn discover(workspace: &Workspace) -> Skills {
        let (skills, notices) = discover::all(workspace);
        let found = Skills { skills: Arc::new(skills), notices: Arc::new(notices), at_hand: Arc::default() };
        discover::leave_snapshot(workspace, found.catalogue().as_deref().unwrap_or_default());
        found
    }

    /// All of them, sorted by name.
    pub fn list(&self) -> &[Skill] {
        &self.skills
    }

    /// What a person should know: skills that were left out or replaced, one line each.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The skill of this name.
    pub fn find(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// Only the skills with these names (S1-35); a name that is not there changes nothing.
    #[must_use]
    pub fn only(&self, names: &[String]) -> Skills {
        let skills = self.skills.iter().filter(|skill| names.contains(&skill.name)).cloned().collect();
        Skills { skills: Arc::new(skills), ..self.clone() }
    }

    /// The same skills with their texts in the catalogue, so that nobody need load them. What does not fit, and what
    /// cannot be read, is loaded as ever.
    #[must_use]
    pub fn at_hand(&self) -> Skills {
        let mut room = AT_HAND;
        let fits = |skill: &Skill| {
            let text = self.text(&skill.name).ok()?;
            room = room.checked_sub(text.chars().count())?;
            Some((skill.name.clone(), text))
        };
        let at_hand = Arc::new(self.skills.iter().filter_map(fits).collect());
        Skills { at_hand, ..self.clone() }
    }

    /// Names and descriptions for a system prompt, and the texts that are at hand; `None` when there is nothing.
    pub fn catalogue(&self) -> Option<String> {
        let line = |skill: &Skill| format!("- {}: {}\n", skill.name, one_line(&skill.description));
        let lines: String = self.for_models().map(line).collect();
        let head = (!lines.is_empty()).then(|| format!("{}\n{lines}", include_str!("catalogue.md").trim_end()));
        let texts = self.at_hand.iter().map(|(_, text)| text.clone());
        let parts: Vec<String> = head.into_iter().chain(texts).collect();
        (!parts.is_empty()).then(|| parts.join("\n"))
    }

    /// The tool `load_skill`, which answers the text of a skill; `None` when there is nothing to load.
    pub fn tool(&self) -> Option<Arc<dyn Tool>> {
        let names: Vec<&str> = self.for_models().map(|skill| skill.name.as_str()).collect();
        (!names.is_empty()).then(|| Arc::new(load::LoadSkill::new(self.clone(), &names)) as Arc<dyn Tool>)
    }

    /// The text of a skill with its folder and the files beside it, as `load_skill` answers it. Also for skills that
    /// only a person calls for.
    ///
    /// # Errors
    /// A sentence that names the skills there are, or says why its file cannot be read.
    pub fn text(&self, name: &str) -> Result<String, crate::tool::ToolError> {
        load::text(self, name)
    }

    /// Those that a model may load and has not at hand.
    fn for_models(&self) -> impl Iterator<Item = &Skill> {
        let at_hand = |skill: &Skill| self.at_hand.iter().any(|(name, _)| *name == skill.name);
        self.skills.iter().filter(move |skill| skill.for_models && !at_hand(skill))
    }
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(DESCRIPTION) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
