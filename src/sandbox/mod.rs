//! Runs commands and owns their processes: output is spooled and capped, the whole tree ends with its owner.
//! What a command may touch and what its output means are not decided here.

mod capture;
mod environment;
mod family;
#[cfg(target_os = "linux")]
mod granted;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod placeholders;
#[cfg(target_os = "linux")]
mod plan;
mod progress;
mod running;
mod spawn;
mod sweep;
#[cfg(target_os = "linux")]
mod walled;
mod walls;
#[cfg(target_os = "linux")]
pub mod warden;
#[cfg(target_os = "linux")]
mod wire;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

pub use self::capture::{Captured, Spool};
pub use self::environment::{Environment, nesting};
#[cfg(target_os = "linux")]
pub use self::placeholders::tidy;
use self::running::{Output, Running};
pub use self::sweep::sweep;
pub use self::walls::{Built, Tier, WallSettings, Walls};
use crate::secret::Secrets;

/// What to run.
#[derive(Debug, Clone)]
pub struct Command {
    /// For the shell.
    pub text: String,
    /// Where; must exist.
    pub cwd: PathBuf,
    /// With which variables; nothing else is inherited.
    pub environment: Environment,
    /// Where all of the output is kept when it does not fit into memory; made only then.
    pub spool: PathBuf,
    /// What it reads; `None` for an input that is at its end.
    pub stdin: Option<Arc<OwnedFd>>,
    /// What stands between it and the rest of the machine.
    pub walls: Arc<Walls>,
    /// What is left out of its output, wherever that goes.
    pub secrets: Secrets,
}

/// How much a command may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Until it is stopped.
    pub time: Duration,
    /// Bytes kept in memory of the output's beginning.
    pub head: usize,
    /// Bytes kept in memory of the output's end.
    pub tail: usize,
    /// Bytes kept in the spool.
    pub spool: u64,
    /// The largest file that the command may write.
    pub file: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        let (kib, mib) = (1024, 1024 * 1024);
        Limits { time: Duration::from_secs(120), head: 64 * kib, tail: 64 * kib, spool: 16 * mib, file: 2048 * mib }
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that did not come from us.
    Signalled(i32),
    /// Stopped at its time limit.
    TimedOut,
    /// Stopped because its run was.
    Aborted,
}

/// A command that ended; no process of it is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How.
    pub end: End,
    /// What it wrote to its output and error output, in the order in which it was written.
    pub output: Captured,
    /// Processes that it left behind and that were ended with it.
    pub left: usize,
    /// From start to end.
    pub took: Duration,
}

/// A command that could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// There is no such folder.
    #[error("cannot run in {}: the folder does not exist", .0.display())]
    NoFolder(PathBuf),
    /// The text is longer than the system takes.
    #[error("the command has {0} bytes, more than the system takes; write it to a script file and run that")]
    TooLong(usize),
    /// The text has a zero byte.
    #[error("the command contains a zero byte, which no shell can be given")]
    ZeroByte,
    /// This system has nothing that walls could be made of, or something stands in their way.
    #[error("cannot build walls around commands: {0}; --sandbox full runs them without")]
    NoWalls(String),
    /// The system refused.
    #[error("cannot start the shell: {0}")]
    Spawn(#[source] io::Error),
}

/// Runs a command in a shell, without a terminal.
///
/// `on_output` gets the output while it is written, as text in pieces, at most about ten times a second; it returns at
/// once. However the command ends, and also when this future is dropped, every process that it started is ended:
/// asked by SIGTERM first if there is time, by SIGKILL at the latest 150 ms later (at once on drop).
///
/// # Errors
/// [`SandboxError`] when the command could not be started; all later trouble is in [`Finished`].
pub async fn run(
    command: &Command,
    limits: &Limits,
    cancel: &CancellationToken,
    on_output: &mut (dyn FnMut(&str) + Send),
) -> Result<Finished, SandboxError> {
    let began = Instant::now();
    let mut output = Output::new(command, limits, on_output);
    let mut running = Running::start(command, limits).await?;
    let ended = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(End::Aborted),
        // Before the output: a command that never stops writing would use up the task's turn before the timer is asked.
        () = tokio::time::sleep(limits.time) => Err(End::TimedOut),
        ended = running.watch(&mut output) => Ok(ended?),
    };
    let (end, left) = match ended {
        Ok(end) => (end, running.tidy(&mut output).await),
        Err(end) => {
            running.stop(&mut output).await;
            (end, 0)
        }
    };
    Ok(Finished { end, output: output.finish(), left, took: began.elapsed() })
}
