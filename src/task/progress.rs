//! progress.md: what a run does, told in short lines for people. One line per finished step, none per token.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Zoned;
use rustix::fs::OFlags;

use super::TaskDir;
use crate::event::{AgentEvent, Ending, Observer};
use crate::message::{CallId, Message, NoteKind, RawArgs, ToolCall, ToolResult};

/// Most bytes of progress.md that are shown, counted from its end.
pub const PROGRESS_SHOWN: u64 = 64 * 1024;

/// Most characters of one line.
const LINE: usize = 160;

/// Ends a line that was not written to its end.
const CUT: &str = " … (cut off)\n";

/// Watches a run and appends to the task's progress.md: what the worker says it found, each finished tool, notes,
/// retries, and how it ended. A disk that refuses costs lines, never the run.
pub struct Progress {
    dir: TaskDir,
    open: Mutex<HashMap<CallId, String>>,
}

impl Progress {
    /// Lines go to this task.
    pub fn of(dir: TaskDir) -> Progress {
        Progress { dir, open: Mutex::new(HashMap::new()) }
    }

    fn line(&self, event: &AgentEvent) -> Option<String> {
        match event {
            AgentEvent::Replied { message, .. } => remark(message),
            AgentEvent::ToolStarted { call } => {
                self.open().insert(call.id.clone(), describe(call));
                None
            }
            AgentEvent::ToolFinished { result, took } => {
                let call = self.open().remove(&result.call).unwrap_or_else(|| "a tool".to_owned());
                Some(finished(&call, result, *took))
            }
            AgentEvent::Noted { note, turn } => {
                let word = match note.kind {
                    NoteKind::Steer => "steered",
                    NoteKind::FollowUp => "follow-up",
                    NoteKind::Line => "line",
                    NoteKind::Answer => "answer",
                };
                Some(format!("{word} {} seen at turn {turn}: {}", note.id, note.text))
            }
            AgentEvent::Compacted { before, after, .. } => {
                Some(format!("shortened the conversation: {before} to {after} tokens"))
            }
            AgentEvent::Retrying { attempt, wait, why } => {
                Some(format!("model call failed ({why}); attempt {attempt} in {}", short(*wait)))
            }
            AgentEvent::Failed { why } => Some(format!("failed: {why}")),
            AgentEvent::RunEnded { ending } => ended(ending),
            AgentEvent::RunStarted
            | AgentEvent::TurnStarted { .. }
            | AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::CallOpened { .. }
            | AgentEvent::ToolProgress { .. }
            | AgentEvent::Progressed { .. }
            | AgentEvent::TurnEnded { .. } => None,
        }
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<CallId, String>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Progress {
    fn observe(&self, event: &AgentEvent) {
        if let Some(line) = self.line(event)
            && let Err(error) = self.dir.progress(&line)
        {
            tracing::warn!(task = %self.dir.id(), %error, "a progress line is lost");
        }
    }
}

/// A call in a few words: the tool and the first of its arguments that says what it is about.
pub fn describe(call: &ToolCall) -> String {
    match subject(&call.args) {
        Some(subject) => format!("{} {}", call.name, one_line(&subject, 80)),
        None => call.name.clone(),
    }
}

/// Text as one line of at most `most` characters: breaks become spaces, control characters vanish, a cut shows as `…`.
pub fn one_line(text: &str, most: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut line = String::new();
    let mut length = 0;
    for word in words {
        for character in (length > 0).then_some(' ').into_iter().chain(word.chars()) {
            if length + 1 >= most {
                line.push('…');
                return line;
            }
            line.push(character);
            length += 1;
        }
    }
    line
}

/// What a worker says between its calls is the best progress there is, its first line; its last words go to result.md
/// instead.
pub fn remark(message: &Message) -> Option<String> {
    message.calls().next()?;
    let text = message.text();
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

fn subject(args: &RawArgs) -> Option<String> {
    let args: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&args.0).ok()?;
    ["command", "path", "title", "pattern", "id", "name"]
        .iter()
        .find_map(|key| args.get(*key).and_then(|value| value.as_str()).map(str::to_owned))
}

fn finished(call: &str, result: &ToolResult, took: Duration) -> String {
    if result.is_error {
        let why = result.output.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no reason given");
        format!("{call}: refused: {}", one_line(why, 80))
    } else {
        format!("{call} ({})", short(took))
    }
}

fn ended(ending: &Ending) -> Option<String> {
    match ending {
        Ending::Completed { .. } => Some("done".to_owned()),
        Ending::Aborted => Some("aborted".to_owned()),
        Ending::TurnLimit { .. } => Some("turn limit reached".to_owned()),
        Ending::BudgetSpent { what, .. } => Some(format!("used up: {what}")),
        Ending::Parked => Some("waits for an answer".to_owned()),
        Ending::Stuck { evidence } => Some(format!("stuck: {evidence}")),
        Ending::Failed { .. } => None,
    }
}

/// A duration for people: `12 ms`, `3.4 s`, `2 min 05 s`.
pub fn short(took: Duration) -> String {
    let millis = took.as_millis();
    if millis < 1_000 {
        format!("{millis} ms")
    } else if millis < 60_000 {
        format!("{:.1} s", took.as_secs_f64())
    } else {
        format!("{} min {:02} s", took.as_secs() / 60, took.as_secs() % 60)
    }
}

/// A line of progress.md, with the time.
pub(super) fn append_line(path: &Path, line: &str) -> io::Result<()> {
    let stamp = Zoned::now().strftime("%H:%M").to_string();
    append(path, CUT, &format!("{stamp} {}\n", one_line(line, LINE)))
}

/// A worker may write in its own directory, so the file could have become a link or a FIFO: neither is followed.
/// `cut` ends a line before them that was not written to its end.
pub(super) fn append(path: &Path, cut: &str, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).custom_flags(careful()).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut last = [b'\n'];
    if let Some(at) = meta.len().checked_sub(1) {
        file.read_exact_at(&mut last, at)?;
    }
    // A line that the end of a program or a full disk has cut stays as it is and takes no other line with it.
    let cut = if last == [b'\n'] { "" } else { cut };
    file.write_all(format!("{cut}{text}").as_bytes())
}

pub(super) fn read_tail(path: &Path) -> io::Result<String> {
    let mut file: File = OpenOptions::new().read(true).custom_flags(careful()).open(path)?;
    let length = file.metadata()?.len();
    let skipped = length.saturating_sub(PROGRESS_SHOWN);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(PROGRESS_SHOWN).read_to_end(&mut bytes)?;
    // What has no newline yet is being written, or was never written to its end.
    bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(match text.split_once('\n') {
        Some((_, rest)) if skipped > 0 => rest.to_owned(),
        Some(_) | None => text,
    })
}

fn careful() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()
}
