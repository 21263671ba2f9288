//! Who answers and what it has in view: the models that can be chosen, and what fills the window. Pure text.

use std::path::Path;

use super::inquiry::row;
use crate::config::Config;
use crate::model::provider::Provider;
use crate::runtime::{Filled, Filling, Status, Window};
use crate::terminal::{Look, story};

/// Columns of a number of tokens.
const TOKENS: usize = 7;

/// The model that answers, and those of the providers whose keys are at hand.
pub(super) fn models(status: &Status, config: &Config, look: Look, width: usize) -> Vec<String> {
    let effort = status.effort.map(|effort| format!(", effort {}", effort.word())).unwrap_or_default();
    let mut lines = vec![format!("{}{effort}", look.name(&status.model))];
    for provider in usable(config) {
        let names: Vec<&str> = provider.models.iter().map(|model| model.id.as_str()).collect();
        lines.push(row(&provider.id, &names.join(" "), look, width));
    }
    if lines.len() == 1 {
        lines.push("no provider has a key here; set one, for example ANTHROPIC_API_KEY, and start again".to_owned());
    }
    lines.push(look.dim("/model PROVIDER/MODEL lets one answer; `tillerman models` tells of all"));
    lines
}

/// Providers that can be asked.
pub(super) fn usable(config: &Config) -> impl Iterator<Item = &Provider> {
    config.models.providers().filter(|provider| config.models.key_variable(&provider.id).is_some())
}

/// What fills the window, part by part.
pub(super) fn context(window: &Window, root: &Path, look: Look, width: usize) -> Vec<String> {
    let counted = match window.used {
        0 => "nothing counted yet".to_owned(),
        used => format!("{} of it used, {}", story::count(used), story::share(used, window.holds)),
    };
    let mut lines = vec![format!("{}  {}, {counted}", look.name(&window.model), story::count(window.holds))];
    let line = |tokens: u64, what: &str, more: &str| {
        let gap = TOKENS.saturating_sub(story::count(tokens).len());
        format!("{:gap$}{}  {}", "", story::count(tokens), row(what, more, look, width.saturating_sub(TOKENS + 2)))
    };
    for part in window.parts.iter().filter(|part| part.what == Filled::Prompt) {
        let path = part.path.as_ref().map(|path| path.strip_prefix(root).unwrap_or(path).display().to_string());
        let name = if part.name.is_empty() { "Prompt" } else { &part.name };
        lines.push(line(part.tokens, name, &path.unwrap_or_default()));
    }
    let tools: Vec<&Filling> = window.parts.iter().filter(|part| part.what == Filled::Tool).collect();
    if !tools.is_empty() {
        lines.push(line(tools.iter().map(|tool| tool.tokens).sum(), &format!("{} tools", tools.len()), "/tools"));
    }
    for part in &window.parts {
        let what = match part.what {
            Filled::Prompt | Filled::Tool => continue,
            Filled::Summary => "Summary",
            Filled::Said => "What was said",
            Filled::Replies => "Replies",
            Filled::Results => "Results of tools",
        };
        lines.push(line(part.tokens, what, ""));
    }
    let filled: u64 = window.parts.iter().map(|part| part.tokens).sum();
    lines.push(line(window.reply, "Kept for a reply", ""));
    lines.push(line(window.holds.saturating_sub(filled + window.reply), "Free", ""));
    lines
}
