//! The actor a person talks to: it queues lines and reports, starts one run after the other, and passes notes to the
//! one that is going on. What happens in a run is in `conduct`.

use std::collections::VecDeque;
use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use super::busy::Token;
use super::conduct::{self, Conduct, Conducted, Conversation};
use super::control::Ration;
use super::crew::CrewMsg;
use super::edit::{self, EditError, Edited, Work};
use super::feed::{News, Source};
use super::grace;
use super::launch::launch;
use super::meter::Meter;
use super::roster::Patron;
use super::site::{GRACE, Site};
use super::title::Titler;
use super::{RunId, Said, SessionGone, Status, Steered, report};
use crate::agent::inbox::{self, Tiller};
use crate::event::{AgentEvent, Ending, Observer};
use crate::message::{Bill, Message, NoteId, NoteKind, Tally};
use crate::model::{Fault, ModelId, Reply};
use crate::task::TaskReport;

/// Lines that may wait.
const LINES: usize = 256;

/// Runs in a row that may be started by reports alone. A main agent that answers each report with a new task would
/// otherwise go on for ever with nobody there.
const UNATTENDED: u32 = 64;

/// The behaviour; all it knows is in [`State`].
pub(super) struct MainAgent;

/// What a main agent is told.
pub(super) enum MainMsg {
    /// A line from a person.
    Say(Said, RpcReplyPort<Result<RunId, SessionGone>>),
    /// Text for the current run; a line when there is none.
    Note(NoteKind, String, RpcReplyPort<Result<Steered, SessionGone>>),
    /// End the current run; answers whether there was one.
    Abort(RpcReplyPort<bool>),
    /// A task is over.
    Report(Box<TaskReport>, Token),
    /// A task was over before the program started; told with the next line.
    Recall(Box<TaskReport>),
    /// The current run is over.
    RunEnded(RunId, Box<Conducted>),
    /// The grace of an aborted run is over.
    Overdue(RunId),
    /// The question for a title, asked after this run, is over.
    Titled(RunId, Option<Box<Reply>>),
    /// Change the conversation, if it is at rest; answers when that is understood.
    Edit(Work, RpcReplyPort<()>),
    /// The change is over.
    Edited(Box<Edited>),
    /// How it is doing.
    Status(RpcReplyPort<Status>),
    /// The conversation, as of the start of the current run.
    Transcript(RpcReplyPort<Vec<Arc<Message>>>),
    /// The program ends.
    Close,
}

/// What a main agent starts with.
pub(super) struct Opening {
    pub(super) site: Arc<Site>,
    pub(super) crew: ActorRef<CrewMsg>,
    pub(super) conversation: Conversation,
    pub(super) first_note: NoteId,
}

/// What a main agent is.
pub(super) struct State {
    site: Arc<Site>,
    crew: ActorRef<CrewMsg>,
    conversation: Conversation,
    lines: VecDeque<Line>,
    /// Reports that no run has heard; one without a token does not start a run by itself.
    reports: Vec<(TaskReport, Option<Token>)>,
    current: Option<Current>,
    unattended: u32,
    next_note: NoteId,
    /// Of the session, without the current run.
    bill: Bill,
    /// Of the session when it was opened.
    earlier: Tally,
    context: u64,
    model: ModelId,
    fault: Option<Fault>,
    titler: Titler,
}

struct Line {
    run: RunId,
    said: Said,
    _token: Token,
}

struct Current {
    run: RunId,
    tiller: Tiller,
    meter: Arc<Meter>,
    conduct: Conduct,
    /// What it was told of; told again if it never came that far.
    reports: Vec<(TaskReport, Option<Token>)>,
    _line: Option<Line>,
}

impl Actor for MainAgent {
    type Msg = MainMsg;
    type State = State;
    type Arguments = Opening;

