//! The tool `glob`: files whose path has a form. What is in them is found by `grep`.

use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime};

use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::files::{self, FOLDER_NAMES};
use super::looking::Sight;
use super::walk::walk;
use crate::tool::{Signature, ToolError, ToolOutput};
use crate::workspace::policy::PathPolicy;

/// Most files shown.
const MOST: usize = 200;
/// Most files remembered on the way, to show the newest of them.
const MOST_KEPT: usize = 100_000;
/// Longest pattern, in bytes.
const LONGEST_PATTERN: usize = 1000;
/// The search ends with what it has.
const LONGEST: Duration = Duration::from_secs(30);

/// The same for all agents: compiled once, whoever uses it.
pub(super) static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("glob", include_str!("glob.md"), true).understanding(FOLDER_NAMES));

#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    pattern: String,
    /// The workspace if absent.
    path: Option<String>,
    /// By name, not by age.
    by_name: Option<bool>,
}

/// What was found so far.
#[derive(Default)]
struct Found {
    files: Vec<(SystemTime, String)>,
    seen: usize,
    /// The search ended before it had seen everything.
    cut: bool,
}

/// Finds files by their paths.
pub(super) fn search(args: &Args, sight: &Sight<'_>) -> Result<ToolOutput, ToolError> {
    let (policy, stop) = (sight.policy, sight.stop);
    let path = args.path.as_deref().unwrap_or(".");
    let root = policy.resolve(path).map_err(files::told)?;
    if !root.is_dir() {
        return Err(ToolError::new(format!("{path} is no folder; name one, or leave it out")));
    }
    let matcher = matcher(&args.pattern, &root)?;
    let mut found = through(&root, false, &matcher, policy, stop);
    // A folder that git ignores as a whole is searched when it is asked for by name.
    if found.seen == 0 {
        found = through(&root, true, &matcher, policy, stop);
    }
    if args.by_name != Some(true) {
        // The walk is in the order of names, and equal ages leave it so.
        found.files.sort_by_key(|(changed, _)| std::cmp::Reverse(*changed));
    }
    let number = found.files.len();
    let mut lines: Vec<String> = found.files.into_iter().take(MOST).map(|(_, name)| name).collect();
    if lines.is_empty() {
        lines.push(format!("no file like {} among {} below {path}", args.pattern, found.seen));
    }
    if number > MOST {
        lines.push(format!("[cut at {MOST} of {number} files; narrow the pattern or path]"));
    }
    if found.cut {
        lines.push("[ended before all files were seen; name a folder below]".to_owned());
    }
    let details = json!({ "files": number.min(MOST), "cut": found.cut || number > MOST });
    Ok(ToolOutput::new(lines.join("\n"), details))
}

/// A pattern without a slash is one of names, in any folder; one from the root must begin with the folder searched.
fn matcher(pattern: &str, root: &Path) -> Result<GlobMatcher, ToolError> {
    let wrong = |why: String| ToolError::new(format!("pattern {pattern:?} is wrong: {why}"));
    if pattern.is_empty() || pattern.len() > LONGEST_PATTERN {
        return Err(wrong(format!("it must have 1 to {LONGEST_PATTERN} bytes")));
    }
    let below = pattern.strip_prefix("./").unwrap_or(pattern);
    let below = match below.strip_prefix('/') {
        None => below,
        Some(_) => {
            let root = root.to_string_lossy();
            let rest = below.strip_prefix(&*root).and_then(|rest| rest.strip_prefix('/'));
            rest.ok_or_else(|| wrong(format!("it does not begin with {root}; give the folder as path")))?
        }
    };
    if below.split('/').any(|part| part == "..") {
        return Err(wrong("it leads up with ..; give the folder as path".to_owned()));
    }
    let whole = if below.contains('/') { below.to_owned() } else { format!("**/{below}") };
    let glob = GlobBuilder::new(&whole).literal_separator(true).build();
    Ok(glob.map_err(|error| wrong(error.kind().to_string()))?.compile_matcher())
}

fn through(root: &Path, all: bool, matcher: &GlobMatcher, policy: &PathPolicy, stop: &CancellationToken) -> Found {
    let deadline = Instant::now() + LONGEST;
    let mut found = Found::default();
    for entry in walk(root, all).build().flatten() {
        if stop.is_cancelled() || Instant::now() > deadline || found.files.len() == MOST_KEPT {
            found.cut = true;
            break;
        }
        if entry.file_type().is_none_or(|kind| kind.is_dir()) || policy.is_hidden(entry.path()) {
            continue;
        }
        found.seen += 1;
        let Ok(below) = entry.path().strip_prefix(root) else { continue };
        if matcher.is_match(below) {
            let changed = entry.metadata().ok().and_then(|metadata| metadata.modified().ok());
            let name = files::shown(policy, entry.path()).into_owned();
            found.files.push((changed.unwrap_or(SystemTime::UNIX_EPOCH), name));
        }
    }
    found
}
