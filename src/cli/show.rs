//! Shows a run to a person or a program: the answer on stdout, progress on stderr, or everything as JSON lines.

use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::sleep;

use super::json::{End, Lines};
use super::ready::Ready;
use super::run::{Feed, Setup};
use super::voice::{Unread, Voice};
use crate::event::{AgentEvent, Ending};
use crate::message::{Role, Spent, Tally};
use crate::model::Fault;
use crate::runtime::{Envelope, News, RunId, Source, TaskRow};
use crate::task::TaskId;
use crate::terminal::clean::clean;
use crate::terminal::exit::Exit;
use crate::terminal::screen::{Screen, Texts};
use crate::terminal::{Look, story};

/// Columns of progress when nobody says how wide stderr is.
const WIDTH: usize = 100;

/// What kind of fault ended the run. Its end is told a moment before the session is home, so that is waited for.
async fn fault(ready: &Ready) -> Option<Fault> {
    for _ in 0..100 {
        let status = ready.runtime.status(&ready.session).await.ok()?;
        if !status.busy {
            return status.fault;
        }
        sleep(Duration::from_millis(10)).await;
    }
    None
}

/// Shows a run on stdout and stderr.
pub(super) struct Show {
    json: Option<Lines>,
    /// Writes the JSON lines.
    voice: Option<Voice>,
    screen: Screen,
    look: Look,
    /// Stderr is a terminal that can write over a line, so that a wait is counted down in place.
    in_place: bool,
    /// Such a line stands on stderr without its end; this is what it says when the wait is over.
    standing: Option<String>,
    /// Words stream to stdout as they come, because a person reads it.
    live: bool,
    ending: Option<Ending>,
    result: Option<String>,
    /// Answers are not shown as they come: only one that is valid is.
    held: bool,
    structured: Option<Value>,
    /// Of tasks that began in this run and are over.
    tasks: Tally,
    /// Tasks that began in this run.
    started: HashSet<TaskId>,
    /// Tasks are waited for.
    pub(super) wait: bool,
    /// Nobody reads stdout any more.
    pub(super) unread: bool,
}

impl Show {
    pub(super) fn new(ready: Option<&Ready>, setup: &Setup) -> Show {
        let session = ready.map(|ready| ready.session.to_string()).unwrap_or_default();
        let root = ready.map(|ready| ready.root.clone()).unwrap_or_default();
        let live = setup.json.is_none() && setup.schema.is_none() && io::stdout().is_terminal();
        let texts = if live { Texts::Shown } else { Texts::Hidden };
        Show {
            voice: setup.json.map(|_| Voice::new()),
            json: setup.json.map(|dialect| Lines::speaking(session, dialect)),
            screen: Screen::new(setup.look, setup.width.unwrap_or(WIDTH), root, texts),
            look: setup.look,
            in_place: setup.in_place && setup.json.is_none(),
            standing: None,
            live,
            ending: None,
            result: None,
            held: setup.schema.is_some(),
            structured: None,
            tasks: Tally::default(),
            started: HashSet::new(),
            wait: setup.wait,
            unread: false,
        }
    }

    pub(super) fn begin(&mut self, ready: &Ready) {
        if let Some(json) = &mut self.json {
            let lines = json.start(&ready.model, &ready.why, &ready.root.display().to_string());
            lines.iter().for_each(|line| self.answer(line));
        } else {
            self.progress(&self.look.dim(ready.headline()));
        }
        for warning in &ready.warnings {
            self.progress(&format!("{} {}", self.look.warn("⚠"), clean(warning)));
        }
    }

    /// The next piece of news, when there is room to tell it.
    pub(super) async fn next(&self, feed: &mut Feed) -> Result<Envelope, RecvError> {
        self.room().await;
        feed.recv().await
    }

    /// Waits until something can be told. Who reads JSON lines too slowly misses news, and is told how much.
    pub(super) async fn room(&self) {
        if let Some(voice) = &self.voice {
            voice.room().await;
        }
    }

