//! The tool `read_file`: lines of a text file with their numbers, or a picture.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::files::{self, PATH_NAMES};
use super::read_log::ReadLog;
use crate::message::{Image, ImageKind, RawArgs, Unfit};
use crate::tool::truncate::size;
use crate::tool::{OutputPolicy, Signature, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use crate::workspace::policy::PathPolicy;

/// Characters of a line that are shown.
const WIDEST: usize = 2000;

/// The same for all agents: compiled once, whoever uses it.
pub(super) static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("read_file", include_str!("read_file.md"), true).understanding(PATH_NAMES));

#[derive(Deserialize, JsonSchema)]
struct Args {
    path: String,
    /// From 1.
    #[schemars(range(min = 1))]
    offset: Option<usize>,
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

/// Reads files and remembers what was read.
pub(super) struct ReadFile {
    policy: Arc<PathPolicy>,
    log: Arc<ReadLog>,
    output: OutputPolicy,
}

impl ReadFile {
    pub(super) fn new(policy: Arc<PathPolicy>, log: Arc<ReadLog>, output: OutputPolicy) -> ReadFile {
        ReadFile { policy, log, output }
    }
}

impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            let (policy, log, output) = (Arc::clone(&self.policy), Arc::clone(&self.log), self.output);
            let shown = files::aside(cx, move |_| {
                let bytes = files::read(&policy, &read.args.path)?;
                if let Ok(real) = policy.resolve(&read.args.path) {
                    log.saw(&real, &bytes);
                }
                show(&read.args, &bytes, &output)
            });
            Ok(shown.await?.noting(&read.repairs))
        }
        .boxed()
    }
}

/// A picture of a kind that models see; `None` for anything else, a text that begins like one included.
fn picture(path: &str, bytes: &[u8]) -> Option<Result<ToolOutput, ToolError>> {
    let kind = ImageKind::of(bytes)?;
    let told = kind.look(bytes).map(|(width, height)| {
        let size = size(bytes.len() as u64);
        let details =
            json!({ "media_type": kind.media_type(), "width": width, "height": height, "bytes": bytes.len() });
        ToolOutput::new(format!("Image: {path} ({kind}, {width} × {height} pixels, {size})"), details)
            .showing(Image::of(kind, bytes))
    });
    match told {
        Err(Unfit::Broken(_)) if !is_binary(bytes) => None,
        told => Some(told.map_err(|unfit| ToolError::new(format!("{path} {unfit}")))),
    }
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8192).any(|byte| *byte == 0)
}

fn show(args: &Args, bytes: &[u8], output: &OutputPolicy) -> Result<ToolOutput, ToolError> {
    let path = &args.path;
    if let Some(shown) = picture(path, bytes) {
        return shown;
    }
    if is_binary(bytes) {
        let size = size(bytes.len() as u64);
        return Err(ToolError::new(format!(
            "{path} is a binary file of {size}; look at it with shell: file, xxd, strings"
        )));
    }
    let text = String::from_utf8_lossy(bytes);
    let foreign = matches!(text, std::borrow::Cow::Owned(_));
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let total = text.lines().count();
    let offset = args.offset.unwrap_or(1).max(1);
    if offset > total.max(1) {
        return Err(ToolError::new(format!("offset {offset} is behind the end: {path} has {total} lines")));
    }
    let mut told = format!("File: {path} ({total} lines)\n");
    if foreign {
        told.push_str("[not UTF-8: bytes that are no text are shown as \u{fffd}]\n");
    }
    let room = told.len() + output.bytes;
    let mut next = offset;
    for line in text.lines().skip(offset - 1).take(args.limit.unwrap_or(output.lines).min(output.lines)) {
        let before = told.len();
        let _ = match line.char_indices().nth(WIDEST) {
            Some((cut, _)) => {
                writeln!(told, "{next}: {}… [{} more of this line]", &line[..cut], size((line.len() - cut) as u64))
            }
            None => writeln!(told, "{next}: {line}"),
        };
        if told.len() > room && next > offset {
            told.truncate(before);
            break;
        }
        next += 1;
    }
    if next <= total {
        let _ = write!(told, "[lines {offset} to {} of {total}; go on with offset {next}]", next - 1);
    }
    let details = json!({ "lines": total, "first": offset, "last": next - 1, "bytes": bytes.len() });
    Ok(ToolOutput::new(told, details))
}
