//! The tool `load_skill`: the text of a skill, where it lies and what lies beside it.

use std::path::Path;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use walkdir::WalkDir;

use super::discover::document;
use super::{Layer, Skill, Skills};
use crate::markdown;
use crate::message::RawArgs;
use crate::tool::args::Signature;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use crate::workspace::defaults;

/// Most characters of a skill's text; good ones have a quarter of it.
const MOST: usize = 40_000;

/// Most files that are listed beside a skill.
const FILES: usize = 50;

pub(super) struct LoadSkill {
    skills: Skills,
    signature: Signature,
}

#[derive(Deserialize)]
struct Args {
    name: String,
}

impl LoadSkill {
    pub(super) fn new(skills: Skills, names: &[&str]) -> LoadSkill {
        let schema = json!({
            "type": "object",
            "properties": {"name": {"type": "string", "enum": names}},
            "required": ["name"],
        });
        LoadSkill {
            skills,
            signature: Signature::with_schema("load_skill", include_str!("load_skill.md"), true, schema),
        }
    }
}

impl Tool for LoadSkill {
    fn spec(&self) -> &ToolSpec {
        self.signature.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, _cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let name = self.signature.read::<Args>(&args)?.args.name;
            let text = text(&self.skills, &name)?;
            let path = self.skills.find(&name).map(|skill| skill.path.clone());
            Ok(ToolOutput::new(text, json!({"skill": name, "path": path})))
        })
    }
}

pub(super) fn text(skills: &Skills, name: &str) -> Result<String, ToolError> {
    let Some(skill) = skills.find(name) else {
        let names: Vec<&str> = skills.list().iter().map(|skill| skill.name.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(ToolError::new(format!("there is no skill {name}; there are: {names}")));
    };
    let failed = |why: &dyn std::fmt::Display| ToolError::new(format!("the skill {name} cannot be read: {why}"));
    if skill.layer == Layer::BuiltIn {
        let path = skill.path.to_string_lossy();
        let text = defaults::text(&path).ok_or_else(|| failed(&"it is not built in any more"))?;
        let body = markdown::parse::<Value>(&text).map_err(|error| failed(&error))?.body;
        return Ok(format!("Skill {name}, built in.\n\n{}\n", cut(body.trim(), &skill.path)));
    }
    let (document, _) = document(&skill.path).map_err(|error| failed(&error))?;
    let body = cut(document.body.trim(), &skill.path);
    let folder = skill.path.parent().unwrap_or(Path::new("/"));
    Ok(format!("Skill {name} in {}.{}\n\n{body}\n", folder.display(), beside(skill, folder)))
}

fn cut(body: &str, path: &Path) -> String {
    match body.char_indices().nth(MOST) {
        Some((end, _)) => {
            format!("{}\n[cut after {MOST} characters; the rest is in {}]", &body[..end], path.display())
        }
        None => body.to_owned(),
    }
}

/// The files in a skill's own folder; a single-file skill has none.
fn beside(skill: &Skill, folder: &Path) -> String {
    if !super::discover::is_folder_file(&skill.path) {
        return String::new();
    }
    let hidden = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with('.');
    let walk = WalkDir::new(folder).max_depth(4).sort_by_file_name().into_iter();
    let files = walk.filter_entry(|entry| entry.depth() == 0 || !hidden(entry.file_name())).filter_map(Result::ok);
    let paths: Vec<String> = files
        .filter(|entry| entry.file_type().is_file() && entry.path() != skill.path)
        .filter_map(|entry| entry.path().strip_prefix(folder).ok().map(|path| path.display().to_string()))
        .take(FILES + 1)
        .collect();
    match paths.len() {
        0 => String::new(),
        more if more > FILES => format!(" Files beside it: {}, and more.", paths[..FILES].join(", ")),
        _ => format!(" Files beside it: {}.", paths.join(", ")),
    }
}
