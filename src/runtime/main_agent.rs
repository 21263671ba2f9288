//! The actor a person talks to: it queues lines and reports, starts one run after the other, and passes notes to the
//! one that is going on. What happens in a run is in `conduct`.

use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use super::busy::Token;
use super::conduct::{self, Conduct, Conducted, Conversation, Script};
use super::control::Ration;
use super::crew::CrewMsg;
use super::edit::{self, EditError, Edited, Work};
use super::feed::{News, Source};
use super::grace;
use super::launch::launch;
use super::mail::{Letter, Mail, PERSON, Post, Unsent};
use super::meter::Meter;
use super::queue::{Answer, Due, Heard, Line, Queue, Words};
use super::roster::Patron;
use super::site::{GRACE, Site};
use super::title::Titler;
use super::tray::Tray;
use super::{Chosen, RunId, Said, SessionGone, Status, Steered};
use crate::agent::inbox;
use crate::event::{AgentEvent, Ending, Observer};
use crate::message::{Bill, Message, Note, NoteKind, Tally};
use crate::model::{Fault, Reply};
use crate::session::Posted;
use crate::task::TaskReport;

/// Answers words for the current run.
type Steering = RpcReplyPort<Result<Steered, SessionGone>>;

/// The behaviour; all it knows is in [`State`].
pub(super) struct MainAgent;

/// What a main agent is told.
pub(super) enum MainMsg {
    /// A line from a person.
    Say(Said, RpcReplyPort<Result<RunId, SessionGone>>),
    /// Text for the current run; a line when there is none.
    Note(NoteKind, String, Steering),
    /// A line that has to wait is written down, or `None` when it could not be.
    Posted(Option<Box<Line>>),
    /// A note that was written down after the end of its run.
    Stray(Note, RunId, Token),
    /// End the current run; answers whether there was one.
    Abort(RpcReplyPort<bool>),
    /// A task is over.
    Report(Box<TaskReport>, Token),
    /// A task was over before the program started; told with the next line.
    Recall(Box<TaskReport>),
    /// What a task asks, or asks no more.
    Question(Heard),
    /// The current run is over.
    RunEnded(RunId, Box<Conducted>),
    /// The grace of an aborted run is over.
    Overdue(RunId),
    /// The question for a title, asked after this run, is over.
    Titled(RunId, Option<Box<Reply>>),
    /// Shorten the conversation, if it is at rest, in a run of its own.
    Shorten(RpcReplyPort<Result<RunId, EditError>>),
    /// Change the conversation, if it is at rest; answers when that is understood.
    Edit(Work, RpcReplyPort<()>),
    /// The change is over.
    Edited(Box<Edited>),
    /// How it is doing.
    Status(RpcReplyPort<Status>),
    /// About notes that nobody has heard yet.
    Tray(Tray),
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
    pub(super) mail: Mail,
    /// What an earlier program left unheard.
    pub(super) left: Vec<Posted>,
}

/// What a main agent is.
pub(super) struct State {
    site: Arc<Site>,
    crew: ActorRef<CrewMsg>,
    conversation: Conversation,
    pub(super) mail: Mail,
    pub(super) queue: Queue,
    /// Of the line that begins a run in this moment.
    answer: Option<Answer>,
    pub(super) current: Option<Current>,
    /// Of the session, without the current run.
    bill: Bill,
    /// Of the session when it was opened.
    earlier: Tally,
    context: u64,
    fault: Option<Fault>,
    titler: Titler,
}

pub(super) struct Current {
    run: RunId,
    pub(super) post: Post,
    meter: Arc<Meter>,
    conduct: Conduct,
    /// What it began with; told again if it never came that far.
    words: Words,
}

impl Actor for MainAgent {
    type Msg = MainMsg;
    type State = State;
    type Arguments = Opening;

