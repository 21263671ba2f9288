//! The tool `grep`: lines of files that match a regular expression. The searching is ripgrep's own.

use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::overrides::OverrideBuilder;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::files::{self, FOLDER_NAMES};
use super::looking::Sight;
use super::walk::walk;
use crate::tool::{Signature, ToolError, ToolOutput};
use crate::workspace::policy::PathPolicy;

mod found;

use found::Found;

/// Most matching lines shown.
const MOST: usize = 200;
/// Most lines shown around a match.
const AROUND: usize = 10;
/// The search ends with what it has.
const LONGEST: Duration = Duration::from_secs(30);

/// The same for all agents: compiled once, whoever uses it.
pub(super) static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("grep", include_str!("grep.md"), true).understanding(FOLDER_NAMES));

#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    pattern: String,
    path: Option<String>,
    /// Like *.rs or src/**/*.md.
    glob: Option<String>,
    ignore_case: Option<bool>,
    context: Option<usize>,
}

/// Searches files.
pub(super) fn search(args: &Args, sight: &Sight<'_>) -> Result<ToolOutput, ToolError> {
    let (policy, stop) = (sight.policy, sight.stop);
    let matcher = matcher(args)?;
    let path = args.path.as_deref().unwrap_or(".");
    let root = policy.resolve(path).map_err(files::told)?;
    let deadline = Instant::now() + LONGEST;
    let mut found = Found::new(MOST);
    for all in [false, true] {
        through(args, policy, &root, all, &mut |name, real| {
            let done = stop.is_cancelled() || Instant::now() > deadline || found.is_full();
            if !done && let Ok(file) = policy.open(real) {
                // A file that vanishes or cannot be read while it is searched has no matches.
                let _ = searcher(args).search_file(&matcher, &file, found.in_file(name, &matcher));
                found.files += 1;
            }
            !done
        })?;
        // A folder that git ignores as a whole is searched when it is asked for by name.
        if found.files > 0 {
            break;
        }
    }
    let mut text = found.text;
    if found.matches == 0 {
        text = format!("no match for {} in {} files below {path}\n", args.pattern, found.files);
    } else if found.matches > MOST {
        text.push_str(&format!("[cut at {MOST} matches; narrow the pattern, path or glob]\n"));
    }
    let late = Instant::now() > deadline;
    if late {
        text.push_str(&format!("[ended after {} s; there may be more]\n", LONGEST.as_secs()));
    }
    let cut = late || found.matches > MOST;
    let details = json!({ "matches": found.matches.min(MOST), "files": found.files, "cut": cut });
    Ok(ToolOutput::new(sight.output.fit(&text, sight.cx).text, details))
}

/// Shows the files in order until the visitor has enough: as they are called, and where they lie.
fn through(
    args: &Args,
    policy: &PathPolicy,
    root: &Path,
    all: bool,
    visit: &mut dyn FnMut(&str, &str) -> bool,
) -> Result<(), ToolError> {
    let mut walk = walk(root, all);
    if let Some(glob) = &args.glob {
        let mut only = OverrideBuilder::new(root);
        let built = only.add(glob).and_then(|only| only.build());
        walk.overrides(built.map_err(|error| ToolError::new(format!("glob {glob} is wrong: {error}")))?);
    }
    for entry in walk.build().flatten() {
        let Some(real) = entry.path().to_str().filter(|_| entry.file_type().is_some_and(|kind| kind.is_file())) else {
            continue;
        };
        if !visit(&files::shown(policy, entry.path()), real) {
            break;
        }
    }
    Ok(())
}

fn matcher(args: &Args) -> Result<RegexMatcher, ToolError> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(args.ignore_case.unwrap_or(false)).line_terminator(Some(b'\n'));
    builder.build(&args.pattern).map_err(|error| {
        ToolError::new(format!("pattern is no regular expression: {error}; put a backslash before ( ) [ ] {{ }} . * + ? | to mean them literally"))
    })
}

fn searcher(args: &Args) -> Searcher {
    let around = args.context.unwrap_or(0).min(AROUND);
    let mut builder = SearcherBuilder::new();
    builder.line_number(true).before_context(around).after_context(around);
    builder.binary_detection(BinaryDetection::quit(0)).heap_limit(Some(16 * 1024 * 1024)).build()
}
