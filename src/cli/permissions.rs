//! `tillerman permissions`: which rules there are, and what they say about one call. It starts nothing.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::ready::{self, NotReady};
use crate::args::{Common, Permissions};
use crate::config::Config;
use crate::terminal::Look;
use crate::terminal::clean::clean;
use crate::terminal::exit::Exit;
use crate::tool::our_name;
use crate::tools;
use crate::tools::gate::{Judged, Rules, Verdict};

/// Prints what was asked for. A call that is denied ends with the exit code of a refusal, one that is asked as well.
///
/// # Errors
/// [`NotReady`] when the settings cannot be read or the call is none.
pub fn permissions(common: &Common, command: Option<&Permissions>, json: bool, look: Look) -> Result<Exit, NotReady> {
    let config = ready::settings(common)?;
    let (text, exit) = match command {
        None | Some(Permissions::List) => (list(&config, json, look), Exit::Done),
        Some(Permissions::Explain { call }) => explain(&config, call, json)?,
    };
    // Nobody reads: the exit code still tells.
    let _ = writeln!(io::stdout().lock(), "{text}");
    Ok(exit)
}

fn list(config: &Config, json: bool, look: Look) -> String {
    let rules = &config.permissions.rules;
    let dead = rules.dead(&is_known);
    let dead = |rule: &str| dead.iter().find(|dead| dead.rule == rule).map(|dead| dead.why.clone());
    if json {
        let each = rules.all().iter().map(|rule| {
            json!({"verdict": rule.verdict.to_string(), "rule": rule.text, "from": rule.from, "dead": dead(&rule.to_string())})
        });
        let otherwise = rules.otherwise().to_string();
        return json!({"v": super::json::VERSION, "rules": each.collect::<Vec<_>>(), "otherwise": otherwise})
            .to_string();
    }
    let mut lines: Vec<String> = Vec::new();
    for rule in rules.all() {
        lines.push(format!("{:<5} {}  {}", rule.verdict, clean(&rule.text), look.dim(&rule.from)));
        lines.extend(dead(&rule.to_string()).map(|why| look.warn(format!("      never counts: {}", clean(&why)))));
    }
    lines.push(match rules.otherwise() {
        Verdict::Allow => format!("else  what the walls let through is done (profile {})", config.profile.name()),
        Verdict::Ask => "else  a person is asked".to_owned(),
        Verdict::Deny => "else  nothing is done".to_owned(),
    });
    lines.join("\n")
}

fn explain(config: &Config, call: &str, json: bool) -> Result<(String, Exit), NotReady> {
    let (tool, args) = read(call)?;
    let judged = judge(&config.permissions.rules, config, &tool, &args);
    let exit = if judged.verdict == Verdict::Allow { Exit::Done } else { Exit::Refused };
    let (verdict, why) = (judged.verdict.to_string(), clean(&judged.why));
    if json {
        let rule = judged.rule.map(|rule| json!({"rule": rule.text, "from": rule.from}));
        return Ok((
            json!({"v": super::json::VERSION, "verdict": verdict, "why": why, "rule": rule}).to_string(),
            exit,
        ));
    }
    Ok((format!("{verdict}: {why}"), exit))
}

fn judge<'a>(rules: &'a Rules, config: &Config, tool: &str, args: &Value) -> Judged<'a> {
    rules.judge(tool, args, config.workspace.root())
}

/// A call as a rule is written: `shell(git push)`, `read_file(src/main.rs)`.
fn read(call: &str) -> Result<(String, Value), NotReady> {
    let wrong = || NotReady {
        exit: Exit::Usage,
        why: format!("{call} is no call; write one like 'shell(git push)' or 'read_file(src/main.rs)'"),
    };
    let (name, inside) = match call.trim().split_once('(') {
        Some((name, rest)) => (name, rest.strip_suffix(')').ok_or_else(wrong)?),
        None => (call.trim(), ""),
    };
    let tool = our_name(name).into_owned();
    if !is_known(&tool) {
        return Err(NotReady {
            exit: Exit::Usage,
            why: format!("there is no tool {name}; tillerman tool list shows those that there are"),
        });
    }
    let args = match tool.as_str() {
        "shell" => json!({ "command": inside }),
        "fetch_url" if inside.contains("://") => json!({ "url": inside }),
        "fetch_url" => json!({ "url": format!("https://{}", inside.trim_start_matches("domain:")) }),
        "dispatch" | "call_agent" => json!({ "agent": inside }),
        "load_skill" => json!({ "name": inside }),
        _ if inside.is_empty() => json!({}),
        _ => json!({ "path": inside }),
    };
    Ok((tool, args))
}

/// A tool that some agent may have.
pub(super) fn is_known(tool: &str) -> bool {
    tools::groups::names().contains(&tool)
}
