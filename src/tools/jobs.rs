//! Commands in the background: started, listed, read and killed. Who owns a set of them decides how long they may live;
//! what a model asks of them is in `tool`.

mod tool;

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::sandbox::{self, Command, End, Finished, Limits};

pub(super) use self::tool::JobsTool;

/// Jobs that run at once.
pub const RUNNING: usize = 8;
/// Jobs that have ended and are remembered.
const REMEMBERED: usize = 16;
/// Longest life of a job.
const LIFE: Duration = Duration::from_secs(24 * 3600);
/// Longest wait for the end of one that is stopped.
const END: Duration = Duration::from_secs(2);

/// Bytes of a command in a list.
const SHOWN: usize = 120;

/// Takes pieces of output while they are written.
type Show = Arc<dyn Fn(String) + Send + Sync>;

/// The jobs of one owner. Dropping it ends them.
#[derive(Debug, Default)]
pub struct Jobs {
    shelf: Mutex<Shelf>,
}

#[derive(Debug, Default)]
struct Shelf {
    last: u32,
    jobs: Vec<(u32, Job)>,
}

/// A job as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRow {
    /// From 1.
    pub id: u32,
    /// Its command.
    pub command: String,
    /// How it ended, as `exit code 0`; `None` while it runs.
    pub ended: Option<String>,
    /// How long it has run.
    pub took: Duration,
    /// Where its output is.
    pub output: PathBuf,
}

/// `job 2 runs since 14 s: cargo test`
impl fmt::Display for JobRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let command = shown(&self.command);
        let (id, seconds) = (self.id, self.took.as_secs());
        match &self.ended {
            None => write!(f, "job {id} runs since {seconds} s: {command}"),
            Some(how) => write!(f, "job {id} has ended after {seconds} s, {how}: {command}"),
        }
    }
}

impl JobRow {
    /// With no more of its command than a list shows.
    #[must_use]
    pub fn brief(self) -> JobRow {
        JobRow { command: shown(&self.command), ..self }
    }
}

/// The beginning of a command, on one line.
fn shown(command: &str) -> String {
    let mut words = command.split_whitespace().collect::<Vec<_>>().join(" ");
    words.truncate(words.floor_char_boundary(SHOWN));
    words
}

/// A command on a task of its own. Dropping it ends all its processes.
#[derive(Debug)]
pub(super) struct Job {
    command: String,
    began: Instant,
    pub(super) spool: PathBuf,
    stop: CancellationToken,
    ended: watch::Receiver<Option<Result<Finished, String>>>,
    /// Nobody watches its output any more.
    quiet: Arc<AtomicBool>,
    /// Its owner knows that it has ended.
    told: bool,
    _task: AbortOnDropHandle<()>,
}

impl Job {
    /// Starts a command. All of its output goes to the command's spool, the last `tail` bytes stay in memory.
    pub(super) fn start(command: Command, limits: &Limits, show: Option<Show>) -> Job {
        let (stop, (tell, ended)) = (CancellationToken::new(), watch::channel(None));
        let limits = Limits { time: LIFE, head: 0, ..limits.clone() };
        let (text, spool) = (command.text.clone(), command.spool.clone());
        let quiet = Arc::new(AtomicBool::new(show.is_none()));
        let (token, silent) = (stop.clone(), Arc::clone(&quiet));
        let task = tokio::spawn(async move {
            let mut pass = |piece: &str| {
                if let Some(show) = show.as_ref().filter(|_| !silent.load(Ordering::Relaxed)) {
                    show(piece.to_owned());
                }
            };
            let run = sandbox::run(&command, &limits, &token, &mut pass).await;
            // Nobody may be left to hear of it.
            let _ = tell.send(Some(run.map_err(|error| error.to_string())));
        });
        let _task = AbortOnDropHandle::new(task);
        Job { command: text, began: Instant::now(), spool, stop, ended, quiet, told: false, _task }
    }

    /// Waits for the end.
    pub(super) async fn ended(&mut self) -> Result<Finished, String> {
        ended(self.ended.clone()).await
    }

    /// Ends it, as an abort would.
    pub(super) async fn stop(&mut self) -> Result<Finished, String> {
        self.stop.cancel();
        self.ended().await
    }

