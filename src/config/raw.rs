//! What was written, and where: one layer of settings per place, not yet understood. What it means is in `checked`.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::checked::listed;
use super::keys::{self, KEYS, Key};
use super::{ConfigError, Flags, dotenv::DotEnv, once, permissions};
use crate::markdown::{self, Document, MarkdownError};
use crate::tools::Enabled;
use crate::workspace::Workspace;
use crate::workspace::guarded::is_kept_free;

/// Where a setting was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Nowhere: the program's own value.
    Default,
    /// Nowhere: it follows from the model.
    Model,
    /// In a file.
    File {
        /// Which.
        path: PathBuf,
        /// The line of its key, if it could be found.
        line: Option<usize>,
    },
    /// In an environment variable.
    Variable(String),
    /// On the command line.
    Flag(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Default => f.write_str("default"),
            Place::Model => f.write_str("the model"),
            Place::File { path, line: Some(line) } => write!(f, "{} line {line}", path.display()),
            Place::File { path, line: None } => write!(f, "{}", path.display()),
            Place::Variable(name) => f.write_str(name),
            Place::Flag(flag) => f.write_str(flag),
        }
    }
}

/// A setting as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Setting {
    pub(super) value: Value,
    pub(super) place: Place,
    /// The number of its layer; a higher one wins.
    pub(super) layer: usize,
}

/// All settings of all layers.
#[derive(Debug, Default)]
pub(super) struct Raw {
    /// Name and setting, from the lowest layer to the highest.
    written: Vec<(&'static str, Setting)>,
    layers: usize,
    pub(super) warnings: Vec<String>,
}

impl Raw {
    /// Reads every layer: defaults < config.yaml of the home < config.md < .env < environment < flags.
    pub(super) fn read(
        workspace: &Workspace,
        trusted: bool,
        flags: &Flags,
        dotenv: &DotEnv,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Raw, ConfigError> {
        let mut raw = Raw::default();
        raw.defaults();
        let home = workspace.home().join("config.yaml");
        raw.file(&home, home_file(&home)?, true);
        let own = workspace.root().join("config.md");
        let mut said = own_file(&own)?;
        if flags.sandbox.is_some() && said.remove("network").is_some() {
            // How far commands reach was said by whoever started the program.
            let why = "ignored: --sandbox says how far commands reach; --network would open it";
            raw.warnings.push(format!("network in {} {why}", own.display()));
        }
        raw.file(&own, said, trusted);
        raw.variables(&|name| dotenv.place(name), &|name| dotenv.get(name));
        raw.variables(&|name| Place::Variable(name.to_owned()), &|name| env(name));
        raw.layers += 1;
        let network = flags.network.then(|| "on".to_owned());
        for (name, flag, value) in [
            ("model", "--model", &flags.model),
            ("base_url", "--base-url", &flags.base_url),
            ("profile", "--sandbox", &flags.sandbox),
            ("network", "--network", &network),
        ] {
            if let (Some(key), Some(value)) = (keys::find(name), value) {
                raw.put(key, Value::String(value.clone()), Place::Flag(flag));
            }
        }
        Ok(raw)
    }

    /// What the highest layer says that says anything.
    pub(super) fn get(&self, name: &str) -> Option<&Setting> {
        self.below(name, usize::MAX)
    }

    /// The same, as if the layers above this one were not there.
    pub(super) fn below(&self, name: &str, layer: usize) -> Option<&Setting> {
        self.written.iter().rev().find(|(key, setting)| *key == name && setting.layer <= layer).map(|(_, s)| s)
    }

    /// What each layer says, from the lowest to the highest.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &Setting> {
        self.written.iter().filter(move |(key, _)| *key == name).map(|(_, setting)| setting)
    }

    fn put(&mut self, key: &Key, value: Value, place: Place) {
        // `key:` with nothing behind it means that the layers below decide.
        if !value.is_null() {
            self.written.push((key.name, Setting { value, place, layer: self.layers }));
        }
    }

