//! Who writes runs down: spans of a session and its workers in one trace, a readable log per run.

use std::path::PathBuf;
use std::sync::Arc;

use crate::event::Observer;
use crate::message::CallId;
use crate::session::SessionId;
use crate::trace::{Link, Origin, RunLog, Scribe, Spans};
use crate::workspace::Workspace;

/// The writer of one runtime and where it writes.
pub(super) struct Records {
    scribe: Scribe,
    traces: PathBuf,
    logs: PathBuf,
}

/// A run to be written down.
pub(super) struct Recorded<'a> {
    /// The conversation that it belongs to, at whatever depth.
    pub(super) session: &'a SessionId,
    /// `main` or a task's id.
    pub(super) agent: &'a str,
    /// As `provider/model`.
    pub(super) model: String,
    /// The words that it begins with.
    pub(super) opening: &'a str,
    /// The call of the conversation's trace that it grew from.
    pub(super) call: Option<CallId>,
}

impl Records {
    pub(super) fn of(workspace: &Workspace) -> Records {
        Records { scribe: Scribe::start(), traces: workspace.traces(), logs: workspace.logs() }
    }

    /// Observers for one run.
    pub(super) fn watch(&self, run: &Recorded<'_>) -> [Arc<dyn Observer>; 2] {
        let trace = run.session.to_string();
        let path = self.traces.join(format!("{trace}.jsonl"));
        let link = run.call.clone().map(|call| Link { trace: trace.clone(), call });
        let origin = Origin { trace, agent: run.agent.to_owned(), model: run.model.clone(), link };
        let log = RunLog::create(&self.scribe, &self.logs, &origin, run.opening);
        [Arc::new(Spans::create(&self.scribe, &path, origin)), Arc::new(log)]
    }

    /// Waits, shortly, until everything is in its file.
    pub(super) fn flush(&self) {
        if !self.scribe.flush() {
            tracing::warn!("the last lines of traces and logs may be missing");
        }
    }
}
