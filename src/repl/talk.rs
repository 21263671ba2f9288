//! One conversation at the prompt: what is typed is done, what happens is shown. Knows neither editor nor terminal.

use std::path::PathBuf;
use std::time::Instant;

use tokio::sync::broadcast::error::RecvError;

use super::board::Board;
use super::command::{self, Input, Misread};
use super::complete::Completer;
use super::help;
use super::look::Looked;
use super::out::{Out, width};
use super::sheet;
use super::shell::{Overheard, Shell};
use super::sight::Sight;
use crate::event::{AgentEvent, Ending};
use crate::runtime::{Envelope, News, Runtime, Source, TaskRow};
use crate::session::SessionId;
use crate::task::{TaskId, TaskStatus};
use crate::terminal::Look;
use crate::terminal::clean::clean;
use crate::terminal::exit::Exit;
use crate::terminal::screen::Screen;
use crate::terminal::story;
use crate::terminal::wrap::wrapped;

/// What comes after an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    GoOn,
    Leave,
}

/// Where it is held.
pub(super) struct Place {
    /// Files are named from here, and commands of the person run here.
    pub(super) root: PathBuf,
    /// Knows what can be named.
    pub(super) completer: Completer,
    /// Messages that there were before anything was drawn.
    pub(super) seen: usize,
}

/// The conversation.
pub(super) struct Talk<'a> {
    pub(super) runtime: &'a Runtime,
    /// Which conversation; another one may be gone over to.
    pub(super) session: SessionId,
    pub(super) screen: Screen,
    pub(super) out: Out,
    pub(super) root: PathBuf,
    /// Knows what can be named.
    pub(super) completer: Completer,
    pub(super) look: Look,
    pub(super) busy: bool,
    /// Something was said and not everything that came of it is over.
    pub(super) waiting: bool,
    /// When Ctrl-C was pressed last, and how often in a row.
    pub(super) interrupted: Option<(Instant, usize)>,
    pub(super) shell: Option<Shell>,
    /// What commands of the person have shown since the last line.
    pub(super) overheard: Overheard,
    exit: Exit,
    /// Where only looked at: what was shown already of the conversation of another process.
    pub(super) looked: Option<Looked>,
    /// What is drawn around the line.
    pub(super) sight: Sight,
    /// The board, while it is shown in place of the conversation.
    pub(super) board: Option<Board>,
    /// Thoughts are shown as they come.
    pub(super) thoughts: bool,
}

