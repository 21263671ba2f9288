//! What the file tools share: reading a whole file within a cap, away from the threads that run agents.

use std::io::Read as _;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use crate::message::{ImageKind, Unfit};
use crate::tool::truncate::size;
use crate::tool::{ToolContext, ToolError};
use crate::workspace::policy::{PathError, PathPolicy};

/// Largest file that is read whole.
pub(super) const LARGEST: u64 = 10 * 1024 * 1024;
/// What other runtimes call the field `path`.
pub(super) const PATH_NAMES: &[(&str, &str)] = &[("file_path", "path"), ("file", "path"), ("filename", "path")];
/// What other runtimes call the field `path` where it is a folder.
pub(super) const FOLDER_NAMES: &[(&str, &str)] =
    &[("dir", "path"), ("directory", "path"), ("folder", "path"), ("dir_path", "path"), ("file_path", "path")];

/// The bytes of a regular file that may be read.
pub(super) fn read(policy: &PathPolicy, path: &str) -> Result<Vec<u8>, ToolError> {
    let file = policy.open(path).map_err(told)?;
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that grew from one that fits.
    let read = file.take(LARGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| ToolError::new(format!("{path} cannot be read: {error}")))?;
    if bytes.len() as u64 > LARGEST {
        if ImageKind::of(&bytes).is_some() {
            return Err(ToolError::new(format!("{path} {}", Unfit::TooLarge)));
        }
        let most = size(LARGEST);
        return Err(ToolError::new(format!(
            "{path} is larger than {most}; use grep to find the place, or shell with sed -n '1,200p' to read a part"
        )));
    }
    Ok(bytes)
}

/// What a policy refuses, told to a model.
pub(super) fn told(error: PathError) -> ToolError {
    match error {
        PathError::NotAFile { ref path, kind: "a folder" } => {
            ToolError::new(format!("{path} is a folder, not a regular file; use list to see what is in it"))
        }
        other if other.is_refusal() => ToolError::refused(other.to_string()),
        other => ToolError::new(other.to_string()),
    }
}

/// Runs blocking work on a thread made for it. The token that it gets fires when the run is aborted or nobody waits
/// for the result any more.
pub(super) async fn aside<T: Send + 'static>(
    cx: &ToolContext,
    work: impl FnOnce(&CancellationToken) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let stop = cx.cancel.child_token();
    let _when_dropped = stop.clone().drop_guard();
    let handle = tokio::task::spawn_blocking(move || work(&stop));
    tokio::select! {
        biased;
        done = handle => match done {
            Ok(done) => done,
            Err(error) => Err(ToolError::new(format!("the tool broke: {error}"))),
        },
        () = cx.cancel.cancelled() => Err(ToolError::new("aborted")),
    }
}

/// The path as a model should write it: below the base without it, otherwise whole.
pub(super) fn shown<'a>(policy: &PathPolicy, path: &'a Path) -> std::borrow::Cow<'a, str> {
    path.strip_prefix(policy.base()).unwrap_or(path).to_string_lossy()
}
