//! Watches the system calls by which a program changes files, of all its threads, and strikes at one of them: the
//! program is killed there, or the call fails or does half its work. What the program does is in `scene`, what must hold
//! afterwards in `after`.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::patience::PATIENCE;

/// What happens at a call, counted from 1; the calls before it are left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strike {
    /// Nothing; the calls are only counted.
    Never,
    /// The program is killed before the call does anything.
    Kill { at: usize },
    /// Half of a write is done, then the program is killed; other calls are done whole.
    Tear { at: usize },
    /// The call does nothing and fails; with `lasting` so do all after it.
    Fail { at: usize, errno: Errno, lasting: bool },
    /// A write does half of its work and says so; other calls are left alone.
    Short { at: usize },
}

/// What was seen.
#[derive(Debug, Default)]
pub struct Trace {
    /// Calls that changed files of the scene, as `name path`.
    pub calls: Vec<String>,
    /// The exit code; `None` when it was killed.
    pub code: Option<i32>,
    /// It did not end by itself.
    pub hung: bool,
}

/// Whether calls can be made to fail here; killing works everywhere.
pub const CAN_FAIL: bool = cfg!(target_arch = "x86_64");

/// Runs the command to its end. `sh` is told to stop first, so that nothing is missed.
///
/// `is_ours` says which files belong to the scene.
#[allow(clippy::zombie_processes, reason = "it is waited for by its number, with all its threads")]
pub fn trace(command: &mut Command, is_ours: &dyn Fn(&Path) -> bool, strike: Strike) -> Trace {
    // Traced by this thread, so only this thread may wait for it, and it waits for nobody else's children.
    let child = command.spawn().unwrap();
    let leader = Pid::from_raw(i32::try_from(child.id()).unwrap());
    let stopped = waitpid(leader, Some(WaitPidFlag::WUNTRACED)).unwrap();
    assert_eq!(stopped, WaitStatus::Stopped(leader, Signal::SIGSTOP));
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    ptrace::seize(leader, options).unwrap();
    kill(leader, Signal::SIGCONT).unwrap();
    let mut tracer = Tracer { leader, is_ours, strike, inside: HashMap::new(), trace: Trace::default() };
    let (over, ends) = mpsc::channel::<()>();
    let patience = thread::spawn(move || {
        let hangs = ends.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
        // Nobody has waited for it yet, so the number is still its own.
        hangs && kill(leader, Signal::SIGKILL).is_ok()
    });
    tracer.watch();
    drop(over);
    tracer.trace.hung = patience.join().unwrap();
    tracer.trace
}

/// The words of a shell that stops itself and, when it goes on, becomes the program.
pub const STOPPED: &str = "kill -STOP $$; exec \"$0\" \"$@\"";

struct Tracer<'a> {
    leader: Pid,
    is_ours: &'a dyn Fn(&Path) -> bool,
    strike: Strike,
    /// Threads that are in a call, and what is to be done when it returns.
    inside: HashMap<Pid, Return>,
    trace: Trace,
}

/// What is done when a call returns.
#[derive(Clone, Copy)]
enum Return {
    Nothing,
    Kill,
    Answer(Errno),
}

impl Tracer<'_> {
    fn watch(&mut self) {
        let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        loop {
            match waitpid(None::<Pid>, Some(flags)) {
                Ok(WaitStatus::PtraceSyscall(thread)) => {
                    self.call(thread);
                    go_on(thread, None);
                }
                Ok(WaitStatus::PtraceEvent(thread, ..)) => go_on(thread, None),
                Ok(WaitStatus::Stopped(thread, signal)) => go_on(thread, Some(signal)),
                Ok(WaitStatus::Exited(thread, code)) if thread == self.leader => self.trace.code = Some(code),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(Errno::ECHILD) => return,
                Err(error) => panic!("waiting for the traced program: {error}"),
            }
        }
    }

    /// A thread stands before a call or behind it.
    fn call(&mut self, thread: Pid) {
        match self.inside.remove(&thread) {
            None => {
                let then = self.enter(thread).unwrap_or(Return::Nothing);
                self.inside.insert(thread, then);
            }
            Some(Return::Nothing) => {}
            Some(Return::Kill) => self.kill(),
            Some(Return::Answer(errno)) => answer(thread, errno),
        }
    }

    /// `None` when the call is none of ours, or the thread is gone.
    fn enter(&mut self, thread: Pid) -> Option<Return> {
        let call = Call::of(thread)?;
        let path = call.path(thread).filter(|path| (self.is_ours)(path))?;
        self.trace.calls.push(format!("{} {}", call.name, path.display()));
        let count = self.trace.calls.len();
        let is_write = matches!(call.name, "write" | "pwrite64");
        match self.strike {
            Strike::Kill { at } if at == count => self.kill(),
            Strike::Tear { at } if at == count => {
                if is_write {
                    halve(thread);
                }
                return Some(Return::Kill);
            }
            Strike::Fail { at, errno, lasting } if at == count || (lasting && count > at) => {
                skip(thread);
                return Some(Return::Answer(errno));
            }
            Strike::Short { at } if at == count && is_write => halve(thread),
            _ => {}
        }
        Some(Return::Nothing)
    }

    fn kill(&self) {
        // It may be gone already.
        let _ = kill(self.leader, Signal::SIGKILL);
    }
}

pub fn go_on(thread: Pid, signal: Option<Signal>) {
    // A thread that was killed meanwhile cannot go on; its end is reported next.
    let _ = ptrace::syscall(thread, signal);
}

