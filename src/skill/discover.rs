//! Finds skills in their places and layouts, lenient with files that were written for other programs.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Layer, Skill};
use crate::markdown::{self, Document, MarkdownError, Notice};
use crate::workspace::{Workspace, defaults};

/// How deep a folder of skills is searched.
const MAX_DEPTH: usize = 6;

/// Most folders that are looked into per place.
const MAX_DIRS: usize = 2000;

/// Where a workspace keeps skills, ours first.
const PLACES: [&str; 4] = ["skills", ".tillerman/skills", ".agents/skills", ".claude/skills"];

/// The skills of all layers by name, and what there is to say about them.
pub(super) fn all(workspace: &Workspace) -> (Vec<Skill>, Vec<Notice>) {
    let mut found = Found::default();
    for path in defaults::list("skills") {
        if let Some(document) = defaults::text(&path).and_then(|text| markdown::parse::<Value>(&text).ok()) {
            found.add(Layer::BuiltIn, Path::new(&path), &document.front);
        }
    }
    found.search(Layer::Home, &workspace.home().join("skills"), None);
    for place in PLACES {
        found.search(Layer::Workspace, &workspace.root().join(place), Some(workspace.root()));
    }
    (found.skills.into_values().collect(), found.notices)
}

/// Leaves the catalogue for people; it is a copy, so that it cannot be written, or is lost with the power, changes nothing.
pub(super) fn leave_snapshot(workspace: &Workspace, catalogue: &str) {
    let path = workspace.state().join("SKILLS_SNAPSHOT.md");
    let same = fs::read(&path).is_ok_and(|old| old == catalogue.as_bytes());
    if !same {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
        file.and_then(|mut file| file.write_all(catalogue.as_bytes())).ok();
    }
}

/// Reads a skill's file. YAML that is wrong because of a colon in a value is read as it was meant; `true` says so.
pub(super) fn document(path: &Path) -> Result<(Document<Value>, bool), MarkdownError> {
    let wrong = match markdown::load::<Value>(path) {
        Ok(document) => return Ok((document, false)),
        Err(wrong) => wrong,
    };
    let MarkdownError::Front { .. } = wrong else { return Err(wrong) };
    let Ok(text) = fs::read_to_string(path) else { return Err(wrong) };
    match markdown::parse::<Value>(&with_quotes(&text)) {
        Ok(document) => Ok((document, true)),
        Err(_) => Err(wrong),
    }
}

/// The file is the `SKILL.md` of a folder, in any capitals.
pub(super) fn is_folder_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("skill.md"))
}

#[derive(Default)]
struct Found {
    skills: BTreeMap<String, Skill>,
    notices: Vec<Notice>,
    looked: HashSet<PathBuf>,
}

impl Found {
    /// Looks through a folder of skills; none need exist. Links are followed, but not out of `inside`.
    fn search(&mut self, layer: Layer, folder: &Path, inside: Option<&Path>) {
        let mut files = Vec::new();
        let mut left = MAX_DIRS;
        self.collect(folder, 0, inside, (&mut left, &mut files));
        for file in files {
            match read(&file) {
                Ok((front, repaired)) => {
                    if repaired {
                        self.remark(&file, "a value holds a colon and should be in quotes");
                    }
                    self.add(layer, &file, &front);
                }
                Err(error) => self.notices.push(Notice::LeftOut(format!("skill left out: {error}"))),
            }
        }
    }

