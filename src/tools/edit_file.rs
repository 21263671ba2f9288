//! The tool `edit_file`: pieces of a file replaced by others, all or none, if each is there exactly once and known. How
//! the change is shown to people is in `diff`.

mod diff;

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::files;
use super::read_log::{ReadLog, Sight};
use crate::message::RawArgs;
use crate::tool::{Signature, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use crate::workspace::policy::PathPolicy;

/// Line numbers named in an error.
const PLACES: usize = 8;
/// Pieces replaced by one call.
const MOST: usize = 100;
/// What other runtimes call our fields.
const NAMES: &[(&str, &str)] = &[
    ("file_path", "path"),
    ("file", "path"),
    ("filename", "path"),
    ("old_string", "old_text"),
    ("old_str", "old_text"),
    ("new_string", "new_text"),
    ("new_str", "new_text"),
];

/// The same for all agents: compiled once, whoever uses it.
pub(super) static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("edit_file", include_str!("edit_file.md"), false).understanding(NAMES));

#[derive(Deserialize, JsonSchema)]
struct Args {
    path: String,
    old_text: Option<String>,
    new_text: Option<String>,
    edits: Option<Vec<Edit>>,
}

#[derive(Deserialize, JsonSchema)]
struct Edit {
    old_text: String,
    new_text: String,
}

/// A piece of the text that was found, and what comes in its place.
struct Found {
    start: usize,
    end: usize,
    new: String,
    /// How errors name the edit: nothing for the only one, else `edits[0]: `.
    label: String,
}

/// Edits files that were read.
pub(super) struct EditFile {
    policy: Arc<PathPolicy>,
    log: Arc<ReadLog>,
}

impl EditFile {
    pub(super) fn new(policy: Arc<PathPolicy>, log: Arc<ReadLog>) -> EditFile {
        EditFile { policy, log }
    }
}

impl Tool for EditFile {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn writes(&self, args: &RawArgs) -> Option<PathBuf> {
        let args = SIGNATURE.read::<Args>(args).ok()?.args;
        Some(self.policy.normal(&args.path))
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            let (policy, log) = (Arc::clone(&self.policy), Arc::clone(&self.log));
            let edited = files::aside(cx, move |_| edit(read.args, &policy, &log)).await?;
            Ok(edited.noting(&read.repairs))
        }
        .boxed()
    }
}

fn edit(args: Args, policy: &PathPolicy, log: &ReadLog) -> Result<ToolOutput, ToolError> {
    let path = args.path.clone();
    let edits = asked(args)?;
    let bytes = files::read(policy, &path)?;
    let real = policy.resolve(&path).map_err(files::told)?;
    let refuse = |sentence: String| Err(ToolError::new(sentence));
    match log.compare(&real, &bytes) {
        Sight::Same => {}
        Sight::Unseen => return refuse(format!("{path} was not read yet; read_file it before you edit it")),
        Sight::Changed => return refuse(format!("{path} changed since you read it; read_file it again")),
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return refuse(format!("{path} is not UTF-8; change it with shell"));
    };
    let found: Result<Vec<Found>, ToolError> =
        edits.into_iter().map(|(label, edit)| find(&text, &path, label, &edit)).collect();
    let mut found = found?;
    found.sort_by_key(|found| found.start);
    apart(&text, &found)?;
    let edited = replaced(&text, &found);
    policy.write(&path, edited.as_bytes()).map_err(files::told)?;
    log.saw(&real, edited.as_bytes());
    Ok(diff::told(&path, &text, &found))
}

