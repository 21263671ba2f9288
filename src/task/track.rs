//! progress.jsonl: how much each turn of a run brought, a line per turn, for programs. progress.md tells people.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde::Serialize;

use super::{TaskDir, describe, now};
use crate::event::{AgentEvent, Ending, Observer};

/// Calls named in a line.
const NAMED: usize = 8;

/// Watches a run and appends to the task's progress.jsonl. A disk that refuses costs lines, never the run.
pub struct Track {
    dir: TaskDir,
    turn: Mutex<Turn>,
}

/// What the turn that goes on has called so far.
#[derive(Default)]
struct Turn {
    calls: Vec<String>,
    failed: usize,
}

/// One line.
#[derive(Serialize)]
struct Line<'a> {
    at: Timestamp,
    turn: u32,
    /// From 0 to 7.
    score: u8,
    /// Turns in a row that brought nothing.
    flat: u32,
    calls: &'a [String],
    /// How many of the calls were answered with an error.
    failed: usize,
}

/// The last line of a run that got nowhere.
#[derive(Serialize)]
struct Last<'a> {
    at: Timestamp,
    stuck: &'a str,
}

impl Track {
    /// Lines go to this task.
    pub fn of(dir: TaskDir) -> Track {
        Track { dir, turn: Mutex::default() }
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self, event: &AgentEvent) -> Option<serde_json::Result<String>> {
        match event {
            AgentEvent::ToolStarted { call } => {
                let mut turn = self.turn();
                if turn.calls.len() < NAMED {
                    turn.calls.push(describe(call));
                }
                None
            }
            AgentEvent::ToolFinished { result, .. } => {
                self.turn().failed += usize::from(result.is_error);
                None
            }
            AgentEvent::Progressed { turn, score, flat } => {
                let Turn { calls, failed } = std::mem::take(&mut *self.turn());
                let line = Line { at: now(), turn: *turn, score: *score, flat: *flat, calls: &calls, failed };
                Some(serde_json::to_string(&line))
            }
            AgentEvent::RunEnded { ending: Ending::Stuck { evidence } } => {
                Some(serde_json::to_string(&Last { at: now(), stuck: evidence }))
            }
            _ => None,
        }
    }
}

impl Observer for Track {
    fn observe(&self, event: &AgentEvent) {
        let written = match self.line(event) {
            Some(Ok(line)) => self.dir.track(&line).map_err(|error| error.to_string()),
            Some(Err(error)) => Err(error.to_string()),
            None => return,
        };
        if let Err(error) = written {
            tracing::warn!(task = %self.dir.id(), %error, "a line of progress.jsonl is lost");
        }
    }
}
