//! The first process of a command: starts the shell, gathers who lost its parents, tells how it ended, and ends everybody
//! when it is told to or when nobody is there to tell it.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use rustix::process::{Pid, Resource, Rlimit, WaitOptions, WaitStatus, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};

use super::super::Tier;
use super::super::plan::{ASK, COUNT, Order, Word};
use super::super::wire;
use super::kin::Kin;
use super::{Ready, kernel, mounts};

/// Files that a command may have open.
const FILES: u64 = 4096;
/// Milliseconds between two counts of processes where nothing else limits them.
const COUNTS: i32 = 500;

/// What comes with a command: the order, the wire to its owner, its input and its output.
struct Taken {
    order: OwnedFd,
    owner: OwnedFd,
    input: OwnedFd,
    output: OwnedFd,
}

/// Waits for a command and runs it. `taken` is told when there is one.
pub(super) fn serve(ready: &Ready, socket: BorrowedFd<'_>, taken: OwnedFd) -> io::Result<()> {
    let ends = kernel::children_end()?;
    let (kin, limited) = match ready.tier {
        Tier::Full => (Kin::Namespace, mounts::processes(ready.most)?),
        _ => (Kin::Descendants, false),
    };
    if ready.tier == Tier::Full {
        confine(ready)?;
    } else {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    }
    let Some(command) = take(socket)? else { return Ok(()) };
    // Who asks for a command must learn when there is nobody to take it any more.
    kernel::forget(socket);
    rustix::io::write(&taken, b"t")?;
    drop(taken);
    let Taken { order, owner, input, output } = command;
    match start(ready, order, [input.as_fd(), output.as_fd()])? {
        Ok(shell) => {
            drop((input, output));
            let most = if limited { None } else { Some(ready.most as usize) };
            Watch { kin, owner, ends, shell, most }.watch()
        }
        Err(word) => tell(&owner, word),
    }
}

/// The next command; `None` when no more will come.
fn take(socket: BorrowedFd<'_>) -> io::Result<Option<Taken>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let got =
        rustix::net::recvmsg(socket, &mut [io::IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut files = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => files.collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    if got.bytes == 0 {
        return Ok(None);
    }
    let mut next = || files.next().ok_or_else(|| io::Error::other("a command without its files"));
    Ok(Some(Taken { order: next()?, owner: next()?, input: next()?, output: next()? }))
}

/// Starts the shell; or what to tell when there is none.
fn start(ready: &Ready, order: OwnedFd, [input, output]: [BorrowedFd<'_>; 2]) -> io::Result<Result<Pid, Word>> {
    let order = Order::read(&wire::read(order)?).ok_or_else(|| io::Error::other("a command that cannot be read"))?;
    let (heard, said) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let Some(shell) = kernel::fork(UnshareFlags::empty())? else {
        let word = become_shell(ready, &order, [input, output], said.as_fd());
        let _ = rustix::io::write(&said, &word.write());
        kernel::leave(127);
    };
    drop(said);
    let mut word = [0; 12];
    let failed = rustix::io::read(&heard, &mut word)? == word.len();
    Ok(if failed { Err(Word::read(word).unwrap_or(Word::NoShell(0))) } else { Ok(shell) })
}

/// In the child: returns only when there is no shell.
fn become_shell(ready: &Ready, order: &Order, [input, output]: [BorrowedFd<'_>; 2], said: BorrowedFd<'_>) -> Word {
    let number = |error: io::Error| error.raw_os_error().unwrap_or_default();
    let prepared = || -> io::Result<()> {
        rustix::process::setsid()?;
        kernel::usual_signals();
        if ready.tier == Tier::Landlock {
            confine(ready)?;
        }
        limit(order)
    };
    if let Err(error) = prepared() {
        return Word::NoShell(number(error));
    }
    if let Err(error) = rustix::process::chdir(&order.cwd) {
        return Word::NoFolder(error.raw_os_error());
    }
    match kernel::only_files([input, output, output], said) {
        Ok(()) => Word::NoShell(number(kernel::become_program(&order.arguments, &order.environment))),
        Err(error) => Word::NoShell(number(error)),
    }
}

fn limit(order: &Order) -> io::Result<()> {
    let most = |size: u64| Rlimit { current: Some(size), maximum: Some(size) };
    setrlimit(Resource::Fsize, most(order.file))?;
    setrlimit(Resource::Core, most(0))?;
    let files = getrlimit(Resource::Nofile).maximum.map_or(FILES, |hard| hard.min(FILES));
    Ok(setrlimit(Resource::Nofile, most(files))?)
}

/// Gives up for good what no command needs. Whatever is started from here on has no more.
pub(super) fn confine(ready: &Ready) -> io::Result<()> {
    // Without the right to do so there is nothing to forgo: the next lines take what is left.
    let _ = kernel::forgo_root();
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    rustix::thread::set_no_new_privs(true)?;
    if let Some(rules) = &ready.rules {
        kernel::restrict(rules.as_fd())?;
    }
    kernel::filter(&ready.filter)
}

fn tell(owner: &OwnedFd, word: Word) -> io::Result<()> {
    Ok(rustix::net::send(owner, &word.write(), rustix::net::SendFlags::NOSIGNAL).map(drop)?)
}

/// A command that runs.
struct Watch {
    kin: Kin,
    owner: OwnedFd,
    ends: OwnedFd,
    shell: Pid,
    /// How many there may be, where nothing else limits them.
    most: Option<usize>,
}

impl Watch {
    /// Returns when nobody is left.
    fn watch(&self) -> io::Result<()> {
        loop {
            let most = if self.most.is_some() { COUNTS } else { -1 };
            let [ended, told] = kernel::wait([self.ends.as_fd(), self.owner.as_fd()], most);
            if ended && self.reap()? {
                return Ok(());
            }
            if self.most.is_some_and(|most| !ended && !told && self.kin.members().len() > most) {
                self.kin.kill();
                return tell(&self.owner, Word::Signalled(libc::SIGKILL, false));
            }
            let mut order = [0];
            match told.then(|| rustix::io::read(&self.owner, &mut order)) {
                None => {}
                Some(Ok(1)) if order[0] == ASK => self.kin.ask(),
                Some(Ok(1)) if order[0] == COUNT => tell(&self.owner, Word::Left(self.kin.members().len() as i32))?,
                // Told to, or nobody is there any more.
                Some(_) => {
                    self.kin.kill();
                    return Ok(());
                }
            }
        }
    }

    /// Gathers whoever has ended; whether nobody is left.
    fn reap(&self) -> io::Result<bool> {
        let mut note = [0; 128 * 4];
        while rustix::io::read(&self.ends, &mut note).is_ok() {}
        let mut shell = None;
        let alone = loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.shell => shell = Some(status),
                Ok(Some(_)) => {}
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        if let Some(status) = shell {
            tell(&self.owner, word(status, !alone))?;
        }
        Ok(alone)
    }
}

fn word(status: WaitStatus, more: bool) -> Word {
    match status.terminating_signal() {
        Some(signal) => Word::Signalled(signal, more),
        None => Word::Exited(status.exit_status().unwrap_or(-1), more),
    }
}
