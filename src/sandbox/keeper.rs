//! The warden as this program sees it: started, told what is wanted, given commands, ended. What it does is its own room.

use std::fs::File;
use std::io::{self, IoSlice, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command as Program, Stdio};
use std::thread;
use std::time::Duration;

use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, sendmsg, socketpair,
};

use super::environment::MARK;
use super::granted::Granted;
use super::placeholders::Placeholders;
use super::plan::{Order, Plan};
use super::walls::{Built, Tier, WallSettings};
use super::{Command, Limits, SandboxError, spawn, sweep, warden};

/// Longest wait for walls.
const PATIENCE: Duration = Duration::from_secs(10);

/// Looks at a warden that was told to end, two milliseconds apart, before it is killed.
const LOOKS: usize = 500;

/// A warden. Dropping it ends the warden and removes what stood for protected paths.
#[derive(Debug)]
pub(super) struct Keeper {
    pub(super) built: Built,
    /// Gone only when this is dropped.
    socket: Option<OwnedFd>,
    child: Option<Child>,
    _placeholders: Placeholders,
    _granted: Granted,
}

impl Keeper {
    /// Starts a warden for the strongest walls that can be built.
    pub(super) fn start(settings: &WallSettings) -> Result<Keeper, String> {
        let mut notes = Vec::new();
        let mut bounds = settings.bounds.clone();
        let granted = Granted::make(&bounds).map_err(|error| format!("what may be written cannot be made: {error}"))?;
        let made = Placeholders::make(&mut bounds, settings.notes.as_deref());
        let placeholders = made.map_err(|error| format!("a protected path cannot be kept free: {error}"))?;
        for path in bounds.protected.iter_mut().chain(&mut bounds.write).chain(&mut bounds.hidden) {
            match path.canonicalize() {
                Ok(real) if real != *path => *path = real,
                _ => {}
            }
        }
        let mut why = Vec::new();
        let only = settings.only.map(|only| [only]);
        for tier in only.as_ref().map_or(&[Tier::Full, Tier::Landlock][..], |only| only).iter().copied() {
            let (network, programs) = (settings.network, settings.programs.clone());
            let plan = Plan { tier, network, bounds: bounds.clone(), programs };
            match start(settings, &plan) {
                Ok((socket, child)) => {
                    notes.extend(why);
                    let built = Built { tier, notes };
                    return Ok(Keeper {
                        built,
                        socket: Some(socket),
                        child: Some(child),
                        _placeholders: placeholders,
                        _granted: granted,
                    });
                }
                Err(error) => why.push(format!("{tier}: {error}")),
            }
        }
        Err(why.join("; "))
    }

    /// Hands a command over. What is heard of it comes through the stream, and with the stream's end it ends.
    pub(super) fn hand(
        &self,
        command: &Command,
        limits: &Limits,
        output: BorrowedFd<'_>,
    ) -> Result<tokio::net::UnixStream, SandboxError> {
        let mark = command.environment.mark(&sweep::name());
        let order = Order::write(command, limits, spawn::interpreter(&command.text), (MARK, &mark));
        let order = order.into_file().map_err(SandboxError::Spawn)?;
        let (ours, theirs) = UnixStream::pair().map_err(SandboxError::Spawn)?;
        ours.set_nonblocking(true).map_err(SandboxError::Spawn)?;
        let null;
        let input = match &command.stdin {
            Some(input) => input.as_fd(),
            None => {
                null = File::open("/dev/null").map_err(SandboxError::Spawn)?;
                null.as_fd()
            }
        };
        let socket = self.socket.as_ref().ok_or_else(|| SandboxError::Spawn(io::ErrorKind::NotConnected.into()))?;
        send(socket, &[order.as_fd(), theirs.as_fd(), input, output]).map_err(SandboxError::Spawn)?;
        tokio::net::UnixStream::from_std(ours).map_err(SandboxError::Spawn)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.socket = None;
        self.child.take().into_iter().for_each(gather);
    }
}

/// Waits for a warden that was told to end, where nobody else has to wait. At the end of the program others wait for it.
fn gather(mut child: Child) {
    let wait = move || {
        for _ in 0..LOOKS {
            match child.try_wait() {
                Ok(None) => thread::park_timeout(Duration::from_millis(2)),
                _ => return,
            }
        }
        let _ = child.kill().and_then(|()| child.wait());
    };
    // Without a thread the warden ends all the same.
    let _ = thread::Builder::new().name("warden's end".to_owned()).spawn(wait);
}

fn start(settings: &WallSettings, plan: &Plan) -> Result<(OwnedFd, Child), String> {
    let told = |error: io::Error| error.to_string();
    let pair = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let (ours, theirs) = pair.map_err(|error| error.to_string())?;
    let (mut hears, says) = UnixStream::pair().map_err(told)?;
    hears.set_read_timeout(Some(PATIENCE)).map_err(told)?;
    let none = "this program cannot build them: its main must ask sandbox::warden, or tillerman lie beside it";
    let path = settings.program.as_ref().ok_or(none)?;
    let mut program = Program::new(path);
    program
        .arg(warden::WORD)
        .env_clear()
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::from(OwnedFd::from(says)))
        .stderr(Stdio::null());
    let mut child = program.spawn().map_err(|error| format!("{}: {error}", path.display()))?;
    drop(program);
    let told = plan.write().into_file().and_then(|file| send(&ours, &[file.as_fd()])).map_err(told);
    let mut report = String::new();
    // It says one word and closes its output, or dies, which closes it as well.
    let heard = hears.read_to_string(&mut report);
    match (told, heard, report.split_at_checked(1)) {
        (Ok(()), Ok(_), Some(("+", _))) => Ok((ours, child)),
        (_, _, Some(("-", why))) => {
            gather(child);
            Err(why.to_owned())
        }
        (told, _, _) => {
            drop(ours);
            let _ = child.kill();
            gather(child);
            Err(told.err().unwrap_or_else(|| "the warden died, or said nothing".to_owned()))
        }
    }
}

fn send(socket: &OwnedFd, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::Error::other("too many files"));
    }
    sendmsg(socket, &[IoSlice::new(b"c")], &mut control, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
    Ok(())
}
