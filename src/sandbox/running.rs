//! A command that runs: its output is read, its end awaited, and whatever happens its processes end with it.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Child;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use super::capture::{Capture, Captured};
use super::family::Family;
use super::progress::Progress;
use super::{Command, End, Limits, SandboxError, spawn, sweep};

/// How long the asked may take to end before they are killed.
const GRACE: Duration = Duration::from_millis(120);
/// How long the output may stay open after its command ended.
const DRAIN: Duration = Duration::from_millis(100);
/// How long the killed may take to be gone.
const GONE: Duration = Duration::from_millis(100);
/// Between two looks at the process list.
const LOOK: Duration = Duration::from_millis(5);
/// Bytes read at once.
const CHUNK: usize = 64 * 1024;

/// A command's output on its way in.
pub(super) struct Output<'a> {
    capture: Capture,
    progress: Progress<'a>,
}

impl<'a> Output<'a> {
    pub(super) fn new(command: &Command, limits: &Limits, show: &'a mut (dyn FnMut(&str) + Send)) -> Output<'a> {
        let capture = Capture::new(&command.spool, limits.head, limits.tail, limits.spool);
        Output { capture, progress: Progress::new(show) }
    }

    fn push(&mut self, chunk: &[u8]) {
        self.capture.push(chunk);
        self.progress.push(chunk);
    }

    pub(super) fn finish(self) -> Captured {
        self.progress.finish();
        self.capture.finish()
    }
}

/// A started command. Dropping it kills every process of it at once.
pub(super) struct Running {
    child: Child,
    pipe: Receiver,
    open: bool,
    buffer: Vec<u8>,
    family: Family,
    over: bool,
}

impl Running {
    pub(super) fn start(command: &Command, limits: &Limits) -> Result<Running, SandboxError> {
        let id = sweep::name();
        let (child, pipe) = spawn::spawn(command, limits, &id)?;
        let none = || SandboxError::Spawn(io::Error::other("the shell has no process number"));
        let leader = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)).ok_or_else(none)?;
        Ok(Running { child, pipe, open: true, buffer: vec![0; CHUNK], family: Family::new(leader, id), over: false })
    }

    /// Reads until the shell has ended.
    pub(super) async fn watch(&mut self, output: &mut Output<'_>) -> End {
        loop {
            let due = output.progress.due();
            tokio::select! {
                read = self.pipe.read(&mut self.buffer), if self.open => self.take(read, output),
                status = self.child.wait() => return end(status),
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => output.progress.flush(),
            }
        }
    }

    fn take(&mut self, read: io::Result<usize>, output: &mut Output<'_>) {
        match read {
            Ok(0) | Err(_) => self.open = false,
            Ok(length) => output.push(&self.buffer[..length]),
        }
    }

    /// Reads until nobody writes any more, or until then.
    async fn drain(&mut self, until: Instant, output: &mut Output<'_>) {
        while self.open {
            match timeout_at(until, self.pipe.read(&mut self.buffer)).await {
                Ok(read) => self.take(read, output),
                Err(_) => return,
            }
        }
    }

    /// After the shell ended by itself: the rest of the output, and the end of whoever was left behind, counted.
    pub(super) async fn tidy(&mut self, output: &mut Output<'_>) -> usize {
        self.drain(Instant::now() + DRAIN, output).await;
        if self.family.is_gone() {
            self.over = !self.open;
        }
        if self.over {
            return 0;
        }
        let left = self.family.members().len();
        self.stop(output).await;
        left
    }

    /// Ends everybody: asks, waits a little, kills.
    pub(super) async fn stop(&mut self, output: &mut Output<'_>) {
        let patience = Instant::now() + GRACE;
        self.family.ask();
        let _ = timeout_at(patience, self.watch(output)).await;
        while Instant::now() < patience && !self.family.members().is_empty() {
            sleep(LOOK).await;
        }
        self.family.kill();
        let _ = timeout(GONE, self.child.wait()).await;
        let gone = Instant::now() + GONE;
        while Instant::now() < gone && !self.family.members().is_empty() {
            sleep(LOOK).await;
        }
        self.drain(Instant::now() + LOOK, output).await;
        self.over = self.family.members().is_empty();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.over {
            self.family.kill();
        }
    }
}

fn end(status: io::Result<ExitStatus>) -> End {
    // A child that somebody else has waited for ended, but nobody knows how.
    let Ok(status) = status else { return End::Exited(-1) };
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(code),
        (None, signal) => End::Signalled(signal.unwrap_or_default()),
    }
}
