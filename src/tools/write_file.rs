//! The tool `write_file`: a whole new text for a file.

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use similar::{ChangeTag, TextDiff};

use super::files;
use super::read_log::ReadLog;
use crate::message::RawArgs;
use crate::tool::truncate::size;
use crate::tool::{Signature, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use crate::workspace::policy::PathPolicy;

/// Most bytes of a text that is compared with what it replaces, and how long that may take.
const COMPARED: u64 = 512 * 1024;
const COMPARING: Duration = Duration::from_millis(50);
/// Lines of the diff kept in the details.
const SHOWN: usize = 80;
/// What other runtimes call our fields.
const NAMES: &[(&str, &str)] =
    &[("file_path", "path"), ("file", "path"), ("filename", "path"), ("contents", "content"), ("text", "content")];

/// The same for all agents: compiled once, whoever uses it.
pub(super) static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("write_file", include_str!("write_file.md"), false).understanding(NAMES));

#[derive(Deserialize, JsonSchema)]
struct Args {
    path: String,
    content: String,
}

/// Writes files and remembers what was written.
pub(super) struct WriteFile {
    policy: Arc<PathPolicy>,
    log: Arc<ReadLog>,
}

impl WriteFile {
    pub(super) fn new(policy: Arc<PathPolicy>, log: Arc<ReadLog>) -> WriteFile {
        WriteFile { policy, log }
    }
}

impl Tool for WriteFile {
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
            let written = files::aside(cx, move |_| {
                let Args { path, content } = read.args;
                let old = before(&policy, &path);
                let written = policy.write(&path, content.as_bytes()).map_err(files::told)?;
                log.saw(&written.path, content.as_bytes());
                let (lines, bytes) = (content.lines().count(), content.len());
                let done = if written.created { "Created" } else { "Wrote" };
                let text = format!("{done} {path} ({lines} lines, {})", size(bytes as u64));
                let mut details =
                    json!({ "created": written.created, "path": written.path, "lines": lines, "bytes": bytes });
                if let (Some(old), Value::Object(details)) = (old, &mut details) {
                    details.extend(change(&path, &old, &content));
                }
                Ok(ToolOutput::new(text, details))
            });
            Ok(written.await?.noting(&read.repairs))
        }
        .boxed()
    }
}

/// The text that is written over; empty where there is none, `None` where it is no text or too long to be compared.
fn before(policy: &PathPolicy, path: &str) -> Option<String> {
    let Ok(file) = policy.open(path) else { return Some(String::new()) };
    let mut bytes = Vec::new();
    file.take(COMPARED + 1).read_to_end(&mut bytes).ok()?;
    String::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= COMPARED)
}

/// What people are shown: lines that came and went, and the first of them as a unified diff.
fn change(path: &str, old: &str, new: &str) -> Map<String, Value> {
    let diff = TextDiff::configure().timeout(COMPARING).diff_lines(old, new);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
    let mut unified = diff.unified_diff();
    let text = unified.context_radius(2).header(&format!("a/{path}"), &format!("b/{path}")).to_string();
    let more = text.lines().count().saturating_sub(SHOWN);
    let mut shown: String = text.split_inclusive('\n').take(SHOWN).collect();
    if more > 0 {
        shown.push_str(&format!("… {more} more lines\n"));
    }
    let told = [("added", json!(added)), ("removed", json!(removed)), ("diff", json!(shown))];
    told.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
