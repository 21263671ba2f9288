//! A copy of what a summary stands in for, as a file that other programs read: who said what, with the calls and their
//! outputs in the message that made them. The journal keeps everything anyway; nothing here reads the file again.

use std::fs::DirBuilder;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::message::{CallId, Message, Role};
use crate::session::Session;

/// Writes the copy into `archive/<session>/` beside the session's file and answers its name from there; nothing for a
/// session without a file, or when the disk refuses, which is logged: the copy is a convenience.
pub(super) async fn save(session: &Session, replaced: Vec<Arc<Message>>) -> Option<String> {
    let folder = session.path()?.parent()?.to_owned();
    let id = session.id().to_string();
    let now = Timestamp::now();
    let name = format!("archive/{id}/{}-{:03}.json", now.strftime("%Y%m%d-%H%M%S"), now.subsec_millisecond());
    let path = folder.join(&name);
    let written = tokio::task::spawn_blocking(move || {
        let copy = json!({"session_id": id, "archived_at": now.to_string(), "messages": messages(&replaced)});
        write(&path, &copy).map_err(|error| (path, error))
    });
    match written.await {
        Ok(Ok(())) => Some(name),
        Ok(Err((path, error))) => {
            tracing::warn!(%error, path = %path.display(), "no copy of what was summed up");
            None
        }
        Err(error) => {
            tracing::warn!(%error, "no copy of what was summed up");
            None
        }
    }
}

fn write(path: &Path, copy: &Value) -> io::Result<()> {
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let mut file = tempfile::NamedTempFile::new_in(&folder)?;
    serde_json::to_writer_pretty(&mut file, copy)?;
    file.write_all(b"\n")?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

fn messages(replaced: &[Arc<Message>]) -> Vec<Value> {
    let output = |call: &CallId| {
        let results = replaced.iter().flat_map(|message| message.results());
        results.filter(|result| result.call == *call).map(|result| result.output.as_str()).next()
    };
    let said = |message: &Arc<Message>| {
        let call = |call: &crate::message::ToolCall| {
            let input = serde_json::from_str(&call.args.0).unwrap_or_else(|_| Value::from(call.args.0.as_str()));
            json!({"tool": call.name, "input": input, "output": output(&call.id)})
        };
        let calls: Vec<Value> = message.calls().map(call).collect();
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let mut said = json!({"role": role, "content": message.text()});
        if !calls.is_empty() {
            said["tool_calls"] = calls.into();
        }
        said
    };
    replaced.iter().filter(|message| message.results().next().is_none()).map(said).collect()
}
