//! A workspace that another process has, looked at through its files: conversations and tasks as they grow. Changes
//! nothing, takes no lock, asks no model.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process};
use tokio::sync::Notify;
use tokio::sync::mpsc::Receiver;
use tokio::time::sleep;

use super::feed::{Envelope, News, Source};
use super::site::Site;
use super::{Open, OpenError, Remote, SessionGone, Status, title};
use crate::message::{Message, Tally};
use crate::session::{Session, SessionError, SessionId, Store};
use crate::task::{self, Task, TaskError, TaskId, TaskStatus};
use crate::workspace::Owner;

/// Between two looks at the tasks.
const LOOK: Duration = Duration::from_secs(1);
/// Tasks looked at, the youngest.
const TASKS: usize = 256;
/// A conversation that took long to read is not read again before so many times that time.
const REST: u32 = 10;

/// Who looks.
pub(super) struct Lookout {
    pub(super) owner: Owner,
    pub(super) way: Arc<Way>,
    seen: Mutex<HashMap<SessionId, Arc<Seen>>>,
}

/// The way to whoever is looked at, once there is one.
#[derive(Default)]
pub(super) struct Way {
    remote: OnceLock<Remote>,
    /// The news that come by it, until somebody tells them.
    first: Mutex<Option<Receiver<Envelope>>>,
    reached: Notify,
    told: AtomicBool,
}

/// A conversation as it was read.
struct Seen {
    path: Option<PathBuf>,
    bytes: u64,
    /// Not read again before.
    rest: Instant,
    status: Status,
    said: Vec<Arc<Message>>,
}

impl Lookout {
    pub(super) fn new(owner: Owner) -> Lookout {
        Lookout { owner, way: Arc::default(), seen: Mutex::default() }
    }

    /// Whether the process that has the workspace is gone. Nobody knows of one that did not say its number.
    pub(super) fn is_alone(&self) -> bool {
        let pid = self.owner.pid.and_then(|pid| Pid::from_raw(pid.cast_signed()));
        pid.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
    }

    /// Reads a conversation; where there is none yet, an empty one stands for it.
    pub(super) async fn open(&self, site: &Arc<Site>, which: Open) -> Result<SessionId, OpenError> {
        let blank = self.seen().iter().find(|(_, seen)| seen.path.is_none()).map(|(id, _)| id.clone());
        let (sessions, shared) = (site.config.workspace.sessions(), site.clone());
        let read = site.on_disk(move || {
            let store = Store::new(sessions);
            let path = match which {
                Open::Latest | Open::New => store.latest()?,
                Open::Named(prefix) => Some(store.find(&prefix)?),
                Open::Ephemeral => None,
            };
            let session = path.as_deref().map_or_else(|| Ok(Session::in_memory()), Session::read)?;
            Ok::<_, SessionError>((session.id().clone(), Seen::of(&session, &shared, Instant::now())))
        });
        let (id, seen) = read.await.map_err(OpenError::Actors)??;
        if let Some(blank) = blank.filter(|_| seen.path.is_none()) {
            return Ok(blank);
        }
        self.seen().insert(id.clone(), Arc::new(seen));
        Ok(id)
    }

    pub(super) async fn status(&self, site: &Arc<Site>, id: &SessionId) -> Result<Status, SessionGone> {
        Ok(self.look(site, id).await?.status.clone())
    }

    pub(super) async fn transcript(&self, site: &Arc<Site>, id: &SessionId) -> Result<Vec<Arc<Message>>, SessionGone> {
        Ok(self.look(site, id).await?.said.clone())
    }

    /// The conversation as it is now; read again only when its file has grown.
    async fn look(&self, site: &Arc<Site>, id: &SessionId) -> Result<Arc<Seen>, SessionGone> {
        let known = self.seen().get(id).cloned().ok_or_else(|| SessionGone::NotOpen(id.clone()))?;
        let Some(path) = known.path.clone().filter(|_| known.rest < Instant::now()) else { return Ok(known) };
        let (before, shared) = (known.bytes, site.clone());
        let read = site.on_disk(move || {
            let began = Instant::now();
            let fresh = (bytes(&path) != before).then(|| Session::read(&path).ok()).flatten()?;
            Some(Seen::of(&fresh, &shared, began))
        });
        // What cannot be read now is shown as it was.
        let Ok(Some(seen)) = read.await else { return Ok(known) };
        let seen = Arc::new(seen);
        self.seen().insert(id.clone(), seen.clone());
        Ok(seen)
    }

