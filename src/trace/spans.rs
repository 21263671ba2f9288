//! The observer that writes a run as spans: run → turn → model call and tool calls, each with start, duration and end.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;

use super::excerpt::{FIELD, excerpt};
use super::line::{Attributes, Event, Line};
use super::{Origin, Scribe};
use crate::event::{AgentEvent, Ending, Observer};
use crate::message::{CallId, Message, Spent, Tally, ToolCall, ToolResult, Usage, Usd};

/// Writes runs as spans to a JSON Lines file.
///
/// One value watches one run after the other, never two at once; several may share a file. Of each field at most
/// 16 KiB are kept, with a count of the rest. Streamed pieces are not written; the whole text comes with the reply.
/// Lines that had to be left out because writing fell behind are counted in a `dropped` line.
pub struct Spans {
    scribe: Scribe,
    path: Arc<Path>,
    origin: Origin,
    state: Mutex<State>,
}

/// What is open at the moment.
#[derive(Default)]
struct State {
    run: Option<Open>,
    turn: Option<(u32, Open)>,
    model: Option<Open>,
    tools: Vec<(CallId, String, Open)>,
    first: Option<Duration>,
    turns: u32,
    tally: Tally,
    fault: Option<String>,
    lost: u64,
}

struct Open {
    span: String,
    since: Instant,
}

impl Spans {
    /// Watches runs of the origin and appends their spans to the file, which is made when its first line comes.
    pub fn create(scribe: &Scribe, path: &Path, origin: Origin) -> Spans {
        Spans { scribe: scribe.clone(), path: path.into(), origin, state: Mutex::default() }
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.path.to_path_buf()
    }

    fn line(&self, event: Event, span: &str, parent: Option<&str>) -> String {
        let line = Line {
            event,
            at: format!("{:.6}", Timestamp::now()),
            trace_id: self.origin.trace.clone(),
            span: span.to_owned(),
            parent: parent.map(str::to_owned),
        };
        // A line holds strings, numbers and JSON values only, all of which encode.
        serde_json::to_string(&line).map(|text| text + "\n").unwrap_or_default()
    }

    fn put(&self, state: &mut State, event: Event, span: &str, parent: Option<&str>) {
        let run_ended = matches!(event, Event::RunEnd { .. });
        let line = self.line(event, span, parent);
        let notice = match state.lost {
            0 => String::new(),
            lines => self.line(Event::Dropped { lines }, span, parent),
        };
        let text = notice + &line;
        let taken = if run_ended { self.scribe.insist(&self.path, text) } else { self.scribe.offer(&self.path, text) };
        state.lost = if taken { 0 } else { state.lost + 1 };
    }
}

impl Observer for Spans {
    fn observe(&self, event: &AgentEvent) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        match event {
            AgentEvent::RunStarted => self.run_started(state),
            AgentEvent::TurnStarted { turn } => self.turn_started(state, *turn),
            AgentEvent::Text { .. } | AgentEvent::Thinking { .. } | AgentEvent::CallOpened { .. } => state.heard(),
            AgentEvent::Replied { message, usage, took, model, cost } => {
                let told = state.paid(model, *usage, *cost);
                let end = state.replied(message, *usage, told, *took);
                self.close_model(state, end);
            }
            AgentEvent::ToolStarted { call } => self.tool_started(state, call),
            AgentEvent::ToolProgress { .. } => {}
            AgentEvent::ToolFinished { result, took } => self.tool_finished(state, result, *took),
            AgentEvent::Noted { note, turn } => {
                let event = Event::Note { id: note.id, kind: note.kind, turn: *turn, text: excerpt(&note.text) };
                self.within(state, event);
            }
            AgentEvent::Compacted { before, after, model, usage, cost } => {
                let told = model.as_ref().map(|model| state.paid(model, *usage, *cost)).unwrap_or_default();
                self.within(state, Event::Compaction { before: *before, after: *after, told });
            }
            AgentEvent::Retrying { attempt, wait, why } => {
                state.first = None;
                self.within(state, Event::Retry { attempt: *attempt, wait_ms: ms(*wait), why: excerpt(why) });
            }
            AgentEvent::Failed { why } => {
                state.fault = Some(excerpt(why));
                self.within(state, Event::Error { why: excerpt(why) });
            }
            // It is in the progress file of the task.
            AgentEvent::Progressed { .. } => {}
            AgentEvent::TurnEnded { .. } => self.turn_ended(state, None),
            AgentEvent::RunEnded { ending } => self.run_ended(state, ending),
        }
    }
}

