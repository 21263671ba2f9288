//! What the doctor finds in a folder and its settings: models, providers, rules, skills, agents and files.

use std::fs;
use std::io;
use std::path::Path;

use super::{Mark, Row};
use crate::config::{self, Config, Named};
use crate::markdown::Notice;
use crate::model::ModelId;
use crate::model::choice::Standing;
use crate::role::Role;
use crate::runtime::named_agents;
use crate::session::Store;
use crate::skill::Skills;
use crate::task;
use crate::terminal::clean::{clean, one_line};
use crate::workspace::defaults::Layer;
use crate::workspace::guarded::is_kept_free;
use crate::workspace::upkeep::DiskUse;

/// Files of the workspace that become part of a prompt.
const PROMPT_FILES: [&str; 5] = ["config.md", "AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md"];

/// For a file that is not as it was meant.
const MEND: &str = "mend the file or take it away; all others are used";

/// Everything that is found there.
pub(super) fn rows(config: &Config) -> Vec<Row> {
    let workspace = &config.workspace;
    let mut rows = vec![of_model(config)];
    rows.extend(config.cast.all().map(|named| of_named(config, named)));
    rows.extend(config.models.standings(&config.choice).into_iter().map(of_standing));
    rows.push(Row::of("workspace", Mark::Good, format!("{} is writable", workspace.root().display())));
    rows.push(Row::of("workspace", Mark::Good, format!("state in {}", workspace.state().display())));
    rows.push(match config.trusted {
        true => Row::of("workspace", Mark::Good, "trusted"),
        false => Row::of("workspace", Mark::Warn, "not trusted: its keys, addresses and limits are ignored")
            .remedy("tillerman init trusts it for good, --trust for one run"),
    });
    let hidden = config::review(workspace.root());
    rows.extend(hidden.iter().map(|what| {
        Row::of("files", Mark::Warn, one_line(what)).remedy("take the character out before you trust the file")
    }));
    rows.extend(of_rules(config));
    let warned = |warning: &String| {
        Row::of("settings", Mark::Warn, clean(warning))
            .remedy("tillerman config show --origin tells what counts instead")
    };
    rows.extend(config.warnings.iter().map(warned));
    let own =
        config.origins.iter().filter(|origin| !matches!(origin.from, config::Place::Default | config::Place::Model));
    rows.push(Row::of(
        "settings",
        Mark::Good,
        format!("{} set by hand; tillerman config show --origin lists them", own.count()),
    ));
    rows.extend(of_sets(config));
    rows.extend(PROMPT_FILES.iter().map(|name| of_file(workspace.root(), name)));
    rows.push(of_tasks(&workspace.tasks()));
    rows.push(of_sessions(&workspace.sessions()));
    rows.push(of_disk(config));
    rows
}

fn of_standing(standing: Standing) -> Row {
    let Standing { name, usable, chosen, why, .. } = standing;
    let mark = if usable { Mark::Good } else { Mark::Absent };
    let found = if chosen { format!("{name}: answers, {why}") } else { format!("{name}: {why}") };
    Row::of("providers", mark, one_line(&found))
}

/// The rules about calls, and those of them that never count.
fn of_rules(config: &Config) -> Vec<Row> {
    let rules = &config.permissions.rules;
    let found = match rules.all().len() {
        0 => return Vec::new(),
        many => format!("{many} rules; `tillerman permissions` lists them"),
    };
    let dead = rules.dead(&crate::cli::permissions::is_known);
    let each = dead.into_iter().map(|dead| {
        let found = one_line(&format!("{} never counts: {}", dead.rule, dead.why));
        Row::of("permissions", Mark::Warn, found)
            .remedy("mend the rule or take it away; tillerman permissions lists them")
    });
    std::iter::once(Row::of("permissions", Mark::Good, found)).chain(each).collect()
}