/// The edits of a call, each with how errors name it.
fn asked(args: Args) -> Result<Vec<(String, Edit)>, ToolError> {
    let refuse = |sentence: &str| Err(ToolError::new(sentence));
    let several = args.edits.filter(|edits| !edits.is_empty());
    // Who sends several often sends the single pair, too, with nothing in it.
    let single = |text: Option<String>| text.filter(|text| several.is_none() || !text.is_empty());
    let edits = match (single(args.old_text), single(args.new_text), several) {
        (Some(old_text), Some(new_text), None) => vec![(String::new(), Edit { old_text, new_text })],
        (None, None, Some(edits)) if edits.len() > MOST => {
            return Err(ToolError::new(format!(
                "{} edits are too many for one call; send {MOST} at most",
                edits.len()
            )));
        }
        (None, None, Some(edits)) => {
            edits.into_iter().enumerate().map(|(index, edit)| (format!("edits[{index}]: "), edit)).collect()
        }
        (_, _, Some(_)) => return refuse("send either old_text and new_text, or edits, not both; nothing was done"),
        (None, _, None) => return refuse("old_text is missing; send old_text and new_text, or edits"),
        (_, None, None) => return refuse("new_text is missing; send old_text and new_text, or edits"),
    };
    for (label, edit) in &edits {
        if edit.old_text.is_empty() {
            let what = "old_text is empty; say what to replace, or use write_file for a whole file";
            return Err(ToolError::new(format!("{label}{what}")));
        }
        if edit.old_text == edit.new_text {
            let what = "old_text and new_text are the same; there is nothing to change";
            return Err(ToolError::new(format!("{label}{what}")));
        }
    }
    Ok(edits)
}

/// The one place of an edit.
fn find(text: &str, path: &str, label: String, edit: &Edit) -> Result<Found, ToolError> {
    // A model sees no carriage returns, so it cannot write them.
    let dos = text.contains("\r\n") && !edit.old_text.contains('\r');
    let native = |text: &str| if dos { text.replace('\n', "\r\n") } else { text.to_owned() };
    let (old, new) = (native(&edit.old_text), native(&edit.new_text));
    let places: Vec<usize> = text.match_indices(&old).map(|(at, _)| at).collect();
    match places.as_slice() {
        [start] => Ok(Found { start: *start, end: start + old.len(), new, label }),
        places => Err(ToolError::new(format!("{label}{}", not_once(text, path, &edit.old_text, places)))),
    }
}

/// The exact words of S0-44, and after them what helps.
fn not_once(text: &str, path: &str, old: &str, places: &[usize]) -> String {
    if !places.is_empty() {
        let lines: Vec<String> = places.iter().take(PLACES).map(|at| line_of(text, *at).to_string()).collect();
        let count = places.len();
        let at = lines.join(", ");
        return format!("found {count} times, must be unique; it begins at lines {at}: add lines around it");
    }
    let first = old.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let numbered = first.split_once(": ").is_some_and(|(number, _)| number.parse::<usize>().is_ok());
    let like = text.lines().position(|line| !first.is_empty() && line.trim() == first);
    match like {
        _ if numbered => "old_text not found; leave out the line numbers of read_file".to_owned(),
        Some(line) => format!(
            "old_text not found; line {} of {path} has its first line, so white space or a later line differs",
            line + 1
        ),
        None => format!("old_text not found in {path}; read_file it again and copy the text exactly"),
    }
}

/// No two of them, sorted by where they begin, want the same piece.
fn apart(text: &str, found: &[Found]) -> Result<(), ToolError> {
    match found.windows(2).find(|pair| pair[0].end > pair[1].start) {
        None => Ok(()),
        Some(pair) => {
            let [one, other] = [&pair[0].label, &pair[1].label].map(|label| label.trim_end_matches(": "));
            let line = line_of(text, pair[1].start);
            let what = format!("{one} and {other} overlap at line {line}; make one edit of them");
            Err(ToolError::new(format!("{what}; nothing was done")))
        }
    }
}

/// The text with what comes in the places of what was found there.
fn replaced(text: &str, found: &[Found]) -> String {
    let mut edited = String::with_capacity(text.len());
    let mut done = 0;
    for Found { start, end, new, .. } in found {
        edited.push_str(&text[done..*start]);
        edited.push_str(new);
        done = *end;
    }
    edited.push_str(&text[done..]);
    edited
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}
