//! The fixtures of a file: reading them, with errors that say where, and finding the one that answers a request.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::fault;
use super::format::{File, Fixture, RawBlock, Response, When};
use super::recorded::{Header, Recorded, agent};
use super::step::{CHUNK, Said, Step};
use super::tape::Tape;
use super::template::{self, Quotable, Unfilled};
use crate::message::{Block, CallId, Opaque, RawArgs, Role, Thinking, ToolCall};
use crate::model::{Fault, ModelError, ModelId, Request};

/// Longest fixture file.
pub(in crate::model) const MAX_FILE: u64 = 64 * 1024 * 1024;

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
    /// It is over 64 MiB.
    #[error("the script {} is over 64 MiB; split it", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// It is a script, but nobody's words and no order are in it.
    #[error("{} is no recording; `tillerman run --record FILE` makes one, and -m scripted/FILE plays a script", path.display())]
    NoRecording {
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
    header: Option<Header>,
    list: Vec<Fixture>,
    fitted: Mutex<Fitted>,
    /// Keeps the order of a recording.
    tape: Option<Arc<Tape>>,
    /// Nothing is waited for.
    fast: bool,
}

/// What has been played.
#[derive(Default)]
struct Fitted {
    /// How often each kind of match has fitted.
    counts: HashMap<When, u64>,
    played: HashSet<usize>,
}

/// What a request is answered with.
pub(super) struct Cue<'a> {
    pub(super) step: Step,
    /// The number of the fixture.
    pub(super) at: usize,
    pub(super) recorded: Option<&'a Recorded>,
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

    /// Plays a recording as it was recorded: every reply ends when those that ended before it then have ended now.
    pub(super) fn in_order(mut self, fast: bool) -> Result<(Fixtures, Arc<Tape>), ScriptError> {
        let Some(header) = self.header else { return Err(ScriptError::NoRecording { path: self.path }) };
        let exchanges = self.list.len();
        let by_worker = |fixture: &Fixture| fixture.recorded.as_ref().is_some_and(|recorded| recorded.agent != "main");
        let workers = self.list.iter().any(by_worker);
        let lines = self.list.iter_mut().enumerate();
        let lines =
            lines.flat_map(|(at, fixture)| std::mem::take(&mut fixture.lines).into_iter().map(move |line| (at, line)));
        let tape = Arc::new(Tape::new(header, lines.collect(), exchanges, workers));
        (self.tape, self.fast) = (Some(tape.clone()), fast);
        Ok((self, tape))
    }

    pub(super) fn tape(&self) -> Option<&Tape> {
        self.tape.as_deref()
    }

    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Fixtures, ScriptError> {
        if bytes.len() as u64 > MAX_FILE {
            return Err(ScriptError::TooLong { path: path.to_owned() });
        }
        match read(path, bytes) {
            Ok(file) => Ok(Fixtures::of(path, file)),
            // A recording that was torn while its last exchange was written is good up to there.
            Err(error) => match whole_lines(bytes).and_then(|text| read(path, text.as_bytes()).ok()) {
                Some(file) => Ok(Fixtures::of(path, file)),
                None => Err(error),
            },
        }
    }

    fn of(path: &Path, file: File) -> Fixtures {
        let (header, list) = (file.tillerman, file.fixtures);
        Fixtures { path: path.to_owned(), header, list, fitted: Mutex::default(), tape: None, fast: false }
    }

    /// The reply of the first fixture that fits.
    pub(super) fn next(&self, id: &ModelId, request: Request<'_>) -> Result<Cue<'_>, ModelError> {
        let situation = Situation::of(request);
        let (at, fixture) = self.find(&situation).ok_or_else(|| self.nothing_fits(&situation))?;
        let from = Quotable { user: &situation.user, results: &situation.latest };
        let step = fixture.step(id, &from).map_err(|unfilled| {
            let file = self.path.display();
            fault(Fault::BadRequest, format!("fixtures[{at}] of {file}: {unfilled}"))
        })?;
        let step = if self.fast { step.at_once() } else { step };
        Ok(Cue { step, at, recorded: fixture.recorded.as_ref() })
    }

    fn find(&self, situation: &Situation<'_>) -> Option<(usize, &Fixture)> {
        let mut fitted = self.fitted.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |fixture: &Fixture| {
            let count = fitted.counts.get(&fixture.when.kind()).copied().unwrap_or(0);
            fixture.when.sequence_index.is_none_or(|index| index == count) && situation.suits(fixture)
        };
        let mut list = self.list.iter().enumerate();
        // Two reports may come together where they came one by one, or the other way round. Whoever plays a recording
        // in order then gets what came next to the same agent.
        let next = |(at, fixture): &(usize, &Fixture)| {
            self.tape.is_some() && situation.is_from(fixture) && !fitted.played.contains(at)
        };
        let (at, fixture) =
            list.find(|(_, fixture)| fits(fixture)).or_else(|| self.list.iter().enumerate().find(next))?;
        *fitted.counts.entry(fixture.when.kind()).or_insert(0) += 1;
        fitted.played.insert(at);
        Some((at, fixture))
    }

    fn nothing_fits(&self, situation: &Situation<'_>) -> ModelError {
        let file = self.path.display();
        let spent = self.list.iter().filter(|fixture| situation.suits(fixture)).count();
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
    fn suits(&self, fixture: &Fixture) -> bool {
        self.is_from(fixture) && self.fits(&fixture.when)
    }

    fn is_from(&self, fixture: &Fixture) -> bool {
        let asks = agent(self.request.cache_key);
        fixture.recorded.as_ref().is_none_or(|recorded| recorded.agent == asks)
    }

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
        let recorded = self.recorded.as_ref();
        let id = recorded.and_then(Recorded::model_id).unwrap_or_else(|| id.clone());
        // What was recorded means itself, also where it looks like a placeholder.
        let fill = |block: &RawBlock| block.fill(&id, recorded.is_none().then_some(from));
        let exact = recorded.and_then(|recorded| recorded.blocks.clone());
        let (said, fails) = match &self.response {
            Response::Fails { fault, status, message, retry_after } => {
                let provider = recorded.and_then(|recorded| recorded.model.clone()).unwrap_or(id.provider);
                let status = if recorded.is_none() { format!(" (status {status})") } else { String::new() };
                let message = format!("{message}{status}");
                let error = ModelError { fault: *fault, provider, message, retry_after: *retry_after };
                (Said { blocks: exact.unwrap_or_default(), ..Said::default() }, Some(error))
            }
            Response::Says { blocks, usage, stop } => {
                let blocks = exact.map_or_else(|| blocks.iter().map(fill).collect::<Result<_, _>>(), Ok)?;
                let cost = recorded.and_then(|recorded| recorded.cost);
                (Said { blocks, usage: *usage, stop: *stop, cost }, None)
            }
        };
        let latency = Duration::from_millis(self.latency);
        let chunk = self.chunk_size.map_or(CHUNK, NonZeroUsize::get);
        Ok(Step { said, fails, latency, chunk, cut: self.truncate_after_chunks })
    }
}

