//! One rule of a person: which calls it is about. `Tool`, or `Tool(spec)` in the syntax that many programs share.

use std::fmt;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::carrier;
use super::command::Part;
use crate::tool::our_name;

/// Tools that look at files.
const READERS: &[&str] = &["read_file", "list", "grep", "glob", "scan", "load"];
/// Tools that change files.
const WRITERS: &[&str] = &["edit_file", "write_file", "create_directory"];

/// What a rule says about the calls that it matches. A later one is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It is done.
    Allow,
    /// A person is asked; where there is none, it is refused.
    Ask,
    /// It is refused.
    Deny,
}

/// A rule.
#[derive(Debug, Clone)]
pub struct Rule {
    /// As written.
    pub text: String,
    /// What it says.
    pub verdict: Verdict,
    /// Where it is written.
    pub from: String,
    tools: Tools,
    spec: Spec,
}

/// A rule that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text} is no rule: {why}; write Tool or Tool(what), for example shell(git push:*) or Edit(./src/**)")]
pub struct NoRule {
    text: String,
    why: &'static str,
}

#[derive(Debug, Clone)]
enum Tools {
    Some(Vec<String>),
    /// By a pattern, for the tools of servers.
    Like(GlobMatcher),
}

#[derive(Debug, Clone)]
enum Spec {
    Any,
    /// The command as it is.
    Exact(String),
    /// A command that begins with these words.
    Words(String),
    /// A command like this.
    Like(GlobMatcher, Option<String>),
    Path(Box<Gitignore>, PathBuf),
    Domain(GlobMatcher),
    /// The name of an agent or a skill.
    Name(GlobMatcher),
    /// It matches nothing.
    Dead(&'static str),
}

/// Where paths of rules begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// The folder of the workspace: `./src`.
    pub root: PathBuf,
    /// The person's folder: `~/x`.
    pub home: Option<PathBuf>,
}

impl Rule {
    /// Reads a rule.
    ///
    /// # Errors
    /// [`NoRule`] says what is wrong with it.
    pub fn read(text: &str, verdict: Verdict, from: String, ground: &Ground) -> Result<Rule, NoRule> {
        let wrong = |why| NoRule { text: text.to_owned(), why };
        let whole = text.trim();
        let (name, spec) = match whole.split_once('(') {
            Some((name, rest)) => (
                name.trim(),
                Some(rest.strip_suffix(')').ok_or_else(|| wrong("its parenthesis is not closed"))?.trim()),
            ),
            None => (whole, None),
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || "_-*.:/".contains(c);
        if name.is_empty() || !name.chars().all(fits) {
            return Err(wrong("a tool has a name of letters, digits and _"));
        }
        let tools = tools(name).ok_or_else(|| wrong("its name is no pattern"))?;
        let spec = match (spec, &tools) {
            (None | Some("" | "*"), _) => Spec::Any,
            (Some(spec), Tools::Some(tools)) => read_spec(tools, spec, ground),
            (Some(_), Tools::Like(_)) => Spec::Dead("the tools of servers take no specification"),
        };
        Ok(Rule { text: whole.to_owned(), verdict, from, tools, spec })
    }

    /// Whether it is about this tool at all.
    pub(super) fn names(&self, tool: &str) -> bool {
        match &self.tools {
            Tools::Some(names) => names.iter().any(|name| name == tool),
            Tools::Like(pattern) => pattern.is_match(tool),
        }
    }

    /// Whether it is about all calls of its tools.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.spec, Spec::Any)
    }

    /// Whether it is about this simple command. What is denied or asked is also looked for behind `env`, `sudo` and the like
    /// and by the name of its program alone; what is allowed must be just that.
    pub(super) fn is_about_part(&self, part: &Part) -> bool {
        if self.verdict == Verdict::Allow {
            return !part.more && self.is_about_words(&part.words);
        }
        carrier::runs(&part.words).iter().any(|words| self.is_about_words(words))
    }

    fn is_about_words(&self, words: &[String]) -> bool {
        let text = words.join(" ");
        match &self.spec {
            Spec::Any => true,
            Spec::Exact(command) => text == *command,
            Spec::Words(prefix) => {
                text.strip_prefix(prefix.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            }
            Spec::Like(pattern, bare) => pattern.is_match(&text) || bare.as_ref().is_some_and(|bare| text == *bare),
            Spec::Path(..) | Spec::Domain(_) | Spec::Name(_) | Spec::Dead(_) => false,
        }
    }

    /// Whether it is about this file.
    pub(super) fn is_about_path(&self, path: &Path) -> bool {
        match &self.spec {
            Spec::Any => true,
            Spec::Path(pattern, root) => path.strip_prefix(root).is_ok_and(|below| {
                below.as_os_str().is_empty() && pattern.num_ignores() == 0
                    || !below.as_os_str().is_empty() && pattern.matched_path_or_any_parents(below, false).is_ignore()
            }),
            _ => false,
        }
    }

    /// Whether it is about this host, agent or skill.
    pub(super) fn is_about_name(&self, name: &str) -> bool {
        match &self.spec {
            Spec::Any => true,
            Spec::Domain(pattern) | Spec::Name(pattern) => pattern.is_match(name.to_ascii_lowercase()),
            _ => false,
        }
    }

    /// Whether it is about every call that another rule is about, as far as that is plain to see.
    pub(super) fn covers(&self, other: &Rule) -> bool {
        let same = self.text == other.text;
        let names = match &other.tools {
            Tools::Some(names) => names.iter().all(|name| self.names(name)),
            Tools::Like(_) => same,
        };
        let says = self.is_whole()
            || same
            || matches!((&self.spec, &other.spec), (Spec::Words(a), Spec::Words(b)) if b.strip_prefix(a.as_str()).is_some_and(|rest| rest.starts_with(' ')));
        names && says
    }

    /// Why it never counts, by itself.
    pub(super) fn is_dead(&self, known: &dyn Fn(&str) -> bool) -> Option<String> {
        match (&self.spec, &self.tools) {
            (Spec::Dead(why), _) => Some((*why).to_owned()),
            (_, Tools::Some(names)) if !names.iter().any(|name| known(name) || name.starts_with("mcp__")) => {
                Some(format!("there is no tool {}", names.join(" or ")))
            }
            (_, Tools::Like(pattern)) if !pattern.glob().glob().starts_with("mcp__") => {
                Some("a pattern of names must begin with mcp__ and a server".to_owned())
            }
            (_, Tools::Like(pattern))
                if self.verdict == Verdict::Allow && pattern.glob().glob().starts_with("mcp__*") =>
            {
                Some("a pattern that allows must name its server: mcp__server__*".to_owned())
            }
            _ => None,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.verdict, self.text, self.from)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
        })
    }
}

