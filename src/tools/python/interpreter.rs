//! A Python process that waits for code, and the line to it. What a call's end means for the model is not decided here.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Pair;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Gathered, PathPolicy, ShellSettings};
use crate::sandbox::{self, Command, End, Finished, Limits};
use crate::tool::{ToolContext, ToolError};

const DRIVER: &str = include_str!("driver.py");
/// Longest life of an interpreter.
const LIFE: Duration = Duration::from_secs(24 * 3600);
/// How long the end of a stopped one is waited for.
const END: Duration = Duration::from_secs(2);
/// Between two pieces that are shown, and the most of each.
const PACE: Duration = Duration::from_millis(100);
const PIECE: usize = 8 * 1024;
/// Bytes read at once.
const CHUNK: usize = 64 * 1024;

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stop {
    /// All of the code ran; well, or up to an exception.
    Done {
        well: bool,
    },
    TimedOut,
    Aborted,
    /// The process is gone, so.
    Ended(String),
    /// It never came to life: what it said.
    Absent(String),
}

/// What came of a call.
pub(super) struct Said {
    pub(super) stop: Stop,
    output: Gathered,
}

impl Said {
    pub(super) fn text(&self) -> String {
        self.output.text()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.output.bytes()
    }
}

/// The process, from its start to the drop of this, which ends it with all that it started.
pub(super) struct Interpreter {
    line: UnixStream,
    mark: Vec<u8>,
    /// It has said that it is there.
    greeted: bool,
    /// Came in and is not told yet.
    pending: Vec<u8>,
    ended: Option<oneshot::Receiver<Result<Finished, String>>>,
    _stop: DropGuard,
    stop: CancellationToken,
}

impl Interpreter {
    pub(super) fn start(policy: &PathPolicy, settings: &ShellSettings, cx: &ToolContext) -> Result<Self, ToolError> {
        let broken = |error: io::Error| ToolError::new(format!("no line to an interpreter can be made: {error}"));
        let (ours, theirs) = Pair::pair().map_err(broken)?;
        ours.set_nonblocking(true).map_err(broken)?;
        let line = UnixStream::from_std(ours).map_err(broken)?;
        let text = format!("exec python3 -u -X utf8 -c '{DRIVER}'");
        let stdin = Some(Arc::new(OwnedFd::from(theirs)));
        let command = Command { stdin, ..settings.command(text, policy.base(), cx) };
        let limits = Limits { time: LIFE, ..settings.limits.clone() };
        let (stop, (tell, ended)) = (CancellationToken::new(), oneshot::channel());
        let token = stop.clone();
        tokio::spawn(async move {
            let run = sandbox::run(&command, &limits, &token, &mut |_| {}).await;
            // Nobody may be left to hear of it.
            let _ = tell.send(run.map_err(|error| error.to_string()));
        });
        let mark = format!("{}{}", ulid::Ulid::generate(), ulid::Ulid::generate()).into_bytes();
        let _stop = stop.clone().drop_guard();
        Ok(Interpreter { line, mark, greeted: false, pending: Vec::new(), ended: Some(ended), _stop, stop })
    }

    /// Runs the code; of an end other than [`Stop::Done`] this one is of no use any more.
    pub(super) async fn call(&mut self, code: &str, until: Instant, cx: &ToolContext) -> Said {
        let mut output = Gathered::default();
        let mut hear = Hearing {
            mark: &self.mark,
            pending: &mut self.pending,
            output: &mut output,
            cx,
            unseen: Vec::new(),
            due: None,
        };
        let stop = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Some(Stop::Aborted),
            () = sleep_until(until) => Some(Stop::TimedOut),
            done = hear.talk(&mut self.line, &mut self.greeted, code) => done.ok().map(|well| Stop::Done { well }),
        };
        // Who hangs up has ended, or is about to.
        let stop = match stop {
            Some(stop) => stop,
            None => died(self.gone().await, self.greeted),
        };
        if !matches!(stop, Stop::Done { .. }) {
            // What it wrote last may still lie on its way.
            output.push(&std::mem::take(&mut self.pending));
            let mut rest = vec![0; CHUNK];
            while let Ok(length @ 1..) = self.line.try_read(&mut rest) {
                output.push(&rest[..length]);
            }
        }
        Said { stop, output }
    }

    /// Waits for its end; `None` when that was told before, or does not come.
    async fn gone(&mut self) -> Option<Result<Finished, String>> {
        timeout(END, self.ended.take()?).await.ok()?.ok()
    }

    /// Stops it and waits until it is gone.
    pub(super) async fn end(mut self) {
        self.stop.cancel();
        self.gone().await;
    }
}