    fn seen(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Seen>>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Way {
    /// There is one way; a second one is not taken. From now on what happens there is told.
    pub(super) async fn reach(&self, remote: Remote) {
        let first = (remote.feed)().await;
        if self.remote.set(remote).is_ok() {
            self.told.store(first.is_some(), Ordering::SeqCst);
            *self.first.lock().unwrap_or_else(PoisonError::into_inner) = first;
            self.reached.notify_one();
        }
    }

    pub(super) fn remote(&self) -> Option<&Remote> {
        self.remote.get()
    }

    /// What happens there is told as it happens.
    pub(super) fn is_told(&self) -> bool {
        self.told.load(Ordering::SeqCst)
    }

    /// Tells everything that happens there, until the way ends. Answers whether there was one.
    async fn tell(&self, site: &Site) -> bool {
        let Some(remote) = self.remote() else { return false };
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let news = if first.is_some() { first } else { (remote.feed)().await };
        let Some(mut news) = news else { return false };
        self.told.store(true, Ordering::SeqCst);
        while let Some(envelope) = news.recv().await {
            site.feed.tell(envelope.source, envelope.news);
        }
        self.told.store(false, Ordering::SeqCst);
        true
    }
}

impl Seen {
    fn of(session: &Session, site: &Site, began: Instant) -> Seen {
        let path = session.path().map(Path::to_owned);
        let status = Status {
            busy: false,
            queued: 0,
            left: Vec::new(),
            since_open: Tally::default(),
            bill: session.bill().clone(),
            context: session.reported().map_or(0, |reported| reported.usage.context()),
            window: site.config.main.context_window,
            model: site.config.choice.id.clone(),
            effort: site.chosen(session.id()).effort,
            fault: None,
            name: title::name(session),
        };
        let bytes = path.as_deref().map_or(0, bytes);
        Seen { path, bytes, rest: Instant::now() + REST * began.elapsed(), status, said: session.context().to_vec() }
    }
}

/// Tells what the other process tells; where it tells nothing, of tasks that begin and end, from the files. As long as it
/// is not dropped.
pub(super) async fn watch(site: Arc<Site>, way: Arc<Way>) {
    let mut known: Option<HashMap<TaskId, TaskStatus>> = None;
    loop {
        if way.tell(&site).await {
            // All of that was told.
            known = None;
        }
        let root = site.config.workspace.tasks();
        if let Ok(Ok(tasks)) = site.on_disk(move || youngest(&root)).await {
            let before = known.replace(tasks.iter().map(|task| (task.dir.id(), task.status)).collect());
            for task in &tasks {
                let id = task.dir.id();
                if before.as_ref().is_some_and(|before| before.get(&id) != Some(&task.status)) {
                    tell(&site, task);
                }
            }
        }
        tokio::select! {
            () = sleep(LOOK) => {}
            () = way.reached.notified() => {}
        }
    }
}

fn tell(site: &Site, task: &Task) {
    let title = task.brief.title.clone();
    let news = match task.status {
        TaskStatus::Queued => return,
        TaskStatus::Running => News::TaskStarted { title },
        _ => match task.dir.result() {
            Ok(Some(report)) => News::TaskEnded(report),
            Ok(None) | Err(_) => return,
        },
    };
    site.feed.tell(Source::Task(task.dir.id()), news);
}

fn youngest(tasks: &Path) -> Result<Vec<Task>, TaskError> {
    let dirs = task::directories(tasks)?;
    let young = dirs.iter().skip(dirs.len().saturating_sub(TASKS));
    Ok(young.filter_map(|dir| dir.task().ok()).collect())
}

fn bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |meta| meta.len())
}
