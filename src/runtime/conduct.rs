//! One run of a main agent, on its own task: fetch the session, build today's agent, write down what was said, run,
//! bring the session home. Knows what a run needs, not when one is due.

use std::path::PathBuf;
use std::sync::Arc;

use ractor::ActorRef;
use tokio_util::task::AbortOnDropHandle;

use super::assemble;
use super::busy::Token;
use super::control::{Control, Door, Ration};
use super::crew::CrewMsg;
use super::feed::{News, Source};
use super::launch::{Run, fly, shorten};
use super::queue::{Answer, UNATTENDED, Words};
use super::records::Recorded;
use super::roster::Patron;
use super::site::Site;
use super::title;
use super::upkeep;
use super::{RunId, SessionGone};
use crate::agent::Agent;
use crate::agent::inbox::{Inbox, Tiller};
use crate::event::{AgentEvent, Ending, Events, Observer};
use crate::message::{Message, Note};
use crate::model::Fault;
use crate::session::{Record, Session, SessionId};
use crate::task::{TaskDir, TaskId};

/// A session and where to find it again.
pub(super) struct Conversation {
    id: SessionId,
    /// `None` when it leaves no file.
    path: Option<PathBuf>,
    session: Option<Session>,
    /// Its title, or how it begins.
    name: Option<String>,
    /// What was said before the current run.
    before: Vec<Arc<Message>>,
    /// The run that has the session; or one that was dropped and may not have let go of it yet.
    holder: Option<AbortOnDropHandle<()>>,
    /// A change has the session.
    edited: bool,
}

/// A session on its way into a run.
pub(super) struct Leave {
    session: Option<Session>,
    path: Option<PathBuf>,
    straggler: Option<AbortOnDropHandle<()>>,
}

/// What a run begins with, as it is written down.
pub(super) struct Script {
    run: RunId,
    records: Vec<Record>,
    notes: Vec<Note>,
    tasks: Vec<(TaskId, u32)>,
    answer: Option<Answer>,
    /// It asks no model for an answer, it makes the conversation shorter.
    shortens: Option<Token>,
}

/// A run and those it belongs to.
#[derive(Clone)]
pub(super) struct Conduct {
    pub(super) site: Arc<Site>,
    pub(super) crew: ActorRef<CrewMsg>,
    pub(super) patron: Patron,
    pub(super) events: Events,
    pub(super) ration: Arc<Ration>,
}

/// What a run brings home.
pub(super) struct Conducted {
    pub(super) session: Option<Session>,
    /// What it was told is in the journal.
    pub(super) heard: bool,
    /// Somebody stopped it.
    pub(super) aborted: bool,
    /// The kind of fault that ended it.
    pub(super) fault: Option<Fault>,
    /// Notes that were acknowledged and came too late.
    pub(super) unheard: Vec<Note>,
}

enum Prepared {
    Ready(Box<Agent>, Box<Session>),
    Failed(Option<Box<Session>>, String),
}

/// Who watches a run of a main agent, besides those who are given.
pub(super) fn events(
    site: &Site,
    session: &SessionId,
    run: RunId,
    opening: &str,
    own: impl IntoIterator<Item = Arc<dyn Observer>>,
) -> Events {
    let feed = site.feed.watch(Source::Main { session: session.clone(), run });
    let model = site.model_of(Some(session.as_str())).to_string();
    let records = site.records.watch(&Recorded { session, agent: "main", model, opening, call: None });
    Events::to(own.into_iter().chain([feed]).chain(records)).without(&site.config.secrets)
}

/// Too many runs in a row without a person: the reports wait for the next line.
pub(super) fn parked(site: &Site, session: &SessionId) {
    let why = format!("{UNATTENDED} runs in a row were started by reports alone; the next ones wait for you");
    let events = events(site, session, site.next_run(), &why, []);
    events.emit(&AgentEvent::RunStarted);
    events.emit(&AgentEvent::Failed { why: why.clone() });
    events.emit(&AgentEvent::RunEnded { ending: Ending::Failed { why } });
    site.note_end();
}