    fn defaults(&mut self) {
        for key in KEYS {
            let value = key.default.and_then(|text| serde_yaml::from_str(text).ok());
            self.put(key, value.unwrap_or(Value::Null), Place::Default);
        }
    }

    fn file(&mut self, path: &Path, settings: Map<String, Value>, trusted: bool) {
        self.layers += 1;
        let mut ignored = Vec::new();
        for (name, value) in settings {
            let place = Place::File { path: path.to_path_buf(), line: markdown::line_of(path, &name) };
            match keys::find(&name) {
                Some(key) if trusted || self.is_harmless(key, &value) => self.put(key, value, place),
                Some(key) if key.name == "permissions" => {
                    let (stricter, ignores) = permissions::stricter(&value);
                    ignored.extend(ignores);
                    self.put(key, stricter, place);
                }
                Some(key) => ignored.push(key.name),
                None if keys::is_about(&name) => {}
                None => {
                    let nearest =
                        keys::nearest(&name).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                    self.warnings.push(format!("unknown setting `{name}` in {place}{nearest}"));
                }
            }
        }
        if !ignored.is_empty() {
            self.warnings.push(format!(
                "{} in {} ignored: this workspace is not trusted yet; use --trust once you have read it",
                ignored.join(", "),
                path.display()
            ));
        }
    }

    /// A scripted model plays calls that its file dictates, so choosing one is no harmless setting; nor is switching on a
    /// tool that is usually off, or one that a person's own settings left out.
    fn is_harmless(&self, key: &Key, value: &Value) -> bool {
        let scripted = value.as_str().is_some_and(|text| text.trim_start().starts_with("scripted"));
        let wider = || {
            let enabled = listed(value).and_then(|words| Enabled::read(&words).ok());
            let is_own = self.get(key.name).is_some_and(|setting| setting.place != Place::Default);
            is_own || enabled.is_some_and(|enabled| enabled.is_wider_than_usual())
        };
        key.harmless && !scripted && !(key.name == "tools" && wider())
    }

    fn variables(&mut self, place: &dyn Fn(&str) -> Place, env: &dyn Fn(&str) -> Option<String>) {
        self.layers += 1;
        for key in KEYS {
            let name = keys::variable(key);
            if let Some(value) = env(&name).filter(|value| !value.trim().is_empty()) {
                self.put(key, Value::String(value), place(&name));
            }
        }
    }
}

/// Most bytes of the settings in the home.
const MOST_SETTINGS: u64 = 1 << 20;

fn home_file(path: &Path) -> Result<Map<String, Value>, ConfigError> {
    if fs::metadata(path).is_ok_and(|found| found.len() > MOST_SETTINGS) {
        let cause = std::io::Error::other(format!("it has over {MOST_SETTINGS} bytes"));
        return Err(ConfigError::Unreadable { path: path.to_path_buf(), cause });
    }
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(cause) => return Err(ConfigError::Unreadable { path: path.to_path_buf(), cause }),
    };
    once::read(&text, path)
}

fn own_file(path: &Path) -> Result<Map<String, Value>, ConfigError> {
    if is_kept_free(path) || !path.exists() {
        return Ok(Map::new());
    }
    let Document { front, body } = markdown::load::<Map<String, Value>>(path)?;
    if front.is_empty() && body.lines().next().is_some_and(|line| line.trim_end() == "---") {
        return Err(ConfigError::Unclosed { path: path.to_path_buf() });
    }
    // Bounded by now, and a file that is not there any more says nothing twice.
    let text = fs::read_to_string(path).unwrap_or_default();
    let head = text.strip_suffix(body.as_str()).unwrap_or(&text).trim_end().strip_suffix("---").unwrap_or_default();
    if let Some((line, key)) = once::twice(head) {
        let (path, message) = (path.to_path_buf(), once::told(&key));
        return Err(MarkdownError::Front { path, line, column: 1, message }.into());
    }
    Ok(front)
}
