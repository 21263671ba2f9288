//! Which tools there are, in groups, and which of them agents have: what the setting `tools` means. What the tools do
//! is told in their own rooms, here and in those that a tool commands.

use std::collections::BTreeSet;

use crate::tool::our_name;

/// Tools that are switched on and off together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// The word for it.
    pub name: &'static str,
    /// Its tools, sorted.
    pub tools: &'static [&'static str],
    /// On unless somebody says otherwise. Every word of these is read by a model with each request.
    pub usual: bool,
}

/// All groups. A new tool has its name here and, if it is made here, a line in `make`.
pub const GROUPS: &[Group] = &[
    usual("core", &["edit_file", "grep", "list", "load", "read_file", "scan", "shell", "write_file"]),
    usual("crew", &["abort", "answer", "ask", "call_agent", "dispatch", "note", "resume", "steer", "tasks"]),
    usual("escalation", &["escalate"]),
    usual("history", &["history_read", "history_search"]),
    usual("skills", &["load_skill"]),
    extra("basics", &["calculator", "current_time", "system_info"]),
    extra("web", &["fetch_url"]),
    extra("files", &["create_directory", "glob"]),
    extra("jobs", &["jobs"]),
    extra("knowledge", &["search_knowledge"]),
    extra("notes", &["search_notes"]),
    extra("python", &["python"]),
    extra("todo", &["todo"]),
];

/// Most names that are proposed in place of a wrong one.
const NEAR: usize = 3;

/// A word that names neither a tool nor a group.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no tool or group {name}; {}", remedy(near))]
pub struct NoSuchTool {
    /// As written, without its sign.
    pub name: String,
    /// Those that somebody may have meant.
    pub near: Vec<&'static str>,
}

/// The tools that agents have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enabled {
    on: BTreeSet<&'static str>,
    /// Off, but for a role that names them.
    on_demand: BTreeSet<&'static str>,
    /// Somebody asked for notes.
    notes: bool,
}

const fn usual(name: &'static str, tools: &'static [&'static str]) -> Group {
    Group { name, tools, usual: true }
}

const fn extra(name: &'static str, tools: &'static [&'static str]) -> Group {
    Group { name, tools, usual: false }
}

/// The names of all tools, sorted.
pub fn names() -> Vec<&'static str> {
    all().into_iter().collect()
}

fn all() -> BTreeSet<&'static str> {
    GROUPS.iter().flat_map(|group| group.tools).copied().collect()
}

impl Enabled {
    /// What a list of words means: names of tools, ours or another program's; names of groups; `default` for those that
    /// are usual and `all`. A sign may stand before each: `-` leaves out, whatever else is said; a list that begins with
    /// a sign changes the usual set. A list that names neither the usual set nor a change of it bars all other tools.
    ///
    /// # Errors
    /// [`NoSuchTool`] for the first word that names nothing.
    pub fn read<S: AsRef<str>>(words: &[S]) -> Result<Enabled, NoSuchTool> {
        let is_change = words.first().is_some_and(|word| word.as_ref().trim().starts_with(['+', '-']));
        let mut on = if is_change { of_group("default") } else { BTreeSet::new() };
        let (mut out, mut open) = (BTreeSet::new(), is_change);
        let mut notes = false;
        for word in words.iter().map(|word| word.as_ref().trim()) {
            let (name, less) = match word.strip_prefix('-') {
                Some(name) => (name, true),
                None => (word.strip_prefix('+').unwrap_or(word), false),
            };
            open |= name == "default" && !less;
            let mut named = meant(name.trim())?;
            // The usual set has `note`, too: for agents with a name.
            notes |= !less && (named.contains("search_notes") || named.iter().eq(&["note"]));
            if less { &mut out } else { &mut on }.append(&mut named);
        }
        on.retain(|name| !out.contains(name));
        let on_demand = all().into_iter().filter(|name| open && !on.contains(name) && !out.contains(name));
        Ok(Enabled { on_demand: on_demand.collect(), on, notes })
    }

    /// An agent has the tool without asking.
    pub fn has(&self, name: &str) -> bool {
        self.on.contains(name)
    }

    /// An agent has the tool if its role names it.
    pub fn has_on_demand(&self, name: &str) -> bool {
        self.on.contains(name) || self.on_demand.contains(name)
    }

    /// A main agent keeps notes, too: the group `notes` was asked for, or one of the tools that make and find them.
    pub fn has_notes(&self) -> bool {
        self.notes && self.has("note")
    }

    /// Some tool is on that is usually off.
    pub fn is_wider_than_usual(&self) -> bool {
        !self.on.is_subset(&of_group("default"))
    }
}

impl Default for Enabled {
    /// The usual tools.
    fn default() -> Enabled {
        let on = of_group("default");
        Enabled { on_demand: all().difference(&on).copied().collect(), on, notes: false }
    }
}

fn of_group(name: &str) -> BTreeSet<&'static str> {
    let is_meant = |group: &&Group| match name {
        "all" | "*" => true,
        "default" => group.usual,
        name => group.name == name,
    };
    // Agents with a name usually have it, so it is listed with what is usual.
    let note = (name == "notes").then_some("note");
    GROUPS.iter().filter(is_meant).flat_map(|group| group.tools).copied().chain(note).collect()
}

fn meant(word: &str) -> Result<BTreeSet<&'static str>, NoSuchTool> {
    let group = of_group(&word.to_ascii_lowercase());
    if !group.is_empty() {
        return Ok(group);
    }
    let ours = our_name(word);
    let tool = all().into_iter().find(|name| *name == ours);
    tool.map(|name| [name].into()).ok_or_else(|| NoSuchTool { name: word.to_owned(), near: near(word) })
}

/// Names that differ by few letters or begin the same, the nearest first.
fn near(word: &str) -> Vec<&'static str> {
    let word: String = word.chars().take(64).map(|c| if c == '-' { '_' } else { c.to_ascii_lowercase() }).collect();
    let known = all().into_iter().chain(GROUPS.iter().map(|group| group.name));
    let off = |name: &'static str| (strsim::levenshtein(&word, name), name);
    let is_near = |(off, name): &(usize, &str)| {
        let begins = word.len() > 2 && (name.starts_with(&word) || word.starts_with(name));
        begins || (*off <= 2 && *off < word.len().min(name.len()))
    };
    let mut found: Vec<_> = known.map(off).filter(is_near).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(NEAR).map(|(_, name)| name).collect()
}

fn remedy(near: &[&str]) -> String {
    match near {
        [] => {
            let groups: Vec<&str> = GROUPS.iter().map(|group| group.name).collect();
            format!("there are the groups default, all, {}; `tillerman tool list` shows every tool", groups.join(", "))
        }
        near => format!("did you mean {}?", near.join(" or ")),
    }
}
