//! Finds templates in their places, lenient with files that were written for other programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};
use walkdir::WalkDir;

use super::{Layer, Template};
use crate::markdown::{self, MarkdownError, Notice};
use crate::workspace::Workspace;

/// Where a home and a workspace keep templates, ours last: a later one goes before.
const OF_HOME: [&str; 2] = ["prompts", "commands"];
const OF_WORKSPACE: [&str; 4] = [".claude/commands", ".tillerman/commands", "prompts", "commands"];

/// How deep a folder of templates is searched, and how many of its files are read.
const MAX_DEPTH: usize = 4;
const MAX_FILES: usize = 500;

/// Most characters of a description.
const DESCRIPTION: usize = 200;

/// Fields that say something to other programs.
const IDLE: [&str; 6] = ["allowed-tools", "model", "disable-model-invocation", "agent", "context", "hooks"];

/// The templates of all layers by name, and what there is to say about them.
pub(super) fn all(workspace: &Workspace) -> (Vec<Template>, Vec<Notice>) {
    let mut found = Found::default();
    for place in OF_HOME {
        found.search(Layer::Home, workspace.home(), place);
    }
    for place in OF_WORKSPACE {
        found.search(Layer::Workspace, workspace.root(), place);
    }
    (found.templates.into_values().collect(), found.notices)
}

/// Frontmatter and body of a file. A frontmatter that is no YAML, as `argument-hint: [file] [n]` is none, is read line by
/// line.
pub(super) fn document(path: &Path) -> Result<(Value, String), MarkdownError> {
    let wrong = match markdown::load::<Value>(path) {
        Ok(document) => return Ok((document.front, document.body)),
        Err(wrong) => wrong,
    };
    let MarkdownError::Front { .. } = wrong else { return Err(wrong) };
    let Ok(text) = fs::read_to_string(path) else { return Err(wrong) };
    let mut lines = text.split_inclusive('\n').skip(1);
    let mut front = Map::new();
    for line in lines.by_ref().take_while(|line| line.trim_end() != "---") {
        if let Some((key, value)) = line.split_once(':') {
            front.insert(key.trim().to_owned(), Value::String(value.trim().to_owned()));
        }
    }
    Ok((Value::Object(front), lines.collect()))
}

#[derive(Default)]
struct Found {
    templates: BTreeMap<String, Template>,
    notices: Vec<Notice>,
}

impl Found {
    /// Looks through a folder, which need not exist. Links are not followed, and the folder itself may lead nowhere else.
    fn search(&mut self, layer: Layer, base: &Path, place: &str) {
        let folder = base.join(place);
        let Ok(real) = folder.canonicalize() else { return };
        if !base.canonicalize().is_ok_and(|base| real.starts_with(base)) {
            let why = format!("{}: templates left out: a link that leads elsewhere", folder.display());
            return self.notices.push(Notice::LeftOut(why));
        }
        let is_seen = |entry: &walkdir::DirEntry| {
            entry.depth() == 0 || !entry.file_name().to_str().is_none_or(|name| name.starts_with('.'))
        };
        let walk = WalkDir::new(&folder).max_depth(MAX_DEPTH).sort_by_file_name().into_iter().filter_entry(is_seen);
        let files = walk.flatten().filter(|entry| entry.file_type().is_file());
        for entry in files.filter(|entry| is_markdown(entry.path())).take(MAX_FILES) {
            let path = entry.path();
            let Some(name) = name(path.strip_prefix(&folder).unwrap_or(path)) else { continue };
            let is_system = place == "prompts" && ["main", "worker"].contains(&name.as_str());
            if is_system || path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case("readme")) {
                continue;
            }
            if name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '/') {
                let why = format!("{}: template left out: its name cannot be typed as one word", path.display());
                self.notices.push(Notice::LeftOut(why));
                continue;
            }
            match document(path) {
                Ok((front, body)) => {
                    drop(self.templates.insert(name.clone(), read(name, layer, path, (&front, &body))))
                }
                Err(error) => self.notices.push(Notice::LeftOut(format!("template left out: {error}"))),
            }
        }
    }
}

fn read(name: String, layer: Layer, path: &Path, (front, body): (&Value, &str)) -> Template {
    let first = || body.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
    let description = front["description"].as_str().or_else(first).unwrap_or_default();
    let description: String = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let hint = match &front["argument-hint"] {
        Value::String(hint) => hint.clone(),
        // `[file]` is a list in YAML.
        Value::Array(words) => words.iter().filter_map(Value::as_str).map(|word| format!("[{word}]")).collect(),
        _ => String::new(),
    };
    Template {
        name,
        description: description.chars().take(DESCRIPTION).collect(),
        hint,
        layer,
        path: path.to_owned(),
        idle: IDLE.iter().filter(|field| !front[**field].is_null()).map(|field| (*field).to_owned()).collect(),
    }
}

/// `review` of `review.md`, `git:sum` of `git/sum.md`.
fn name(below: &Path) -> Option<String> {
    Some(below.with_extension("").to_str()?.replace('/', ":"))
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md"))
}
