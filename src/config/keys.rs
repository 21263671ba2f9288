//! The settings there are: names, defaults, and which of them a stranger's workspace may set. Their meaning is in `checked`.

/// A setting.
pub(super) struct Key {
    /// As it is written in files; in the environment `TILLERMAN_` and the name in capitals.
    pub(super) name: &'static str,
    /// Its value as YAML when nobody sets it; `None` when it is then absent.
    pub(super) default: Option<&'static str>,
    /// A workspace may set it before a person trusts that workspace: it can neither reach a strange address, nor lift
    /// a limit, nor cost more.
    pub(super) harmless: bool,
}

/// All settings, in the order in which they are shown.
pub(super) const KEYS: &[Key] = &[
    key("provider", None, true),
    key("model", None, true),
    key("worker_model", None, false),
    key("compaction_model", None, false),
    key("titles", Some("on"), false),
    key("title_model", None, false),
    key("fallback", None, false),
    key("base_url", None, false),
    key("max_tokens", Some("4096"), true),
    key("context_window", None, true),
    key("temperature", None, true),
    key("effort", None, false),
    key("protocol", Some("auto"), true),
    key("compaction", Some("default"), false),
    key("compact_at", None, false),
    key("compact_when", None, false),
    key("compact_keep", None, false),
    key("summary_role", None, false),
    key("summary_length", None, false),
    key("compact_archive", None, false),
    key("max_turns", Some("off"), false),
    key("worker_max_turns", Some("100"), false),
    key("flat_turns", Some("4"), false),
    key("worker_approval", Some("deny"), false),
    key("worker_usd", None, false),
    key("worker_tokens", None, false),
    key("worker_minutes", None, false),
    key("fleet_usd", None, false),
    key("fleet_tokens", None, false),
    key("fleet_minutes", None, false),
    key("fleet_turns", None, false),
    key("workers", Some("8"), false),
    key("queue", Some("1024"), false),
    key("depth", Some("1"), false),
    key("agents", Some("on"), false),
    key("agents_folder", None, false),
    key("authority", None, false),
    key("parallel_tools", Some("true"), true),
    key("steer_boundary", Some("call"), true),
    key("keep_follow_ups", Some("false"), true),
    key("tools", Some("default"), true),
    key("fetch_hosts", None, false),
    key("shell_timeout", None, false),
    key("at_deadline", Some("background"), false),
    key("output", Some("default"), true),
    key("retry_patience", Some("120"), false),
    key("permissions", None, false),
    key("profile", Some("workspace-write"), false),
    key("network", Some("off"), false),
    key("durability", Some("turn"), false),
    key("disk_quota", Some("2048"), false),
    key("nesting", Some("0"), false),
    key("theme", Some("ansi"), true),
];

/// What any Markdown file may say about itself; no setting and no mistake.
const ABOUT: [&str; 4] = ["name", "title", "description", "tags"];

const fn key(name: &'static str, default: Option<&'static str>, harmless: bool) -> Key {
    Key { name, default, harmless }
}

/// The names of all settings, in the order in which they are shown.
pub fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.name)
}

pub(super) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

pub(super) fn is_about(name: &str) -> bool {
    ABOUT.contains(&name)
}

/// The name of a setting in the environment.
pub(super) fn variable(key: &Key) -> String {
    format!("TILLERMAN_{}", key.name.to_ascii_uppercase())
}

/// The setting that somebody may have meant.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let name: String = name.chars().take(64).map(|c| if c == '-' { '_' } else { c.to_ascii_lowercase() }).collect();
    let near = |key: &Key| (strsim::levenshtein(&name.replace('_', ""), &key.name.replace('_', "")), key.name);
    let (off, found) = KEYS.iter().map(near).min()?;
    (off <= 2 && off < name.len()).then_some(found)
}
