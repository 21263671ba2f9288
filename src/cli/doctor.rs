//! `tillerman doctor`: what works here, and how to mend what does not. It takes no lock, and what it starts ends with it.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use super::ready::{self, NotReady};
use crate::args::Common;
use crate::config::{self, Config, Named};
use crate::model::ModelId;
use crate::model::choice::Standing;
use crate::role::Role;
use crate::runtime::named_agents;
use crate::sandbox::{Tier, WallSettings, Walls};
use crate::skill::Skills;
use crate::task;
use crate::terminal::clean::{clean, one_line};
use crate::terminal::exit::Exit;
use crate::terminal::{Look, is_dumb};
use crate::workspace::defaults::Layer;
use crate::workspace::guarded::is_kept_free;
use crate::workspace::policy::Bounds;
use crate::workspace::upkeep::DiskUse;

/// Files of the workspace that become part of a prompt.
const PROMPT_FILES: [&str; 5] = ["config.md", "AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md"];

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Works.
    Good,
    /// Works, but a person should know.
    Warn,
    /// Does not work.
    Bad,
    /// Neither good nor bad: something that is simply not there.
    Absent,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What it belongs to.
    pub group: &'static str,
    /// How it came out.
    pub mark: Mark,
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

/// Prints the rows; fails when one of them is bad.
pub fn doctor(common: &Common, look: Look, json: bool) -> Exit {
    let rows = examine(common, &|name| std::env::var(name).ok());
    let text = if json { as_json(&rows) } else { as_text(&rows, look) };
    // Nobody reads: the exit code still tells.
    let _ = writeln!(io::stdout().lock(), "{text}");
    if rows.iter().any(|row| row.mark == Mark::Bad) { Exit::Failed } else { Exit::Done }
}

fn examine(common: &Common, env: &dyn Fn(&str) -> Option<String>) -> Vec<Row> {
    let mut rows = match ready::settings(common) {
        Ok(config) => of_config(&config),
        Err(NotReady { why, .. }) => vec![row("workspace", Mark::Bad, clean(&why))],
    };
    rows.push(program("git", &["--version"], "install git; workers and checks use it"));
    rows.push(program("bash", &["--version"], "install bash; shell commands then run in sh"));
    rows.push(of_walls());
    rows.push(of_terminal(env));
    rows
}

fn of_config(config: &Config) -> Vec<Row> {
    let mut rows = vec![of_model(config)];
    rows.extend(config.cast.all().map(|named| of_named(config, named)));
    rows.extend(config.models.standings(&config.choice).into_iter().map(|standing| {
        let Standing { name, usable, chosen, why, .. } = standing;
        let mark = if usable { Mark::Good } else { Mark::Absent };
        let found = if chosen { format!("{name}: answers, {why}") } else { format!("{name}: {why}") };
        row("providers", mark, one_line(&found))
    }));
    let workspace = &config.workspace;
    rows.push(row("workspace", Mark::Good, format!("{} is writable", workspace.root().display())));
    rows.push(row("workspace", Mark::Good, format!("state in {}", workspace.state().display())));
    rows.push(match config.trusted {
        true => row("workspace", Mark::Good, "trusted".to_owned()),
        false => Row {
            remedy: Some("tillerman init trusts it for good, --trust for one run".to_owned()),
            ..row("workspace", Mark::Warn, "not trusted: its keys, addresses and limits are ignored".to_owned())
        },
    });
    rows.extend(config::review(workspace.root()).iter().map(|what| row("files", Mark::Warn, one_line(what))));
    rows.extend(of_rules(config));
    rows.extend(config.warnings.iter().map(|warning| row("settings", Mark::Warn, clean(warning))));
    rows.extend(of_sets(config));
    rows.extend(PROMPT_FILES.iter().map(|name| of_file(workspace.root(), name)));
    rows.push(of_tasks(&workspace.tasks()));
    rows.push(of_disk(config));
    rows
}

/// The rules about calls, and those of them that never count.
fn of_rules(config: &Config) -> Vec<Row> {
    let rules = &config.permissions.rules;
    let found = match rules.all().len() {
        0 => return Vec::new(),
        many => format!("{many} rules; `tillerman permissions` lists them"),
    };
    let dead = rules.dead(&super::permissions::is_known);
    let each = dead
        .into_iter()
        .map(|dead| row("permissions", Mark::Warn, one_line(&format!("{} never counts: {}", dead.rule, dead.why))));
    std::iter::once(row("permissions", Mark::Good, found)).chain(each).collect()
}

