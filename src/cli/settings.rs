//! `tillerman config`: every setting, its value, and who said so. It starts nothing and shows no key.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::json::VERSION;
use super::ready::{self, NotReady};
use crate::args::Common;
use crate::config::{self, Config, Origin, Place};
use crate::terminal::Look;
use crate::terminal::clean::{clean, one_line};
use crate::terminal::exit::Exit;
use crate::terminal::wrap::columns;

/// Prints the settings on stdout; what is wrong with them goes to stderr.
///
/// # Errors
/// [`NotReady`] names the setting that cannot be followed, and where it is written.
pub fn show(common: &Common, look: Look, origin: bool, json: bool) -> Result<Exit, NotReady> {
    let config = ready::settings(common)?;
    if !json {
        for warning in &config.warnings {
            // Nobody reads: what was asked for still comes.
            let _ = writeln!(io::stderr().lock(), "{} {}", look.warn("⚠"), clean(&config.secrets.hide(warning)));
        }
    }
    let text = if json { as_json(&config).to_string() } else { as_text(&config, look, origin) };
    // Nobody reads: the exit code still tells.
    let _ = writeln!(io::stdout().lock(), "{text}");
    Ok(Exit::Done)
}

fn as_text(config: &Config, look: Look, origin: bool) -> String {
    let rows: Vec<(&str, Option<&Origin>)> = config::names().map(|name| (name, of(config, name))).collect();
    let value =
        |origin: Option<&Origin>| origin.map_or_else(|| "-".to_owned(), |origin| harmless(config, &origin.value));
    let names = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let values =
        rows.iter().map(|(_, origin)| columns(&value(*origin))).filter(|width| *width <= 40).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (name, from) in rows {
        let value = value(from);
        let room = values.saturating_sub(columns(&value));
        let name = look.name(format!("{name:names$}"));
        lines.push(match (origin, from) {
            (true, Some(from)) => format!("{name}  {value}{:room$}  {}", "", look.dim(place(config, &from.from))),
            (true, None) => format!("{name}  {value}{:room$}  {}", "", look.dim("not set")),
            (false, _) => format!("{name}  {value}"),
        });
    }
    lines.push(String::new());
    for (path, state) in files(config) {
        lines.push(format!("{} {}", look.dim(format!("{state:<12}")), path.display()));
    }
    if !origin {
        lines.push(look.dim("where each comes from: tillerman config show --origin"));
    }
    lines.join("\n")
}

fn as_json(config: &Config) -> Value {
    let each = config::names().map(|name| {
        let origin = of(config, name);
        let (kind, path, line) = match origin.map(|origin| &origin.from) {
            None => ("unset", None, None),
            Some(Place::Default) => ("default", None, None),
            Some(Place::Model) => ("model", None, None),
            Some(Place::File { path, line }) => ("file", Some(path.display().to_string()), *line),
            Some(Place::Variable(name)) => ("variable", Some(name.clone()), None),
            Some(Place::Flag(flag)) => ("flag", Some((*flag).to_owned()), None),
        };
        let value = origin.map(|origin| harmless(config, &origin.value));
        json!({"key": name, "value": value, "from": kind, "where": path, "line": line})
    });
    let warnings = config.warnings.iter().map(|warning| clean(&config.secrets.hide(warning)));
    let files =
        files(config).into_iter().map(|(path, state)| json!({"path": path.display().to_string(), "state": state}));
    json!({
        "v": VERSION, "settings": each.collect::<Vec<_>>(), "warnings": warnings.collect::<Vec<_>>(),
        "files": files.collect::<Vec<_>>(),
    })
}

fn of<'a>(config: &'a Config, name: &str) -> Option<&'a Origin> {
    config.origins.iter().find(|origin| origin.key == name)
}

/// A value on one line, without keys and without what stands before the host of an address.
fn harmless(config: &Config, value: &str) -> String {
    let value = config.secrets.hide(value);
    let bare = match value.split_once("://") {
        Some((scheme, rest)) => {
            let host = rest.split('/').next().unwrap_or_default();
            host.rsplit_once('@').map(|(login, _)| format!("{scheme}://[login]{}", &rest[login.len()..]))
        }
        None => None,
    };
    one_line(bare.as_deref().unwrap_or(&value))
}

/// Where a setting comes from, files as a person would name them from here.
fn place(config: &Config, place: &Place) -> String {
    match place {
        Place::File { path, line } => {
            let line = line.map_or_else(String::new, |line| format!(":{line}"));
            format!("{}{line}", short(config, path).display())
        }
        Place::Variable(name) => format!("the variable {name}"),
        Place::Flag(flag) => format!("the flag {flag}"),
        Place::Default | Place::Model => place.to_string(),
    }
}

fn short(config: &Config, path: &Path) -> PathBuf {
    let below = |parent: &Path| path.strip_prefix(parent).ok().map(Path::to_path_buf);
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let in_home = || home.and_then(|home| below(&home)).map(|rest| Path::new("~").join(rest));
    below(config.workspace.root()).or_else(in_home).unwrap_or_else(|| path.to_path_buf())
}

/// The files that settings are read from, the last one counts most.
fn files(config: &Config) -> Vec<(PathBuf, &'static str)> {
    let (home, root) = (config.workspace.home(), config.workspace.root());
    let each = [
        (home.join("config.yaml"), true),
        (root.join("config.md"), config.trusted),
        (root.join(".env"), config.trusted),
    ];
    let state = |path: &Path, trusted: bool| match (path.is_file(), trusted) {
        (false, _) => "not there",
        (true, true) => "read",
        (true, false) => "not trusted",
    };
    each.into_iter().map(|(path, trusted)| (short(config, &path), state(&path, trusted))).collect()
}
