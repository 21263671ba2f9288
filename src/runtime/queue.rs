//! What a main agent is still to hear: lines, reports, and notes that no run has heard. Says what goes into one run
//! together; starts none.

use std::collections::VecDeque;
use std::sync::Arc;

use super::busy::Token;
use super::mail::PERSON;
use super::{RunId, Said, SessionGone, pending, report};
use crate::message::{Message, Note, NoteId, NoteKind};
use crate::session::{Posted, Record};
use crate::task::{Question, TaskId, TaskReport};

/// Lines that may wait.
const LINES: usize = 256;

/// Runs in a row that may be started by reports alone and give the crew new orders. A main agent that answers each
/// report with a new task would otherwise go on for ever with nobody there. One that merely hears of its tasks may do so
/// as often as there are tasks.
pub(super) const UNATTENDED: u32 = 64;

/// It.
#[derive(Default)]
pub(super) struct Queue {
    lines: VecDeque<Line>,
    /// One without a token does not start a run by itself.
    reports: Vec<(TaskReport, Option<Token>)>,
    /// What tasks ask that the agent may decide; likewise.
    asks: Vec<(Doubt, Option<Token>)>,
    /// Told with the next line: what an earlier program was told and its runs did not hear.
    left: Vec<Posted>,
    /// Nobody is to hear these; the next run writes that down.
    dropped: Vec<NoteId>,
    /// Lines that are being written down.
    posting: usize,
    unattended: u32,
}

/// A line from a person, or a note that has become one.
pub(super) struct Line {
    pub(super) run: RunId,
    pub(super) said: Said,
    /// As what it waits on the disk; `None` when its run begins at once.
    pub(super) posted: Option<NoteId>,
    pub(super) _token: Token,
}

/// A note that was taken out of a queue.
pub(super) enum Waited {
    /// It would have begun a run.
    Line(Line),
    /// An earlier program was told.
    Left(Posted),
}

/// A question of a task that a main agent may answer.
pub(super) struct Doubt {
    pub(super) question: Question,
    /// The task's.
    pub(super) title: String,
}

/// What a main agent hears of questions.
pub(super) enum Heard {
    /// One that it may answer.
    Asked(Box<Doubt>, Token),
    /// One that is closed: that number of that task.
    Settled(TaskId, u32),
}

/// Takes what became of a line.
type Tell = Box<dyn FnOnce(Result<RunId, SessionGone>) + Send>;

/// Tells whoever said a line what became of it. Dropped, it says that nothing did.
pub(super) struct Answer {
    tell: Option<Tell>,
}

/// What one run begins with.
#[derive(Default)]
pub(super) struct Words {
    reports: Vec<(TaskReport, Option<Token>)>,
    asks: Vec<(Doubt, Option<Token>)>,
    left: Vec<Posted>,
    dropped: Vec<NoteId>,
    line: Option<Line>,
}

/// What is to be done next.
pub(super) enum Due {
    /// Nothing, until somebody says something.
    Nothing,
    /// A run.
    Run(Words),
    /// Too many runs had no person in them: the reports wait for a line now.
    Parked,
}

impl Queue {
    /// A queue that begins with what an earlier program left.
    pub(super) fn of(left: Vec<Posted>) -> Queue {
        Queue { left, ..Queue::default() }
    }

    /// Lines and reports that wait.
    pub(super) fn len(&self) -> usize {
        self.lines.len() + self.posting + self.reports.len() + self.asks.len()
    }

    /// Notes that wait for the next line.
    pub(super) fn left(&self) -> &[Posted] {
        &self.left
    }

    /// The notes among what waits, lines first.
    pub(super) fn notes(&self) -> Vec<Note> {
        let line = |line: &Line| Some(Note { id: line.posted?, kind: NoteKind::Line, text: line.said.text.clone() });
        let left = self.left.iter().map(|posted| posted.note.clone());
        self.lines.iter().filter_map(line).chain(left).collect()
    }

    /// Takes a note out that waits.
    pub(super) fn take(&mut self, note: NoteId) -> Option<Waited> {
        if let Some(at) = self.lines.iter().position(|line| line.posted == Some(note)) {
            return self.lines.remove(at).map(Waited::Line);
        }
        let at = self.left.iter().position(|posted| posted.note.id == note)?;
        Some(Waited::Left(self.left.remove(at)))
    }

    /// It waits again.
    pub(super) fn back(&mut self, waited: Waited) {
        match waited {
            Waited::Line(line) => self.lines.push_back(line),
            Waited::Left(posted) => self.left.push(posted),
        }
    }

    /// A line would have to wait for another.
    pub(super) fn has_lines(&self) -> bool {
        self.lines.len() + self.posting > 0
    }

    /// # Errors
    /// As many lines wait as may.
    pub(super) fn admit(&self) -> Result<(), SessionGone> {
        let waiting = self.lines.len() + self.posting;
        if waiting < LINES { Ok(()) } else { Err(SessionGone::Full(waiting)) }
    }

    pub(super) fn push(&mut self, line: Line) {
        self.lines.push_back(line);
    }

    /// A line is being written down.
    pub(super) fn posting(&mut self) {
        self.posting += 1;
    }

    /// It is written, or `None` when it could not be.
    pub(super) fn posted(&mut self, line: Option<Line>) {
        self.posting -= 1;
        self.lines.extend(line);
    }

    pub(super) fn report(&mut self, report: TaskReport, token: Option<Token>) {
        self.reports.push((report, token));
    }

