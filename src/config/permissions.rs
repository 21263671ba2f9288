//! The setting `permissions`: rules of all places together, each with its file and line. What they mean is in `tools::gate`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::checked::{Checked, listed, wrong};
use super::raw::{Place, Setting};
use super::{ConfigError, Flags};
use crate::tools::gate::{Ground, Rule, Rules, Verdict};

const KEY: &str = "permissions";

const LISTS: [(&str, Verdict); 3] = [("deny", Verdict::Deny), ("ask", Verdict::Ask), ("allow", Verdict::Allow)];

/// What else a place may say.
const OTHERS: [&str; 3] = ["default", "defaultMode", "additionalDirectories"];

/// What agents may do without being asked, beside what the walls decide.
#[derive(Debug, Clone)]
pub struct Permissions {
    /// The rules.
    pub rules: Arc<Rules>,
    /// Folders beside the workspace that agents may write.
    pub directories: Vec<PathBuf>,
}

impl Checked<'_> {
    /// The rules of all places. A rule that cannot be read is no rule that may be passed over.
    pub(super) fn permissions(&self, flags: &Flags, ground: Ground) -> Result<Permissions, ConfigError> {
        let (mut rules, mut directories, mut otherwise) = (Vec::new(), Vec::new(), Verdict::Allow);
        for (list, verdict) in LISTS {
            let (typed, flag) = match verdict {
                Verdict::Allow => (&flags.allow, "--allow"),
                Verdict::Ask => (&flags.ask, "--ask"),
                Verdict::Deny => (&flags.deny, "--deny"),
            };
            for text in typed {
                rules.push(read(text, verdict, &Place::Flag(flag), &ground)?);
            }
            for setting in self.raw.all(KEY) {
                for text in self.list(setting, list)? {
                    let place = place_of(&setting.place, &text);
                    rules.push(read(&text, verdict, &place, &ground)?);
                }
            }
        }
        for setting in self.raw.all(KEY) {
            let said = self.object(setting)?;
            let unknown =
                |name: &&String| !LISTS.iter().any(|(list, _)| list == name) && !OTHERS.contains(&name.as_str());
            if let Some(name) = said.keys().find(unknown) {
                let expected = format!("made of allow, ask, deny, default and additionalDirectories, not {name}");
                return Err(wrong(KEY, setting, &expected));
            }
            directories.extend(self.list(setting, "additionalDirectories")?);
            // The strictest counts: a place can ask for more care than another, never for less.
            otherwise = otherwise.max(default(setting, &said)?);
        }
        let home = ground.home.clone();
        let full = |folder: String| match (folder.strip_prefix("~/"), &home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => ground.root.join(folder),
        };
        let directories = directories.into_iter().map(full).collect();
        Ok(Permissions { rules: Arc::new(Rules::new(rules, otherwise, ground)), directories })
    }

    fn object(&self, setting: &Setting) -> Result<Map<String, Value>, ConfigError> {
        let read = match &setting.value {
            Value::Object(object) => Some(object.clone()),
            Value::String(text) => serde_yaml::from_str(text).ok(),
            _ => None,
        };
        read.ok_or_else(|| wrong(KEY, setting, "lists under allow, ask and deny"))
    }

    fn list(&self, setting: &Setting, name: &str) -> Result<Vec<String>, ConfigError> {
        match self.object(setting)?.get(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::String(one)) => Ok(vec![one.clone()]),
            Some(value) => listed(value).ok_or_else(|| {
                wrong(KEY, setting, &format!("a list of texts under {name}, like [\"shell(git push:*)\"]"))
            }),
        }
    }
}

/// What an untrusted workspace may say: what makes it stricter. The second part names what was left out.
pub(super) fn stricter(value: &Value) -> (Value, Option<&'static str>) {
    let Value::Object(said) = value else { return (Value::Null, Some(KEY)) };
    let kept: Map<String, Value> = said
        .iter()
        .filter(|(name, _)| ["ask", "deny", "default", "defaultMode"].contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let less = kept.len() < said.len();
    (Value::Object(kept), less.then_some("permissions (but for ask and deny)"))
}

/// What holds where no rule says anything. The modes of other programs are understood as far as they ask for care.
fn default(setting: &Setting, said: &Map<String, Value>) -> Result<Verdict, ConfigError> {
    let Some(word) = said.get("default").or_else(|| said.get("defaultMode")).filter(|word| !word.is_null()) else {
        return Ok(Verdict::Allow);
    };
    match word.as_str().unwrap_or_default() {
        "allow" | "default" | "auto" | "acceptEdits" | "bypassPermissions" => Ok(Verdict::Allow),
        "ask" | "plan" => Ok(Verdict::Ask),
        "deny" | "dontAsk" => Ok(Verdict::Deny),
        _ => Err(wrong(KEY, setting, "allow, ask or deny under default")),
    }
}

fn read(text: &str, verdict: Verdict, place: &Place, ground: &Ground) -> Result<Rule, ConfigError> {
    Rule::read(text, verdict, place.to_string(), ground)
        .map_err(|source| ConfigError::Rule { source, from: place.clone() })
}

/// The line of a rule: the first that has its text.
fn place_of(place: &Place, rule: &str) -> Place {
    let Place::File { path, line } = place else { return place.clone() };
    Place::File { path: path.clone(), line: line_with(path, rule).or(*line) }
}

fn line_with(path: &Path, rule: &str) -> Option<usize> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.lines().position(|line| line.contains(rule))? + 1)
}