impl<'a> Talk<'a> {
    pub(super) fn new(runtime: &'a Runtime, session: &SessionId, screen: Screen, out: Out, place: Place) -> Talk<'a> {
        let Place { root, completer, seen } = place;
        let look = screen.look();
        let (busy, waiting, interrupted, shell, exit) = (false, false, None, None, Exit::Done);
        let sight = Sight::new();
        let looked = runtime.looking().map(|_| Looked::after(runtime, seen));
        Talk {
            runtime,
            session: session.clone(),
            screen,
            out,
            root,
            completer,
            look,
            busy,
            waiting,
            interrupted,
            shell,
            overheard: Overheard::default(),
            exit,
            looked,
            sight,
            board: None,
            thoughts: false,
        }
    }

    /// How long the current run still waits before it asks its model again, in the words of the prompt.
    pub(super) fn countdown(&self) -> Option<String> {
        self.screen.wait().map(|left| format!("⟳ {}", story::whole(left)))
    }

    /// What is not final yet, in so many rows.
    pub(super) fn live(&self, rows: usize) -> Vec<String> {
        self.screen.live(rows)
    }

    /// A command of the person's own runs.
    pub(super) fn is_in_shell(&self) -> bool {
        self.shell.as_ref().is_some_and(|shell| !shell.is_over())
    }

    /// What can be named has changed.
    pub(super) fn renew(&self) -> Next {
        if let Out::Above(desk) = &self.out {
            desk.renew();
        }
        Next::GoOn
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waiting
    }

    /// What leaving means: for a script how its last run ended, for a person nothing.
    pub(super) async fn exit(&self) -> Exit {
        match (&self.out, self.exit) {
            (Out::Above(_), _) => Exit::Done,
            (Out::Plain, Exit::Failed) => {
                let status = self.runtime.status(&self.session).await.ok();
                status.and_then(|status| status.fault).map_or(Exit::Failed, Exit::from)
            }
            (Out::Plain, exit) => exit,
        }
    }

    /// Waits until nothing runs and every report is told.
    pub(super) async fn settled(&mut self) {
        self.runtime.idle().await;
        self.waiting = false;
    }

    pub(super) async fn hear(&mut self, news: Result<Envelope, RecvError>) -> Next {
        match news {
            Ok(envelope) if self.go_along(&envelope).await || self.is_ours(&envelope) => {
                self.tell_board(&envelope);
                self.screen.set_width(width());
                let lines = self.screen.show(&envelope);
                self.out.news(lines).await;
                self.note(&envelope.news);
                if let (Source::Main { .. }, News::Agent(event)) = (&envelope.source, &envelope.news) {
                    self.follow(event).await;
                }
            }
            Ok(_) => {}
            Err(RecvError::Lagged(missed)) => {
                let line = self.look.dim(format!("… {missed} events passed too fast to be shown"));
                self.out.news([line]).await;
                self.busy = self.runtime.status(&self.session).await.is_ok_and(|status| status.busy);
            }
            Err(RecvError::Closed) => return Next::Leave,
        }
        Next::GoOn
    }

    pub(super) async fn tick(&mut self) -> Next {
        let lines = self.screen.tick();
        // At the prompt a call that runs long is seen while it runs.
        if matches!(self.out, Out::Plain) {
            self.out.news(lines).await;
        }
        self.look_on().await;
        self.sight.stale = true;
        Next::GoOn
    }

    /// Ends what the prompt itself started, and says what is interrupted by leaving.
    pub(super) async fn leave(mut self) {
        if let Some(shell) = self.shell.take() {
            shell.end().await;
        }
        let rows = self.runtime.tasks().await;
        let is_alive = |row: &&TaskRow| !row.status.is_over() && row.status != TaskStatus::Parked;
        let alive: Vec<&TaskRow> = rows.iter().filter(is_alive).collect();
        if !alive.is_empty() {
            let ids: Vec<String> = alive.iter().map(|row| row.id.to_string()).collect();
            let line = format!("{} interrupted: {}", self.look.warn("■"), ids.join(", "));
            self.out.news([line]).await;
        }
    }

    fn is_ours(&self, envelope: &Envelope) -> bool {
        match &envelope.source {
            Source::Main { session, .. } => *session == self.session,
            Source::Task(_) => true,
        }
    }

    async fn follow(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::RunStarted => self.busy = true,
            AgentEvent::RunEnded { ending } => {
                self.busy = false;
                self.ended(ending).await;
            }
            _ => {}
        }
    }

    async fn ended(&mut self, ending: &Ending) {
        if let Ending::Completed { answer } | Ending::TurnLimit { answer } | Ending::BudgetSpent { answer, .. } = ending
            && matches!(self.out, Out::Plain)
            && !answer.is_empty()
        {
            self.out.answer([clean(answer)]).await;
        }
        self.exit = match ending {
            Ending::Completed { .. } | Ending::Parked => Exit::Done,
            Ending::Aborted => Exit::Interrupted,
            Ending::TurnLimit { .. } | Ending::BudgetSpent { .. } => Exit::Limit,
            Ending::Stuck { .. } | Ending::Failed { .. } => Exit::Failed,
        };
    }

    pub(super) async fn line(&mut self, line: &str) -> Next {
        if !line.trim().is_empty() {
            self.say_again(line).await;
        }
        if self.permitted(line).await {
            return Next::GoOn;
        }
        match command::read(line) {
            Ok(Input::Quit) => return Next::Leave,
            Ok(input) => self.input(input).await,
            Err(error @ Misread::Unknown { .. }) => self.word(line, error).await,
            Err(error) => self.complain(error).await,
        }
        Next::GoOn
    }