/// The stream of a process, cut at marks.
struct Hearing<'a> {
    mark: &'a [u8],
    /// Came in and is not told: a mark may have begun in it, or it came after one.
    pending: &'a mut Vec<u8>,
    output: &'a mut Gathered,
    cx: &'a ToolContext,
    /// Not shown yet, and when it will be.
    unseen: Vec<u8>,
    due: Option<Instant>,
}

impl Hearing<'_> {
    /// Sends the code and takes in what comes up to the mark. Answers whether all of it ran.
    async fn talk(&mut self, line: &mut UnixStream, greeted: &mut bool, code: &str) -> io::Result<bool> {
        if !*greeted {
            line.write_all(&[self.mark, b"\n"].concat()).await?;
            self.answer(line).await?;
            *greeted = true;
        }
        let request = [format!("{}\n", code.len()).as_bytes(), code.as_bytes()].concat();
        let (mut reader, mut writer) = line.split();
        // Who writes much before it has read all must not wait for us.
        let (sent, heard) = tokio::join!(writer.write_all(&request), self.answer(&mut reader));
        sent.and(heard).map(|kind| kind == b'k')
    }

    /// Everything up to the next mark; answers the letter behind it.
    async fn answer(&mut self, line: &mut (impl AsyncRead + Unpin)) -> io::Result<u8> {
        let mut chunk = vec![0; CHUNK];
        let sign = [b"\0", self.mark].concat();
        loop {
            let found = self.pending.windows(sign.len() + 1).position(|part| part.starts_with(&sign));
            if let Some(at) = found {
                let kind = self.pending[at + sign.len()];
                self.output.push(&self.pending[..at]);
                self.pending.drain(..=at + sign.len());
                self.show();
                return Ok(kind);
            }
            let safe = self.pending.len().saturating_sub(sign.len());
            self.output.push(&self.pending[..safe]);
            self.pending.drain(..safe);
            let read = match self.due.filter(|_| !self.unseen.is_empty()) {
                Some(due) => timeout_at(due, line.read(&mut chunk)).await,
                None => Ok(line.read(&mut chunk).await),
            };
            match read {
                Err(_) => self.show(),
                Ok(Err(error)) => return Err(error),
                Ok(Ok(0)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(Ok(length)) => self.take(&chunk[..length]),
            }
        }
    }

    fn take(&mut self, piece: &[u8]) {
        self.pending.extend_from_slice(piece);
        self.unseen.extend_from_slice(piece.split(|byte| *byte == 0).next().unwrap_or_default());
        self.unseen.drain(..self.unseen.len().saturating_sub(PIECE));
        if self.due.is_none_or(|due| due <= Instant::now()) {
            self.show();
        }
    }

    /// Not more often than a person can see.
    fn show(&mut self) {
        if !self.unseen.is_empty() {
            let piece = std::mem::take(&mut self.unseen);
            (self.cx.progress)(self.cx.secrets.hide(&String::from_utf8_lossy(&piece)).into_owned());
            self.due = Some(Instant::now() + PACE);
        }
    }
}

/// A process that is gone says by its code, and before its greeting by its words, why.
fn died(ended: Option<Result<Finished, String>>, greeted: bool) -> Stop {
    let finished = match ended {
        Some(Ok(finished)) => finished,
        Some(Err(why)) => return Stop::Absent(why),
        None => return Stop::Ended("it hung up".to_owned()),
    };
    let how = match finished.end {
        End::Exited(code) => format!("exit code {code}"),
        End::Signalled(signal) => format!("killed by signal {signal}"),
        End::TimedOut => "at the end of its day".to_owned(),
        End::Aborted => "stopped".to_owned(),
    };
    let said = String::from_utf8_lossy(&finished.output.head).trim().chars().take(300).collect::<String>();
    match greeted {
        true => Stop::Ended(how),
        false => Stop::Absent(format!("{how}{}{said}", if said.is_empty() { "" } else { ", " })),
    }
}