    async fn pre_start(&self, _: ActorRef<MainMsg>, given: Opening) -> Result<State, ActorProcessingErr> {
        let Opening { site, crew, conversation, mail, left } = given;
        let bill = conversation.session().map(|session| session.bill().clone()).unwrap_or_default();
        Ok(State {
            site,
            crew,
            conversation,
            mail,
            queue: Queue::of(left),
            answer: None,
            current: None,
            earlier: bill.total(),
            bill,
            context: 0,
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
                let answer = Answer::to(move |answer| drop(reply.send(answer)));
                state.say(&myself, said, answer);
            }
            MainMsg::Note(kind, text, reply) => state.note(&myself, kind, text, reply),
            MainMsg::Posted(line) => state.queue.posted(line.map(|line| *line)),
            MainMsg::Stray(note, run, token) => state.queue.push(Line::of(note, run, token)),
            MainMsg::Abort(reply) => {
                let _ = reply.send(state.abort(&myself));
            }
            MainMsg::Report(report, token) => state.queue.report(*report, Some(token)),
            MainMsg::Recall(report) => state.queue.report(*report, None),
            MainMsg::Question(heard) => state.queue.hear(heard),
            MainMsg::RunEnded(run, conducted) => state.ended(&myself, run, *conducted),
            MainMsg::Overdue(run) => state.drop_run(run),
            MainMsg::Titled(run, reply) => {
                state.titler.came(reply.map(|reply| *reply));
                state.write_title(run);
            }
            MainMsg::Shorten(reply) => {
                let _ = reply.send(state.shorten(&myself));
            }
            MainMsg::Edit(work, reply) => {
                let _ = reply.send(());
                state.edit(&myself, work);
            }
            MainMsg::Edited(edited) => state.edited(*edited),
            MainMsg::Status(reply) => {
                let _ = reply.send(state.status());
            }
            MainMsg::Tray(tray) => state.tray(&myself, tray),
            MainMsg::Transcript(reply) => {
                let _ = reply.send(state.conversation.transcript());
            }
            MainMsg::Close => {
                if let Some(current) = &state.current {
                    current.post.tiller.interrupt();
                }
            }
        }
        state.advance(&myself);
        Ok(())
    }
}

impl State {
    /// A line that begins a run at once is safe when that has written it down; one that has to wait, when it is in the
    /// inbox.
    fn say(&mut self, myself: &ActorRef<MainMsg>, said: Said, answer: Answer) {
        if self.site.is_closing() {
            return answer.give(Err(SessionGone::ShuttingDown));
        }
        if let Err(full) = self.queue.admit() {
            return answer.give(Err(full));
        }
        let (run, token) = (self.site.next_run(), self.site.busy.token());
        let waits = self.current.is_some() || self.queue.has_lines() || self.conversation.is_held();
        if !waits {
            self.answer = Some(answer);
            return self.queue.push(Line { run, said, posted: None, _token: token });
        }
        self.queue.posting();
        let (home, kept) = (myself.clone(), said.clone());
        self.mail.keep(said, move |posted| {
            let line = |id| Box::new(Line { run, said: kept, posted: Some(id), _token: token });
            let told = posted.as_ref().map(|_| run).map_err(|why| SessionGone::Unwritten(why.clone()));
            // A main agent that is gone finds it in the inbox when it is opened again.
            let _ = home.cast(MainMsg::Posted(posted.ok().map(line)));
            answer.give(told);
        });
    }

    fn note(&mut self, myself: &ActorRef<MainMsg>, kind: NoteKind, text: String, reply: Steering) {
        let Some(current) = self.current.as_ref().filter(|current| !current.post.tiller.is_sealed()) else {
            let answer = Answer::to(move |answer| drop(reply.send(answer.map(Steered::Said))));
            return self.say(myself, text.into(), answer);
        };
        let (home, site, token) = (myself.clone(), self.site.clone(), self.site.busy.token());
        current.post.send(Letter { kind, text, from: PERSON.to_owned() }, move |sent| {
            let answer = match sent {
                Ok(id) => Ok(Steered::Noted(id)),
                Err(Unsent::TooLate(note)) => {
                    let run = site.next_run();
                    // As for a line.
                    let _ = home.cast(MainMsg::Stray(note, run, token));
                    Ok(Steered::Said(run))
                }
                // It ended in this moment, so next time there is no run to steer.
                Err(Unsent::Ended(letter)) => return drop(home.cast(MainMsg::Note(kind, letter.text, reply))),
                Err(Unsent::Full) => Err(SessionGone::Full(inbox::CAPACITY)),
                Err(Unsent::Unwritten(why)) => Err(SessionGone::Unwritten(why)),
            };
            let _ = reply.send(answer);
        });
    }

    /// Answers whether there was something to end: a run that listens no more ends by itself.
    fn abort(&mut self, myself: &ActorRef<MainMsg>) -> bool {
        let Some(current) = &self.current else { return false };
        let (run, listens) = (current.run, !current.post.tiller.is_sealed());
        current.post.tiller.abort();
        grace::tell_after(GRACE, myself, move || MainMsg::Overdue(run));
        listens
    }

