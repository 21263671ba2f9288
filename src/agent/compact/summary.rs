//! What is kept of messages that are replaced: a transcript for the model that sums up, and facts that the program
//! takes from them itself. When that happens, and what becomes of it, is in `mod`.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;

use super::policy::Compacting;
use super::wishes;
use crate::agent::fit::cut_middle;
use crate::message::{Block, CallId, Message, Role, ToolCall};
use crate::session::{Carried, Kind, Origin};
use crate::tool::Toolbox;

/// The system prompt of the model call that sums up.
pub(super) const PROMPT: &str = include_str!("summary.md");

/// The parts that the program adds to a summary.
const SAID: &str = "\n\n[What people said, word for word]";
const READ: &str = "\n\n[Files read]";
const CHANGED: &str = "\n\n[Files changed]";

/// What the message begins with that is rendered from the disk.
pub(super) const LEDGER: &str = "[Kept by the program, read from the disk just now]";

/// Most bytes of one output, and of one call's arguments, in a transcript.
const OUTPUT: usize = 2_000;
const ARGS: usize = 600;

/// Most bytes of one line of a person, and of all of them, that are kept word for word.
const LINE: usize = 4_000;
const LINES: usize = 20_000;

/// Most files of a kind that are named.
const FILES: usize = 200;

/// Whether a message is rendered from the disk, so that an old one says nothing any more.
pub(super) fn is_ledger(message: &Message) -> bool {
    matches!(message.blocks.as_slice(), [Block::Text { text }] if text.starts_with(LEDGER))
}

/// The conversation as text, at most so many bytes.
pub(super) fn transcript(messages: &[Arc<Message>], most: usize) -> String {
    let mut text = String::new();
    for message in messages.iter().filter(|message| !is_ledger(message)) {
        let who = match message.role {
            Role::User => "User",
            Role::Assistant => "Assistant",
        };
        // What a tool showed is told by its words.
        for (block, _) in message.parts() {
            // Writing to a string cannot fail.
            let _ = match block {
                Block::Text { text: said } => write!(text, "{who}: {}\n\n", own_words(said)),
                Block::Call(call) => {
                    write!(text, "[calls {} {}]\n\n", call.name, cut_middle(call.args.0.clone(), ARGS))
                }
                Block::Result(result) => {
                    let how = if result.is_error { "failed" } else { "answered" };
                    write!(text, "[{how}: {}]\n\n", cut_middle(result.output.clone(), OUTPUT))
                }
                Block::Image(image) => write!(text, "[{who} shows a picture, {}]\n\n", image.media_type),
                Block::Thinking(_) => Ok(()),
            };
        }
    }
    cut_middle(text, most)
}

/// An earlier summary without what the program added to it; any other text as it is.
fn own_words(text: &str) -> &str {
    if !Compacting::NAMED.iter().any(|(_, policy)| text.starts_with(policy.heading)) {
        return text;
    }
    let added = [SAID, READ, CHANGED].iter().filter_map(|title| text.find(title)).min();
    added.map_or(text, |at| &text[..at])
}

/// Adds to what was carried so far the facts of messages that are now replaced.
pub(super) fn carry(carried: &mut Carried, messages: &[Arc<Message>], origins: &[Origin], tools: &Toolbox) {
    let failed: HashSet<&CallId> = messages
        .iter()
        .flat_map(|message| message.results())
        .filter(|result| result.is_error)
        .map(|r| &r.call)
        .collect();
    // What stands in an earlier beginning was carried when it came there.
    for (message, origin) in messages.iter().zip(origins).filter(|(_, origin)| !origin.headed) {
        if matches!(origin.kind, Kind::User | Kind::Note) {
            let said = message.text();
            wishes::find(&mut carried.wishes, origin.entry, &said);
            carried.said.push(cut_middle(said, LINE));
        }
        for call in message.calls().filter(|call| !failed.contains(&call.id)) {
            let Some((path, read_only)) = file(call, tools) else { continue };
            let files = if read_only { &mut carried.read } else { &mut carried.written };
            if !files.contains(&path) {
                files.push(path);
            }
        }
    }
    for files in [&mut carried.read, &mut carried.written] {
        files.drain(..files.len().saturating_sub(FILES));
    }
    shorten(&mut carried.said);
}

/// The file that a call is about, and whether it only looks at it.
fn file(call: &ToolCall, tools: &Toolbox) -> Option<(String, bool)> {
    let spec = tools.find(&call.name)?.spec();
    let args: Value = serde_json::from_str(&call.args.0).ok()?;
    let path = ["path", "file_path", "file"].iter().find_map(|name| args.get(name)?.as_str())?;
    let is_file = !matches!(path, "" | "." | ".." | "/");
    is_file.then(|| (path.to_owned(), spec.read_only))
}

/// The first line is the task and the last are the newest wishes; when there are too many, the middle goes.
fn shorten(said: &mut Vec<String>) {
    let mut total: usize = said.iter().map(String::len).sum();
    while total > LINES && said.len() > 2 {
        total -= said.remove(1).len();
    }
}

/// A summary as it stands in the conversation; with the facts below it where the settings ask for them.
pub(super) fn head(policy: &Compacting, summary: &str, carried: &Carried) -> Message {
    let mut text = format!("{}\n{}", policy.heading, short(summary.trim(), policy.most));
    if policy.quotes && !carried.said.is_empty() {
        text.push_str(SAID);
        for line in &carried.said {
            let _ = write!(text, "\n- {}", line.replace('\n', "\n  "));
        }
    }
    for (title, files) in [(READ, &carried.read), (CHANGED, &carried.written)] {
        if policy.files && !files.is_empty() {
            let _ = write!(text, "{title}\n{}", files.join("\n"));
        }
    }
    Message { role: policy.role, blocks: vec![Block::text(text)] }
}

/// At most so many characters, cut visibly.
fn short(text: &str, most: Option<usize>) -> String {
    match most {
        Some(most) if text.chars().count() > most => {
            text.chars().take(most.saturating_sub(1)).chain(std::iter::once('…')).collect()
        }
        _ => text.to_owned(),
    }
}