impl Conversation {
    pub(super) fn new(session: Session) -> Conversation {
        let (id, path) = (session.id().clone(), session.path().map(PathBuf::from));
        let name = title::name(&session);
        Conversation { id, path, session: Some(session), name, before: Vec::new(), holder: None, edited: false }
    }

    /// Its title, else the beginning of its first line; `None` while there is neither.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// `None` while a run has it.
    pub(super) fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Appends entries that are no part of what is said; `None` while a run has the session.
    pub(super) fn note<T>(&mut self, write: impl FnOnce(&mut Session) -> T) -> Option<T> {
        let session = self.session.as_mut()?;
        let written = write(session);
        self.name = title::name(session);
        Some(written)
    }

    pub(super) fn id(&self) -> &SessionId {
        &self.id
    }

    pub(super) fn transcript(&self) -> Vec<Arc<Message>> {
        self.session.as_ref().map_or_else(|| self.before.clone(), |session| session.context().to_vec())
    }

    pub(super) fn leave(&mut self) -> Leave {
        self.before = self.transcript();
        Leave { session: self.session.take(), path: self.path.clone(), straggler: self.holder.take() }
    }

    pub(super) fn away(&mut self, holder: AbortOnDropHandle<()>) {
        self.holder = Some(holder);
    }

    pub(super) fn edited_by(&mut self, holder: AbortOnDropHandle<()>) {
        self.holder = Some(holder);
        self.edited = true;
    }

    /// A change is going on.
    pub(super) fn is_edited(&self) -> bool {
        self.edited
    }

    pub(super) fn home(&mut self, session: Option<Session>) {
        self.name = session.as_ref().and_then(title::name).or(self.name.take());
        self.session = session;
        self.holder = None;
        self.edited = false;
    }

    /// A run that was dropped may still have it.
    pub(super) fn is_held(&self) -> bool {
        self.holder.is_some()
    }

    /// The run is dropped; the session is opened from its journal when the next run needs it.
    pub(super) fn lost(&mut self) {
        if let Some(holder) = &self.holder {
            holder.abort();
        }
    }
}

impl Script {
    pub(super) fn of(words: &Words, run: RunId, answer: Option<Answer>) -> Script {
        Script { run, records: words.records(), notes: words.notes(), tasks: words.tasks(), answer, shortens: None }
    }

    /// A run in which nothing is said.
    pub(super) fn shortening(run: RunId, token: Token) -> Script {
        Script { shortens: Some(token), ..Script::of(&Words::default(), run, None) }
    }

    /// What is said with it.
    pub(super) fn opening(&self) -> String {
        let said = self.records.iter().filter_map(|record| match record {
            Record::User { message, .. } | Record::Report { message, .. } => Some(message.text()),
            _ => None,
        });
        said.collect::<Vec<String>>().join("\n\n")
    }
}

/// Whether the journal lacks it: what a run was to begin with is told again when it is not known how far that came.
fn is_new(session: &Session, record: &Record) -> bool {
    match record {
        Record::User { posted: Some(note), .. } => !session.heard().contains(*note),
        Record::Report { task, attempt, .. } => !session.is_told(task, *attempt),
        Record::Dropped { notes, .. } => notes.iter().any(|note| !session.heard().contains(*note)),
        _ => true,
    }
}

impl Leave {
    /// The session, from its journal if need be; never while another task may still write to it.
    pub(super) async fn fetch(self, site: &Site) -> Result<Session, String> {
        if let Some(straggler) = self.straggler {
            // It was aborted, so that is how it ends.
            let _ = straggler.await;
        }
        let mut session = match (self.session, self.path) {
            (Some(session), _) => session,
            (None, None) => Session::in_memory(),
            (None, Some(path)) => {
                let opened = site.on_disk(move || Session::open(&path)).await?;
                opened.map_err(|error| error.to_string())?.with_durability(site.durability())
            }
        };
        session.keep_from(&site.config.secrets);
        Ok(session)
    }
}

