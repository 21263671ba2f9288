//! The tools with which an agent commands the crew, and the crew's door that they share with every front end.
//! What the crew does about it is decided by the crew.

mod abort;
mod answer;
mod ask;
mod call_agent;
mod dispatch;
mod door;
mod resume;
mod steer;
mod tasks;

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub(super) use door::Door;

use futures_util::FutureExt;

use super::roster::Patron;
use crate::agent::inbox::Tiller;
use crate::event::{AgentEvent, Observer};
use crate::role::Roles;
use crate::task::{NoTaskId, TaskId};
use crate::tool::{Tool, ToolError};
use crate::tools::gate::Asker;

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
    /// What its calls share.
    pub(super) ration: Arc<Ration>,
    /// Tells when the run of a main agent is steered; a worker's does not wait for others.
    pub(super) tiller: Option<Tiller>,
}

/// What the calls of a run share: how many dispatches a turn has made, each turn from zero, whether a person is there,
/// and the reports that calls have brought.
#[derive(Default)]
pub(super) struct Ration {
    used: AtomicU32,
    /// A person has spoken in this run.
    attended: AtomicBool,
    brought: Mutex<Vec<(TaskId, u32)>>,
}

impl Ration {
    /// For a run that begins with the words of a person, or without.
    pub(super) fn of(attended: bool) -> Ration {
        Ration { attended: attended.into(), ..Ration::default() }
    }

    fn is_attended(&self) -> bool {
        self.attended.load(Ordering::Relaxed)
    }

    /// A call is the only one to have this report, of this attempt.
    fn brought(&self, task: TaskId, attempt: u32) {
        self.brought.lock().unwrap_or_else(PoisonError::into_inner).push((task, attempt));
    }

    /// The reports that calls have brought.
    pub(super) fn take_brought(&self) -> Vec<(TaskId, u32)> {
        std::mem::take(&mut self.brought.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the rows of a table, or none. Where a person has spoken, a table is one dispatch, and the queue is its bound.
    fn take_rows(&self, count: usize) -> Result<(), ToolError> {
        self.take(if self.is_attended() { 1 } else { count })
    }

    /// Takes so many dispatches, or none.
    fn take(&self, count: usize) -> Result<(), ToolError> {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let more = |used: u32| used.checked_add(count).filter(|sum| *sum <= PER_TURN);
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        let text = |_| format!("one turn dispatches at most {PER_TURN} tasks; dispatch the rest later");
        taken.map(drop).map_err(|used| ToolError::new(text(used)))
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

/// Dispatches that one answer of a model may hold.
const PER_TURN: u32 = 64;

/// The tool with which the worker of a task asks.
pub(super) fn ask(control: &Control, task: TaskId) -> Arc<dyn Tool> {
    Arc::new(ask::Ask::of(control.crew.clone(), task))
}

/// The way from the gates of a task's worker to a person.
pub(super) fn leave(control: &Control, task: TaskId) -> Asker {
    let crew = control.crew.clone();
    Arc::new(move |request| {
        let crew = crew.clone();
        async move { crew.leave(task, request).await }.boxed()
    })
}

/// The tool with which a main agent answers.
pub(super) fn answer(control: &Control) -> Arc<dyn Tool> {
    Arc::new(answer::Answer::of(control.clone()))
}

/// dispatch, steer, abort, resume and tasks.
pub(super) fn tools(control: Control) -> Vec<Arc<dyn Tool>> {
    let (crew, own) = (control.crew.clone(), control.own.clone());
    vec![
        Arc::new(dispatch::Dispatch::of(control.clone())),
        Arc::new(resume::Resume::of(control)),
        Arc::new(steer::Steer::of(crew.clone(), own)),
        Arc::new(abort::Abort::of(crew.clone())),
        Arc::new(tasks::Tasks::of(crew)),
    ]
}

/// call_agent, for a main agent that has agents to call.
pub(super) fn call_agent(control: &Control, roles: &Roles) -> Option<Arc<dyn Tool>> {
    let tiller = control.tiller.clone().filter(|_| !roles.list().is_empty())?;
    Some(Arc::new(call_agent::CallAgent::of(control.clone(), tiller, roles)))
}

/// Other names that models give to the argument with the task.
const FOR_ID: &[(&str, &str)] = &[("task", "id"), ("task_id", "id")];

/// And to that with the words for its worker.
const FOR_WORDS: &[(&str, &str)] = &[("task", "id"), ("task_id", "id"), ("text", "message")];

fn task_id(text: &str) -> Result<TaskId, ToolError> {
    text.trim().parse().map_err(|error: NoTaskId| refused(error))
}

/// What the crew does not do, as the model reads it.
fn refused(refusal: impl Display) -> ToolError {
    ToolError::new(refusal.to_string())
}

/// A call of this tool may set a task going, which then ends with another report.
pub(super) fn is_order(tool: &str) -> bool {
    ["answer", "ask", "call_agent", "dispatch", "resume", "steer"].contains(&tool)
}