    /// Starts a run if none is going on and there is something to hear. All waiting reports go into the same run,
    /// together with a line if one waits.
    fn advance(&mut self, myself: &ActorRef<MainMsg>) {
        if self.site.is_closing() {
            // Lines that wait are in the inbox, reports on the disk: both are told when the session is opened again.
            self.queue.clear();
        }
        if self.current.is_some() || self.conversation.is_edited() {
            return;
        }
        let words = match self.queue.next() {
            Due::Nothing => return,
            Due::Parked => return conduct::parked(&self.site, self.conversation.id()),
            Due::Run(words) => words,
        };
        let run = words.run().unwrap_or_else(|| self.site.next_run());
        let script = Script::of(&words, run, self.answer.take());
        self.begin(myself, run, words, script);
    }

    fn shorten(&mut self, myself: &ActorRef<MainMsg>) -> Result<RunId, EditError> {
        if self.current.is_some() || self.conversation.is_edited() || self.site.is_closing() {
            return Err(EditError::Busy);
        }
        let (run, token) = (self.site.next_run(), self.site.busy.token());
        self.begin(myself, run, Words::default(), Script::shortening(run, token));
        Ok(run)
    }

    fn begin(&mut self, myself: &ActorRef<MainMsg>, run: RunId, words: Words, script: Script) {
        let (post, inbox) = self.mail.channel();
        let meter = Arc::new(Meter::default());
        let ration = Arc::new(Ration::of(words.is_attended()));
        let watchers: [Arc<dyn Observer>; 2] = [meter.clone(), ration.clone()];
        let conduct = Conduct {
            site: self.site.clone(),
            crew: self.crew.clone(),
            patron: Patron { main: myself.clone(), session: self.conversation.id().clone(), call: None },
            events: conduct::events(&self.site, self.conversation.id(), run, &script.opening(), watchers),
            ration,
        };
        let conversation = self.conversation.leave();
        let work = conduct.clone().through(conversation, script, inbox);
        let home = myself.clone();
        let task = launch(work, move |conducted| {
            // A main agent that is gone needs no session back; its journal is on disk.
            let _ = home.cast(MainMsg::RunEnded(run, Box::new(conducted)));
        });
        self.conversation.away(task);
        self.current = Some(Current { run, post, meter, conduct, words });
    }

    fn ended(&mut self, myself: &ActorRef<MainMsg>, run: RunId, conducted: Conducted) {
        let Some(current) = self.current.take_if(|current| current.run == run) else { return };
        self.site.note_end();
        let reading = current.meter.read();
        self.bill.add(&reading.bill);
        self.queue.ran(current.words, conducted.heard, reading.ordered);
        self.context = if reading.context > 0 { reading.context } else { self.context };
        self.fault = conducted.fault;
        self.conversation.home(conducted.session);
        self.settle_bill();
        self.title(myself, run);
        for note in conducted.unheard {
            // After an abort a steer has nothing left to steer, which the journal says already.
            if !conducted.aborted || note.kind != NoteKind::Steer {
                self.queue.push(Line::of(note, self.site.next_run(), self.site.busy.token()));
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
        for note in current.post.tiller.close() {
            match note.kind {
                NoteKind::Steer => self.queue.drop_note(note.id),
                _ => self.queue.push(Line::of(note, self.site.next_run(), self.site.busy.token())),
            }
        }
        self.queue.put_back(current.words);
        current.conduct.events.emit(&AgentEvent::RunEnded { ending: Ending::Aborted });
        self.site.note_end();
    }

    fn status(&self) -> Status {
        let reading = self.current.as_ref().map(|current| current.meter.read()).unwrap_or_default();
        let mut bill = self.bill.clone();
        bill.add(&reading.bill);
        let Chosen { model, effort, .. } = self.site.chosen(self.conversation.id());
        Status {
            busy: self.current.is_some(),
            queued: self.queue.len(),
            left: self.queue.left().to_vec(),
            since_open: bill.total().since(self.earlier),
            bill,
            context: if reading.context > 0 { reading.context } else { self.context },
            window: self.site.fitted(&self.site.config.main, &model).context_window,
            model,
            effort,
            fault: self.fault,
            name: self.conversation.name().map(str::to_owned),
        }
    }
}