    fn row(&self, id: u32) -> JobRow {
        let ended = self.ended.borrow();
        let took = match ended.as_ref() {
            Some(Ok(finished)) => finished.took,
            Some(Err(_)) => Duration::ZERO,
            None => self.began.elapsed(),
        };
        let output = self.spool.clone();
        JobRow { id, command: self.command.clone(), ended: ended.as_ref().map(how), took, output }
    }

    fn is_over(&self) -> bool {
        self.ended.borrow().is_some()
    }
}

impl Jobs {
    /// Takes on a job that was started, and numbers it.
    ///
    /// # Errors
    /// The job, when as many run as may.
    pub(super) fn keep(&self, job: Job) -> Result<u32, Box<Job>> {
        let mut shelf = self.shelf();
        if shelf.jobs.iter().filter(|(_, job)| !job.is_over()).count() >= RUNNING {
            return Err(Box::new(job));
        }
        job.quiet.store(true, Ordering::Relaxed);
        shelf.last += 1;
        let id = shelf.last;
        shelf.jobs.push((id, job));
        // The oldest of those that have ended go first.
        while shelf.jobs.iter().filter(|(_, job)| job.is_over()).count() > REMEMBERED {
            if let Some(at) = shelf.jobs.iter().position(|(_, job)| job.is_over()) {
                shelf.jobs.remove(at);
            }
        }
        Ok(id)
    }

    /// All that are remembered, by number.
    pub fn list(&self) -> Vec<JobRow> {
        self.shelf().jobs.iter().map(|(id, job)| job.row(*id)).collect()
    }

    /// Those that have ended since this was asked last, one line each: every end is told once.
    pub(super) fn news(&self) -> Vec<String> {
        let mut shelf = self.shelf();
        let new = shelf.jobs.iter_mut().filter(|(_, job)| job.is_over() && !job.told);
        let line = |(id, job): &mut (u32, Job)| {
            job.told = true;
            format!("[job {id} has ended: {}]", job.row(*id).ended.unwrap_or_default())
        };
        new.map(line).collect()
    }

    /// One of them; its end counts as told.
    fn look(&self, id: u32) -> Option<JobRow> {
        let mut shelf = self.shelf();
        let (_, job) = shelf.jobs.iter_mut().find(|(number, _)| *number == id)?;
        job.told |= job.is_over();
        Some(job.row(id))
    }

    /// What waits for the end of one.
    fn end_of(&self, id: u32) -> Option<impl Future<Output = Result<Finished, String>> + Send + use<>> {
        let shelf = self.shelf();
        let (_, job) = shelf.jobs.iter().find(|(number, _)| *number == id)?;
        Some(ended(job.ended.clone()))
    }

    /// Asks one to end, and waits until it has; one that is over stays as it is. `None` where there is none.
    pub async fn kill(&self, id: u32) -> Option<JobRow> {
        let end = self.end_of(id)?;
        if let Some((_, job)) = self.shelf().jobs.iter().find(|(number, _)| *number == id) {
            job.stop.cancel();
        }
        let _ = tokio::time::timeout(END, end).await;
        self.look(id)
    }

    /// Ends all of them, within two seconds.
    pub async fn end(&self) {
        let jobs = std::mem::take(&mut self.shelf().jobs);
        jobs.iter().for_each(|(_, job)| job.stop.cancel());
        let ends = jobs.iter().map(|(_, job)| ended(job.ended.clone()));
        let _ = tokio::time::timeout(END, futures_util::future::join_all(ends)).await;
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn ended(mut end: watch::Receiver<Option<Result<Finished, String>>>) -> Result<Finished, String> {
    let gone = || Err("it was dropped".to_owned());
    // Only the value that is waited for leaves this.
    end.wait_for(Option::is_some).await.map_or_else(|_| gone(), |end| end.clone().unwrap_or_else(gone))
}

fn how(ended: &Result<Finished, String>) -> String {
    match ended.as_ref().map(|finished| finished.end) {
        Ok(End::Exited(code)) => format!("exit code {code}"),
        Ok(End::Signalled(signal)) => format!("killed by signal {signal}"),
        Ok(End::TimedOut) => "stopped at the end of its day".to_owned(),
        Ok(End::Aborted) => "stopped".to_owned(),
        Err(why) => why.clone(),
    }
}

/// The first bytes of a spool, or all of it; empty where there is none.
pub(super) fn read(spool: &Path, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What cannot be read is as good as nothing: it is told by the number of bytes that were written.
    let _ = File::open(spool).map(|file| file.take(most).read_to_end(&mut bytes));
    bytes
}