    pub(super) fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Asked(doubt, token) => self.asks.push((*doubt, Some(token))),
            Heard::Settled(task, number) => {
                self.asks.retain(|(doubt, _)| (doubt.question.task, doubt.question.number) != (task, number));
            }
        }
    }

    /// Steers that an abort left over.
    pub(super) fn drop_note(&mut self, note: NoteId) {
        self.dropped.push(note);
    }

    /// Forgets everything: it is on the disk, and told when the session is opened again.
    pub(super) fn clear(&mut self) {
        self.lines.clear();
        self.reports.clear();
        self.asks.clear();
    }

    /// A run that was to begin with these words is over. One that ordered nothing brings no further reports.
    pub(super) fn ran(&mut self, words: Words, heard: bool, ordered: bool) {
        self.unattended = self.unattended.saturating_sub(u32::from(!ordered));
        if !heard {
            self.put_back(words);
        }
    }

    /// What comes next: the oldest line with all reports, or the reports alone.
    pub(super) fn next(&mut self) -> Due {
        let line = self.lines.pop_front();
        match &line {
            Some(_) => self.unattended = 0,
            None if self.posting > 0 || !self.is_waking() => return Due::Nothing,
            None if self.unattended >= UNATTENDED => {
                self.reports.iter_mut().for_each(|(_, token)| *token = None);
                self.asks.iter_mut().for_each(|(_, token)| *token = None);
                return Due::Parked;
            }
            None => self.unattended += 1,
        }
        let left = if line.is_some() { std::mem::take(&mut self.left) } else { Vec::new() };
        let (reports, dropped) = (std::mem::take(&mut self.reports), std::mem::take(&mut self.dropped));
        Due::Run(Words { reports, asks: std::mem::take(&mut self.asks), left, dropped, line })
    }

    /// Something waits that starts a run by itself.
    fn is_waking(&self) -> bool {
        let report = self.reports.iter().any(|(_, token)| token.is_some());
        report || self.asks.iter().any(|(_, token)| token.is_some())
    }

    /// Takes back what a run was to begin with and may not have. What the journal has of it is not told again.
    pub(super) fn put_back(&mut self, words: Words) {
        let Words { reports, asks, left, dropped, line } = words;
        self.asks.splice(0..0, asks.into_iter().map(|(doubt, _)| (doubt, None)));
        self.reports.splice(0..0, reports.into_iter().map(|(report, _)| (report, None)));
        let line = line.and_then(|Line { said: Said { text, images }, posted, .. }| {
            // One that did not wait was never acknowledged.
            let note = Note { id: posted?, kind: NoteKind::Line, text };
            Some(Posted { note, from: PERSON.to_owned(), images })
        });
        self.left.splice(0..0, left.into_iter().chain(line));
        self.dropped.extend(dropped);
    }
}

impl Waited {
    pub(super) fn text(&self) -> String {
        match self {
            Waited::Line(line) => line.said.text.clone(),
            Waited::Left(posted) => posted.note.text.clone(),
        }
    }
}

impl Line {
    /// A note that no run heard, as a line of its own.
    pub(super) fn of(note: Note, run: RunId, token: Token) -> Line {
        Line { run, said: note.text.into(), posted: Some(note.id), _token: token }
    }
}

impl Words {
    /// The run that was promised to whoever said the line.
    pub(super) fn run(&self) -> Option<RunId> {
        self.line.as_ref().map(|line| line.run)
    }

    /// The entries with which they become part of the conversation. With them, and with nothing before them, what was
    /// posted is heard and what was reported is told.
    pub(super) fn records(&self) -> Vec<Record> {
        let dropped = (!self.dropped.is_empty()).then(|| {
            let why = "the run was stopped before it was heard".to_owned();
            Record::Dropped { notes: self.dropped.clone(), why }
        });
        let reports = self.reports.iter().map(|(report, _)| Record::Report {
            task: report.id.to_string(),
            attempt: report.attempt,
            message: Arc::new(Message::user(report::message(report))),
        });
        let asks = self.asks.iter().map(|(Doubt { question, title }, _)| {
            let message = Arc::new(Message::user(pending::told(question, title)));
            Record::Reminder { message }
        });
        let said = |said: Said, posted| Record::User { message: Arc::new(said.into()), posted };
        let left = self.left.iter().cloned().map(|Posted { note, images, .. }| {
            let Note { id, text, .. } = note;
            said(Said { text, images }, Some(id))
        });
        let line = self.line.iter().map(|line| said(line.said.clone(), line.posted));
        dropped.into_iter().chain(reports).chain(asks).chain(left).chain(line).collect()
    }

    /// A person says something in them.
    pub(super) fn is_attended(&self) -> bool {
        self.line.is_some() || !self.left.is_empty()
    }

    /// The notes among them; they are seen with the first model call.
    pub(super) fn notes(&self) -> Vec<Note> {
        let left = self.left.iter().map(|posted| posted.note.clone());
        let line = self
            .line
            .as_ref()
            .and_then(|line| Some(Note { id: line.posted?, kind: NoteKind::Line, text: line.said.text.clone() }));
        left.chain(line).collect()
    }

    /// The reports among them.
    pub(super) fn tasks(&self) -> Vec<(TaskId, u32)> {
        self.reports.iter().map(|(report, _)| (report.id, report.attempt)).collect()
    }
}

impl Answer {
    pub(super) fn to(tell: impl FnOnce(Result<RunId, SessionGone>) + Send + 'static) -> Answer {
        Answer { tell: Some(Box::new(tell)) }
    }

    pub(super) fn give(mut self, answer: Result<RunId, SessionGone>) {
        if let Some(tell) = self.tell.take() {
            tell(answer);
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let nothing = "it was stopped before your words were written down; say them again";
        if let Some(tell) = self.tell.take() {
            tell(Err(SessionGone::NotBegun(nothing.to_owned())));
        }
    }
}
