//! Reads the files of named agents, lenient with those written for other programs, and says what it made of mistakes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::words::{self, ABOUT, FIELDS, WITHOUT_EFFECT};
use super::{Known, Role, Scope};
use crate::markdown::{self, Document, Notice};
use crate::message::{Approval, Budget};
use crate::workspace::Workspace;
use crate::workspace::defaults::{self, Layer};

/// Where a workspace keeps roles, the strongest last.
const PLACES: [&str; 3] = [".claude/agents", ".agents/agents", "agents"];

/// Most characters of a name.
const NAME: usize = 64;

/// The roles of all layers by name, and what there is to say about them.
pub(super) fn all(workspace: &Workspace, scope: Scope) -> (Vec<Role>, Vec<Notice>) {
    let mut found = Found { known: scope.known, roles: BTreeMap::new(), notices: Vec::new() };
    for path in defaults::list("agents") {
        if let Some(document) = defaults::text(&path).and_then(|text| markdown::parse::<Value>(&text).ok()) {
            found.add(Layer::BuiltIn, Path::new(&path), document);
        }
    }
    if !scope.built_in {
        scope.foreign.iter().for_each(|folder| found.search(Layer::Home, folder));
        found.search(Layer::Home, &workspace.home().join("agents"));
        for place in PLACES {
            found.search(Layer::Workspace, &workspace.root().join(place));
        }
    }
    if let Some(folder) = scope.folder {
        if !folder.is_dir() {
            found.left_out(folder, "agents_folder is no folder; make it, or name another");
        }
        found.search(Layer::Workspace, folder);
    }
    (found.roles.into_values().collect(), found.notices)
}

struct Found<'a> {
    known: Option<Known<'a>>,
    roles: BTreeMap<String, Role>,
    notices: Vec<Notice>,
}

impl Found<'_> {
    fn search(&mut self, layer: Layer, folder: &Path) {
        if !folder.is_dir() {
            return;
        }
        let scan = match markdown::scan(folder, None) {
            Ok(scan) => scan,
            Err(error) => return self.notices.push(Notice::LeftOut(format!("roles left out: {error}"))),
        };
        self.notices.extend(scan.skipped.iter().map(|error| Notice::LeftOut(format!("role left out: {error}"))));
        let is_readme = |path: &Path| path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case("readme"));
        for doc in scan.docs.iter().filter(|doc| !is_readme(&doc.path)) {
            match markdown::load::<Value>(&doc.path) {
                Ok(document) => self.add(layer, &doc.path, document),
                Err(error) => self.notices.push(Notice::LeftOut(format!("role left out: {error}"))),
            }
        }
    }

    fn add(&mut self, layer: Layer, path: &Path, document: Document<Value>) {
        match self.role(layer, path, &document) {
            Ok(role) => {
                self.look_at_fields(path, &document.front);
                self.look_at_names(&role, &document.front);
                self.roles.insert(role.name.clone(), role);
            }
            Err(why) => self.left_out(path, &format!("role left out: {why}")),
        }
    }

    /// What a file says, or why it cannot be followed. A restriction that cannot be understood must not turn into more
    /// than was meant.
    fn role(&mut self, layer: Layer, path: &Path, document: &Document<Value>) -> Result<Role, String> {
        let front = &document.front;
        let description = text(front, "description").ok_or("its frontmatter has no description")?;
        let name = self.name(layer, path, front)?;
        let tools = names(front, "tools")?;
        let tools = tools.filter(|tools| !tools.iter().any(|tool| words::is_everything(tool)));
        let ours = |tools: Vec<String>| tools.iter().map(|tool| words::ours(tool)).collect::<Vec<_>>();
        Ok(Role {
            name,
            description: description.split_whitespace().collect::<Vec<_>>().join(" "),
            tools: tools.map(ours),
            without: names(front, "disallowedTools")?.map(ours).unwrap_or_default(),
            skills: names(front, "skills")?,
            model: self.model(path, front),
            effort: effort(front),
            max_turns: self.max_turns(path, front),
            budget: budget(front)?,
            approval: approval(front)?,
            background: self.background(path, front),
            body: document.body.trim().replace("{{ task }}", "{{task}}"),
            layer,
            path: path.to_path_buf(),
        })
    }

    fn name(&mut self, layer: Layer, path: &Path, front: &Value) -> Result<String, String> {
        let stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = text(front, "name").unwrap_or_else(stem);
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '\\' | '"' | '`');
        if name.chars().count() > NAME || name.starts_with('.') || name.contains(is_odd) {
            return Err(format!("the name {name:?} is no name; write one like code-reviewer"));
        }
        if let Some(old) = self.roles.get(&name) {
            if old.layer == layer && old.path.parent() == path.parent() {
                return Err(format!("{} has the same name, {name}", old.path.display()));
            }
            if old.layer == Layer::BuiltIn && layer != Layer::BuiltIn {
                self.remark(path, None, &format!("this role replaces the built-in one, {name}"));
            }
        }
        Ok(name)
    }

    /// Short names of one provider's models say little here; such a role uses the model that workers have.
    fn model(&mut self, path: &Path, front: &Value) -> Option<String> {
        let model = text(front, "model").filter(|model| model != "inherit")?;
        let instead = "it gets the model that workers have";
        let why = match model.as_str() {
            "sonnet" | "opus" | "haiku" => format!("model {model} is no PROVIDER/MODEL; {instead}"),
            // A scripted model plays calls that a file dictates; a file of a workspace must not choose one.
            _ if model.starts_with("scripted") => format!("a role cannot have a scripted model; {instead}"),
            _ => return Some(model),
        };
        self.remark(path, Some("model"), &why);
        None
    }

    fn max_turns(&mut self, path: &Path, front: &Value) -> Option<u32> {
        let (field, value) = words::written(front, "maxTurns")?;
        let turns = value.as_u64().and_then(|turns| u32::try_from(turns).ok()).filter(|turns| *turns > 0);
        if turns.is_none() {
            self.remark(path, Some(field), &format!("{field} is ignored: it must be a whole number from 1"));
        }
        turns
    }

    fn background(&mut self, path: &Path, front: &Value) -> bool {
        let Some((field, value)) = words::written(front, "background") else { return false };
        value.as_bool().unwrap_or_else(|| {
            self.remark(path, Some(field), &format!("{field} is ignored: it must be true or false"));
            false
        })
    }

    fn look_at_fields(&mut self, path: &Path, front: &Value) {
        let known = || FIELDS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        for field in front.as_object().into_iter().flat_map(|pairs| pairs.keys()) {
            let field = field.as_str();
            if WITHOUT_EFFECT.contains(&field) {
                self.remark(path, Some(field), &format!("the field `{field}` has no effect here"));
            } else if !words::is_ours(field) && !ABOUT.contains(&field) {
                self.remark(path, Some(field), &format!("unknown field `{field}`; known are {}", known()));
            }
        }
    }

    /// Tools, skills and models that do not exist. They cost only themselves, but whoever named them should know.
    fn look_at_names(&mut self, role: &Role, front: &Value) {
        let Some(known) = self.known else { return };
        self.look_at_effort(role, known);
        let is_tool = |tool: &str| words::is_everything(tool) || known.tools.contains(&words::ours(tool));
        for written in ["tools", "disallowedTools"].into_iter().filter_map(|field| words::written(front, field)) {
            self.look_at_list(
                &role.path,
                written,
                &is_tool,
                &format!("tool {{}}; there are {}", known.tools.join(", ")),
            );
        }
        let is_skill = |skill: &str| known.skills.iter().any(|known| known == skill);
        if let Some(written) = words::written(front, "skills") {
            let what = format!("skill {{}}; there are {}", known.skills.join(", "));
            self.look_at_list(&role.path, written, &is_skill, &what);
        }
        if let Some(why) = role.model.as_deref().and_then(|model| (known.model)(model)) {
            let line = markdown::line_of(&role.path, "model");
            self.void(&role.path, line, &format!("{why}; tasks for {} are refused until then", role.name));
        }
    }

    fn look_at_effort(&mut self, role: &Role, known: Known) {
        let doubt = |effort: &str| (known.effort)(role.model.as_deref(), effort);
        if let Some(why) = role.effort.as_deref().and_then(doubt) {
            self.remark(&role.path, Some("effort"), &format!("effort has no effect: {why}"));
        }
    }

    /// `what` has `{}` where the name goes.
    fn look_at_list(
        &mut self,
        path: &Path,
        (field, value): (&str, &Value),
        is_known: &dyn Fn(&str) -> bool,
        what: &str,
    ) {
        let named = words::list(value).unwrap_or_default();
        for name in named.iter().filter(|name| !is_known(name)) {
            self.void(path, line_of(path, field, name), &format!("there is no {}", what.replacen("{}", name, 1)));
        }
    }

    fn left_out(&mut self, path: &Path, why: &str) {
        self.notices.push(Notice::LeftOut(format!("{}: {why}", path.display())));
    }

    fn remark(&mut self, path: &Path, field: Option<&str>, what: &str) {
        let line = field.and_then(|field| markdown::line_of(path, field));
        self.notices.push(Notice::Remark(placed(path, line, what)));
    }

    /// What is written there is not there.
    fn void(&mut self, path: &Path, line: Option<usize>, what: &str) {
        self.notices.push(Notice::LeftOut(placed(path, line, what)));
    }
}