    /// What came of an order.
    pub(super) fn response(&mut self, id: &Value, command: &str, outcome: &Result<Value, String>) {
        let lines = self.json.as_mut().map(|json| json.response(id, command, outcome));
        lines.iter().flatten().for_each(|line| self.answer(line));
    }

    /// Shows one piece of news; answers whether our run is over.
    pub(super) async fn news(
        &mut self,
        news: Result<Envelope, RecvError>,
        ready: &Ready,
        run: RunId,
    ) -> Result<bool, String> {
        let envelope = match news {
            Ok(envelope) => envelope,
            Err(RecvError::Lagged(missed)) => {
                let lines = self.json.as_mut().map(|json| json.missed(missed));
                self.either(lines, format!("… {missed} events passed too fast to be shown"));
                return self.recover(ready).await;
            }
            Err(RecvError::Closed) => return Err("the runtime ended before the run did".to_owned()),
        };
        if let Source::Main { session, .. } = &envelope.source
            && *session != ready.session
        {
            return Ok(false);
        }
        self.show(&envelope);
        self.count(&envelope);
        let (Source::Main { run: whose, .. }, News::Agent(AgentEvent::RunEnded { ending })) =
            (&envelope.source, &envelope.news)
        else {
            return Ok(false);
        };
        self.ended(ending);
        Ok(*whose == run)
    }

    /// The end may have been among what was missed: then the conversation knows what was said last.
    async fn recover(&mut self, ready: &Ready) -> Result<bool, String> {
        let status = ready.runtime.status(&ready.session).await.map_err(|error| error.to_string())?;
        if status.busy || status.queued > 0 {
            return Ok(false);
        }
        let said = ready.runtime.transcript(&ready.session).await.map_err(|error| error.to_string())?;
        let last = said.last().filter(|message| message.role == Role::Assistant && status.fault.is_none());
        if let Some(message) = last {
            self.ended(&Ending::Completed { answer: message.text() });
        }
        Ok(true)
    }

    /// Adds what tasks of this run cost; one that an earlier program left may be told too, and was paid there.
    fn count(&mut self, envelope: &Envelope) {
        match (&envelope.source, &envelope.news) {
            (Source::Task(task), News::TaskStarted { .. }) => drop(self.started.insert(*task)),
            (Source::Task(task), News::TaskEnded(report)) if self.started.contains(task) => {
                self.tasks.add(report.tally());
            }
            _ => {}
        }
    }

    fn show(&mut self, envelope: &Envelope) {
        let lines = match &mut self.json {
            Some(json) => json.news(envelope),
            None => self.screen.show(envelope),
        };
        if self.in_place && is_wait(envelope) {
            return self.count_down();
        }
        let to_stdout = self.json.is_some() || (self.live && matches!(envelope.source, Source::Main { .. }));
        for line in lines {
            if to_stdout { self.answer(&line) } else { self.progress(&line) }
        }
    }

    fn ended(&mut self, ending: &Ending) {
        if let Ending::Completed { answer } | Ending::TurnLimit { answer } | Ending::BudgetSpent { answer, .. } = ending
        {
            if self.json.is_none() && !self.live && !self.held && !answer.is_empty() {
                self.answer(&clean(answer.trim_end()));
            }
            self.result = Some(answer.clone());
        }
        self.ending = Some(ending.clone());
    }

    pub(super) fn tick(&mut self) {
        if self.json.is_none() {
            let lines = self.screen.tick();
            lines.iter().for_each(|line| self.progress(line));
        }
        if self.in_place {
            self.count_down();
        }
    }

    /// Writes the wait for the next attempt over itself.
    fn count_down(&mut self) {
        let Some(left) = self.screen.wait() else { return self.settle() };
        if let Some(line) = self.screen.waiting(left) {
            let _ = write!(io::stderr().lock(), "\r\x1b[2K{line}");
            self.standing = self.screen.waiting(Duration::ZERO);
        }
    }

