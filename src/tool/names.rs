//! Names under which other programs know our tools, and ours for them. Which tools there are is not known here.

use std::borrow::Cow;

/// What others write, in small letters, and what we call it. A model that was trained on another runtime calls its
/// tools, a rule or a role file may name them; they are understood and never advertised. Where a name stands twice, the
/// second tool is meant when the first is not there.
const ALIASES: &[(&str, &str)] = &[
    ("add_todo_item", "todo"),
    ("agent", "dispatch"),
    ("bash", "shell"),
    ("bash_output", "jobs"),
    ("bashoutput", "jobs"),
    ("create_file", "write_file"),
    ("create_todo_list", "todo"),
    ("edit", "edit_file"),
    ("exec", "shell"),
    ("execute_command", "shell"),
    ("fetch", "fetch_url"),
    ("get_current_time", "current_time"),
    ("glob", "glob"),
    ("glob", "list"),
    ("grep", "grep"),
    ("knowledge_search", "search_knowledge"),
    ("list", "list"),
    ("list_dir", "list"),
    ("list_directory", "list"),
    ("list_files", "list"),
    ("list_files_recursive", "list"),
    ("ls", "list"),
    ("mark_item_complete", "todo"),
    ("mkdir", "create_directory"),
    ("multiedit", "edit_file"),
    ("python", "python"),
    ("python_repl", "python"),
    ("read", "read_file"),
    ("recall_notes", "note"),
    ("record_note", "note"),
    ("replace", "edit_file"),
    ("replace_text", "edit_file"),
    ("run_python", "python"),
    ("run_shell_command", "shell"),
    ("search_files", "grep"),
    ("search_knowledge_base", "search_knowledge"),
    ("search_memory", "search_notes"),
    ("sh", "shell"),
    ("shell", "shell"),
    ("skill", "load_skill"),
    ("str_replace", "edit_file"),
    ("task", "dispatch"),
    ("terminal", "shell"),
    ("view_todo_list", "todo"),
    ("web_fetch", "fetch_url"),
    ("webfetch", "fetch_url"),
    ("write", "write_file"),
];

/// Our name of the tool that somebody calls `name`: in any capitals (`Bash`), behind a namespace (`functions.bash`).
/// A name that is nobody's stays as it is.
pub fn our_name(name: &str) -> Cow<'_, str> {
    let bare = bare(name);
    let found = ALIASES.iter().find(|(alias, _)| *alias == bare);
    found.map_or(Cow::Borrowed(name), |(_, ours)| Cow::Borrowed(*ours))
}

/// The other names of a tool of ours, for people to look up.
pub fn aliases(ours: &str) -> impl Iterator<Item = &'static str> {
    ALIASES.iter().filter(move |(alias, name)| *name == ours && alias != name).map(|(alias, _)| *alias)
}

/// Everything that `bare` may mean, the likeliest first.
pub(super) fn meanings(bare: &str) -> impl Iterator<Item = &'static str> {
    ALIASES.iter().filter(move |(alias, _)| *alias == bare).map(|(_, ours)| *ours)
}

/// Without a namespace, in small letters.
pub(super) fn bare(name: &str) -> String {
    name.rsplit(['.', ':', '/']).next().unwrap_or(name).trim().to_ascii_lowercase()
}
