//! The fixtures of a file: reading them, with errors that say where, and finding the one that answers a request.

use std::collections::HashMap;
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::fault;
use super::format::{File, Fixture, RawBlock, RawCall, Response, When};
use super::step::{CHUNK, Said, Step};
use super::template::{self, Quotable, Unfilled};
use crate::message::{Block, CallId, Opaque, RawArgs, Role, Thinking, ToolCall};
use crate::model::{Fault, ModelError, ModelId, Request};

/// Longest fixture file.
const MAX_FILE: u64 = 10 * 1024 * 1024;

/// A fixture file that cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// It cannot be read.
    #[error("cannot read the script {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is over 10 MiB.
    #[error("the script {} is over 10 MiB; split it", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// It is not JSON of the right form.
    #[error("{}:{line}:{column}: {field}: {why}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1; for an object that is wrong as a whole, its end.
        column: usize,
        /// The way to the value, as in `fixtures[2].response`.
        field: String,
        /// What is wrong with it.
        why: String,
    },
}

/// The fixtures of a file, and how often each kind of match has fitted.
pub(super) struct Fixtures {
    path: PathBuf,
    list: Vec<Fixture>,
    fitted: Mutex<HashMap<When, u64>>,
}

/// What of a request decides which fixture answers.
struct Situation<'a> {
    request: Request<'a>,
    user: String,
    /// Outputs of the results since the latest user text.
    since: Vec<&'a str>,
    /// Outputs of the results that end the conversation.
    latest: Vec<&'a str>,
    turn: usize,
}

impl Fixtures {
    pub(super) fn read(path: &Path) -> Result<Fixtures, ScriptError> {
        let unreadable = |source| ScriptError::Read { path: path.to_owned(), source };
        let file = std::fs::File::open(path).map_err(unreadable)?;
        if !file.metadata().map_err(unreadable)?.is_file() {
            return Err(unreadable(std::io::Error::other("it is not a regular file")));
        }
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        Fixtures::parse(path, &bytes)
    }

    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Fixtures, ScriptError> {
        if bytes.len() as u64 > MAX_FILE {
            return Err(ScriptError::TooLong { path: path.to_owned() });
        }
        let mut json = serde_json::Deserializer::from_slice(bytes);
        let file: File = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let field = error.path().to_string();
            let field = if field == "." { "the file".to_owned() } else { field };
            wrong(path, field, error.inner())
        })?;
        json.end().map_err(|error| wrong(path, "the end".to_owned(), &error))?;
        Ok(Fixtures { path: path.to_owned(), list: file.fixtures, fitted: Mutex::default() })
    }

    /// The reply of the first fixture that fits.
    pub(super) fn next(&self, id: &ModelId, request: Request<'_>) -> Result<Step, ModelError> {
        let situation = Situation::of(request);
        let (at, fixture) = self.find(&situation).ok_or_else(|| self.nothing_fits(&situation))?;
        let from = Quotable { user: &situation.user, results: &situation.latest };
        fixture.step(id, &from).map_err(|unfilled| {
            let file = self.path.display();
            fault(Fault::BadRequest, format!("fixtures[{at}] of {file}: {unfilled}"))
        })
    }

    fn find(&self, situation: &Situation<'_>) -> Option<(usize, &Fixture)> {
        let mut fitted = self.fitted.lock().unwrap_or_else(PoisonError::into_inner);
        let found = self.list.iter().enumerate().find(|(_, fixture)| {
            let count = fitted.get(&fixture.when.kind()).copied().unwrap_or(0);
            fixture.when.sequence_index.is_none_or(|index| index == count) && situation.fits(&fixture.when)
        })?;
        *fitted.entry(found.1.when.kind()).or_insert(0) += 1;
        Some(found)
    }

    fn nothing_fits(&self, situation: &Situation<'_>) -> ModelError {
        let file = self.path.display();
        let spent = self.list.iter().filter(|fixture| situation.fits(&fixture.when)).count();
        let user: String = situation.user.chars().take(80).collect();
        let results = situation.since.len();
        let but = match spent {
            0 => String::new(),
            _ => format!("; {spent} would, but their sequenceIndex has passed or is yet to come"),
        };
        let (turn, count) = (situation.turn, self.list.len());
        let asked = format!("user text {user:?}, {results} tool results since, turnIndex {turn}");
        fault(Fault::BadRequest, format!("none of the {count} fixtures of {file} fits ({asked}){but}"))
    }
}

