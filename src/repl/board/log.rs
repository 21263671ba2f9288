//! What one worker did, as lines that stay within a cap: from its progress.md what was before, from the feed what comes.

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;

use crate::event::AgentEvent;
use crate::message::CallId;
use crate::runtime::{Envelope, News};
use crate::task::TaskId;
use crate::terminal::Look;
use crate::terminal::clean::clean;
use crate::terminal::screen::Screen;

/// Most lines that are kept.
const KEPT: usize = 2_000;

/// Tools that change files; what they tell is told apart.
const EDITS: [&str; 2] = ["write_file", "edit_file"];

/// The log of a worker.
pub(super) struct Log {
    task: TaskId,
    screen: Screen,
    lines: VecDeque<Line>,
    /// Calls under way that change files.
    edits: HashSet<CallId>,
    /// What was before is in it.
    pub(super) seeded: bool,
}

struct Line {
    text: String,
    /// It tells of a change to a file.
    edit: bool,
}

impl Log {
    pub(super) fn new(look: Look, width: usize, root: PathBuf, task: TaskId) -> Log {
        let screen = Screen::alone(look, width, root, task);
        Log { task, screen, lines: VecDeque::new(), edits: HashSet::new(), seeded: false }
    }

    /// Puts what was before in front of what came meanwhile.
    pub(super) fn seed(&mut self, progress: &str, look: Look) {
        self.seeded = true;
        let earlier: Vec<&str> = progress.lines().collect();
        let room = KEPT.saturating_sub(self.lines.len());
        for line in earlier.iter().rev().take(room) {
            // `14:03 edit_file src/main.rs (0.1 s)`
            let edit = line.split(' ').nth(1).is_some_and(|word| EDITS.contains(&word));
            self.lines.push_front(Line { text: look.dim(clean(line).replace('\n', " ")), edit });
        }
    }

    /// Takes a piece of news of this worker; answers how many lines at the beginning it cost.
    pub(super) fn hear(&mut self, envelope: &Envelope, width: usize) -> usize {
        if matches!(envelope.news, News::TaskStarted { .. }) {
            self.screen.watch(Some(self.task));
        }
        self.screen.set_width(width);
        let edit = self.is_edit(&envelope.news);
        let told = self.screen.show(envelope);
        self.push(told, edit)
    }

    fn push(&mut self, told: Vec<String>, edit: bool) -> usize {
        let lines = told.iter().flat_map(|line| line.split('\n'));
        self.lines.extend(lines.map(|text| Line { text: text.to_owned(), edit }));
        let over = self.lines.len().saturating_sub(KEPT);
        self.lines.drain(..over);
        over
    }

    fn is_edit(&mut self, news: &News) -> bool {
        match news {
            News::Agent(AgentEvent::ToolStarted { call }) if EDITS.contains(&call.name.as_str()) => {
                self.edits.insert(call.id.clone());
                true
            }
            News::Agent(AgentEvent::ToolFinished { result, .. }) => self.edits.remove(&result.call),
            News::Agent(AgentEvent::RunEnded { .. }) => {
                self.edits.clear();
                false
            }
            _ => false,
        }
    }

    /// All of it, or what tells of changes to files alone, and in at most `live` lines what still changes.
    pub(super) fn lines(&self, edits: bool, live: usize) -> Vec<String> {
        let kept = self.lines.iter().filter(|line| line.edit || !edits).map(|line| line.text.clone());
        let changing = if edits { vec![] } else { self.screen.live(live) };
        kept.chain(changing).collect()
    }
}