    fn collect(
        &mut self,
        folder: &Path,
        depth: usize,
        inside: Option<&Path>,
        (left, files): (&mut usize, &mut Vec<PathBuf>),
    ) {
        let Ok(real) = folder.canonicalize() else { return };
        if depth > MAX_DEPTH || *left == 0 || !self.looked.insert(real.clone()) {
            return;
        }
        *left -= 1;
        if inside.is_some_and(|inside| !real.starts_with(inside)) {
            self.left_out(folder, "skills left out: a link that leads out of the workspace");
            return;
        }
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        // A folder with a SKILL.md is one skill; what else lies in it belongs to that.
        if let Some(own) = paths.iter().find(|path| is_folder_file(path)).filter(|_| depth > 0) {
            files.push(own.clone());
            return;
        }
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if !name.starts_with('.') && name != "node_modules" {
                    self.collect(&path, depth + 1, inside, (&mut *left, &mut *files));
                }
            } else if depth == 0 && is_single(&path) {
                files.push(path);
            }
        }
    }

    fn add(&mut self, layer: Layer, path: &Path, front: &Value) {
        let Some(description) = front["description"].as_str().map(str::trim).filter(|text| !text.is_empty()) else {
            self.left_out(path, "skill left out: its frontmatter has no description");
            return;
        };
        let name = name(path, front);
        if !is_good_name(&name) {
            self.remark(path, &format!("the name {name:?} should be lower-case letters, digits and single hyphens"));
        }
        match self.skills.get(&name) {
            Some(old) if old.layer == layer => {
                let taken = format!("skill left out: {} has the same name, {name}", old.path.display());
                self.left_out(path, &taken);
                return;
            }
            Some(old) => {
                let of = if old.layer == Layer::BuiltIn { "built-in one" } else { "one in the home folder" };
                self.remark(path, &format!("this skill replaces the {of}, {name}"));
            }
            None => {}
        }
        let for_models = front["disable-model-invocation"] != Value::Bool(true);
        let (description, path) = (description.to_owned(), path.to_path_buf());
        self.skills.insert(name.clone(), Skill { name, description, layer, path, for_models });
    }

    fn left_out(&mut self, path: &Path, why: &str) {
        self.notices.push(Notice::LeftOut(format!("{}: {why}", path.display())));
    }

    fn remark(&mut self, path: &Path, what: &str) {
        self.notices.push(Notice::Remark(format!("{}: {what}", path.display())));
    }
}

fn read(path: &Path) -> Result<(Value, bool), MarkdownError> {
    match markdown::peek(path) {
        Ok(meta) => Ok((meta.front, false)),
        Err(MarkdownError::Front { .. }) => document(path).map(|(document, repaired)| (document.front, repaired)),
        Err(error) => Err(error),
    }
}

/// The name in the frontmatter, or that of the folder or file.
fn name(path: &Path, front: &Value) -> String {
    let of_file = || if is_folder_file(path) { path.parent().and_then(Path::file_name) } else { path.file_stem() };
    match &front["name"] {
        Value::String(name) if !name.trim().is_empty() => name.trim().to_owned(),
        Value::Number(name) => name.to_string(),
        _ => of_file().unwrap_or_default().to_string_lossy().into_owned(),
    }
}

fn is_good_name(name: &str) -> bool {
    let fits = |c: char| c == '-' || (c.is_alphanumeric() && !c.is_uppercase());
    let hyphens = name.starts_with('-') || name.ends_with('-') || name.contains("--");
    (1..=64).contains(&name.chars().count()) && name.chars().all(fits) && !hyphens
}

/// A file that may be a skill by itself; a README explains the folder to people.
fn is_single(path: &Path) -> bool {
    let is_markdown = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md"));
    is_markdown && path.file_stem().is_some_and(|stem| !stem.eq_ignore_ascii_case("readme"))
}

/// Quotes the values of the frontmatter that hold a colon, as in `description: Use when: always`.
fn with_quotes(text: &str) -> String {
    let mut fences = 0;
    let mut quoted = |line: &str| {
        fences += usize::from(line.trim_end() == "---");
        let (key, value) = line.split_once(": ").unwrap_or((line, ""));
        let bare = !value.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*']);
        let word = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        match fences == 1 && bare && word && value.contains(':') {
            true => format!("{key}: {}", Value::String(value.trim_end().to_owned())),
            false => line.to_owned(),
        }
    };
    text.split('\n').map(&mut quoted).collect::<Vec<_>>().join("\n")
}
