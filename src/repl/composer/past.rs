//! Lines typed before, in all conversations of the folder: gone back through with the arrows, searched with a few letters.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use reedline::{FileBackedHistory, History, HistoryItem, SearchDirection, SearchQuery};

/// Lines that are kept.
const LINES: usize = 2_000;
/// Longest line that is kept, in bytes: a pasted file is no line to come back to.
const LONGEST: usize = 20_000;
/// How long leaving waits for the last line to be written.
const FAREWELL: Duration = Duration::from_millis(500);

/// The lines, the oldest first.
#[derive(Default)]
pub(super) struct Past {
    lines: Vec<String>,
    /// The thread that writes them down: it may wait for the disk.
    writer: Option<(Sender<String>, JoinHandle<()>)>,
    /// Which one is shown, and what stood in the line before.
    shown: Option<(usize, String)>,
}

impl Past {
    /// Those of a file; a history that cannot be read or kept is no reason not to talk.
    pub(super) fn of(file: PathBuf) -> Past {
        let Ok(history) = FileBackedHistory::with_file(LINES, file) else { return Past::default() };
        let all = history.search(SearchQuery::everything(SearchDirection::Forward, None)).unwrap_or_default();
        let lines = all.into_iter().map(|item| item.command_line).collect();
        let (sender, typed) = channel();
        let writer = thread::Builder::new().name("history".into()).spawn(move || write(history, &typed)).ok();
        Past { lines, writer: writer.map(|thread| (sender, thread)), shown: None }
    }

    /// Remembers a line that was sent; of a very long one, how it looked with its pastes folded.
    pub(super) fn keep(&mut self, whole: &str, folded: &str) {
        self.shown = None;
        let line = if whole.len() > LONGEST { folded } else { whole };
        if line.trim().is_empty() || line.len() > LONGEST || self.lines.last().is_some_and(|last| last == line) {
            return;
        }
        self.lines.push(line.to_owned());
        if let Some((writer, _)) = &self.writer {
            // A writer that is gone has said why.
            let _ = writer.send(line.to_owned());
        }
    }

    /// Waits a moment until all is written.
    pub(super) fn close(&mut self) {
        let Some((sender, writer)) = self.writer.take() else { return };
        drop(sender);
        let since = Instant::now();
        while !writer.is_finished() && since.elapsed() < FAREWELL {
            thread::park_timeout(Duration::from_millis(1));
        }
    }

    /// The line before the one shown; the first time the last one that was sent, and `now` is kept for the way back.
    pub(super) fn back(&mut self, now: &str) -> Option<String> {
        let at = match &self.shown {
            Some((at, _)) => at.checked_sub(1)?,
            None => self.lines.len().checked_sub(1)?,
        };
        let before = self.shown.take().map_or_else(|| now.to_owned(), |(_, before)| before);
        self.shown = Some((at, before));
        self.lines.get(at).cloned()
    }

    /// The line after it, at last what stood in the line before.
    pub(super) fn forth(&mut self) -> Option<String> {
        let (at, before) = self.shown.take()?;
        match self.lines.get(at + 1) {
            Some(next) => {
                self.shown = Some((at + 1, before));
                Some(next.clone())
            }
            None => Some(before),
        }
    }

    /// Where the line is another now, the next arrow begins at the end again.
    pub(super) fn rest_unless(&mut self, line: &str) {
        self.shown.take_if(|(at, _)| self.lines.get(*at).is_none_or(|shown| shown != line));
    }

    /// Lines that hold all these words, each once, the youngest first, at most so many.
    pub(super) fn find(&self, words: &str, most: usize) -> Vec<&str> {
        let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        let mut found: Vec<&str> = Vec::new();
        for line in self.lines.iter().rev() {
            let lower = line.to_lowercase();
            if words.iter().all(|word| lower.contains(word)) && !found.contains(&line.as_str()) {
                found.push(line);
                if found.len() == most {
                    break;
                }
            }
        }
        found
    }
}

fn write(mut history: FileBackedHistory, typed: &Receiver<String>) {
    while let Ok(line) = typed.recv() {
        let kept = history.save(HistoryItem::from_command_line(line)).map_err(|error| error.to_string());
        let kept = kept.and_then(|_| history.sync().map_err(|error| error.to_string()));
        if let Err(error) = kept {
            tracing::warn!(%error, "the history of the prompt is not kept");
        }
    }
}