impl Conduct {
    /// The whole run. Its last event is always told, also when it could not begin.
    pub(super) async fn through(self, leave: Leave, script: Script, inbox: Inbox) -> Conducted {
        let Script { run, records, notes, tasks, answer, shortens } = script;
        let session = match leave.fetch(&self.site).await {
            Ok(session) => session,
            Err(why) => return self.failed(None, why, answer),
        };
        let (agent, session) = match self.prepare(session, records, inbox.tiller()).await {
            Prepared::Ready(agent, session) => (*agent, *session),
            Prepared::Failed(session, why) => return self.failed(session.map(|session| *session), why, answer),
        };
        answer.into_iter().for_each(|answer| answer.give(Ok(run)));
        for note in notes {
            let source = Source::Main { session: self.patron.session.clone(), run };
            self.site.feed.tell(source, News::Agent(AgentEvent::Noted { note, turn: 1 }));
        }
        let events = self.events.clone();
        let flight = Run { agent, session, inbox, events };
        let home = if shortens.is_some() { shorten(flight).await } else { fly(flight).await };
        self.relayed(tasks.into_iter().chain(self.ration.take_brought()).collect()).await;
        upkeep::look(&self.site);
        let aborted = home.ending == Ending::Aborted;
        Conducted { session: home.session, heard: true, aborted, fault: home.fault, unheard: home.unheard }
    }

    /// Builds the agent from the files of this moment and writes down what was said. The session comes back either way,
    /// unless a panic took it.
    async fn prepare(&self, mut session: Session, records: Vec<Record>, tiller: Tiller) -> Prepared {
        let (site, control) = (self.site.clone(), self.control(tiller));
        let prepared = self.site.on_disk(move || {
            let written = assemble::main(&site, control).and_then(|agent| {
                let mut say = |record| match is_new(&session, &record) {
                    true => session.append(record).map(drop).map_err(|error| error.to_string()),
                    false => Ok(()),
                };
                records.into_iter().try_for_each(&mut say).map(|()| agent)
            });
            match written {
                Ok(agent) => Prepared::Ready(Box::new(agent), Box::new(session)),
                Err(why) => Prepared::Failed(Some(Box::new(session)), why),
            }
        });
        let ready = match prepared.await {
            Ok(Prepared::Ready(agent, mut session)) => {
                session.settle().await.map(|()| (agent, session)).map_err(|error| error.to_string())
            }
            Ok(failed) => return failed,
            Err(panic) => Err(format!("a fault inside the program: {panic}")),
        };
        // A session that is not known to be on the disk is opened again from there.
        ready.map_or_else(|why| Prepared::Failed(None, why), |(agent, session)| Prepared::Ready(agent, session))
    }

    fn control(&self, tiller: Tiller) -> Control {
        Control {
            crew: Door::to(self.crew.clone(), self.site.clone()),
            own: "main".to_owned(),
            patron: self.patron.clone(),
            depth: 0,
            ration: self.ration.clone(),
            tiller: Some(tiller),
        }
    }

    async fn relayed(&self, tasks: Vec<(TaskId, u32)>) {
        if tasks.is_empty() {
            return;
        }
        let root = self.site.config.workspace.tasks();
        let mark = move || {
            tasks.into_iter().try_for_each(|(id, attempt)| {
                let dir = TaskDir::open(&root, id)?;
                // A disk that failed once may have left task.md behind result.md; the next start looks at it again.
                let behind = dir.task().is_ok_and(|task| !task.status.is_over());
                if behind { Ok(()) } else { dir.mark_relayed(attempt) }
            })
        };
        // Without the mark the report is looked for in the journal at the next start, and found.
        if let Ok(Err(error)) = self.site.on_disk(mark).await {
            tracing::warn!(%error, "a report could not be marked as relayed");
        }
    }

    fn failed(&self, session: Option<Session>, why: String, answer: Option<Answer>) -> Conducted {
        answer.into_iter().for_each(|answer| answer.give(Err(SessionGone::NotBegun(why.clone()))));
        self.events.emit(&AgentEvent::RunStarted);
        self.events.emit(&AgentEvent::Failed { why: why.clone() });
        self.events.emit(&AgentEvent::RunEnded { ending: Ending::Failed { why } });
        Conducted { session, heard: false, aborted: false, fault: None, unheard: Vec::new() }
    }
}
