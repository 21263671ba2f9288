//! Named agents: `agents/*.md` with their model, tools, skills and limits. Who runs one is decided in `runtime`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::markdown::{self, Document, Notice};
use crate::workspace::Workspace;
use crate::workspace::defaults::{self, Layer};

/// Where a workspace keeps roles, the strongest last.
const PLACES: [&str; 3] = [".claude/agents", ".agents/agents", "agents"];

/// Names that other programs have for our tools.
const TOOLS: [(&str, &str); 11] = [
    ("Bash", "shell"),
    ("Read", "read_file"),
    ("Write", "write_file"),
    ("Edit", "edit_file"),
    ("MultiEdit", "edit_file"),
    ("Grep", "grep"),
    ("LS", "list"),
    ("WebFetch", "fetch_url"),
    ("Agent", "dispatch"),
    ("Task", "dispatch"),
    ("Skill", "load_skill"),
];

/// Fields that other programs know and that change nothing here; a person who wrote one should not rely on it.
const WITHOUT_EFFECT: [&str; 6] = ["permissionMode", "mcpServers", "hooks", "memory", "isolation", "effort"];

/// Fields that say something about the file.
const ABOUT: [&str; 5] = ["title", "tags", "version", "color", "background"];

/// A named agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// What it is dispatched by; unique in its set.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// `provider/model`, or `None` for the model that workers have.
    pub model: Option<String>,
    /// The tools it has, by our names; `None` for all (S1-33).
    pub tools: Option<Vec<String>>,
    /// Tools it does not have, whatever `tools` says.
    pub without: Vec<String>,
    /// The skills it has; `None` for all (S1-35).
    pub skills: Option<Vec<String>>,
    /// Model calls it may make; `None` leaves it to the configuration.
    pub max_turns: Option<u32>,
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
        let mut found = Found::default();
        for path in defaults::list("agents") {
            if let Some(document) = defaults::text(&path).and_then(|text| markdown::parse::<Value>(&text).ok()) {
                found.add(Layer::BuiltIn, Path::new(&path), document);
            }
        }
        found.search(Layer::Home, &workspace.home().join("agents"));
        for place in PLACES {
            found.search(Layer::Workspace, &workspace.root().join(place));
        }
        Roles { roles: Arc::new(found.roles.into_values().collect()), notices: Arc::new(found.notices) }
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
        let head =
            "Workers with a speciality; name one as `agent` in `dispatch`. Without a name, a plain worker does it.";
        (!lines.is_empty()).then(|| format!("{head}\n{lines}"))
    }
}

#[derive(Default)]
struct Found {
    roles: BTreeMap<String, Role>,
    notices: Vec<Notice>,
}

impl Found {
    fn search(&mut self, layer: Layer, folder: &Path) {
        if !folder.is_dir() {
            return;
        }
        let scan = match markdown::scan(folder, None) {
            Ok(scan) => scan,
            Err(error) => return self.notices.push(Notice::LeftOut(format!("roles left out: {error}"))),
        };
        self.notices.extend(scan.skipped.iter().map(|error| Notice::LeftOut(format!("role left out: {error}"))));
        for doc in
            scan.docs.iter().filter(|doc| !doc.path.file_stem().is_some_and(|s| s.eq_ignore_ascii_case("readme")))
        {
            match markdown::load::<Value>(&doc.path) {
                Ok(document) => self.add(layer, &doc.path, document),
                Err(error) => self.notices.push(Notice::LeftOut(format!("role left out: {error}"))),
            }
        }
    }

