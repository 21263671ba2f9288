//! The worker board: all workers on the left, what the chosen one does on the right, keys to steer it. Rows, news and keys
//! in, a screen of lines and deeds out; who asks the runtime and who draws is the prompt's affair.

mod draw;
mod fit;
mod keys;
mod list;
mod log;

use std::collections::BTreeMap;
use std::path::PathBuf;

use reedline::LineBuffer;

use self::log::Log;
use crate::runtime::{Envelope, Source, TaskDetail, TaskRow};
use crate::task::{Question, TaskId};
use crate::terminal::Look;
use crate::terminal::clean::{clean, one_line};
use crate::terminal::story;
use crate::terminal::wrap::wrapped;

/// Most workers whose log is kept.
const LOGS: usize = 64;

/// What a key asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Nothing but another look.
    Nothing,
    /// Words for a worker.
    Steer(TaskId, String),
    /// An answer to one of its questions.
    Answer(TaskId, u32, String),
    /// Its end.
    Abort(TaskId),
    /// It shall go on, with new words where it was done.
    Retry(TaskId, Option<String>),
    /// Its result is to be shown here, with [`Board::show_result`].
    Open(TaskId),
    /// Back to the prompt.
    Back,
}

/// The board.
pub struct Board {
    look: Look,
    root: PathBuf,
    /// Columns and rows of the screen.
    size: (usize, usize),
    /// Those that go on by number, then those that ended, the youngest first.
    rows: Vec<TaskRow>,
    chosen: Option<TaskId>,
    logs: BTreeMap<TaskId, Log>,
    view: View,
    /// The first line of the view that is seen; `None` follows its end.
    top: Option<usize>,
    /// Where there is room for one column only: the list, not the view.
    on_list: bool,
    mode: Mode,
    /// Said until the next key.
    notice: Option<String>,
}

/// What is seen of the chosen worker.
enum View {
    Log,
    /// Of the log what changed files.
    Edits,
    Result(Vec<String>),
}

enum Mode {
    Watch,
    /// A line is typed.
    Type(TaskId, What, LineBuffer),
    /// One key more, and it is ended.
    Sure(TaskId),
}

/// What a typed line becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Steer,
    Answer(u32),
    Continue,
}

impl Board {
    /// A board that knows the workspace's root, to name files from it. It shows nothing before [`Board::set_rows`].
    pub fn new(look: Look, root: PathBuf, (width, height): (u16, u16)) -> Board {
        Board {
            look,
            root,
            size: (width.into(), height.into()),
            rows: Vec::new(),
            chosen: None,
            logs: BTreeMap::new(),
            view: View::Log,
            top: None,
            on_list: true,
            mode: Mode::Watch,
            notice: None,
        }
    }

    /// The screen has another size now.
    pub fn resize(&mut self, (width, height): (u16, u16)) {
        self.size = (width.into(), height.into());
    }

    /// How all tasks stand. The chosen one stays chosen; at first it is one that asks, else the youngest that goes on.
    pub fn set_rows(&mut self, rows: Vec<TaskRow>) {
        let (over, mut live): (Vec<TaskRow>, Vec<TaskRow>) = rows.into_iter().partition(|row| row.status.is_over());
        live.extend(over.into_iter().rev());
        self.rows = live;
        if self.row().is_none() {
            let asks = self.rows.iter().find(|row| !row.questions.is_empty());
            let live = || self.rows.iter().rev().find(|row| !row.status.is_over());
            let first = asks.or_else(live).or(self.rows.first()).map(|row| row.id);
            self.choose(first);
        }
    }

    /// Workers of which it is not known what they did before: [`Board::seed`] tells it. Those that go on, and the chosen one.
    pub fn unknown(&self) -> Vec<TaskId> {
        let known = |id: TaskId| self.logs.get(&id).is_some_and(|log| log.seeded);
        let wanted = self.rows.iter().filter(|row| !row.status.is_over() || Some(row.id) == self.chosen);
        wanted.map(|row| row.id).filter(|id| !known(*id)).take(LOGS).collect()
    }

    /// What a worker did before it was looked at, as its progress.md tells.
    pub fn seed(&mut self, task: TaskId, progress: &str) {
        let look = self.look;
        self.log(task).seed(progress, look);
    }

    /// Takes a piece of news; what is not about a worker is nothing to it.
    pub fn hear(&mut self, envelope: &Envelope) {
        let Source::Task(id) = envelope.source else { return };
        let width = self.log_width();
        let lost = self.log(id).hear(envelope, width);
        self.lost(id, lost);
    }

    /// Shows the result of a task in place of its log; says so when there is none.
    pub fn show_result(&mut self, detail: &TaskDetail) {
        let Some(report) = &detail.result else {
            return self.say(format!("{} has no result yet", detail.row.id));
        };
        if self.chosen != Some(detail.row.id) {
            return;
        }
        let mut lines = vec![story::ended(self.look, report, &self.root), String::new()];
        lines.extend(wrapped(&clean(report.answer.trim()), self.log_width()));
        let files = report.files.iter().map(|file| ("wrote", file));
        let changed = report.changed.iter().map(|file| ("changed", file));
        lines.extend(files.chain(changed).map(|(how, file)| self.look.dim(format!("{how} {}", one_line(file)))));
        (self.view, self.top) = (View::Result(lines), Some(0));
    }

    /// Says something in the last line, until the next key.
    pub fn say(&mut self, text: impl Into<String>) {
        self.notice = Some(one_line(&text.into()));
    }

    /// A text that was pasted.
    pub fn paste(&mut self, text: &str) {
        if let Mode::Type(_, _, line) = &mut self.mode {
            line.insert_str(&keys::typed(text, line.len()));
        }
    }

    fn log(&mut self, id: TaskId) -> &mut Log {
        if !self.logs.contains_key(&id) && self.logs.len() >= LOGS {
            let live = |id: &TaskId| self.rows.iter().any(|row| row.id == *id && !row.status.is_over());
            let old = self.logs.keys().find(|old| Some(**old) != self.chosen && !live(old)).copied();
            let old = old.or_else(|| self.logs.keys().find(|old| Some(**old) != self.chosen).copied());
            old.and_then(|old| self.logs.remove(&old));
        }
        let (look, width, root) = (self.look, self.log_width(), &self.root);
        self.logs.entry(id).or_insert_with(|| Log::new(look, width, root.clone(), id))
    }

    /// Lines at the beginning of a log are gone.
    fn lost(&mut self, id: TaskId, lost: usize) {
        if self.chosen == Some(id) && matches!(self.view, View::Log) {
            self.top = self.top.map(|top| top.saturating_sub(lost));
        }
    }

    fn choose(&mut self, id: Option<TaskId>) {
        if self.chosen != id {
            (self.chosen, self.view, self.top) = (id, View::Log, None);
        }
    }

    fn at(&self) -> Option<usize> {
        self.rows.iter().position(|row| Some(row.id) == self.chosen)
    }

    fn row(&self) -> Option<&TaskRow> {
        self.rows.iter().find(|row| Some(row.id) == self.chosen)
    }

    /// The question of the chosen worker that waits for longest.
    fn question(&self) -> Option<&Question> {
        self.row()?.questions.first()
    }
}
