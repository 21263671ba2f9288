//! The tool `edit_file`: one piece of a file replaced by another, if it is there exactly once and known.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::files;
use super::read_log::{ReadLog, Sight};
use crate::message::RawArgs;
use crate::tool::{Signature, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use crate::workspace::policy::PathPolicy;

/// Line numbers named in an error.
const PLACES: usize = 8;
/// Lines of the diff kept in the details.
const DIFF: usize = 80;
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
static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("edit_file", include_str!("edit_file.md"), false).understanding(NAMES));

#[derive(Deserialize, JsonSchema)]
struct Args {
    path: String,
    old_text: String,
    new_text: String,
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
            let edited = files::aside(cx, move |_| edit(&read.args, &policy, &log)).await?;
            Ok(edited.noting(&read.repairs))
        }
        .boxed()
    }
}

fn edit(args: &Args, policy: &PathPolicy, log: &ReadLog) -> Result<ToolOutput, ToolError> {
    let path = &args.path;
    let refuse = |sentence: String| Err(ToolError::new(sentence));
    if args.old_text.is_empty() {
        return refuse("old_text is empty; say what to replace, or use write_file for a whole file".to_owned());
    }
    if args.old_text == args.new_text {
        return refuse("old_text and new_text are the same; there is nothing to change".to_owned());
    }
    let bytes = files::read(policy, path)?;
    let real = policy.resolve(path).map_err(files::told)?;
    match log.compare(&real, &bytes) {
        Sight::Same => {}
        Sight::Unseen => return refuse(format!("{path} was not read yet; read_file it before you edit it")),
        Sight::Changed => return refuse(format!("{path} changed since you read it; read_file it again")),
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return refuse(format!("{path} is not UTF-8; change it with shell"));
    };
    // A model sees no carriage returns, so it cannot write them.
    let dos = text.contains("\r\n") && !args.old_text.contains('\r');
    let native = |text: &str| if dos { text.replace('\n', "\r\n") } else { text.to_owned() };
    let (old, new) = (native(&args.old_text), native(&args.new_text));
    let places: Vec<usize> = text.match_indices(&old).map(|(at, _)| at).collect();
    let [at] = places.as_slice() else { return Err(not_once(&text, args, &places)) };
    let edited = format!("{}{new}{}", &text[..*at], &text[at + old.len()..]);
    policy.write(path, edited.as_bytes()).map_err(files::told)?;
    log.saw(&real, edited.as_bytes());
    Ok(told(path, line_of(&text, *at), &args.old_text, &args.new_text))
}

/// The exact words of S0-44, and after them what helps.
fn not_once(text: &str, args: &Args, places: &[usize]) -> ToolError {
    if !places.is_empty() {
        let lines: Vec<String> = places.iter().take(PLACES).map(|at| line_of(text, *at).to_string()).collect();
        let count = places.len();
        let at = lines.join(", ");
        return ToolError::new(format!(
            "found {count} times, must be unique; it begins at lines {at}: add lines around it"
        ));
    }
    let first = args.old_text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let numbered = first.split_once(": ").is_some_and(|(number, _)| number.parse::<usize>().is_ok());
    let like = text.lines().position(|line| !first.is_empty() && line.trim() == first);
    let path = &args.path;
    ToolError::new(match like {
        _ if numbered => "old_text not found; leave out the line numbers of read_file".to_owned(),
        Some(line) => format!(
            "old_text not found; line {} of {path} has its first line, so white space or a later line differs",
            line + 1
        ),
        None => format!("old_text not found in {path}; read_file it again and copy the text exactly"),
    })
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// What changed, without the lines that begin and end both texts.
fn told(path: &str, line: usize, old: &str, new: &str) -> ToolOutput {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[same..], &new[same..]);
    let ends = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - ends], &new[..new.len() - ends]);
    let line = line + same;
    let mut diff = vec![format!("@@ -{line},{} +{line},{} @@", old.len(), new.len())];
    diff.extend(old.iter().map(|text| format!("-{text}")));
    diff.extend(new.iter().map(|text| format!("+{text}")));
    if diff.len() > DIFF {
        let more = diff.len() - DIFF;
        diff.truncate(DIFF);
        diff.push(format!("… {more} more lines"));
    }
    let details = json!({ "line": line, "added": new.len(), "removed": old.len(), "diff": diff.join("\n") });
    ToolOutput::new(format!("Edited {path} at line {line} (+{} -{})", new.len(), old.len()), details)
}