    async fn pre_start(&self, _: ActorRef<MainMsg>, given: Opening) -> Result<State, ActorProcessingErr> {
        let Opening { site, crew, conversation, first_note } = given;
        let model = site.config.choice.id.clone();
        let bill = conversation.session().map(|session| session.bill().clone()).unwrap_or_default();
        Ok(State {
            site,
            crew,
            conversation,
            lines: VecDeque::new(),
            reports: Vec::new(),
            current: None,
            unattended: 0,
            next_note: first_note,
            earlier: bill.total(),
            bill,
            context: 0,
            model,
            fault: None,
            titler: Titler::default(),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<MainMsg>,
        message: MainMsg,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        // Whoever asked may have stopped waiting; then an answer is for nobody.
        match message {
            MainMsg::Say(said, reply) => {
                let _ = reply.send(state.queue(said));
            }
            MainMsg::Note(kind, text, reply) => {
                let _ = reply.send(state.note(kind, text));
            }
            MainMsg::Abort(reply) => {
                let _ = reply.send(state.abort(&myself));
            }
            MainMsg::Report(report, token) => state.reports.push((*report, Some(token))),
            MainMsg::Recall(report) => state.reports.push((*report, None)),
            MainMsg::RunEnded(run, conducted) => state.ended(&myself, run, *conducted),
            MainMsg::Overdue(run) => state.drop_run(run),
            MainMsg::Titled(run, reply) => {
                state.titler.came(reply.map(|reply| *reply));
                state.write_title(run);
            }
            MainMsg::Edit(work, reply) => {
                let _ = reply.send(());
                state.edit(&myself, work);
            }
            MainMsg::Edited(edited) => state.edited(*edited),
            MainMsg::Status(reply) => {
                let _ = reply.send(state.status());
            }
            MainMsg::Transcript(reply) => {
                let _ = reply.send(state.conversation.transcript());
            }
            MainMsg::Close => {
                if let Some(current) = &state.current {
                    current.tiller.interrupt();
                }
            }
        }
        state.advance(&myself);
        Ok(())
    }
}

impl State {
    fn queue(&mut self, said: impl Into<Said>) -> Result<RunId, SessionGone> {
        if self.site.is_closing() {
            return Err(SessionGone::ShuttingDown);
        }
        if self.lines.len() >= LINES {
            return Err(SessionGone::Full(self.lines.len()));
        }
        let run = self.site.next_run();
        self.lines.push_back(Line { run, said: said.into(), _token: self.site.busy.token() });
        Ok(run)
    }

    fn note(&mut self, kind: NoteKind, text: String) -> Result<Steered, SessionGone> {
        let Some(current) = &self.current else { return self.queue(text).map(Steered::Said) };
        let noted = match kind {
            NoteKind::Steer => current.tiller.steer(text),
            NoteKind::FollowUp | NoteKind::Line => current.tiller.follow_up(text),
        };
        match noted {
            Ok(id) => {
                self.next_note = NoteId(id.0 + 1);
                Ok(Steered::Noted(id))
            }
            Err(inbox::Unheard::Full(_)) => Err(SessionGone::Full(inbox::CAPACITY)),
            Err(inbox::Unheard::Sealed(text)) => self.queue(text).map(Steered::Said),
        }
    }

    /// Answers whether there was something to end: a run that listens no more ends by itself.
    fn abort(&mut self, myself: &ActorRef<MainMsg>) -> bool {
        let Some(current) = &self.current else { return false };
        let run = current.run;
        let listens = !current.tiller.is_sealed();
        current.tiller.abort();
        grace::tell_after(GRACE, myself, move || MainMsg::Overdue(run));
        listens
    }

    /// Starts a run if none is going on and there is something to hear. All waiting reports go into the same run,
    /// together with a line if one waits.
    fn advance(&mut self, myself: &ActorRef<MainMsg>) {
        if self.site.is_closing() {
            // Reports that are not relayed are told when the session is opened again.
            self.lines.clear();
            self.reports.clear();
        }
        if self.current.is_some() || self.conversation.is_edited() {
            return;
        }
        let line = self.lines.pop_front();
        match &line {
            Some(_) => self.unattended = 0,
            None if self.reports.iter().all(|(_, token)| token.is_none()) => return,
            None if self.unattended >= UNATTENDED => return self.park(),
            None => self.unattended += 1,
        }
        let run = line.as_ref().map_or_else(|| self.site.next_run(), |line| line.run);
        let reports = std::mem::take(&mut self.reports);
        let heard = reports.iter().map(|(report, _)| report::message(report));
        let said: Vec<Said> = heard.map(Said::from).chain(line.iter().map(|line| line.said.clone())).collect();
        let opening: Vec<&str> = said.iter().map(|said| said.text.as_str()).collect();
        let tasks = reports.iter().map(|(report, _)| (report.id, report.attempt)).collect();

        let (tiller, inbox) = inbox::channel(self.next_note);
        let meter = Arc::new(Meter::default());
        let ration = Arc::new(Ration::default());
        let watchers: [Arc<dyn Observer>; 2] = [meter.clone(), ration.clone()];
        let conduct = Conduct {
            site: self.site.clone(),
            crew: self.crew.clone(),
            patron: Patron { main: myself.clone(), session: self.conversation.id().clone(), call: None },
            events: conduct::events(&self.site, self.conversation.id(), run, &opening.join("\n\n"), watchers),
            ration,
        };
        let conversation = self.conversation.leave();
        let work = conduct.clone().through(conversation, said, tasks, inbox);
        let home = myself.clone();
        let task = launch(work, move |conducted| {
            // A main agent that is gone needs no session back; its journal is on disk.
            let _ = home.cast(MainMsg::RunEnded(run, Box::new(conducted)));
        });
        self.conversation.away(task);
        self.current = Some(Current { run, tiller, meter, conduct, reports, _line: line });
    }

    /// Too many runs in a row without a person: the reports wait for the next line.
    fn park(&mut self) {
        let why = format!("{UNATTENDED} runs in a row were started by reports alone; the next ones wait for you");
        let events = conduct::events(&self.site, self.conversation.id(), self.site.next_run(), &why, []);
        events.emit(&AgentEvent::RunStarted);
        events.emit(&AgentEvent::Failed { why: why.clone() });
        events.emit(&AgentEvent::RunEnded { ending: Ending::Failed { why } });
        self.site.note_end();
        for (_, token) in &mut self.reports {
            *token = None;
        }
    }

    fn ended(&mut self, myself: &ActorRef<MainMsg>, run: RunId, conducted: Conducted) {
        let Some(current) = self.current.take_if(|current| current.run == run) else { return };
        self.site.note_end();
        let reading = current.meter.read();
        self.bill.add(&reading.bill);
        self.context = if reading.context > 0 { reading.context } else { self.context };
        if !conducted.heard {
            // Not a word of it reached the journal: the reports wait for the next line.
            self.reports.splice(0..0, current.reports.into_iter().map(|(report, _)| (report, None)));
        }
        self.fault = conducted.fault;
        self.conversation.home(conducted.session);
        self.settle_bill();
        self.title(myself, run);
        for note in conducted.unheard {
            // After an abort a steer has nothing left to steer. A full queue has been said to whoever filled it.
            if !conducted.aborted || note.kind == NoteKind::FollowUp {
                let _ = self.queue(note.text);
            }
        }
    }

    fn edit(&mut self, myself: &ActorRef<MainMsg>, work: Work) {
        if self.current.is_some() || self.conversation.is_edited() {
            return work(Err(EditError::Busy))(None);
        }
        edit::begin(&self.site, &mut self.conversation, myself, work);
    }

    fn edited(&mut self, edited: Edited) {
        self.conversation.home(edited.session);
        let reported = self.conversation.session().and_then(|session| session.reported());
        self.context = reported.map_or(0, |reported| reported.usage.context());
        self.settle_bill();
        edited.told.tell();
    }

    /// The journal knows of every call, also of those that no event told of.
    fn settle_bill(&mut self) {
        if let Some(session) = self.conversation.session() {
            self.bill.clone_from(session.bill());
        }
    }

    /// Writes the title down that came meanwhile, or asks for one.
    fn title(&mut self, myself: &ActorRef<MainMsg>, run: RunId) {
        self.write_title(run);
        let home = myself.clone();
        self.titler.ask(&self.site, &self.conversation, move |reply| {
            // A main agent that is gone needs no title.
            let _ = home.cast(MainMsg::Titled(run, reply.map(Box::new)));
        });
    }

    fn write_title(&mut self, run: RunId) {
        let Some(titled) = self.titler.write(&mut self.conversation) else { return };
        self.settle_bill();
        if let Some(title) = titled.title {
            let session = self.conversation.id().clone();
            self.site.feed.tell(Source::Main { session, run }, News::Titled { title });
        }
    }

    /// The second rung: the run did not end within its grace, so its task is dropped where it stands.
    fn drop_run(&mut self, run: RunId) {
        let Some(current) = self.current.take_if(|current| current.run == run) else { return };
        tracing::warn!(%run, "the run did not end within its grace; it is dropped");
        self.bill.add(&current.meter.read().bill);
        self.conversation.lost();
        current.conduct.events.emit(&AgentEvent::RunEnded { ending: Ending::Aborted });
        self.site.note_end();
    }

    fn status(&self) -> Status {
        let reading = self.current.as_ref().map(|current| current.meter.read()).unwrap_or_default();
        let mut bill = self.bill.clone();
        bill.add(&reading.bill);
        Status {
            busy: self.current.is_some(),
            queued: self.lines.len() + self.reports.len(),
            since_open: bill.total().since(self.earlier),
            bill,
            context: if reading.context > 0 { reading.context } else { self.context },
            model: self.model.clone(),
            fault: self.fault,
            name: self.conversation.name().map(str::to_owned),
        }
    }
}
