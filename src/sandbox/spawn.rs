//! Starts a shell: no input or a given one, one pipe for both outputs, no terminal, only the variables it may have.

use std::fs::OpenOptions;
use std::io::{self, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::LazyLock;

use rustix::fs::OFlags;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Child;

use super::environment::MARK;
use super::{Command, Limits, SandboxError};

/// Room of the pipe: a command that writes much is woken less often.
const PIPE: usize = 256 * 1024;

/// The shell that people and models mean when they write a command.
static SHELL: LazyLock<&'static str> = LazyLock::new(|| {
    let there = |path: &&&str| Path::new(path).exists();
    ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].iter().find(there).copied().unwrap_or(PLAIN)
});
/// The shell that is always there; where it is not bash it starts in half of the time.
const PLAIN: &str = "/bin/sh";

/// First words that only bash knows, or that shells take differently.
#[rustfmt::skip]
const BUILTINS: &[&str] = &[
    ".", "alias", "bind", "builtin", "caller", "command", "compgen", "complete", "declare", "dirs", "disown", "echo",
    "enable", "exec", "export", "fc", "function", "hash", "help", "history", "jobs", "kill", "let", "local", "logout",
    "mapfile", "popd", "printf", "pushd", "read", "readarray", "readonly", "select", "set", "shopt", "source",
    "suspend", "test", "time", "times", "trap", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait",
];

/// Whether we have a terminal that a command could talk to behind our back.
static TERMINAL: LazyLock<bool> = LazyLock::new(|| {
    let flags = (OFlags::NOCTTY | OFlags::NONBLOCK).bits() as i32;
    OpenOptions::new().read(true).custom_flags(flags).open("/dev/tty").is_ok()
});

/// A started shell, first of its process group, and the end of its pipe that we read.
pub(super) fn spawn(command: &Command, limits: &Limits, id: &str) -> Result<(Child, Receiver), SandboxError> {
    let (receiver, writer) = pipe(command)?;
    let mut shell = tokio::process::Command::new(interpreter(&command.text));
    shell.arg("-c").arg(&command.text).current_dir(&command.cwd);
    shell.env_clear().envs(command.environment.variables()).env(MARK, command.environment.mark(id));
    let input = command.stdin.as_ref().map(|input| input.try_clone()).transpose().map_err(SandboxError::Spawn)?;
    shell
        .stdin(input.map_or_else(Stdio::null, Stdio::from))
        .stdout(writer.try_clone().map_err(SandboxError::Spawn)?)
        .stderr(writer);
    detach(&mut shell);
    let child = shell.spawn().map_err(|error| explain(error, command))?;
    limit(&child, limits);
    Ok((child, receiver))
}

/// The pipe of a command that may be started: the end that we read, and the other.
pub(super) fn pipe(command: &Command) -> Result<(Receiver, PipeWriter), SandboxError> {
    if command.text.contains('\0') {
        return Err(SandboxError::ZeroByte);
    }
    let (reader, writer) = io::pipe().map_err(SandboxError::Spawn)?;
    let receiver = Receiver::from_owned_fd(OwnedFd::from(reader)).map_err(SandboxError::Spawn)?;
    // A smaller pipe is slower and no more; systems have a limit per user.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(&writer, PIPE);
    Ok((receiver, writer))
}

/// Words that need no expansion mean the same to every shell, so the quickest one runs them.
pub(super) fn interpreter(text: &str) -> &'static str {
    let plain = |c: char| c.is_ascii_alphanumeric() || " _./:,@%+-".contains(c);
    let first = text.split_whitespace().next().unwrap_or_default();
    if text.chars().all(plain) && !BUILTINS.contains(&first) { PLAIN } else { *SHELL }
}

/// A group of its own, so that it can be ended as a whole; a session of its own when there is a terminal to lose.
///
/// A group alone lets the standard library spawn without copying our page tables, which is twice as fast; then
/// /dev/tty cannot be opened anyway.
fn detach(shell: &mut tokio::process::Command) {
    if !*TERMINAL {
        shell.process_group(0);
        return;
    }
    let lead = || rustix::process::setsid().map(drop).map_err(io::Error::from);
    // SAFETY: between fork and exec only async-signal-safe things may happen; `lead` is the one system call setsid,
    // made without the C library's state, and neither allocates, locks nor panics.
    #[allow(unsafe_code, reason = "the standard library has no stable way to start a session")]
    unsafe {
        shell.pre_exec(lead);
    }
}

/// No core dumps, no file without end. Set from outside right after the start, which spares the slow way to spawn;
/// the shell has not even been loaded by then.
fn limit(child: &Child, limits: &Limits) {
    #[cfg(target_os = "linux")]
    if let Some(pid) = child.id().and_then(|id| rustix::process::Pid::from_raw(id as i32)) {
        use rustix::process::{Resource, Rlimit, prlimit};
        let most = |size| Rlimit { current: Some(size), maximum: Some(size) };
        let _ = prlimit(Some(pid), Resource::Fsize, most(limits.file));
        let _ = prlimit(Some(pid), Resource::Core, most(0));
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (child, limits);
}

pub(super) fn explain(error: io::Error, command: &Command) -> SandboxError {
    if error.raw_os_error() == Some(rustix::io::Errno::TOOBIG.raw_os_error()) {
        SandboxError::TooLong(command.text.len())
    } else if !command.cwd.is_dir() {
        SandboxError::NoFolder(command.cwd.clone())
    } else {
        SandboxError::Spawn(error)
    }
}