    async fn input(&mut self, input: Input) {
        match input {
            Input::Nothing | Input::Detach => self.attach(None).await,
            Input::Say(text) => self.say(text).await,
            Input::FollowUp(text) => self.follow_up(text).await,
            Input::Steer(task, text) => match self.runtime.steer(task, text).await {
                Ok(note) => self.acknowledge(&format!("steer {note} for {task}")).await,
                Err(error) => self.complain(error).await,
            },
            Input::FollowUpTask(task, text) => match self.runtime.follow_up(task, text).await {
                Ok(note) => self.acknowledge(&format!("follow-up {note} for {task}")).await,
                Err(error) => self.complain(error).await,
            },
            Input::Answer(task, question, words) => match self.runtime.answer(task, question, words).await {
                Ok(replied) => self.acknowledge(&replied.to_string()).await,
                Err(error) => self.complain(error).await,
            },
            Input::Permit(id, word) => self.permit((id, word)).await,
            Input::Shell { text, private } => self.shell(text, private).await,
            Input::Inquire(inquiry) => self.inquire(inquiry).await,
            Input::Deed(deed) => self.deed(deed).await,
            Input::Resume(task) => self.resume(task, None).await,
            Input::Continue(task, text) => self.resume(task, Some(text)).await,
            Input::Dispatch(text, approval) => self.dispatch(text, approval).await,
            Input::Batch(file, text) => self.batch(&file, text).await,
            Input::Abort(None) => self.stop(true).await,
            Input::Abort(Some(task)) => {
                if let Err(error) = self.runtime.abort(task).await {
                    self.complain(error).await;
                }
            }
            Input::Attach(task) => self.attach(Some(task)).await,
            Input::Board => self.open_board().await,
            Input::Roam(roam) => self.roam(roam).await,
            Input::Budget(task, change) => self.budget(task, change).await,
            Input::Jobs(Some(id)) => match self.runtime.kill_job(&self.session, id).await {
                Some(row) => self.acknowledge(&clean(&row.to_string())).await,
                None => self.complain(format!("there is no job {id}; /jobs lists them")).await,
            },
            Input::Jobs(None)
            | Input::Tasks
            | Input::Task(_)
            | Input::Status
            | Input::Cost
            | Input::Help(_)
            | Input::Quit => self.sheet(input).await,
        }
    }

    async fn sheet(&self, input: Input) {
        let (look, width) = (self.look, width());
        let lines = match input {
            Input::Jobs(_) => sheet::jobs(&self.runtime.jobs(&self.session)),
            Input::Tasks => sheet::tasks(&self.runtime.tasks().await, look, width),
            Input::Task(task) => match self.runtime.task(task).await {
                Ok(detail) => sheet::task(&detail, &self.root, look, width),
                Err(error) => return self.complain(error).await,
            },
            Input::Cost => match self.runtime.status(&self.session).await {
                Ok(status) => sheet::cost(&status.bill, &self.runtime.tasks().await, look),
                Err(error) => return self.complain(error).await,
            },
            Input::Status => match self.runtime.status(&self.session).await {
                Ok(status) => sheet::status(&status, &self.session, &self.runtime.tasks().await, look),
                Err(error) => return self.complain(error).await,
            },
            Input::Help(None) => help::screen(look, width),
            Input::Help(Some(entry)) => help::command(entry, look, width),
            _ => vec![],
        };
        self.out.answer(lines).await;
    }

    pub(super) async fn attach(&mut self, task: Option<TaskId>) {
        let Some(id) = task else {
            if let Some(before) = self.screen.watched() {
                self.screen.watch(None);
                self.out.news([self.look.dim(format!("no longer watching {before}"))]).await;
            }
            return;
        };
        match self.runtime.task(id).await {
            Ok(detail) if detail.row.status == TaskStatus::Running || detail.row.status == TaskStatus::Queued => {
                self.screen.watch(Some(id));
                self.out.news(sheet::task(&detail, &self.root, self.look, width())).await;
                self.out.news([self.look.dim("watching; Enter on an empty line ends it")]).await;
            }
            Ok(detail) => self.out.answer(sheet::task(&detail, &self.root, self.look, width())).await,
            Err(error) => self.complain(error).await,
        }
    }

    pub(super) async fn acknowledge(&self, what: &str) {
        self.out.news([self.look.dim(format!("  ↳ {what}"))]).await;
    }

    pub(super) async fn complain(&self, error: impl std::fmt::Display) {
        let text = clean(&error.to_string());
        let room = if matches!(self.out, Out::Plain) { usize::MAX } else { width().saturating_sub(3) };
        let lines = text.lines().flat_map(|line| wrapped(line, room)).enumerate();
        let sign = |at| if at == 0 { self.look.bad("✗") } else { " ".to_owned() };
        self.out.news(lines.map(|(at, line)| format!("{} {line}", sign(at)))).await;
    }

    /// One command at a time; the next waits for nobody, it is refused.
    pub(super) async fn shell(&mut self, text: String, private: bool) {
        if self.is_in_shell() {
            return self.complain("a command is still running; Esc stops it").await;
        }
        let overheard = (!private).then(|| self.overheard.clone());
        let shell = Shell::start(text, self.root.clone(), (self.out.clone(), self.look), overheard);
        if matches!(self.out, Out::Plain) {
            shell.wait().await;
        } else {
            self.shell = Some(shell);
        }
    }
}
