//! [`Runtime`]: every call is a message to an actor and its answer, or a look at the disk.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ractor::rpc::CallResult;
use ractor::{Actor, ActorRef, RpcReplyPort};
use tokio::sync::broadcast;
use tokio_util::task::AbortOnDropHandle;

use super::adopt::Adoption;
use super::conduct::Conversation;
use super::control::Door;
use super::crew::{Crew, CrewMsg, Founding};
use super::farewell;
use super::feed::{Envelope, News, Source};
use super::grace;
use super::ground;
use super::launch::launch;
use super::lookout::{self, Lookout};
use super::mail::Mail;
use super::main_agent::{MainAgent, MainMsg, Opening};
use super::park::ParkMsg;
use super::recover::{Legacy, recover};
use super::roster::Patron;
use super::site::Site;
use super::upkeep;
use super::{Open, OpenError, Said, SessionGone, StartError, Status, report};
use crate::config::Config;
use crate::message::Message;
use crate::model::scripted::recorded::{Act, Line};
use crate::sandbox;
use crate::session::{Durability, Kind, Mailbox, Origin, Posted, Session, SessionId, Store};
use crate::task::{TaskError, TaskReport};
use crate::tool::Tool;
use crate::workspace::{Lock, Owner, Workspace, WorkspaceError, scratch};

/// How long a shutdown waits for runs to end by themselves.
const FAREWELL: Duration = Duration::from_millis(1_500);

/// How long it may then take to write down what was dropped.
const SETTLE: Duration = Duration::from_millis(1_500);

/// How long a main agent may take to answer. Its handlers wait for nothing.
const ANSWER: Duration = Duration::from_secs(30);

/// The running program. Cheap to clone; when the last clone is gone, everything it started ends.
///
/// Must live inside a tokio runtime. One process per workspace: it holds the workspace's lock. Commands of agents run
/// within walls, which on Linux are built by this same program: one that has agents with a shell begins its `main` as
/// `examples/two_workers.rs` does.
///
/// ```
/// use tillerman::config::{self, Flags};
/// use tillerman::runtime::{Open, Runtime};
/// use tillerman::workspace::Workspace;
///
/// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let (root, home) = (folder.path(), folder.path().join(".home"));
/// let flags = Flags { model: Some("pilot/pilot".into()), ..Flags::default() };
/// let config = config::load(Workspace::open(root, &home)?, &flags, &|name| std::env::var(name).ok())?;
/// let runtime = Runtime::start(config).await?;
/// let session = runtime.open(Open::New).await?;
/// let answered = runtime.prompt(&session, "6 * 7").await?;
/// assert!(answered.text().contains("42"));
/// runtime.shutdown().await;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Runtime {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) site: Arc<Site>,
    crew: ActorRef<CrewMsg>,
    pub(super) door: Door,
    mains: Mutex<HashMap<SessionId, ActorRef<MainMsg>>>,
    /// Closed when the program started; told once somebody listens.
    interrupted: Mutex<Vec<TaskReport>>,
    /// One conversation is opened at a time, so that none is opened twice.
    opening: tokio::sync::Mutex<()>,
    lock: Mutex<Option<Lock>>,
    /// Another process has the workspace; with it, what tells of that one's tasks.
    pub(super) lookout: Option<(Lookout, AbortOnDropHandle<()>)>,
}

impl Runtime {
    /// Takes the workspace, settles what an earlier program left open, and waits for orders. Asks no model anything.
    ///
    /// # Errors
    /// [`StartError::Workspace`] names the process that has the workspace already.
    pub async fn start(config: Config) -> Result<Runtime, StartError> {
        Runtime::start_with(config, Vec::new()).await
    }

    /// Starts with further tools, which main agents and workers get besides their own.
    ///
    /// # Errors
    /// As [`Runtime::start`].
    pub async fn start_with(config: Config, tools: Vec<Arc<dyn Tool>>) -> Result<Runtime, StartError> {
        let lock = config.workspace.lock()?;
        let found = inherit(&config.workspace, &lock)?;
        Runtime::begin(Site::new(config, tools), found, Some(lock), None).await
    }