/// A call that can change files.
struct Call {
    name: &'static str,
    args: [u64; 6],
}

impl Call {
    fn of(thread: Pid) -> Option<Call> {
        let line = fs::read_to_string(format!("/proc/{thread}/syscall")).ok()?;
        let mut words = line.split_whitespace();
        let number: i64 = words.next()?.parse().ok()?;
        let mut args = [0; 6];
        for (arg, word) in args.iter_mut().zip(words) {
            *arg = u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()?;
        }
        let name = name(number)?;
        Some(Call { name, args })
    }

    /// The file that it is about; of a rename the new name.
    fn path(&self, thread: Pid) -> Option<PathBuf> {
        let at = |dir: u64, path: u64| {
            let path = text(thread, path)?;
            if path.is_absolute() {
                return Some(path);
            }
            let dir = i32::try_from(dir as i64).or_else(|_| i32::try_from(dir as u32 as i64)).unwrap_or(-100);
            let base = if dir < 0 { "cwd".to_owned() } else { format!("fd/{dir}") };
            Some(fs::read_link(format!("/proc/{thread}/{base}")).ok()?.join(path))
        };
        let cwd = u64::MAX;
        match self.name {
            "write" | "pwrite64" | "writev" | "fsync" | "fdatasync" | "ftruncate" => {
                fs::read_link(format!("/proc/{thread}/fd/{}", self.args[0])).ok()
            }
            "open" => made(self.args[1]).then(|| at(cwd, self.args[0]))?,
            "openat" => made(self.args[2]).then(|| at(self.args[0], self.args[1]))?,
            "openat2" => made(number(thread, self.args[2])?).then(|| at(self.args[0], self.args[1]))?,
            "mkdir" | "unlink" | "rmdir" => at(cwd, self.args[0]),
            "mkdirat" | "unlinkat" => at(self.args[0], self.args[1]),
            "rename" | "link" => at(cwd, self.args[1]),
            "renameat" | "renameat2" | "linkat" => at(self.args[2], self.args[3]),
            _ => None,
        }
    }
}

/// Whether an open makes files.
fn made(flags: u64) -> bool {
    flags & u64::from(libc::O_CREAT.cast_unsigned()) != 0
}

fn name(number: i64) -> Option<&'static str> {
    #[cfg(target_arch = "x86_64")]
    match number {
        libc::SYS_open => return Some("open"),
        libc::SYS_mkdir => return Some("mkdir"),
        libc::SYS_rmdir => return Some("rmdir"),
        libc::SYS_unlink => return Some("unlink"),
        libc::SYS_rename => return Some("rename"),
        libc::SYS_link => return Some("link"),
        _ => {}
    }
    Some(match number {
        libc::SYS_write => "write",
        libc::SYS_pwrite64 => "pwrite64",
        libc::SYS_writev => "writev",
        libc::SYS_fsync => "fsync",
        libc::SYS_fdatasync => "fdatasync",
        libc::SYS_ftruncate => "ftruncate",
        libc::SYS_openat => "openat",
        libc::SYS_openat2 => "openat2",
        libc::SYS_mkdirat => "mkdirat",
        libc::SYS_unlinkat => "unlinkat",
        libc::SYS_renameat => "renameat",
        libc::SYS_renameat2 => "renameat2",
        libc::SYS_linkat => "linkat",
        _ => return None,
    })
}

/// Bytes of the thread's memory.
fn memory(thread: Pid, address: u64, bytes: &mut [u8]) -> Option<usize> {
    File::open(format!("/proc/{thread}/mem")).ok()?.read_at(bytes, address).ok()
}

fn text(thread: Pid, address: u64) -> Option<PathBuf> {
    let mut bytes = [0; 4096];
    // Not beyond the page: the next one may not be there.
    let room = 4096 - usize::try_from(address % 4096).ok()?;
    let mut read = memory(thread, address, &mut bytes[..room])?;
    if !bytes[..read].contains(&0) {
        read += memory(thread, address + room as u64, &mut bytes[room..])?;
    }
    let end = bytes[..read].iter().position(|byte| *byte == 0)?;
    Some(PathBuf::from(OsStr::from_bytes(&bytes[..end])))
}

fn number(thread: Pid, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    (memory(thread, address, &mut bytes)? == 8).then(|| u64::from_ne_bytes(bytes))
}

/// The call that the thread is about to make becomes none.
#[cfg(target_arch = "x86_64")]
pub fn skip(thread: Pid) {
    let mut registers = ptrace::getregs(thread).unwrap();
    registers.orig_rax = u64::MAX;
    ptrace::setregs(thread, registers).unwrap();
}

/// What the call that was skipped answers.
#[cfg(target_arch = "x86_64")]
pub fn answer(thread: Pid, errno: Errno) {
    // It may have been killed meanwhile.
    let Ok(mut registers) = ptrace::getregs(thread) else { return };
    registers.rax = (-i64::from(errno as i32)).cast_unsigned();
    let _ = ptrace::setregs(thread, registers);
}

/// The write that the thread is about to make becomes half as long.
#[cfg(target_arch = "x86_64")]
fn halve(thread: Pid) {
    let mut registers = ptrace::getregs(thread).unwrap();
    registers.rdx = registers.rdx.div_ceil(2);
    ptrace::setregs(thread, registers).unwrap();
}

#[cfg(not(target_arch = "x86_64"))]
pub fn skip(_: Pid) {}

#[cfg(not(target_arch = "x86_64"))]
pub fn answer(_: Pid, _: Errno) {}

#[cfg(not(target_arch = "x86_64"))]
fn halve(_: Pid) {}
