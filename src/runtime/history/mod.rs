//! Tools that look things up in the conversation itself: everything that was ever said in it lies in its journal, what
//! was summed up too. How the journal is read is the session's business.

mod read;
mod search;

use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::session::{History, SessionError};
use crate::tool::{Tool, ToolContext, ToolError};

/// history_search and history_read over the journal in that file.
pub(super) fn tools(journal: &Path) -> Vec<Arc<dyn Tool>> {
    let history = History::of(journal);
    vec![Arc::new(search::Search::of(history.clone())), Arc::new(read::Read::of(history))]
}

/// Reads on a thread that may wait; stops when the run is aborted or nobody waits any more.
async fn aside<T: Send + 'static>(
    cx: &ToolContext,
    read: impl FnOnce(&dyn Fn() -> bool) -> Result<T, SessionError> + Send + 'static,
) -> Result<T, ToolError> {
    let stop: CancellationToken = cx.cancel.child_token();
    let _when_dropped = stop.clone().drop_guard();
    let done = tokio::task::spawn_blocking(move || read(&|| stop.is_cancelled())).await;
    let done = done.map_err(|error| ToolError::new(format!("the tool broke: {error}")))?;
    done.map_err(|error| ToolError::new(error.to_string()))
}
