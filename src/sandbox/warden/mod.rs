//! The part of this program that builds walls and keeps them: started by it as a process of its own with one thread. For
//! each command there is a first process, ready before the command comes. Who wants which walls is not decided here.

mod filter;
mod first;
mod kernel;
mod kin;
mod mounts;
mod proof;
mod rules;

use std::io::{self, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use rustix::process::DumpableBehavior;
use rustix::thread::UnshareFlags;

use super::Tier;
use super::plan::{PROCESSES, Plan};
use super::wire;

/// The first argument that makes this program a warden.
pub(super) const WORD: &str = "__exec";
/// Numbers of files below are for those that every program starts with.
const FIRST: i32 = 3;
/// First processes that may fail one after the other before the warden gives up.
const FAILURES: usize = 3;

/// What every first process needs.
struct Ready {
    tier: Tier,
    rules: Option<OwnedFd>,
    filter: Vec<libc::sock_filter>,
    /// Processes that one command may have at once.
    most: u64,
}

/// Whether this program asked [`is_wanted`], so that it can be its own warden.
static HERE: AtomicBool = AtomicBool::new(false);

/// Whether this program can be a warden.
pub(super) fn is_here() -> bool {
    HERE.load(Ordering::Relaxed)
}

/// Whether the weaker walls, at least, can be built here. Asks the kernel, not a warden.
pub(super) fn is_of_use() -> bool {
    rules::are_known()
}

/// Whether these arguments ask for a warden. The first line of a `main` asks this, and calls [`serve`] if so; a program
/// that does not needs a `tillerman` beside it to have walls.
pub fn is_wanted(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> bool {
    HERE.store(true, Ordering::Relaxed);
    arguments.nth(1).is_some_and(|argument| argument == WORD)
}

/// The warden: takes its plan from the socket that is its input, tells its output whether the walls stand, and serves
/// until the other end of the socket is gone. To be called before there is a second thread.
pub fn serve() -> ExitCode {
    match prepare() {
        Ok((ready, socket, tree)) => match keep(&ready, &socket, tree) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(why) => {
            // Nobody may be there to hear it.
            let _ = io::stdout().write_all(format!("-{why}").as_bytes()).and_then(|()| io::stdout().flush());
            ExitCode::FAILURE
        }
    }
}

fn prepare() -> Result<(Ready, OwnedFd, Option<mounts::Tree>), String> {
    let told = |error: io::Error| error.to_string();
    let socket = kernel::above(io::stdin(), FIRST).map_err(told)?;
    let report = kernel::above(io::stdout(), FIRST).map_err(told)?;
    let plan = plan(&socket).map_err(|error| format!("this is started by tillerman itself: {error}"))?;
    // A signal for the whole group at the terminal is none for us.
    rustix::process::setsid().map_err(|error| error.to_string())?;
    kernel::usual_signals();
    let tree = (plan.tier == Tier::Full).then(|| mounts::build(&plan)).transpose()?;
    std::env::set_current_dir("/").map_err(told)?;
    let rules = if plan.tier == Tier::Open { None } else { rules::rules(&plan)? };
    if rules.is_none() && (plan.tier == Tier::Landlock || plan.bounds.read.is_some()) && plan.tier != Tier::Open {
        return Err("the kernel has no Landlock".to_owned());
    }
    // Nobody may look into what has more rights than it has.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|error| error.to_string())?;
    // Asked once: it means to read several files.
    let most = PROCESSES + 64 * std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let ready = Ready { tier: plan.tier, rules, filter: filter::program(plan.tier, plan.network), most };
    if plan.tier != Tier::Open {
        proof::prove(&ready, &plan)?;
    }
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null").map_err(told)?;
    kernel::settle([null.as_fd(), null.as_fd(), null.as_fd()]).map_err(told)?;
    rustix::io::write(&report, b"+").map_err(|error| error.to_string())?;
    Ok((ready, socket, tree))
}

fn plan(socket: &OwnedFd) -> io::Result<Plan> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    rustix::net::recvmsg(socket, &mut [io::IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let file = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    let bytes = wire::read(file.ok_or_else(|| io::Error::other("no plan"))?)?;
    Plan::read(&bytes).ok_or_else(|| io::Error::other("a plan that cannot be read"))
}

/// Has one first process ready at any time.
fn keep(ready: &Ready, socket: &OwnedFd, mut tree: Option<mounts::Tree>) -> io::Result<()> {
    let namespaces = match ready.tier {
        Tier::Full => UnshareFlags::NEWPID | UnshareFlags::NEWNS,
        _ => UnshareFlags::empty(),
    };
    kernel::forget_children();
    let mut failures = 0;
    while failures < FAILURES {
        let (taken, taking) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        if kernel::fork(namespaces)?.is_none() {
            kernel::usual_signals();
            drop(taken);
            kernel::leave(first::serve(ready, socket.as_fd(), taking).is_err().into());
        }
        drop(taking);
        if !kernel::wait_beside(socket.as_fd(), taken.as_fd()) {
            return Ok(());
        }
        // A first process that ends without a command has failed, or there will be no more commands.
        match rustix::io::read(&taken, &mut [0])? {
            0 => failures += 1,
            _ => failures = 0,
        }
        if let Some(tree) = &mut tree {
            tree.look_after();
        }
    }
    Err(io::Error::other("no first process stays"))
}