fn of_model(config: &Config) -> Row {
    let id = &config.choice.id;
    let found = format!("{id} ({}){}", clean(&config.choice.why), window(config, id));
    match config.models.get(id) {
        Err(error) => Row { remedy: Some(error.to_string()), ..row("model", Mark::Bad, found) },
        Ok(_) if id.provider == "pilot" => Row {
            remedy: Some("set ANTHROPIC_API_KEY or another key, or name a model with -m".to_owned()),
            ..row("model", Mark::Warn, found)
        },
        Ok(_) => row("model", Mark::Good, found),
    }
}

/// How much a model reads at once, for one that does not read everything.
fn window(config: &Config, id: &ModelId) -> String {
    match id.provider.as_str() {
        "pilot" | "scripted" => String::new(),
        _ => format!(", window {} tokens", config.models.window(id)),
    }
}

/// A model of another part of the work.
fn of_named(config: &Config, named: &Named) -> Row {
    let found = format!("{}: {} (named in {}){}", named.key, named.id, named.from, window(config, &named.id));
    match config.models.get(&named.id) {
        Err(error) => Row { remedy: Some(error.to_string()), ..row("model", Mark::Warn, found) },
        Ok(_) => row("model", Mark::Good, found),
    }
}

/// Skills and named agents: which there are, and what is wrong with their files.
fn of_sets(config: &Config) -> Vec<Row> {
    let skills = Skills::discover(&config.workspace);
    let roles = named_agents(config, &skills, &[]);
    let names: Vec<&str> = skills.list().iter().map(|skill| skill.name.as_str()).collect();
    let found = format!("skills {}: {}", names.len(), names.join(", "));
    let mut rows = vec![row("files", Mark::Good, one_line(&found))];
    rows.extend(skills.notices().iter().map(|notice| row("files", Mark::Warn, one_line(&notice.to_string()))));
    if roles.list().is_empty() {
        rows.push(row("agents", Mark::Absent, "none: agents is off in the settings".to_owned()));
    }
    rows.extend(roles.list().iter().map(|role| row("agents", Mark::Good, one_line(&of_role(role)))));
    rows.extend(roles.notices().iter().map(|notice| row("agents", Mark::Warn, one_line(&notice.to_string()))));
    rows
}

/// What a named agent is made of, as far as it is not as any other worker.
fn of_role(role: &Role) -> String {
    let from = if role.layer == Layer::BuiltIn { "built in".to_owned() } else { role.path.display().to_string() };
    let list = |what: &str, names: &[String]| match names {
        [] => format!("no {what}"),
        names => format!("{what} {}", names.join(" ")),
    };
    let own = [
        role.model.as_ref().map(|model| format!("model {model}")),
        role.effort.as_ref().map(|effort| format!("effort {effort}")),
        role.tools.as_ref().map(|tools| list("tools", tools)),
        (!role.without.is_empty()).then(|| format!("without {}", role.without.join(" "))),
        role.skills.as_ref().map(|skills| list("skills", skills)),
        role.max_turns.map(|turns| format!("{turns} turns")),
        (!role.budget.is_unlimited()).then(|| format!("budget {}", role.budget)),
    ];
    let own: Vec<String> = own.into_iter().flatten().collect();
    format!("{} ({from}): {}", role.name, if own.is_empty() { "as any worker".to_owned() } else { own.join(", ") })
}