impl Spans {
    fn run_started(&self, state: &mut State) {
        *state = State { lost: state.lost, ..State::default() };
        let open = Open::now();
        let Origin { agent, model, link, .. } = self.origin.clone();
        self.put(state, Event::RunStart { agent, model, link }, &open.span, None);
        state.run = Some(open);
    }

    /// The model call begins with its turn; making room before it is part of its span.
    fn turn_started(&self, state: &mut State, number: u32) {
        let (turn, model) = (Open::now(), Open::now());
        let run = state.run_span();
        self.put(state, Event::TurnStart { turn: number }, &turn.span, run.as_deref());
        let start = Event::ModelStart { model: self.origin.model.clone() };
        self.put(state, start, &model.span, Some(&turn.span));
        state.turns = state.turns.max(number);
        state.first = None;
        state.turn = Some((number, turn));
        state.model = Some(model);
    }

    fn close_model(&self, state: &mut State, end: Event) {
        let turn = state.turn_span();
        if let Some(open) = state.model.take() {
            self.put(state, end, &open.span, turn.as_deref());
        }
    }

    fn tool_started(&self, state: &mut State, call: &ToolCall) {
        let (open, turn) = (Open::now(), state.turn_span());
        let start = Event::ToolStart { tool: excerpt(&call.name), call: call.id.clone(), args: excerpt(&call.args.0) };
        self.put(state, start, &open.span, turn.as_deref());
        state.tools.push((call.id.clone(), excerpt(&call.name), open));
    }

    /// A result whose tool never started (an unknown name, a skipped call) gets a span without length.
    fn tool_finished(&self, state: &mut State, result: &ToolResult, took: Duration) {
        let (tool, open) = match state.tools.iter().position(|(id, ..)| *id == result.call) {
            Some(at) => {
                let (_, tool, open) = state.tools.swap_remove(at);
                (tool, open)
            }
            None => (String::new(), Open::now()),
        };
        let end = Event::ToolEnd {
            tool,
            call: result.call.clone(),
            ms: ms(took),
            output: excerpt(&result.output),
            output_bytes: result.output.len(),
            details: kept(&result.details),
            error: result.is_error.then(|| first_line(&result.output)),
        };
        let turn = state.turn_span();
        self.put(state, end, &open.span, turn.as_deref());
    }

    fn turn_ended(&self, state: &mut State, error: Option<String>) {
        let run = state.run_span();
        if let Some((turn, open)) = state.turn.take() {
            let end = Event::TurnEnd { turn, ms: ms(open.since.elapsed()), error };
            self.put(state, end, &open.span, run.as_deref());
        }
    }

