//! Reads a runbook out of a brief: which commands, in which order. Running them is not here.

/// Most steps of a runbook; what is beyond is not read.
const MAX_STEPS: usize = 500;

/// The commands of a brief, in order.
///
/// A step is a fenced `sh`, `bash`, `shell` or `console` block, or an open checklist item `- [ ] command`; a ticked
/// item is no step. A text of nothing but list items is a runbook too. Any other list is prose and never executed.
pub(super) fn steps(brief: &str) -> Vec<String> {
    let marked = marked(brief);
    let steps = if marked.is_empty() { listed(brief) } else { marked };
    steps.into_iter().filter(|step| !step.is_empty()).take(MAX_STEPS).collect()
}

fn marked(brief: &str) -> Vec<String> {
    let mut steps = Vec::new();
    let mut lines = brief.lines();
    while let Some(line) = lines.next() {
        if let Some((fence, kind)) = fence(line) {
            let inside: Vec<&str> = lines.by_ref().take_while(|line| !closes(line, fence)).collect();
            if matches!(kind, "sh" | "bash" | "shell" | "console") {
                steps.push(script(&inside));
            }
        } else if let Some(item) = open_item(line) {
            steps.push(command(item).to_owned());
        }
    }
    steps
}

/// A text whose every line is a list item; headings may stand between.
fn listed(brief: &str) -> Vec<String> {
    let lines = brief.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let items: Option<Vec<&str>> = lines.map(item).collect();
    let open =
        items.unwrap_or_default().into_iter().filter(|item| !item.starts_with("[x]") && !item.starts_with("[X]"));
    open.map(|item| command(item).to_owned()).collect()
}

/// The marks that open a fenced block, and what is in it.
fn fence(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(mark).len();
    let (fence, kind) = line.split_at(length);
    let kind = kind.split_whitespace().next().unwrap_or_default();
    (length >= 3).then_some((fence, kind))
}

fn closes(line: &str, fence: &str) -> bool {
    let line = line.trim();
    line.starts_with(fence) && line.trim_start_matches(fence.get(..1).unwrap_or_default()).is_empty()
}

/// A block as one script; prompts as in a console log are taken off.
fn script(lines: &[&str]) -> String {
    let bare = lines.iter().map(|line| line.strip_prefix("$ ").unwrap_or(line));
    bare.collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn open_item(line: &str) -> Option<&str> {
    item(line.trim())?.strip_prefix("[ ]").map(str::trim)
}

fn item(line: &str) -> Option<&str> {
    let bulleted = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark));
    bulleted.or_else(|| {
        let (number, rest) = line.split_once(['.', ')'])?;
        let counts = !number.is_empty() && number.len() < 4 && number.bytes().all(|b| b.is_ascii_digit());
        rest.strip_prefix(' ').filter(|_| counts)
    })
}

/// The command in an item: all of it, or the code at its end, as in "count: `wc -l a`"; a "run" before it is a word to us.
pub(super) fn command(item: &str) -> &str {
    let item = item.trim();
    let item = item.strip_prefix("run ").map_or(item, str::trim_start);
    match item.strip_suffix('`').and_then(|rest| rest.split_once('`')) {
        Some((before, code)) if !code.contains('`') && (before.is_empty() || before.trim_end().ends_with(':')) => code,
        Some(_) | None => item,
    }
}