fn of_model(config: &Config) -> Row {
    let id = &config.choice.id;
    let found = format!("{id} ({}){}", clean(&config.choice.why), window(config, id));
    match config.models.get(id) {
        Err(error) => Row { remedy: Some(error.to_string()), ..Row::of("model", Mark::Bad, found) },
        Ok(_) if id.provider == "pilot" => Row {
            remedy: Some("export ANTHROPIC_API_KEY=… (or another key below), or start ollama; tillerman models lists what is known".to_owned()),
            ..Row::of("model", Mark::Warn, found)
        },
        Ok(_) => Row::of("model", Mark::Good, found),
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
        Err(error) => Row { remedy: Some(error.to_string()), ..Row::of("model", Mark::Warn, found) },
        Ok(_) => Row::of("model", Mark::Good, found),
    }
}

/// Skills and named agents: which there are, and what is wrong with their files.
fn of_sets(config: &Config) -> Vec<Row> {
    let skills = Skills::discover(&config.workspace);
    let roles = named_agents(config, &skills, &[]);
    let names: Vec<&str> = skills.list().iter().map(|skill| skill.name.as_str()).collect();
    let found = format!("skills {}: {}", names.len(), names.join(", "));
    let mut rows = vec![Row::of("files", Mark::Good, one_line(&found))];
    let told = |group, notice: &Notice| Row::of(group, Mark::Warn, one_line(&notice.to_string())).remedy(MEND);
    rows.extend(skills.notices().iter().map(|notice| told("files", notice)));
    if roles.list().is_empty() {
        rows.push(Row::of("agents", Mark::Absent, "none: agents is off in the settings".to_owned()));
    }
    rows.extend(roles.list().iter().map(|role| Row::of("agents", Mark::Good, one_line(&of_role(role)))));
    rows.extend(roles.notices().iter().map(|notice| told("agents", notice)));
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
        Ok(meta) if meta.is_file() => Row::of("files", Mark::Good, format!("{name}, {} bytes", meta.len())),
        Ok(_) if is_kept_free(&root.join(name)) => {
            Row::of("files", Mark::Absent, format!("no {name}; its place is kept while commands run"))
        }
        Ok(_) => Row::of("files", Mark::Bad, format!("{name} is not a regular file"))
            .remedy("put a file in its place, or nothing"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Row::of("files", Mark::Absent, format!("no {name}")),
        Err(error) => Row::of("files", Mark::Bad, format!("{name}: {error}")).remedy("make it readable for you"),
    }
}

fn of_tasks(tasks: &Path) -> Row {
    match task::list(tasks) {
        Ok(listing) if listing.skipped.is_empty() => {
            Row::of("files", Mark::Good, format!("{} tasks", listing.tasks.len()))
        }
        Ok(listing) => {
            let why: Vec<String> = listing.skipped.iter().map(|error| one_line(&error.to_string())).collect();
            Row::of("files", Mark::Warn, format!("{} tasks; unreadable: {}", listing.tasks.len(), why.join("; ")))
                .remedy("mend those files, or take their folders out of .tasks")
        }
        Err(error) => Row::of("files", Mark::Bad, one_line(&error.to_string()))
            .remedy("make .tasks readable and writable for you"),
    }
}

/// Conversations; one that is broken is found when it is opened.
fn of_sessions(dir: &Path) -> Row {
    match Store::new(dir).list() {
        Ok(sessions) => Row::of("files", Mark::Good, format!("{} conversations", sessions.len())),
        Err(error) => Row::of("files", Mark::Bad, one_line(&error.to_string()))
            .remedy(format!("make {} readable and writable for you", dir.display())),
    }
}

fn of_disk(config: &Config) -> Row {
    let used = DiskUse::of(&config.workspace);
    match used.warning(config.disk_quota) {
        Some(warning) => Row::of("disk", Mark::Warn, warning)
            .remedy("tillerman sessions delete ID, then tillerman sessions trash empty"),
        None => Row::of("disk", Mark::Good, format!("{} MB are used for this folder", used.total().div_ceil(1 << 20))),
    }
}
