//! Answers at the socket, for as long as the program works in the workspace. Whoever is at the other end may be broken:
//! every line, wait and number of connections has a bound.

use std::fs;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::LONGEST_REQUEST;
use super::address::{self, Place};
use super::lines::{Cut, Lines};
use super::wire::{self, Asked};
use crate::runtime::Runtime;

/// Clients at a time; a further one is told so.
const CLIENTS: usize = 64;

/// How long a client may take for its next line, and for reading an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Rest after the system had no connection to give.
const REST: Duration = Duration::from_millis(200);

/// A socket that is answered at. Gone when this is dropped, with its file.
pub struct Host {
    _place: Place,
    _serving: AbortOnDropHandle<()>,
}

impl Host {
    /// Answers from now on, for a program that has the workspace; `None` where it only looks, or keeps nothing and so has
    /// no folder that others know.
    ///
    /// # Errors
    /// The socket cannot be made.
    pub fn open(runtime: &Runtime) -> io::Result<Option<Host>> {
        let workspace = &runtime.config().workspace;
        if runtime.looking().is_some() || workspace.is_ephemeral() {
            return Ok(None);
        }
        let (listener, place) = address::listen(workspace.state())?;
        let serving = AbortOnDropHandle::new(tokio::spawn(serve(listener, runtime.clone())));
        Ok(Some(Host { _place: place, _serving: serving }))
    }
}

async fn serve(listener: UnixListener, runtime: Runtime) {
    let places = Arc::new(Semaphore::new(CLIENTS));
    let mut clients = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = clients.join_next() => continue,
        };
        match accepted {
            Ok((stream, _)) => match admit(&stream, &places) {
                Ok(place) => drop(clients.spawn(attend(stream, runtime.clone(), place))),
                Err(why) => refuse(&stream, why),
            },
            Err(error) => {
                tracing::warn!(%error, "nobody can be answered at the socket now");
                sleep(REST).await;
            }
        }
    }
}

/// The socket's file is its owner's alone; this holds also where somebody has changed that. Orders are a person's: what a
/// command of an agent asks for, the agent could answer itself.
fn admit(stream: &UnixStream, places: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, String> {
    let peer = stream.peer_cred().map_err(|error| error.to_string())?;
    let own = rustix::process::getuid().as_raw();
    if !may_order(peer.uid(), own) {
        return Err(format!("user {} may not give orders here: this tillerman belongs to user {own}", peer.uid()));
    }
    if is_walled(peer.pid()) {
        return Err(
            "a command within walls may not give orders here; a person does so from another terminal".to_owned()
        );
    }
    places.clone().try_acquire_owned().map_err(|_| format!("{CLIENTS} clients are connected already; try again later"))
}

/// Whether this user may give orders to a program of that one: oneself, and root, who may do everything anyway.
pub fn may_order(peer: u32, own: u32) -> bool {
    peer == own || peer == 0
}

/// Whether a process has more filters of system calls than this one: commands of agents have, and none can get rid of them.
fn is_walled(pid: Option<i32>) -> bool {
    // Where the system does not count them there are no walls of ours.
    let Some(own) = filters("self") else { return false };
    // Whoever is gone or cannot be seen waits for no answer, or hides.
    pid.and_then(|pid| filters(&pid.to_string())).is_none_or(|peer| peer > own)
}

fn filters(process: &str) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let field = |name| status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    field("Seccomp_filters:").or_else(|| field("Seccomp:"))
}

/// Says why, as far as it can be said at once.
fn refuse(stream: &UnixStream, why: String) {
    tracing::warn!(why, "a client was refused");
    let _ = stream.try_write(wire::answer(Value::Null, Err(why)).as_bytes());
}

/// Answers one client until it leaves, is silent for too long, or makes no sense.
async fn attend(stream: UnixStream, runtime: Runtime, _place: OwnedSemaphorePermit) {
    let (read, mut write) = stream.into_split();
    let mut lines = Lines::new(read, LONGEST_REQUEST);
    loop {
        let line = match timeout(PATIENCE, lines.next()).await {
            Ok(Ok(Some(line))) => line,
            Ok(Err(Cut::TooLong(most))) => {
                let why = format!("a request has more than {most} bytes; put what is long into a file and name it");
                let _ = say(&mut write, &wire::answer(Value::Null, Err(why))).await;
                return;
            }
            Ok(Ok(None) | Err(Cut::Io(_))) | Err(_) => return,
        };
        if line.trim_ascii().is_empty() {
            continue;
        }
        let (id, asked) = wire::read(&line);
        let answer = match asked {
            Ok(Asked::Order(order)) => runtime.obey(*order).await,
            Ok(Asked::Feed) => return feed(&runtime, &id, lines, write).await,
            Err(why) => Err(why),
        };
        if say(&mut write, &wire::answer(id, answer)).await.is_err() {
            return;
        }
    }
}

/// Tells everything until the client leaves. What it sends meanwhile is not read as orders.
async fn feed(runtime: &Runtime, id: &Value, mut lines: Lines<OwnedReadHalf>, mut write: OwnedWriteHalf) {
    let mut feed = runtime.feed();
    loop {
        let line = tokio::select! {
            news = feed.recv() => match news {
                Ok(news) => wire::news(id, &news),
                Err(RecvError::Lagged(count)) => Some(wire::missed(id, count)),
                Err(RecvError::Closed) => return,
            },
            more = lines.next() => match more {
                Ok(Some(_)) => continue,
                Ok(None) | Err(_) => return,
            },
        };
        if let Some(line) = line
            && say(&mut write, &line).await.is_err()
        {
            return;
        }
    }
}

async fn say(to: &mut OwnedWriteHalf, line: &str) -> io::Result<()> {
    timeout(PATIENCE, to.write_all(line.as_bytes())).await?
}
