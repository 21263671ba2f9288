//! The tools with which an agent commands the crew, and the crew's door that they share with every front end.
//! What the crew does about it is decided by the crew.

mod abort;
mod dispatch;
mod door;
mod steer;
mod tasks;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

pub(super) use door::Door;

use super::roster::Patron;
use crate::event::{AgentEvent, Observer};
use crate::task::TaskId;
use crate::tool::{Tool, ToolError};

/// Who commands the crew, and in whose name.
#[derive(Clone)]
pub(super) struct Control {
    pub(super) crew: Door,
    /// Whose tools these are: `main` or a task as in `t_003`.
    pub(super) own: String,
    /// Gets the reports of what is dispatched.
    pub(super) patron: Patron,
    /// How many dispatches lie above the agent: 0 for a main agent.
    pub(super) depth: u32,
    /// Dispatches made in the current turn.
    pub(super) ration: Arc<Ration>,
}

/// Counts the dispatches of a turn; each turn begins at zero.
#[derive(Default)]
pub(super) struct Ration {
    used: AtomicU32,
}

impl Observer for Ration {
    fn observe(&self, event: &AgentEvent) {
        if let AgentEvent::TurnStarted { .. } = event {
            self.used.store(0, std::sync::atomic::Ordering::Relaxed);
        }
    }
}

/// The names of the tools with which an agent commands the crew.
pub(super) const NAMES: [&str; 4] = ["abort", "dispatch", "steer", "tasks"];

/// dispatch, steer, abort and tasks.
pub(super) fn tools(control: Control) -> Vec<Arc<dyn Tool>> {
    let (crew, own) = (control.crew.clone(), control.own.clone());
    vec![
        Arc::new(dispatch::Dispatch::of(control)),
        Arc::new(steer::Steer::of(crew.clone(), own)),
        Arc::new(abort::Abort::of(crew.clone())),
        Arc::new(tasks::Tasks::of(crew)),
    ]
}

fn task_id(text: &str) -> Result<TaskId, ToolError> {
    text.trim().parse().map_err(|error: crate::task::NoTaskId| ToolError::new(error.to_string()))
}

/// A call of this tool may set a task going, which then ends with another report.
pub(super) fn is_order(tool: &str) -> bool {
    NAMES.contains(&tool) && !["abort", "tasks"].contains(&tool)
}
