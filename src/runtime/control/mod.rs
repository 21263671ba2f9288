//! The tools with which an agent commands the crew, and the crew's door that they share with every front end.
//! What the crew does about it is decided by the crew.

mod abort;
mod answer;
mod ask;
mod dispatch;
mod door;
mod steer;
mod tasks;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

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

/// Counts the dispatches of a turn; each turn begins at zero. Knows whether a person is there.
#[derive(Default)]
pub(super) struct Ration {
    used: AtomicU32,
    /// A person has spoken in this run.
    attended: AtomicBool,
}

impl Ration {
    /// For a run that begins with the words of a person, or without.
    pub(super) fn of(attended: bool) -> Ration {
        Ration { attended: attended.into(), ..Ration::default() }
    }

    fn is_attended(&self) -> bool {
        self.attended.load(Ordering::Relaxed)
    }
}

impl Observer for Ration {
    fn observe(&self, event: &AgentEvent) {
        match event {
            AgentEvent::TurnStarted { .. } => self.used.store(0, Ordering::Relaxed),
            // Notes of a main agent's run come from people.
            AgentEvent::Noted { .. } => self.attended.store(true, Ordering::Relaxed),
            _ => {}
        }
    }
}

/// The names of the tools with which an agent commands the crew.
pub(super) const NAMES: [&str; 6] = ["abort", "answer", "ask", "dispatch", "steer", "tasks"];

/// The tool with which the worker of a task asks.
pub(super) fn ask(control: &Control, task: TaskId) -> Arc<dyn Tool> {
    Arc::new(ask::Ask::of(control.crew.clone(), task))
}

/// The tool with which a main agent answers.
pub(super) fn answer(control: &Control) -> Arc<dyn Tool> {
    Arc::new(answer::Answer::of(control.clone()))
}

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