    /// Starts likewise, or looks on where another process has the workspace: conversations and tasks are shown as they
    /// grow, and whatever would change something is refused with [`SessionGone::Looking`] or [`ControlError::Looking`].
    ///
    /// # Errors
    /// As [`Runtime::start`], but for the workspace of another.
    pub async fn attach(config: Config) -> Result<Runtime, StartError> {
        match config.workspace.lock() {
            Ok(lock) => {
                let found = inherit(&config.workspace, &lock)?;
                Runtime::begin(Site::new(config, Vec::new()), found, Some(lock), None).await
            }
            Err(WorkspaceError::Locked { owner, .. }) => {
                Runtime::begin(Site::new(config, Vec::new()), Legacy::default(), None, Some(owner)).await
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn begin(site: Site, found: Legacy, lock: Option<Lock>, owner: Option<Owner>) -> Result<Runtime, StartError> {
        let site = Arc::new(site);
        for (session, report) in found.unheard {
            site.keep(&session, report);
        }
        if lock.is_some() {
            upkeep::look(&site);
        }
        site.park(found.parked);
        let lookout = owner.map(Lookout::new).map(|lookout| {
            let watch = lookout::watch(site.clone(), lookout.way.clone());
            (lookout, launch(watch, drop))
        });
        let founding = Founding { site: site.clone(), last: found.last };
        let crew = Actor::spawn(None, Crew, founding).await.map_err(|error| StartError::Actors(error.to_string()))?.0;
        let door = Door::to(crew.clone(), site.clone());
        let inner = Inner {
            site,
            crew,
            door,
            mains: Mutex::default(),
            interrupted: Mutex::new(found.interrupted),
            opening: tokio::sync::Mutex::default(),
            lock: Mutex::new(lock),
            lookout,
        };
        Ok(Runtime { inner: Arc::new(inner) })
    }

    /// Opens a conversation; one that is open already is only found again.
    ///
    /// Reports of tasks that ended after its last program did are told to its main agent with the next line.
    ///
    /// # Errors
    /// [`OpenError::Session`] names the file, or the id that fits none or several.
    pub async fn open(&self, which: Open) -> Result<SessionId, OpenError> {
        if self.inner.site.is_closing() {
            return Err(OpenError::ShuttingDown);
        }
        let _one = self.inner.opening.lock().await;
        if let Some((lookout, _)) = &self.inner.lookout {
            return lookout.open(&self.inner.site, which).await;
        }
        let site = &self.inner.site;
        let sessions = site.config.workspace.sessions();
        let opened: HashMap<_, _> = self.inner.mains().clone();
        let durability = site.durability();
        let found = site.on_disk(move || find(sessions, which, durability, |id| opened.contains_key(id))).await;
        let (session, mailbox, left) = match found.map_err(OpenError::Actors)?? {
            Found::Open(id) => return Ok(id),
            Found::Session(session, mailbox, left) => (*session, mailbox, left),
        };
        let id = session.id().clone();
        let kept = site.take_kept(&id);
        let unheard: Vec<TaskReport> = kept.into_iter().filter(|report| !is_told(&session, report)).collect();
        let opening = Opening {
            site: site.clone(),
            crew: self.inner.crew.clone(),
            mail: Mail::new(mailbox, session.next_note()),
            left,
            conversation: Conversation::new(session),
        };
        let spawned = Actor::spawn_linked(None, MainAgent, opening, self.inner.crew.get_cell()).await;
        let main = spawned.map_err(|error| OpenError::Actors(error.to_string()))?.0;
        for report in unheard {
            // It has just been started.
            let _ = main.cast(MainMsg::Recall(Box::new(report)));
        }
        for task in site.parked_for(&id) {
            let patron = Patron { main: main.clone(), session: id.clone(), call: None };
            // The crew is there as long as the runtime is.
            let _ =
                self.inner.crew.cast(CrewMsg::Park(ParkMsg::Adopt(task, Box::new(Adoption { patron, reply: None }))));
        }
        self.inner.mains().insert(id.clone(), main);
        self.inner.tell_interrupted();
        Ok(id)
    }

    /// How a main agent is doing.
    ///
    /// # Errors
    /// [`SessionGone::NotOpen`].
    pub async fn status(&self, session: &SessionId) -> Result<Status, SessionGone> {
        match &self.inner.lookout {
            Some((lookout, _)) => lookout.status(&self.inner.site, session).await,
            None => self.ask(session, MainMsg::Status).await,
        }
    }

    /// The conversation; during a run, as it was when that began.
    ///
    /// # Errors
    /// [`SessionGone::NotOpen`].
    pub async fn transcript(&self, session: &SessionId) -> Result<Vec<Arc<Message>>, SessionGone> {
        match &self.inner.lookout {
            Some((lookout, _)) => lookout.transcript(&self.inner.site, session).await,
            None => self.ask(session, MainMsg::Transcript).await,
        }
    }

    /// Everything that happens from now on.
    pub fn feed(&self) -> broadcast::Receiver<Envelope> {
        self.inner.site.feed.subscribe()
    }

    /// The process that has the workspace, when it is another and this one only looks.
    pub fn looking(&self) -> Option<&Owner> {
        self.inner.lookout.as_ref().map(|(lookout, _)| &lookout.owner)
    }

    /// Whether that process is gone, as far as anybody can tell: then a start would take the workspace.
    pub fn is_left(&self) -> bool {
        self.inner.lookout.as_ref().is_some_and(|(lookout, _)| lookout.is_alone())
    }

    /// What the program runs with.
    pub fn config(&self) -> &Config {
        &self.inner.site.config
    }

    /// Waits until nothing is left to do: no line or run, no task running or waiting, every report relayed.
    pub async fn idle(&self) {
        self.inner.site.busy.idle().await;
    }

    /// Ends everything within two seconds, within four where runs or the disk do not answer: runs are aborted, tasks recorded as interrupted, the workspace is freed.
    pub async fn shutdown(&self) {
        self.inner.site.close();
        let mains: Vec<_> = self.inner.mains().drain().map(|(_, main)| main).collect();
        for main in &mains {
            // One that is gone needs no farewell.
            let _ = main.cast(MainMsg::Close);
        }
        let _ = self.inner.crew.cast(CrewMsg::Close);
        let site = &self.inner.site;
        let (in_time, ()) = tokio::join!(site.busy.idle_within(FAREWELL), site.yard.end_all());
        let _ = self.inner.crew.kill_and_wait(Some(Duration::from_millis(300))).await;
        // They end with the crew, and only then can their conversations be opened again.
        farewell::gone(&mains).await;
        if !in_time {
            tracing::warn!("some runs did not end in time; they are dropped");
            tokio::select! {
                () = self.inner.settle() => {}
                () = grace::pass(SETTLE) => tracing::warn!("the disk does not answer; they are left to the next start"),
            }
        }
        self.inner.site.grounds.clear();
        self.inner.site.records.flush();
        self.inner.site.ledger.settled().await;
        drop(self.inner.lock.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    pub(super) async fn ask<T: Send + 'static>(
        &self,
        session: &SessionId,
        message: impl FnOnce(RpcReplyPort<T>) -> MainMsg,
    ) -> Result<T, SessionGone> {
        if let Some(owner) = self.looking() {
            return Err(SessionGone::Looking(owner.clone()));
        }
        let gone = || {
            if self.inner.site.is_closing() { SessionGone::ShuttingDown } else { SessionGone::NotOpen(session.clone()) }
        };
        let main = self.inner.mains().get(session).cloned().ok_or_else(gone)?;
        match main.call(message, Some(ANSWER)).await {
            Ok(CallResult::Success(answer)) => Ok(answer),
            Ok(CallResult::Timeout) => Err(SessionGone::NoAnswer(ANSWER.as_secs())),
            Ok(CallResult::SenderError) | Err(_) => {
                // It died; the session can be opened again from its journal.
                self.inner.mains().remove(session);
                Err(gone())
            }
        }
    }
}

impl Inner {
    pub(super) fn mains(&self) -> MutexGuard<'_, HashMap<SessionId, ActorRef<MainMsg>>> {
        self.mains.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes known secrets out of what a person says, before it is anywhere.
    pub(super) fn hush(&self, text: &mut String) {
        self.site.config.secrets.hide_known_in(text);
    }

    /// Writes down what a person does, if a recording is made.
    pub(super) fn record(&self, to: &str, act: Act, said: impl Into<Said>) {
        if let Some(recorder) = &self.site.config.recorder {
            let (to, Said { text, images }) = (to.to_owned(), said.into());
            recorder.line(Line { to, after: 0, act, text, images });
        }
    }

    /// Closes the tasks of runs that were dropped, as the next start would.
    async fn settle(&self) {
        let workspace = self.site.config.workspace.clone();
        let settled = self.site.on_disk(move || recover(&workspace).map(drop)).await;
        if let Some(why) = settled.map_or_else(Some, |settled| settled.err().map(|error| error.to_string())) {
            tracing::warn!(%why, "the tasks of dropped runs are left to the next start");
        }
    }

    fn tell_interrupted(&self) {
        let reports = std::mem::take(&mut *self.interrupted.lock().unwrap_or_else(PoisonError::into_inner));
        for report in reports {
            self.site.feed.tell(Source::Task(report.id), News::TaskEnded(report));
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Main agents and workers are linked to it and end with it, and their runs with them.
        self.crew.kill();
    }
}

/// What an earlier program owed, and the end of the commands that it left running.
fn inherit(workspace: &Workspace, lock: &Lock) -> Result<Legacy, TaskError> {
    if lock.was_left() {
        let ended = sandbox::sweep();
        scratch::sweep(&std::env::temp_dir());
        #[cfg(target_os = "linux")]
        sandbox::tidy(&ground::notes(workspace));
        tracing::info!(ended, "the program before did not end in order; processes that it left were ended");
    }
    recover(workspace)
}

enum Found {
    Open(SessionId),
    /// With its inbox and what waits there.
    Session(Box<Session>, Mailbox, Vec<Posted>),
}

fn find(
    sessions: PathBuf,
    which: Open,
    durability: Durability,
    is_open: impl Fn(&SessionId) -> bool,
) -> Result<Found, OpenError> {
    let store = Store::new(sessions);
    let known = match which {
        Open::Ephemeral => {
            return Ok(Found::Session(Box::new(Session::in_memory()), Mailbox::in_memory(), Vec::new()));
        }
        Open::New => None,
        Open::Latest => store.latest()?,
        Open::Named(prefix) => Some(store.find(&prefix)?),
    };
    let id = known.as_deref().map(SessionId::of);
    let session = match (known, id.filter(is_open)) {
        (_, Some(id)) => return Ok(Found::Open(id)),
        (Some(path), None) => Session::open(&path)?,
        (None, None) => store.create()?,
    };
    let mailbox = session.path().map_or_else(|| Ok(Mailbox::in_memory()), |path| Mailbox::of(path, durability))?;
    let left = mailbox.waiting(session.heard())?;
    Ok(Found::Session(Box::new(session.with_durability(durability)), mailbox, left))
}

/// The mark that a report was relayed can be lost in a crash; the journal itself knows. Early versions wrote reports
/// down as lines, which only their first words tell, and knew no second attempt.
fn is_told(session: &Session, report: &TaskReport) -> bool {
    let first = report::heading(report);
    let is_line =
        |(message, origin): (&Arc<Message>, &Origin)| origin.kind == Kind::User && message.text().starts_with(&first);
    session.is_told(&report.id.to_string(), report.attempt)
        || (report.attempt == 1 && session.context().iter().zip(session.origins()).any(is_line))
}
