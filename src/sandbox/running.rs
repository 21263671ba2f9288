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
#[cfg(target_os = "linux")]
use super::walled::Walled;
use super::{Command, End, Limits, SandboxError, spawn, sweep};
use crate::secret::Stream;

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
    hush: Stream,
    capture: Capture,
    progress: Progress<'a>,
}

impl<'a> Output<'a> {
    pub(super) fn new(command: &Command, limits: &Limits, show: &'a mut (dyn FnMut(&str) + Send)) -> Output<'a> {
        let capture = Capture::new(&command.spool, limits.head, limits.tail, limits.spool);
        Output { hush: command.secrets.stream(), capture, progress: Progress::new(show) }
    }

    fn push(&mut self, chunk: &[u8]) {
        let shown = self.hush.push_bytes(chunk);
        self.capture.push(&shown);
        self.progress.push(&shown);
    }

    pub(super) fn finish(mut self) -> Captured {
        let rest = self.hush.end_bytes();
        self.capture.push(&rest);
        self.progress.push(&rest);
        self.progress.finish();
        self.capture.finish()
    }
}

/// A started command. Dropping it kills every process of it at once.
pub(super) struct Running<'a> {
    command: &'a Command,
    life: Life,
    pipe: Receiver,
    open: bool,
    buffer: Vec<u8>,
}

/// The processes of a command.
enum Life {
    /// Without walls: a child of ours and whoever is found to belong to it.
    Open { child: Box<Child>, family: Family, over: bool },
    /// Within walls.
    #[cfg(target_os = "linux")]
    Walled { walled: Walled, more: bool },
}

impl<'a> Running<'a> {
    pub(super) async fn start(command: &'a Command, limits: &Limits) -> Result<Running<'a>, SandboxError> {
        let (life, pipe) = if command.walls.are_open() {
            let id = sweep::name();
            let (child, pipe) = spawn::spawn(command, limits, &id)?;
            let none = || SandboxError::Spawn(io::Error::other("the shell has no process number"));
            let leader = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)).ok_or_else(none)?;
            (Life::Open { child: Box::new(child), family: Family::new(leader, id), over: false }, pipe)
        } else {
            Life::within(command, limits).await?
        };
        Ok(Running { command, life, pipe, open: true, buffer: vec![0; CHUNK] })
    }

    /// Reads until the shell has ended.
    pub(super) async fn watch(&mut self, output: &mut Output<'_>) -> Result<End, SandboxError> {
        loop {
            let due = output.progress.due();
            tokio::select! {
                read = self.pipe.read(&mut self.buffer), if self.open => take(&mut self.open, read, &self.buffer, output),
                ended = self.life.ended(self.command) => return ended,
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => output.progress.flush(),
            }
        }
    }

    /// Reads until nobody writes any more, or until then.
    async fn drain(&mut self, until: Instant, output: &mut Output<'_>) {
        while self.open {
            match timeout_at(until, self.pipe.read(&mut self.buffer)).await {
                Ok(read) => take(&mut self.open, read, &self.buffer, output),
                Err(_) => return,
            }
        }
    }

    /// Reads until nobody is left, or until then.
    async fn wait(&mut self, until: Instant, output: &mut Output<'_>) {
        let Running { life, pipe, open, buffer, .. } = self;
        let gone = life.gone();
        tokio::pin!(gone);
        loop {
            tokio::select! {
                () = &mut gone => return,
                read = pipe.read(buffer), if *open => take(open, read, buffer, output),
                () = sleep_until(until) => return,
            }
        }
    }

    /// After the shell ended by itself: the rest of the output, and the end of whoever was left behind, counted.
    pub(super) async fn tidy(&mut self, output: &mut Output<'_>) -> usize {
        self.drain(Instant::now() + DRAIN, output).await;
        let left = timeout(GONE, self.life.left(self.open)).await.unwrap_or_default();
        if !self.life.is_over() {
            self.stop(output).await;
        }
        left
    }

    /// Ends everybody: asks, waits a little, kills.
    pub(super) async fn stop(&mut self, output: &mut Output<'_>) {
        let patience = Instant::now() + GRACE;
        self.life.ask();
        self.wait(patience, output).await;
        self.life.kill();
        self.wait(Instant::now() + GONE, output).await;
        self.drain(Instant::now() + LOOK, output).await;
    }
}

fn take(open: &mut bool, read: io::Result<usize>, buffer: &[u8], output: &mut Output<'_>) {
    match read {
        Ok(0) | Err(_) => *open = false,
        Ok(length) => output.push(&buffer[..length]),
    }
}

impl Life {
    #[cfg(target_os = "linux")]
    async fn within(command: &Command, limits: &Limits) -> Result<(Life, Receiver), SandboxError> {
        let (walled, pipe) = Walled::start(command, limits).await?;
        Ok((Life::Walled { walled, more: true }, pipe))
    }

    #[cfg(not(target_os = "linux"))]
    async fn within(command: &Command, _: &Limits) -> Result<(Life, Receiver), SandboxError> {
        command.walls.build()?;
        Err(SandboxError::NoWalls("they need Linux".to_owned()))
    }

    /// Waits for the end of the shell.
    async fn ended(&mut self, command: &Command) -> Result<End, SandboxError> {
        match self {
            Life::Open { child, .. } => Ok(end(child.wait().await)),
            #[cfg(target_os = "linux")]
            Life::Walled { walled, more } => {
                let (end, others) = walled.ended(command).await?;
                *more = others;
                Ok(end)
            }
        }
    }

    /// How many the shell left behind; `open` when somebody still can write.
    async fn left(&mut self, open: bool) -> usize {
        match self {
            Life::Open { family, over, .. } => {
                *over = family.is_gone() && !open;
                if *over { 0 } else { family.members().len() }
            }
            #[cfg(target_os = "linux")]
            Life::Walled { walled, more } => {
                if *more {
                    walled.count().await
                } else {
                    0
                }
            }
        }
    }

    /// Waits until nobody is left.
    async fn gone(&mut self) {
        match self {
            Life::Open { child, family, over } => {
                let _ = child.wait().await;
                while !family.members().is_empty() {
                    sleep(LOOK).await;
                }
                *over = true;
            }
            #[cfg(target_os = "linux")]
            Life::Walled { walled, more } => {
                walled.over().await;
                *more = false;
            }
        }
    }

    fn is_over(&self) -> bool {
        match self {
            Life::Open { over, .. } => *over,
            #[cfg(target_os = "linux")]
            Life::Walled { walled, more } => walled.gone || !*more,
        }
    }

    fn ask(&mut self) {
        match self {
            Life::Open { family, .. } => family.ask(),
            #[cfg(target_os = "linux")]
            Life::Walled { walled, .. } => walled.ask(),
        }
    }

    fn kill(&mut self) {
        match self {
            Life::Open { family, .. } => family.kill(),
            #[cfg(target_os = "linux")]
            Life::Walled { walled, .. } => walled.kill(),
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.life.is_over() {
            self.life.kill();
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