fn of_file(root: &Path, name: &str) -> Row {
    match fs::metadata(root.join(name)) {
        Ok(meta) if meta.is_file() => row("files", Mark::Good, format!("{name}, {} bytes", meta.len())),
        Ok(_) if is_kept_free(&root.join(name)) => {
            row("files", Mark::Absent, format!("no {name}; its place is kept while commands run"))
        }
        Ok(_) => row("files", Mark::Bad, format!("{name} is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => row("files", Mark::Absent, format!("no {name}")),
        Err(error) => row("files", Mark::Bad, format!("{name}: {error}")),
    }
}

fn of_disk(config: &Config) -> Row {
    let used = DiskUse::of(&config.workspace);
    match used.warning(config.disk_quota) {
        Some(warning) => row("workspace", Mark::Warn, warning),
        None => row("workspace", Mark::Good, format!("{} MB of the disk are used", used.total().div_ceil(1 << 20))),
    }
}

fn of_tasks(tasks: &Path) -> Row {
    match task::list(tasks) {
        Ok(listing) if listing.skipped.is_empty() => row("files", Mark::Good, format!("{} tasks", listing.tasks.len())),
        Ok(listing) => {
            let why: Vec<String> = listing.skipped.iter().map(|error| one_line(&error.to_string())).collect();
            row("files", Mark::Warn, format!("{} tasks; unreadable: {}", listing.tasks.len(), why.join("; ")))
        }
        Err(error) => row("files", Mark::Bad, one_line(&error.to_string())),
    }
}

fn program(name: &str, arguments: &[&str], remedy: &str) -> Row {
    let ran = Command::new(name).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output();
    match ran {
        Ok(output) if output.status.success() => {
            let said = String::from_utf8_lossy(&output.stdout);
            row("programs", Mark::Good, one_line(said.lines().next().unwrap_or(name)))
        }
        Ok(output) => Row {
            remedy: Some(remedy.to_owned()),
            ..row("programs", Mark::Warn, format!("{name} ends with {}", output.status))
        },
        Err(error) => {
            Row { remedy: Some(remedy.to_owned()), ..row("programs", Mark::Warn, format!("no {name}: {error}")) }
        }
    }
}

/// Walls around commands are built, as a run would build them, and tried; nothing is granted within.
fn of_walls() -> Row {
    let bounds = Bounds { base: std::env::temp_dir(), ..Bounds::default() };
    match Walls::around(WallSettings::new(bounds)).build() {
        Err(error) => row("sandbox", Mark::Bad, one_line(&error.to_string())),
        Ok(built) => {
            let mark = if built.tier == Tier::Full { Mark::Good } else { Mark::Warn };
            let weaker = (built.tier != Tier::Full).then(|| {
                let why = built.notes.iter().map(|note| one_line(note)).collect::<Vec<_>>().join("; ");
                format!("allow user namespaces; docs/guarantees.md says what gets through without them ({why})")
            });
            Row { remedy: weaker, ..row("sandbox", mark, format!("{}; tried, and they hold", built.tier)) }
        }
    }
}

fn of_terminal(env: &dyn Fn(&str) -> Option<String>) -> Row {
    let term = env("TERM").unwrap_or_else(|| "unset".to_owned());
    if !io::stdin().is_terminal() {
        return row("terminal", Mark::Absent, "stdin is no terminal: lines are read plainly".to_owned());
    }
    if is_dumb(env) {
        let remedy = Some("set TERM to what the terminal is, for example xterm-256color".to_owned());
        return Row { remedy, ..row("terminal", Mark::Warn, format!("TERM is {term}: lines are read plainly")) };
    }
    let size = crossterm::terminal::size().map_or_else(|_| "size unknown".to_owned(), |(x, y)| format!("{x}×{y}"));
    row("terminal", Mark::Good, format!("{term}, {size}"))
}

fn row(group: &'static str, mark: Mark, found: String) -> Row {
    Row { group, mark, found, remedy: None }
}

fn as_text(rows: &[Row], look: Look) -> String {
    let mut lines = Vec::new();
    let mut group = "";
    for row in rows {
        if row.group != group {
            group = row.group;
            lines.push(look.bold(group));
        }
        let (mark, found) = match row.mark {
            Mark::Good => (look.good("✓"), row.found.clone()),
            Mark::Warn => (look.warn("⚠"), row.found.clone()),
            Mark::Bad => (look.bad("✗"), row.found.clone()),
            Mark::Absent => (look.dim("·"), look.dim(&row.found)),
        };
        lines.push(format!("  {mark} {found}"));
        lines.extend(row.remedy.iter().map(|remedy| look.dim(format!("    → {remedy}"))));
    }
    lines.join("\n")
}

fn as_json(rows: &[Row]) -> String {
    let word = |mark| match mark {
        Mark::Good => "good",
        Mark::Warn => "warn",
        Mark::Bad => "bad",
        Mark::Absent => "absent",
    };
    let each = rows
        .iter()
        .map(|row| json!({"group": row.group, "mark": word(row.mark), "found": row.found, "remedy": row.remedy}));
    let ok = !rows.iter().any(|row| row.mark == Mark::Bad);
    json!({"v": super::json::VERSION, "ok": ok, "rows": each.collect::<Vec<_>>()}).to_string()
}