impl RawBlock {
    fn fill(&self, id: &ModelId, from: Option<&Quotable<'_>>) -> Result<Block, Unfilled> {
        let fill = |text: &String| from.map_or_else(|| Ok(text.clone()), |from| template::fill(text, from));
        Ok(match self {
            RawBlock::Text { text } => Block::text(fill(text)?),
            RawBlock::Reasoning { text, signature } => {
                let opaque = signature.as_ref().map(|signature| Opaque {
                    provider: id.provider.clone(),
                    model: id.model.clone(),
                    data: Value::String(signature.clone()),
                });
                Block::Thinking(Thinking { text: fill(text)?, opaque })
            }
            RawBlock::ToolCall(call) => {
                let args = match &call.arguments {
                    Value::String(text) => fill(text)?,
                    other => {
                        from.map_or_else(|| Ok(other.clone()), |from| template::fill_json(other, from))?.to_string()
                    }
                };
                Block::Call(ToolCall { id: CallId(call.id.clone()), name: call.name.clone(), args: RawArgs(args) })
            }
        })
    }
}

fn read(path: &Path, bytes: &[u8]) -> Result<File, ScriptError> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let file: File = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let field = error.path().to_string();
        let field = if field == "." { "the file".to_owned() } else { field };
        wrong(path, field, error.inner())
    })?;
    json.end().map_err(|error| wrong(path, "the end".to_owned(), &error))?;
    Ok(file)
}

/// A recording without its last line, closed again: every exchange of it stands on a line of its own.
fn whole_lines(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.starts_with("{\"tillerman\":"))?;
    let (whole, _) = text.trim_end().rsplit_once('\n')?;
    Some(format!("{}]}}", whole.trim_end_matches(',')))
}

fn wrong(path: &Path, field: String, error: &serde_json::Error) -> ScriptError {
    let text = error.to_string();
    // serde_json repeats the position at the end of its sentence.
    let why = text.rsplit_once(" at line ").map_or(text.as_str(), |(why, _)| why).to_owned();
    ScriptError::Format { path: path.to_owned(), line: error.line(), column: error.column(), field, why }
}
