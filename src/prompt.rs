//! The system prompts of main agent and worker, put together from the files of the workspace, each part capped.

mod include;

use std::path::{Path, PathBuf};

use crate::role::{Role, Roles};
use crate::skill::Skills;
use crate::workspace::{Workspace, defaults};

/// Most characters of a part (S2-28).
pub const MOST: usize = 20_000;

/// What a prompt is made of.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// Its files are read anew for every prompt.
    pub workspace: &'a Workspace,
    /// The skills that the agent may load.
    pub skills: &'a Skills,
    /// The roles that a main agent may dispatch.
    pub roles: &'a Roles,
    /// The worker's role, if it has one.
    pub role: Option<&'a Role>,
    /// The worker's own task; a main agent has none.
    pub task: Option<Task<'a>>,
}

/// The task of a worker.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// Its directory.
    pub dir: &'a Path,
    /// The text of its task.md without the frontmatter; it takes the place of `{{task}}` in a role.
    pub text: &'a str,
}

/// A system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// What the model gets. The same sources give the same bytes.
    pub text: String,
    /// What it is made of, in order.
    pub parts: Vec<Part>,
    /// What a person should know: files that are no text or lead out of the workspace, one line each.
    pub notices: Vec<String>,
}

/// A part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its heading.
    pub name: &'static str,
    /// The file that it was read from, if it is one file.
    pub path: Option<PathBuf>,
    /// Its length in characters, after the cut.
    pub chars: usize,
    /// Something was cut off.
    pub cut: bool,
    /// Where it ends in the text, in bytes; there the next one begins.
    pub end: usize,
}

/// The prompt of a main agent: base, workspace, skills, roles, SOUL, IDENTITY, USER, AGENTS, MEMORY (S2-27, S3-57).
pub fn main(sources: &Sources) -> Prompt {
    let root = sources.workspace.root();
    let mut build = Build::new(root);
    build.base(sources.workspace, "main");
    build.part("Workspace", None, &place(root, None));
    build.part("Skills", None, &sources.skills.catalogue().unwrap_or_default());
    build.part("Agents", None, &sources.roles.catalogue().unwrap_or_default());
    build.file("Soul", &["SOUL.md"]);
    build.file("Identity", &["IDENTITY.md"]);
    build.file("User", &["USER.md"]);
    build.file("Project instructions", &["AGENTS.md", "agents.md", "CLAUDE.md"]);
    build.file("Memory", &["memory/memory.md", "memory/MEMORY.md"]);
    build.done()
}

/// The prompt of a worker: base, workspace, role, skills, AGENTS and its own task, nothing that belongs to the
/// conversation of the main agent (S3-57).
pub fn worker(sources: &Sources) -> Prompt {
    let root = sources.workspace.root();
    let mut build = Build::new(root);
    build.base(sources.workspace, "worker");
    build.part("Workspace", None, &place(root, sources.task.map(|task| task.dir)));
    build.part("Skills", None, &sources.skills.catalogue().unwrap_or_default());
    build.file("Project instructions", &["AGENTS.md", "agents.md", "CLAUDE.md"]);
    let text = sources.task.map_or("", |task| task.text);
    match sources.role {
        Some(role) => {
            build.part("Your role", Some(role.path.clone()), &role.instructions(text));
            // Where the role has no place for the task, it stands by itself.
            if !role.body.contains("{{task}}") {
                build.part("Your task", None, text);
            }
        }
        None => build.part("Your task", None, text),
    }
    build.done()
}

fn place(root: &Path, task: Option<&Path>) -> String {
    let root = format!("Root: {}. Relative paths start here.", root.display());
    match task {
        Some(dir) => format!("{root}\nYour task directory: {}", dir.display()),
        None => root,
    }
}

struct Build<'a> {
    root: &'a Path,
    prompt: Prompt,
}

impl<'a> Build<'a> {
    fn new(root: &'a Path) -> Build<'a> {
        Build { root, prompt: Prompt { text: String::new(), parts: Vec::new(), notices: Vec::new() } }
    }

    /// The built-in text, or the workspace's own `prompts/<name>.md` in its place.
    fn base(&mut self, workspace: &Workspace, name: &str) {
        let path = format!("prompts/{name}.md");
        let own = include::read(workspace.root(), &path, &mut self.prompt.notices);
        let (path, text) = match own.filter(|text| !text.trim().is_empty()) {
            Some(text) => (workspace.root().join(&path), text),
            None => (PathBuf::from(&path), defaults::text(&path).unwrap_or_default()),
        };
        self.add("", Some(path), &text);
    }

    /// The first of these files that is there, without its frontmatter and with what it includes.
    fn file(&mut self, name: &'static str, paths: &[&str]) {
        for path in paths {
            if let Some(text) = include::read(self.root, path, &mut self.prompt.notices) {
                let text = include::expand(self.root, path, &text, &mut self.prompt.notices);
                return self.part(name, Some(self.root.join(path)), &text);
            }
        }
    }

    /// A part under its heading; an empty one is left out.
    fn part(&mut self, name: &'static str, path: Option<PathBuf>, text: &str) {
        if !text.trim().is_empty() {
            self.add(name, path, text);
        }
    }

    fn add(&mut self, name: &'static str, path: Option<PathBuf>, text: &str) {
        let text = text.trim();
        let end = text.char_indices().nth(MOST).map(|(end, _)| end);
        let kept = &text[..end.unwrap_or(text.len())];
        let prompt = &mut self.prompt.text;
        if !prompt.is_empty() {
            prompt.push_str("\n\n");
        }
        if !name.is_empty() {
            prompt.push_str(&format!("# {name}\n"));
        }
        prompt.push_str(kept);
        if end.is_some() {
            let rest = path.as_ref().map_or(String::new(), |path| format!("; the rest is in {}", path.display()));
            prompt.push_str(&format!("\n[cut after {MOST} characters{rest}]"));
        }
        let (chars, cut, end) = (kept.chars().count(), end.is_some(), prompt.len());
        self.prompt.parts.push(Part { name, path, chars, cut, end });
    }

    fn done(mut self) -> Prompt {
        self.prompt.text.push('\n');
        self.prompt
    }
}