    /// Ends a line that stands without its end, before anything else is written.
    fn settle(&mut self) {
        if let Some(line) = self.standing.take() {
            let _ = writeln!(io::stderr().lock(), "\r\x1b[2K{line}");
        }
    }

    /// What the last run's ending means for a script.
    pub(super) async fn exit(&self, ready: &Ready) -> Exit {
        match &self.ending {
            Some(Ending::Completed { .. } | Ending::Parked) => Exit::Done,
            Some(Ending::TurnLimit { .. } | Ending::BudgetSpent { .. }) => Exit::Limit,
            Some(Ending::Aborted) => Exit::Interrupted,
            Some(Ending::Stuck { .. } | Ending::Failed { .. }) | None => {
                fault(ready).await.map_or(Exit::Failed, Exit::from)
            }
        }
    }

    /// The last answer, if there was one.
    pub(super) fn last(&self) -> Option<&str> {
        self.result.as_deref()
    }

    /// The last answer is this JSON, and is shown.
    pub(super) fn settle_on(&mut self, text: &str, value: Value) {
        if self.json.is_none() {
            self.answer(text);
        }
        (self.result, self.structured) = (Some(text.to_owned()), Some(value));
    }

    /// What was said last is no answer.
    pub(super) fn unanswered(&mut self) {
        self.result = None;
    }

    /// A line of progress that is no event; scripts know it from what follows.
    pub(super) fn remark(&mut self, text: &str) {
        if self.json.is_none() {
            self.progress(&self.look.dim(clean(text)));
        }
    }

    pub(super) fn fault(&mut self, why: &str) {
        let lines = self.json.as_mut().map(|json| json.error(why));
        self.either(lines, format!("{} {}", self.look.bad("✗"), clean(why)));
    }

    pub(super) async fn end(mut self, exit: Exit, main: Tally, alive: &[TaskRow]) -> Exit {
        for row in alive {
            let title = clean(&row.title);
            let hint = if self.wait { "" } else { " · --wait waits for it" };
            let line = format!("{} {} interrupted · {title}{hint}", self.look.warn("■"), row.id);
            self.progress(&line);
        }
        let mut tally = self.tasks;
        tally.add(main);
        let interrupted = alive.iter().map(|row| row.id.to_string()).collect();
        let result = self.result.take();
        let reason = self.ending.as_ref().map(Ending::reason);
        let structured = self.structured.take();
        let end = End { exit, tally, reason, result: result.as_deref(), structured: structured.as_ref(), interrupted };
        if let Some(lines) = self.json.as_mut().map(|json| json.end(&end)) {
            lines.iter().for_each(|line| self.answer(line));
        } else if tally.usage.context() > 0 || tally.spent != Spent::default() {
            self.progress(&self.look.dim(story::tally(&tally)));
        }
        if let Some(voice) = self.voice.take() {
            voice.finish().await;
        }
        exit
    }

    fn either(&mut self, json: Option<Vec<String>>, text: String) {
        match json {
            Some(lines) => lines.iter().for_each(|line| self.answer(line)),
            None => self.progress(&text),
        }
    }

    fn answer(&mut self, line: &str) {
        if let Some(voice) = &self.voice {
            self.unread |= voice.say(line) == Err(Unread);
            return;
        }
        self.settle();
        let mut out = io::stdout().lock();
        self.unread |= writeln!(out, "{line}").and_then(|()| out.flush()).is_err();
    }

    /// Progress that nobody reads is no reason to stop.
    fn progress(&mut self, line: &str) {
        self.settle();
        let _ = writeln!(io::stderr().lock(), "{line}");
    }
}

/// The main agent waits before it asks its model again.
fn is_wait(envelope: &Envelope) -> bool {
    let waits = |event: &AgentEvent| matches!(event, AgentEvent::Retrying { wait, .. } if !wait.is_zero());
    matches!(envelope.source, Source::Main { .. }) && matches!(&envelope.news, News::Agent(event) if waits(event))
}
