//! What all actors and runs of one runtime share: the configuration, the feed, the counts. Nothing here decides anything.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::RunId;
use super::busy::Busy;
use super::chosen::Choices;
use super::feed::Feed;
use super::ground::Grounds;
use super::permit::Permits;
use super::purse;
use super::records::Records;
use super::upkeep::Upkeep;
use super::yard::Yard;
use crate::config::{self, Config};
use crate::ledger::Ledger;
use crate::model::catalog::NoModel;
use crate::model::fallback::Fallbacks;
use crate::model::provider::Effort;
use crate::model::tokens::Counters;
use crate::model::{Model, ModelId};
use crate::session::{Durability, SessionId};
use crate::task::{TaskId, TaskReport};
use crate::tool::Tool;
use crate::workspace::policy::{PathError, PathPolicy, Profile};

/// How long a run may take to end by itself after an abort, before its task is dropped.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// Threads that may wait for the disk at once, so that a storm of tasks does not become a storm of threads.
const DISK_THREADS: usize = 8;

/// Shared by everything in one runtime.
pub(super) struct Site {
    pub(super) config: Config,
    pub(super) extra_tools: Vec<Arc<dyn Tool>>,
    pub(super) feed: Feed,
    pub(super) busy: Busy,
    pub(super) records: Records,
    pub(super) ledger: Ledger,
    fallbacks: Fallbacks,
    pub(super) counters: Counters,
    pub(super) upkeep: Upkeep,
    pub(super) yard: Yard,
    closing: AtomicBool,
    runs: AtomicU64,
    disk: Arc<Semaphore>,
    kept: Mutex<HashMap<SessionId, Vec<TaskReport>>>,
    parked: Mutex<HashMap<TaskId, SessionId>>,
    told: Mutex<HashSet<String>>,
    ground: OnceLock<PathPolicy>,
    pub(super) grounds: Grounds,
    attended: Mutex<Option<SessionId>>,
    pub(super) permits: Arc<Permits>,
    pub(super) choices: Choices,
}

impl Site {
    pub(super) fn new(config: Config, extra_tools: Vec<Arc<dyn Tool>>) -> Site {
        let (records, ledger) = (Records::of(&config.workspace), purse::ledger(&config));
        // Those that cannot be had were warned of at the start.
        let stand_ins = config.cast.fallback.iter().filter_map(|named| config.models.get(&named.id).ok());
        let fallbacks = Fallbacks::new(stand_ins.collect());
        Site {
            config,
            extra_tools,
            feed: Feed::new(),
            busy: Busy::new(),
            records,
            ledger,
            fallbacks,
            counters: Counters::default(),
            upkeep: Upkeep::default(),
            yard: Yard::default(),
            closing: AtomicBool::new(false),
            runs: AtomicU64::new(0),
            disk: Arc::new(Semaphore::new(DISK_THREADS)),
            kept: Mutex::default(),
            parked: Mutex::default(),
            told: Mutex::default(),
            ground: OnceLock::new(),
            grounds: Grounds::default(),
            attended: Mutex::default(),
            permits: Arc::default(),
            choices: Choices::default(),
        }
    }

    /// The model, with those behind it that stand in while it is down. What comes of it is recorded, if that is wished.
    pub(super) fn model(&self, id: &ModelId) -> Result<Arc<dyn Model>, NoModel> {
        self.thinking(id, None)
    }

    /// The same, asked for this much thinking.
    pub(super) fn thinking(&self, id: &ModelId, effort: Option<Effort>) -> Result<Arc<dyn Model>, NoModel> {
        let model = self.fallbacks.behind(self.config.models.thinking(id, effort)?);
        Ok(match &self.config.recorder {
            Some(recorder) => recorder.watch(model),
            None => model,
        })
    }

    /// The same for a question that is no part of any run, which a recording would only play at another time.
    pub(super) fn unrecorded(&self, id: &ModelId) -> Result<Arc<dyn Model>, NoModel> {
        Ok(self.fallbacks.behind(self.config.models.get(id)?))
    }

    /// A task or a run of the main agent is over; a recording keeps the order of such things.
    pub(super) fn note_end(&self) {
        if let Some(recorder) = &self.config.recorder {
            recorder.end();
        }
    }

    pub(super) fn next_run(&self) -> RunId {
        RunId(self.runs.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// From here on nothing new is started, and what is stopped counts as interrupted.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// The rights of a profile in the workspace. All agents hold the same handle on it: one open file, not one each.
    pub(super) fn policy(&self, profile: Profile) -> Result<PathPolicy, PathError> {
        if let Some(ground) = self.ground.get() {
            return Ok(ground.with_profile(profile));
        }
        let ground = PathPolicy::new(profile, self.config.workspace.root())?.guarding(&self.config.guarded);
        Ok(self.ground.get_or_init(|| ground).with_profile(profile))
    }

    /// The journal of a task's worker, whether it exists or not.
    pub(super) fn journal(&self, task: TaskId) -> PathBuf {
        self.config.workspace.worker_sessions().join(format!("{task}.jsonl"))
    }

    pub(super) fn durability(&self) -> Durability {
        match self.config.durability {
            config::Durability::Always => Durability::Always,
            config::Durability::Turn => Durability::Turn,
            config::Durability::Off => Durability::Off,
        }
    }

    /// Warns of what a person should know about skills, roles and prompt files, each thing once.
    pub(super) fn notice(&self, notices: impl Iterator<Item = String>) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        for notice in notices {
            if told.insert(notice.clone()) {
                tracing::warn!("{notice}");
            }
        }
    }

    /// Keeps a report for a session that is not open.
    pub(super) fn keep(&self, session: &SessionId, report: TaskReport) {
        self.kept().entry(session.clone()).or_default().push(report);
    }

    /// Hands out what was kept for a session that opens now.
    pub(super) fn take_kept(&self, session: &SessionId) -> Vec<TaskReport> {
        self.kept().remove(session).unwrap_or_default()
    }

    /// The conversation that a person is at.
    pub(super) fn attended(&self) -> MutexGuard<'_, Option<SessionId>> {
        self.attended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers tasks that wait for an answer since an earlier program.
    pub(super) fn park(&self, parked: Vec<(TaskId, SessionId)>) {
        self.parked().extend(parked);
    }

    /// The conversation of such a task, while nobody has taken it on.
    pub(super) fn parked_by(&self, task: TaskId) -> Option<SessionId> {
        self.parked().get(&task).cloned()
    }

    /// Those of a conversation, by number.
    pub(super) fn parked_for(&self, session: &SessionId) -> Vec<TaskId> {
        let parked = self.parked();
        let mut tasks: Vec<TaskId> = parked.iter().filter(|(_, of)| *of == session).map(|(id, _)| *id).collect();
        tasks.sort_unstable();
        tasks
    }

    /// Somebody has taken it on.
    pub(super) fn unpark(&self, task: TaskId) {
        self.parked().remove(&task);
    }

    fn parked(&self) -> MutexGuard<'_, HashMap<TaskId, SessionId>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<SessionId, Vec<TaskReport>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does work that waits for the disk on a thread made for it. `Err` is the text of a panic.
    pub(super) async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, String> {
        // The semaphore is never closed; without a permit the work is still done, only less evenly.
        let permit = self.disk.clone().acquire_owned().await.ok();
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(permit);
            done
        });
        done.await.map_err(|error| match error.try_into_panic() {
            Ok(panic) => super::launch::panic_text(panic.as_ref()),
            Err(error) => error.to_string(),
        })
    }
}