/// The tools that a name of a rule means: `Read` every one that reads, `Edit` and `Write` every one that writes, any
/// other the one that is called so.
fn tools(name: &str) -> Option<Tools> {
    if name.contains('*') {
        return Some(Tools::Like(glob(name)?));
    }
    let all = |names: &[&str]| Tools::Some(names.iter().map(|name| (*name).to_owned()).collect());
    Some(match name {
        "Read" | "read" => all(READERS),
        "Edit" | "edit" | "Write" | "write" | "MultiEdit" => all(WRITERS),
        "Agent" | "Task" | "agent" | "task" => all(&["dispatch", "call_agent"]),
        _ if name.starts_with("mcp__") => all(&[name]),
        _ => all(&[&our_name(name)]),
    })
}

fn read_spec(tools: &[String], spec: &str, ground: &Ground) -> Spec {
    let tool = tools.first().map_or("", String::as_str);
    match tool {
        "shell" => of_command(spec),
        _ if READERS.contains(&tool) || WRITERS.contains(&tool) => of_path(spec, ground),
        "fetch_url" => match spec.strip_prefix("domain:").map(str::trim) {
            Some(domain) => {
                glob(&domain.to_ascii_lowercase()).map_or(Spec::Dead("its domain is no pattern"), Spec::Domain)
            }
            None => Spec::Dead("an address is named by its domain: WebFetch(domain:example.com)"),
        },
        "dispatch" | "load_skill" => {
            glob(&spec.to_ascii_lowercase()).map_or(Spec::Dead("its name is no pattern"), Spec::Name)
        }
        _ => Spec::Dead("this tool takes no specification; name it alone"),
    }
}

fn of_command(spec: &str) -> Spec {
    let spec = spec.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(prefix) = spec.strip_suffix(":*") {
        return Spec::Words(prefix.trim_end().to_owned());
    }
    if spec.starts_with("command:") || spec.starts_with("cmd:") {
        return Spec::Dead("a command stands there as it is typed, without a name before it");
    }
    if !spec.contains('*') {
        return Spec::Exact(spec);
    }
    let bare = spec.strip_suffix(" *").filter(|bare| !bare.contains('*')).map(str::to_owned);
    glob(&spec).map_or(Spec::Dead("it is no pattern"), |pattern| Spec::Like(pattern, bare))
}

/// As in a .gitignore: `//abs` from the root of the system, `~/x` from the home, all else from the workspace.
fn of_path(spec: &str, ground: &Ground) -> Spec {
    let (root, pattern) = if let Some(rest) = spec.strip_prefix("//") {
        (PathBuf::from("/"), format!("/{rest}"))
    } else if let Some(rest) = spec.strip_prefix("~/") {
        let Some(home) = &ground.home else { return Spec::Dead("nobody knows the home that ~ means") };
        (home.clone(), format!("/{rest}"))
    } else if let Some(rest) = spec.strip_prefix("./") {
        (ground.root.clone(), format!("/{rest}"))
    } else {
        (ground.root.clone(), spec.to_owned())
    };
    if spec.contains("://") || spec.starts_with("domain:") || spec.starts_with('!') {
        return Spec::Dead("it is no path");
    }
    // A folder stands for all that is in it.
    let mut builder = GitignoreBuilder::new("");
    let pattern = pattern.strip_suffix("/**").map_or(pattern.clone(), str::to_owned);
    match builder.add_line(None, &pattern).and_then(|builder| builder.build()) {
        Ok(built) if built.num_ignores() > 0 => Spec::Path(Box::new(built), root),
        Ok(_) | Err(_) if pattern.is_empty() || pattern == "/" || pattern == "**" => Spec::Any,
        Ok(_) | Err(_) => Spec::Dead("it is no pattern of paths"),
    }
}

fn glob(pattern: &str) -> Option<GlobMatcher> {
    // Only the star is special: commands have brackets of their own.
    let mut plain = String::new();
    for c in pattern.chars() {
        match c {
            '*' => plain.push('*'),
            '?' | '[' | ']' | '{' | '}' | '!' | '\\' => plain.extend(['\\', c]),
            c => plain.push(c),
        }
    }
    GlobBuilder::new(&plain)
        .literal_separator(false)
        .backslash_escape(true)
        .build()
        .ok()
        .map(|glob| glob.compile_matcher())
}