impl When {
    /// The match without its place in the sequence: fixtures that differ only there count together.
    fn kind(&self) -> When {
        When { sequence_index: None, ..self.clone() }
    }
}

impl<'a> Situation<'a> {
    fn of(request: Request<'a>) -> Situation<'a> {
        let mut situation = Situation { request, user: String::new(), since: Vec::new(), latest: Vec::new(), turn: 0 };
        for message in request.messages {
            if message.role == Role::Assistant {
                situation.turn += 1;
                situation.latest.clear();
                continue;
            }
            let text = message.text();
            if !text.is_empty() {
                situation.user = text;
                situation.since.clear();
                situation.latest.clear();
            }
            for result in message.results() {
                situation.since.push(&result.output);
                situation.latest.push(&result.output);
            }
        }
        situation
    }

    /// Everything but the sequence.
    fn fits(&self, when: &When) -> bool {
        let system = when.system_message.as_ref().map_or(&[][..], |parts| parts.parts());
        when.user_message.as_ref().is_none_or(|part| self.user.contains(part))
            && system.iter().all(|part| self.request.system.contains(part))
            && when.has_tool_result.is_none_or(|has| has != self.since.is_empty())
            && when.tool_result_contains.as_ref().is_none_or(|part| self.latest.iter().any(|out| out.contains(part)))
            && when.tool_name.as_ref().is_none_or(|name| self.request.tools.iter().any(|tool| tool.name == *name))
            && when.turn_index.is_none_or(|turn| turn == self.turn)
    }
}

impl Fixture {
    fn step(&self, id: &ModelId, from: &Quotable<'_>) -> Result<Step, Unfilled> {
        let said = match &self.response {
            Response::Fails { fault, message, retry_after } => Err(ModelError {
                fault: *fault,
                provider: id.provider.clone(),
                message: message.clone(),
                retry_after: *retry_after,
            }),
            Response::Says { blocks, usage, stop } => {
                let blocks = blocks.iter().map(|block| block.fill(id, from)).collect::<Result<_, _>>()?;
                Ok(Said { blocks, usage: *usage, stop: *stop })
            }
        };
        let latency = Duration::from_millis(self.latency);
        let chunk = self.chunk_size.map_or(CHUNK, NonZeroUsize::get);
        Ok(Step { said, latency, chunk, cut: self.truncate_after_chunks })
    }
}

impl RawBlock {
    fn fill(&self, id: &ModelId, from: &Quotable<'_>) -> Result<Block, Unfilled> {
        Ok(match self {
            RawBlock::Text { text } => Block::text(template::fill(text, from)?),
            RawBlock::Reasoning { text, signature } => {
                let opaque = signature.as_ref().map(|signature| Opaque {
                    provider: id.provider.clone(),
                    model: id.model.clone(),
                    data: Value::String(signature.clone()),
                });
                Block::Thinking(Thinking { text: template::fill(text, from)?, opaque })
            }
            RawBlock::ToolCall(call) => Block::Call(call.fill(from)?),
        })
    }
}

impl RawCall {
    fn fill(&self, from: &Quotable<'_>) -> Result<ToolCall, Unfilled> {
        let args = match &self.arguments {
            Value::String(text) => template::fill(text, from)?,
            other => template::fill_json(other, from)?.to_string(),
        };
        Ok(ToolCall { id: CallId(self.id.clone()), name: self.name.clone(), args: RawArgs(args) })
    }
}

fn wrong(path: &Path, field: String, error: &serde_json::Error) -> ScriptError {
    let text = error.to_string();
    // serde_json repeats the position at the end of its sentence.
    let why = text.rsplit_once(" at line ").map_or(text.as_str(), |(why, _)| why).to_owned();
    ScriptError::Format { path: path.to_owned(), line: error.line(), column: error.column(), field, why }
}