    /// Closes what the run left open, inner spans first.
    fn run_ended(&self, state: &mut State, ending: &Ending) {
        let (reason, error) = match ending {
            Ending::Completed { .. } => ("completed", None),
            Ending::Aborted => ("aborted", None),
            Ending::TurnLimit { .. } => ("turn_limit", None),
            Ending::BudgetSpent { .. } => ("budget_spent", None),
            Ending::Parked => ("parked", None),
            Ending::Stuck { evidence } => ("stuck", Some(excerpt(evidence))),
            Ending::Failed { why } => ("failed", Some(excerpt(why))),
        };
        let cause = error.clone().or(state.fault.take()).unwrap_or_else(|| reason.to_owned());
        for (call, tool, open) in std::mem::take(&mut state.tools) {
            let (ms, turn) = (ms(open.since.elapsed()), state.turn_span());
            let (output, details, error) = (String::new(), Value::Null, Some(cause.clone()));
            let end = Event::ToolEnd { tool, call, ms, output, output_bytes: 0, details, error };
            self.put(state, end, &open.span, turn.as_deref());
        }
        if let Some(since) = state.model.as_ref().map(|open| open.since) {
            let (ms, first_ms, usage) = (ms(since.elapsed()), state.first.take().map(ms), Usage::default());
            let (told, text, error) = (Attributes::default(), String::new(), Some(cause.clone()));
            self.close_model(state, Event::ModelEnd { ms, first_ms, usage, told, text, calls: 0, error });
        }
        self.turn_ended(state, Some(cause));
        let Some(open) = state.run.take() else { return };
        let (turns, Tally { usage, spent, .. }) = (state.turns, state.tally);
        let (reason, ms, told) = (reason.to_owned(), ms(open.since.elapsed()), Attributes::of("", &usage, spent));
        let end = Event::RunEnd { reason, ms, turns, usage, told, error };
        self.put(state, end, &open.span, None);
    }

    /// Something inside the innermost span that is open, the tools apart: they run side by side.
    fn within(&self, state: &mut State, event: Event) {
        let run = state.run_span();
        let turn = state.turn_span();
        match (state.model.as_ref().map(|open| open.span.clone()), turn, run) {
            (Some(model), turn, _) => self.put(state, event, &model, turn.as_deref()),
            (None, Some(turn), run) => self.put(state, event, &turn, run.as_deref()),
            (None, None, Some(run)) => self.put(state, event, &run, None),
            (None, None, None) => {}
        }
    }
}

impl State {
    /// The end of the model call.
    fn replied(&mut self, message: &Message, usage: Usage, told: Attributes, took: Duration) -> Event {
        Event::ModelEnd {
            ms: ms(took),
            first_ms: self.first.take().map(ms),
            usage,
            told,
            text: excerpt(&message.text()),
            calls: message.calls().count(),
            error: None,
        }
    }

    /// Adds a model call to the run's and answers what is said of it.
    fn paid(&mut self, model: &str, usage: Usage, cost: Option<Usd>) -> Attributes {
        self.tally.call(usage, cost);
        Attributes::of(model, &usage, Spent::of(cost))
    }

    fn run_span(&self) -> Option<String> {
        self.run.as_ref().map(|open| open.span.clone())
    }

    fn turn_span(&self) -> Option<String> {
        self.turn.as_ref().map(|(_, open)| open.span.clone())
    }

    fn heard(&mut self) {
        if self.first.is_none() {
            self.first = self.model.as_ref().map(|open| open.since.elapsed());
        }
    }
}

impl Open {
    fn now() -> Open {
        Open { span: fresh(), since: Instant::now() }
    }
}

/// A span id that no other has: the random half of a ULID, moved on by a count so that one process never repeats.
fn fresh() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let (_, random): (u64, u64) = ulid::Ulid::generate().into();
    format!("{:016x}", random.wrapping_add(COUNT.fetch_add(1, Ordering::Relaxed)))
}

fn ms(took: Duration) -> f64 {
    (took.as_secs_f64() * 1e6).round() / 1e3
}

fn first_line(text: &str) -> String {
    excerpt(text.lines().next().unwrap_or_default())
}

/// Details as they are, or as cut text when they are long.
fn kept(details: &Value) -> Value {
    match details {
        Value::Null | Value::Bool(_) | Value::Number(_) => details.clone(),
        Value::String(_) | Value::Array(_) | Value::Object(_) => {
            let text = details.to_string();
            if text.len() <= FIELD { details.clone() } else { Value::String(excerpt(&text)) }
        }
    }
}