    fn add(&mut self, layer: Layer, path: &Path, document: Document<Value>) {
        let front = &document.front;
        let Some(description) = text(front, "description") else {
            let why = format!("{}: role left out: its frontmatter has no description", path.display());
            return self.notices.push(Notice::LeftOut(why));
        };
        let stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = text(front, "name").unwrap_or_else(stem);
        if self.roles.get(&name).is_some_and(|old| old.layer == Layer::BuiltIn && layer != Layer::BuiltIn) {
            self.remark(path, None, &format!("this role replaces the built-in one, {name}"));
        }
        self.look_at_fields(path, front);
        let tools = words(&front["tools"]).map(|tools| tools.iter().map(|tool| ours(tool)).collect::<Vec<_>>());
        let everything = tools.as_ref().is_some_and(|tools| tools.iter().any(|tool| tool == "*" || tool == "all"));
        let without = words(&front["disallowedTools"]).or_else(|| words(&front["disallowed_tools"]));
        let role = Role {
            name: name.clone(),
            description: description.split_whitespace().collect::<Vec<_>>().join(" "),
            model: self.model(path, front),
            tools: tools.filter(|_| !everything),
            without: without.unwrap_or_default().iter().map(|tool| ours(tool)).collect(),
            skills: words(&front["skills"]),
            max_turns: self.max_turns(path, front),
            body: document.body.trim().to_owned(),
            layer,
            path: path.to_path_buf(),
        };
        self.roles.insert(name, role);
    }

    fn look_at_fields(&mut self, path: &Path, front: &Value) {
        const OURS: [&str; 11] = [
            "name",
            "description",
            "model",
            "tools",
            "disallowedTools",
            "disallowed_tools",
            "skills",
            "maxTurns",
            "max_turns",
            "max_steps",
            "max_iterations",
        ];
        for field in front.as_object().into_iter().flat_map(|pairs| pairs.keys()) {
            let field = field.as_str();
            if WITHOUT_EFFECT.contains(&field) {
                self.remark(path, Some(field), &format!("the field `{field}` has no effect here"));
            } else if !OURS.contains(&field) && !ABOUT.contains(&field) {
                self.remark(path, Some(field), &format!("unknown field `{field}`; known are {}", OURS.join(", ")));
            }
        }
    }

    /// Short names of one provider's models say little here; such a role uses the model that workers have.
    fn model(&mut self, path: &Path, front: &Value) -> Option<String> {
        let model = text(front, "model")?;
        match model.as_str() {
            "inherit" => None,
            "sonnet" | "opus" | "haiku" => {
                let what = format!("model {model} is no PROVIDER/MODEL; it gets the model that workers have");
                self.remark(path, Some("model"), &what);
                None
            }
            _ if model.starts_with("scripted") => {
                // A scripted model plays calls that a file dictates; a file of a workspace must not choose one.
                self.remark(
                    path,
                    Some("model"),
                    "a role cannot have a scripted model; it gets the one that workers have",
                );
                None
            }
            _ => Some(model),
        }
    }

    fn max_turns(&mut self, path: &Path, front: &Value) -> Option<u32> {
        let field =
            ["maxTurns", "max_turns", "max_steps", "max_iterations"].into_iter().find(|f| !front[f].is_null())?;
        let turns = front[field].as_u64().and_then(|turns| u32::try_from(turns).ok()).filter(|turns| *turns > 0);
        if turns.is_none() {
            self.remark(path, Some(field), &format!("{field} is ignored: it must be a whole number from 1"));
        }
        turns
    }

    fn remark(&mut self, path: &Path, field: Option<&str>, what: &str) {
        let line = field.and_then(|field| markdown::line_of(path, field));
        let line = line.map_or(String::new(), |line| format!(" line {line}"));
        self.notices.push(Notice::Remark(format!("{}{line}: {what}", path.display())));
    }
}

fn text(front: &Value, field: &str) -> Option<String> {
    front[field].as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A list, or one text with commas; commas in brackets, as in `Bash(a, b)`, do not count.
fn words(value: &Value) -> Option<Vec<String>> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    let mut depth = 0_usize;
    let comma = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    Some(text.split(comma).map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect())
}

/// Our name of a tool; what stands in brackets behind it is a rule of another program.
fn ours(tool: &str) -> String {
    let bare = tool.split('(').next().unwrap_or(tool).trim();
    TOOLS.iter().find(|(theirs, _)| *theirs == bare).map_or(bare, |(_, ours)| *ours).to_owned()
}
