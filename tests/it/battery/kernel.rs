//! The real program on a kernel that refuses what walls are made of (S17): namespaces, or Landlock as well.

use std::collections::HashMap;
use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::tracer::{CAN_FAIL, STOPPED, answer, go_on, skip};
use crate::cli::Place;
use crate::patience::PATIENCE;

const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// What the kernel has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kernel {
    WithLandlock,
    Bare,
}

impl Kernel {
    /// How it refuses the call that a thread is about to make.
    #[cfg(target_arch = "x86_64")]
    fn refuses(self, thread: Pid) -> Option<Errno> {
        let registers = ptrace::getregs(thread).ok()?;
        match registers.orig_rax.cast_signed() {
            libc::SYS_unshare | libc::SYS_clone if registers.rdi & u64::from(NAMESPACES.cast_unsigned()) != 0 => {
                Some(Errno::EPERM)
            }
            // Its flags are in memory; the older call is made instead.
            libc::SYS_clone3 => Some(Errno::ENOSYS),
            libc::SYS_landlock_create_ruleset if self == Kernel::Bare => Some(Errno::ENOSYS),
            _ => None,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn refuses(self, _: Pid) -> Option<Errno> {
        None
    }
}

/// Runs the program on such a kernel: its exit code, and what it wrote.
#[allow(clippy::zombie_processes, reason = "it is waited for by its number, with all that it starts")]
fn on(kernel: Kernel, place: &Place, args: &[&str]) -> (Option<i32>, String) {
    let plain = place.command(args);
    let log = place.home.path().join("said");
    let file = File::create(&log).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", STOPPED]).arg(plain.get_program()).args(plain.get_args()).current_dir(place.path()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
    // Traced by this thread, so only this thread may wait for it, and it waits for nobody else's children.
    let leader = Pid::from_raw(i32::try_from(command.spawn().unwrap().id()).unwrap());
    let stopped = waitpid(leader, Some(WaitPidFlag::WUNTRACED)).unwrap();
    assert_eq!(stopped, WaitStatus::Stopped(leader, Signal::SIGSTOP));
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    ptrace::seize(leader, options).unwrap();
    kill(leader, Signal::SIGCONT).unwrap();
    let (over, ends) = mpsc::channel::<()>();
    let patience = thread::spawn(move || {
        // Nobody has waited for it yet, so the number is still its own.
        ends.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) && kill(leader, Signal::SIGKILL).is_ok()
    });
    let code = watch(kernel, leader);
    drop(over);
    assert!(!patience.join().unwrap(), "it did not end: {}", fs::read_to_string(&log).unwrap());
    (code, fs::read_to_string(log).unwrap())
}

/// Until the program and all that it started are gone.
fn watch(kernel: Kernel, leader: Pid) -> Option<i32> {
    let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
    // Threads that are in a call, and how it is refused.
    let (mut inside, mut code): (HashMap<Pid, Option<Errno>>, Option<i32>) = Default::default();
    loop {
        match waitpid(None::<Pid>, Some(flags)) {
            Ok(WaitStatus::PtraceSyscall(thread)) => {
                match inside.remove(&thread) {
                    Some(refused) => drop(refused.map(|errno| answer(thread, errno))),
                    None => {
                        let refused = kernel.refuses(thread);
                        if refused.is_some() {
                            skip(thread);
                        }
                        inside.insert(thread, refused);
                    }
                }
                go_on(thread, None);
            }
            Ok(WaitStatus::PtraceEvent(thread, ..)) => go_on(thread, None),
            Ok(WaitStatus::Stopped(thread, signal)) => go_on(thread, Some(signal)),
            Ok(WaitStatus::Exited(thread, ended)) => {
                inside.remove(&thread);
                code = if thread == leader { Some(ended) } else { code };
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(Errno::ECHILD) => return code,
            Err(error) => panic!("waiting for the traced program: {error}"),
        }
    }
}

#[test]
fn s17_without_namespaces_commands_run_within_landlock_and_it_is_said() {
    if !CAN_FAIL {
        return eprintln!("SKIPPED: calls are made to fail on x86-64 only");
    }
    let place = Place::new();
    let (code, said) = on(Kernel::WithLandlock, &place, &["doctor"]);
    assert!(said.contains("⚠ Landlock and a filter of system calls; tried, and they hold"), "{code:?} {said}");
    assert!(said.contains("→ allow user namespaces; docs/guarantees.md says what gets through without them"), "{said}");
    let (code, said) = on(Kernel::WithLandlock, &place, &["run", "run `echo in >in; echo out >/var/tmp/.out; cat in`"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("\nin\n") && said.contains("/var/tmp/.out: Permission denied"), "{said}");
    let told = "⚠ commands run within Landlock and a filter of system calls alone (namespaces, Landlock and";
    assert_eq!(said.matches(told).count(), 1, "{said}");
    let logs = walkdir::WalkDir::new(place.home.path()).into_iter().map(Result::unwrap);
    let log =
        logs.filter(|entry| entry.file_name() == "tillerman.log").map(|log| fs::read_to_string(log.path()).unwrap());
    let log: String = log.collect();
    assert!(log.contains("commands run within Landlock and a filter of system calls alone"), "{log}");
}

#[test]
fn s17_with_neither_nothing_begins_unless_the_command_line_says_so() {
    if !CAN_FAIL {
        return eprintln!("SKIPPED: calls are made to fail on x86-64 only");
    }
    let place = Place::new();
    let doit = "run `echo in >in; cat in`";
    for args in [&["run", doit][..], &["run", doit, "--sandbox", "read-only"], &["-c"]] {
        let (code, said) = on(Kernel::Bare, &place, args);
        assert_eq!(code, Some(7), "{args:?}: {said}");
        let why = "cannot build walls around commands: namespaces, Landlock and a filter of system calls: ";
        assert!(said.contains(why) && said.contains("the kernel has no Landlock"), "{args:?}: {said}");
        assert!(said.contains("; --sandbox full runs them without"), "{args:?}: {said}");
        assert!(!place.path().join("in").exists());
    }
    let (_, said) = on(Kernel::Bare, &place, &["doctor"]);
    assert!(said.contains("✗ cannot build walls around commands: "), "{said}");
    let (code, said) = on(Kernel::Bare, &place, &["run", doit, "--sandbox", "full"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(": in\n") && place.path().join("in").exists(), "{said}");
}
