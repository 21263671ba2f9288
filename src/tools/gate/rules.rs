//! All rules together: what they say about a call. First what is denied, then what is asked, then what is allowed; the first
//! that matches counts, however special it is.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::command::{self, Parts};
use super::rule::{Ground, Rule, Verdict};
use super::{carrier, hazard};

/// The rules of all places.
#[derive(Debug, Clone)]
pub struct Rules {
    rules: Vec<Rule>,
    /// What holds where no rule says anything.
    otherwise: Verdict,
    ground: Ground,
}

/// What the rules say about a call.
#[derive(Debug, Clone)]
pub struct Judged<'a> {
    /// It.
    pub verdict: Verdict,
    /// The rule that says so; `None` when none matches.
    pub rule: Option<&'a Rule>,
    /// In a few words.
    pub why: String,
}

/// A rule that never counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dead {
    /// The rule and where it is written.
    pub rule: String,
    /// Why.
    pub why: String,
}

impl Rules {
    /// Rules in order of their places; `otherwise` holds where none says anything.
    pub fn new(mut rules: Vec<Rule>, otherwise: Verdict, ground: Ground) -> Rules {
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.verdict));
        Rules { rules, otherwise, ground }
    }

    /// Nothing is said about anything.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.otherwise == Verdict::Allow
    }

    /// All of them, in the order in which they count.
    pub fn all(&self) -> &[Rule] {
        &self.rules
    }

    /// What holds where no rule says anything.
    pub fn otherwise(&self) -> Verdict {
        self.otherwise
    }

    /// Whether calls of this tool must be judged at all.
    pub fn concern(&self, tool: &str) -> bool {
        tool == "shell" || self.hold_back(tool)
    }

    /// Whether anybody wants calls of this tool asked about or denied.
    pub(super) fn hold_back(&self, tool: &str) -> bool {
        self.otherwise != Verdict::Allow
            || self.rules.iter().any(|rule| rule.verdict != Verdict::Allow && rule.names(tool))
    }

    /// What they say about a call of one of our tools, with the arguments that it has. `base` is where paths begin.
    pub fn judge(&self, tool: &str, args: &Value, base: &Path) -> Judged<'_> {
        let text = |names: &[&str]| names.iter().find_map(|name| args.get(name)?.as_str());
        match tool {
            "shell" => self.judge_command(text(&["command", "cmd", "script"]).unwrap_or_default()),
            "fetch_url" => {
                let host = text(&["url"]).and_then(|url| url::Url::parse(url).ok()?.host_str().map(str::to_owned));
                self.first(tool, |rule| rule.is_about_name(host.as_deref().unwrap_or_default()))
            }
            "dispatch" | "call_agent" => {
                let name = text(&["agent", "name"]).unwrap_or("worker").to_owned();
                self.first(tool, |rule| rule.is_about_name(&name))
            }
            // Whoever is to do more than the walls allow asks each time, whatever is allowed.
            "escalate" => match self.first(tool, Rule::is_whole) {
                judged if judged.verdict == Verdict::Deny => judged,
                judged => Judged { verdict: Verdict::Ask, why: "a person is asked each time".to_owned(), ..judged },
            },
            "load_skill" => {
                let name = text(&["name", "skill"]).unwrap_or_default().to_owned();
                self.first(tool, |rule| rule.is_about_name(&name))
            }
            _ => {
                let path = text(&["path", "file", "file_path", "folder", "directory"]).unwrap_or(".");
                let ways = self.ways(path, base);
                self.first(tool, |rule| match rule.verdict {
                    // All names of a file must be allowed, and none denied.
                    Verdict::Allow => ways.iter().all(|way| rule.is_about_path(way)),
                    Verdict::Ask | Verdict::Deny => ways.iter().any(|way| rule.is_about_path(way)),
                })
            }
        }
    }

    fn first(&self, tool: &str, matches: impl Fn(&Rule) -> bool) -> Judged<'_> {
        match self.rules.iter().find(|rule| rule.names(tool) && matches(rule)) {
            Some(rule) => Judged { verdict: rule.verdict, rule: Some(rule), why: rule.to_string() },
            None => self.none(),
        }
    }

    fn none(&self) -> Judged<'_> {
        let why = match self.otherwise {
            Verdict::Allow => "no rule; the walls decide",
            Verdict::Ask | Verdict::Deny => "no rule allows it",
        };
        Judged { verdict: self.otherwise, rule: None, why: why.to_owned() }
    }

    /// The strictest verdict of its parts. What is not understood is asked, wherever a rule might be about it.
    fn judge_command(&self, text: &str) -> Judged<'_> {
        let of_shell = || self.rules.iter().filter(|rule| rule.names("shell"));
        if let Some(rule) = of_shell().find(|rule| rule.is_whole() && rule.verdict == Verdict::Deny) {
            return Judged { verdict: rule.verdict, rule: Some(rule), why: rule.to_string() };
        }
        let Parts { parts, unclear } = command::parts(text);
        let each = parts.iter().map(|part| self.first("shell", |rule| rule.is_about_part(part)));
        let strictest = each.max_by_key(|judged| judged.verdict).unwrap_or_else(|| self.first("shell", Rule::is_whole));
        let whole = of_shell().find(|rule| rule.is_whole() && rule.verdict == Verdict::Allow);
        let may_hide = self.otherwise != Verdict::Allow && whole.is_none()
            || of_shell().any(|rule| rule.verdict != Verdict::Allow && !rule.is_whole());
        match unclear {
            Some(why) if may_hide && strictest.verdict < Verdict::Ask => {
                Judged { verdict: Verdict::Ask, rule: None, why: format!("the command is not understood: {why}") }
            }
            Some(_) | None if strictest.verdict == Verdict::Allow && strictest.rule.is_none() => {
                let runs = |part: &command::Part| {
                    carrier::runs(&part.words).iter().find_map(|words| hazard::of_part(part, words))
                };
                match hazard::of_text(text).or_else(|| parts.iter().find_map(runs)) {
                    Some(why) => {
                        Judged { verdict: Verdict::Ask, rule: None, why: format!("{why}, and no rule allows it") }
                    }
                    None => strictest,
                }
            }
            Some(_) | None => strictest,
        }
    }

    /// The names of a file: as it is asked for, and where links lead. A name outside of all folders is kept as it is.
    fn ways(&self, path: &str, base: &Path) -> Vec<PathBuf> {
        let path = match (path.strip_prefix("~/"), &self.ground.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(path),
        };
        let plain = plain(&path);
        let settled = crate::workspace::policy::settled(&plain);
        if settled == plain { vec![plain] } else { vec![plain, settled] }
    }

    /// Rules that never count: of tools that there are not, of shapes that match nothing, behind a stricter rule that says
    /// all of it.
    pub fn dead(&self, known: &dyn Fn(&str) -> bool) -> Vec<Dead> {
        let dead = self.rules.iter().enumerate().filter_map(|(at, rule)| {
            let own = rule.is_dead(known);
            let before = || {
                let before = self.rules[..at].iter().find(|before| before.covers(rule))?;
                Some(format!("{before} comes first and says all of it"))
            };
            Some(Dead { rule: rule.to_string(), why: own.or_else(before)? })
        });
        dead.collect()
    }
}

/// Without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}