fn placed(path: &Path, line: Option<usize>, what: &str) -> String {
    let line = line.map_or(String::new(), |line| format!(" line {line}"));
    format!("{}{line}: {what}", path.display())
}

fn text(front: &Value, field: &str) -> Option<String> {
    front[field].as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// YAML 1.1 readers taught people that a bare `off` is a truth value.
fn effort(front: &Value) -> Option<String> {
    text(front, "effort").or_else(|| (front["effort"] == Value::Bool(false)).then(|| "off".to_owned()))
}

fn budget(front: &Value) -> Result<Budget, String> {
    let Some((field, value)) = words::written(front, "budget") else { return Ok(Budget::default()) };
    Budget::read(value).map_err(|error| format!("{field}: {error}"))
}

/// A word that is none could have meant less than the configuration says.
fn approval(front: &Value) -> Result<Option<Approval>, String> {
    let Some((field, value)) = words::written(front, "approval") else { return Ok(None) };
    let read = value.as_str().and_then(|word| word.parse().ok());
    read.map(Some).ok_or_else(|| format!("{field} must be ask or deny"))
}

/// The names that a field lists; `None` when it is absent.
fn names(front: &Value, field: &'static str) -> Result<Option<Vec<String>>, String> {
    let Some((field, value)) = words::written(front, field) else { return Ok(None) };
    words::list(value).map(Some).ok_or_else(|| format!("{field} must be names, like [shell, read_file]"))
}

/// The line of a word in the value of a field, which may go over several lines; else that of the field.
fn line_of(path: &Path, field: &str, word: &str) -> Option<usize> {
    let first = markdown::line_of(path, field)?;
    let text = fs::read_to_string(path).ok()?;
    let goes_on = |line: &&str| line.starts_with([' ', '\t', '-', ']']) && *line != "---";
    let rest = text.lines().skip(first).take_while(goes_on);
    let has = text.lines().skip(first - 1).take(1).chain(rest).position(|line| line.contains(word));
    Some(first + has.unwrap_or(0))
}
