//! The run log: what was sent, answered, called and returned, in the order in which it happened, for a person to read.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use super::excerpt::excerpt;
use super::{Origin, Scribe};
use crate::event::{AgentEvent, Ending, Observer};
use crate::message::{Block, CallId, Message, NoteKind, Spent, ToolCall, ToolResult, Usage};

/// Writes one run as readable text to `agent_run_YYYYMMDD_HHMMSS.log`, a worker's to `agent_run_t_001_….log` (S1-42, S1-43).
///
/// A request is logged by what is new in it. Of each text at most 16 KiB are kept, with a count of the rest. Entries
/// are numbered; a gap in the numbers is said in a line, when writing fell behind.
pub struct RunLog {
    scribe: Scribe,
    path: Arc<Path>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What the next request will hold that the one before did not.
    news: String,
    entry: u64,
    tools: Vec<(CallId, String)>,
    lost: u64,
}

impl RunLog {
    /// Begins the log of a run that opens with these words; the name of the file holds the time.
    ///
    /// Times are UTC, as in the names of sessions: to know the local time zone, a tree of files would be read first.
    /// Runs that begin within the same second, of the same agent, share the file.
    pub fn create(scribe: &Scribe, folder: &Path, origin: &Origin, opening: &str) -> RunLog {
        let now = Timestamp::now();
        let stamp = now.strftime("%Y%m%d_%H%M%S");
        let name = match origin.agent.as_str() {
            "main" => format!("agent_run_{stamp}.log"),
            agent => format!("agent_run_{}_{stamp}.log", plain(agent)),
        };
        let log = RunLog { scribe: scribe.clone(), path: folder.join(name).into(), state: Mutex::default() };
        let mut state = log.state();
        let head = format!(
            "agent {}, model {}, {}\ntrace {}\n",
            origin.agent,
            origin.model,
            now.strftime("%Y-%m-%d %H:%M:%S UTC"),
            origin.trace
        );
        log.put(&mut state, &head, false);
        state.news = format!("user: {}\n", excerpt(opening));
        drop(state);
        log
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.path.to_path_buf()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry(&self, state: &mut State, title: &str, body: &str) {
        state.entry += 1;
        let time = Timestamp::now().strftime("%H:%M:%S%.3f").to_string();
        let end = if body.is_empty() || body.ends_with('\n') { "" } else { "\n" };
        let text = format!("\n[{}] {time} {title}\n{body}{end}", state.entry);
        self.put(state, &text, title.starts_with("ENDED"));
    }

    fn put(&self, state: &mut State, text: &str, must: bool) {
        let notice = match state.lost {
            0 => String::new(),
            lost => format!("\n({lost} entries are missing here: writing fell behind)\n"),
        };
        let text = notice + text;
        let taken = if must { self.scribe.insist(&self.path, text) } else { self.scribe.offer(&self.path, text) };
        state.lost = if taken { 0 } else { state.lost + 1 };
    }
}

impl Observer for RunLog {
    fn observe(&self, event: &AgentEvent) {
        let mut state = self.state();
        let state = &mut *state;
        match event {
            AgentEvent::TurnStarted { turn } => {
                let news = std::mem::take(&mut state.news);
                self.entry(state, &format!("REQUEST, turn {turn}"), &news);
            }
            AgentEvent::Replied { message, usage, took, cost, .. } => {
                let title = format!("RESPONSE, {}, {}, {}", tokens(*usage), Spent::of(*cost), seconds(*took));
                self.entry(state, &title, &said(message));
            }
            AgentEvent::ToolStarted { call } => self.called(state, call),
            AgentEvent::ToolFinished { result, took } => self.returned(state, result, *took),
            AgentEvent::Noted { note, .. } => {
                let kind = match note.kind {
                    NoteKind::Steer => "steer",
                    NoteKind::FollowUp => "follow-up",
                    NoteKind::Line => "line",
                    NoteKind::Answer => "answer",
                };
                // Writing to a String does not fail.
                let _ = writeln!(state.news, "{kind} {}: {}", note.id, excerpt(&note.text));
            }
            AgentEvent::Compacted { before, after, .. } => {
                self.entry(state, "COMPACTED", &format!("from about {before} to {after} tokens"));
            }
            AgentEvent::Retrying { attempt, wait, why } => {
                self.entry(state, &format!("RETRY, attempt {attempt} in {}", seconds(*wait)), &excerpt(why));
            }
            AgentEvent::Failed { why } => self.entry(state, "FAILED", &excerpt(why)),
            AgentEvent::RunEnded { ending } => {
                let (how, words) = told(ending);
                self.entry(state, &format!("ENDED, {how}"), &excerpt(words));
            }
            AgentEvent::RunStarted
            | AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::CallOpened { .. }
            | AgentEvent::ToolProgress { .. }
            | AgentEvent::Progressed { .. }
            | AgentEvent::TurnEnded { .. } => {}
        }
    }
}

impl RunLog {
    fn called(&self, state: &mut State, call: &ToolCall) {
        let name = excerpt(&call.name);
        self.entry(state, &format!("TOOL CALL, {name} ({})", call.id), &excerpt(&call.args.0));
        state.tools.push((call.id.clone(), name));
    }

    fn returned(&self, state: &mut State, result: &ToolResult, took: Duration) {
        let known = state.tools.iter().position(|(id, _)| *id == result.call);
        let name = known.map_or("not started".to_owned(), |at| state.tools.swap_remove(at).1);
        let how = if result.is_error { "error" } else { "ok" };
        let title = format!("TOOL RESULT, {name} ({}), {how}, {}", result.call, seconds(took));
        self.entry(state, &title, &excerpt(&result.output));
        let _ = writeln!(state.news, "result of {name} ({}), as in [{}]", result.call, state.entry);
    }
}

/// What a reply says, block by block.
fn said(message: &Message) -> String {
    let mut text = String::new();
    for block in &message.blocks {
        let line = match block {
            Block::Text { text } => excerpt(text),
            Block::Thinking(thinking) => format!("(thinking) {}", excerpt(&thinking.text)),
            Block::Image(image) => format!("(image, {})", image.media_type),
            Block::Call(call) => format!("→ {} ({}) {}", call.name, call.id, excerpt(&call.args.0)),
            Block::Result(result) => format!("(result of {})", result.call),
        };
        text += &line;
        text.push('\n');
    }
    text
}

fn told(ending: &Ending) -> (&'static str, &str) {
    match ending {
        Ending::Completed { answer } => ("completed", answer),
        Ending::Aborted => ("aborted", ""),
        Ending::TurnLimit { answer } => ("at the turn limit", answer),
        Ending::BudgetSpent { answer, .. } => ("with its budget spent", answer),
        Ending::Parked => ("parked", ""),
        Ending::Stuck { evidence } => ("stuck", evidence),
        Ending::Failed { why } => ("failed", why),
    }
}

fn tokens(usage: Usage) -> String {
    format!("{} tokens in ({} cached), {} out", usage.prompt(), usage.cache_read, usage.output)
}

fn seconds(took: Duration) -> String {
    format!("{:.3} s", took.as_secs_f64())
}

/// The name of an agent as part of a file name.
fn plain(agent: &str) -> String {
    agent.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).collect()
}
