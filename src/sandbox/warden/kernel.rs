//! System calls that no safe function exists for, each in one. What they are good for is not here.
#![allow(unsafe_code, reason = "the kernel's own interface")]

use std::ffi::{CStr, CString, c_char, c_int, c_long};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use rustix::mount::MountAttrFlags;
use rustix::process::Pid;
use rustix::thread::UnshareFlags;

fn done(result: c_long) -> io::Result<c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A copy of this process with namespaces of its own; `None` in the copy.
pub(super) fn fork(namespaces: UnshareFlags) -> io::Result<Option<Pid>> {
    let flags = c_long::from(namespaces.bits()) | c_long::from(libc::SIGCHLD);
    // SAFETY: the warden has one thread, so that its copy owns whatever it owns itself; without a stack of its own the
    // copy goes on with a copy of this one, as after fork.
    let pid = done(unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) })?;
    Ok(Pid::from_raw(pid as i32))
}

/// Leaves namespaces for new ones.
pub(super) fn unshare(namespaces: UnshareFlags) -> io::Result<()> {
    // SAFETY: the flags name namespaces and never the table of open files, which is what may make other code unsafe.
    Ok(unsafe { rustix::thread::unshare_unsafe(namespaces & !UnshareFlags::FILES) }?)
}

/// Ends this process at once, whatever is still to be dropped.
pub(super) fn leave(code: i32) -> ! {
    // SAFETY: it does not return, so nothing is used afterwards.
    unsafe { libc::_exit(code) }
}

/// Changes what a mount, or it and all below, may be used for.
pub(super) fn set_mount(mount: BorrowedFd<'_>, set: MountAttrFlags, deep: bool) -> io::Result<()> {
    #[repr(C)]
    struct MountAttr {
        set: u64,
        clear: u64,
        propagation: u64,
        userns: u64,
    }
    let attr = MountAttr { set: set.bits().into(), clear: 0, propagation: 0, userns: 0 };
    let flags = libc::AT_EMPTY_PATH | if deep { libc::AT_RECURSIVE } else { 0 };
    let (fd, size) = (mount.as_raw_fd(), size_of::<MountAttr>());
    // SAFETY: the path is a C string and the kernel reads as many bytes of `attr` as it has.
    let result = unsafe { libc::syscall(libc::SYS_mount_setattr, fd, c"".as_ptr(), flags, &raw const attr, size) };
    done(result).map(drop)
}

/// Puts this process under a Landlock ruleset for good.
pub(super) fn restrict(ruleset: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: numbers only.
    done(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) }).map(drop)
}

/// Puts this process under a filter of system calls for good.
pub(super) fn filter(program: &[libc::sock_filter]) -> io::Result<()> {
    let length = u16::try_from(program.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    let (call, mode) = (libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER);
    // SAFETY: the kernel only reads the filter, whose length is told with it.
    done(unsafe { libc::syscall(call, mode, 0, &raw const program) }).map(drop)
}

/// Takes away what uid 0 gets by itself when it starts a program, and the way back.
pub(super) fn forgo_root() -> io::Result<()> {
    for capability in 0..64 {
        // SAFETY: numbers only.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } < 0 {
            break;
        }
    }
    // Each of the kernel's four bits with its lock, but for keeping capabilities, which is locked as off.
    let bits = 0b1110_1111;
    // SAFETY: numbers only.
    done(unsafe { libc::prctl(libc::PR_SET_SECUREBITS, bits, 0, 0, 0) }.into()).map(drop)
}

/// Sends a signal to every process of this namespace but its first.
pub(super) fn signal_all(signal: c_int) {
    // SAFETY: numbers only. Who calls this is the first of its namespace, so nobody outside is reached.
    unsafe { libc::kill(-1, signal) };
}

/// A file that can be read when a child has ended. From now on that does not interrupt anything.
pub(super) fn children_end() -> io::Result<OwnedFd> {
    let set = only_sigchld();
    // SAFETY: `set` is a whole set of signals.
    let fd: RawFd = unsafe {
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, ptr::null_mut());
        libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    };
    done(fd.into())?;
    // SAFETY: it was just made and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn only_sigchld() -> libc::sigset_t {
    // SAFETY: a set of signals is numbers, and zeroes are one; the two calls fill it.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        set
    }
}

/// All signals mean what they mean to a new program.
pub(super) fn usual_signals() {
    // SAFETY: the default of a signal runs no code of ours, and an empty set is a whole set.
    unsafe {
        for signal in 1..32 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
}

/// Nobody waits for children any more: the kernel forgets them when they end.
pub(super) fn forget_children() {
    // SAFETY: to ignore a signal runs no code of ours.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

/// Waits until one of the files can be read or is over, at most so many milliseconds; which of them is.
pub(super) fn wait<const N: usize>(files: [BorrowedFd<'_>; N], most: c_int) -> [bool; N] {
    let mut polled = files.map(|file| libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 });
    // SAFETY: the kernel writes into as many entries as there are.
    unsafe { libc::poll(polled.as_mut_ptr(), N as libc::nfds_t, most) };
    polled.map(|one| one.revents != 0)
}

/// Waits until the file can be read; `false` when the other end of the socket is gone.
pub(super) fn wait_beside(socket: BorrowedFd<'_>, file: BorrowedFd<'_>) -> bool {
    let mut polled = [
        // What comes through the socket is for others: only its end counts.
        libc::pollfd { fd: socket.as_raw_fd(), events: 0, revents: 0 },
        libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 },
    ];
    // SAFETY: the kernel writes into as many entries as there are.
    unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, -1) };
    polled[0].revents == 0
}

/// Makes files the three that every program starts with.
pub(super) fn settle(three: [BorrowedFd<'_>; 3]) -> io::Result<()> {
    for (at, file) in (0..).zip(three) {
        // SAFETY: numbers only; nobody owns these three, and each file is above them.
        done(unsafe { libc::dup2(file.as_raw_fd(), at) }.into())?;
    }
    Ok(())
}

/// The same, and closes all others but one.
pub(super) fn only_files(three: [BorrowedFd<'_>; 3], beside: BorrowedFd<'_>) -> io::Result<()> {
    settle(three)?;
    let last = beside.as_raw_fd();
    close(3, last - 1);
    close(last + 1, RawFd::MAX);
    Ok(())
}

/// Closes a file that somebody else in this process believes to own, who will never come to use it.
pub(super) fn forget(file: BorrowedFd<'_>) {
    close(file.as_raw_fd(), file.as_raw_fd());
}

/// Closes all files with numbers from `first` to `last`.
fn close(first: RawFd, last: RawFd) {
    if first <= last {
        // SAFETY: numbers only; this process uses none of them afterwards.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }
}

/// A copy of a file with a number of at least `least`, closed when a program starts.
pub(super) fn above(file: impl AsFd, least: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: numbers only.
    let fd = unsafe { libc::fcntl(file.as_fd().as_raw_fd(), libc::F_DUPFD_CLOEXEC, least) };
    done(fd.into())?;
    // SAFETY: it was just made and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Becomes another program; returns only when that fails.
pub(super) fn become_program(arguments: &[CString], environment: &[CString]) -> io::Error {
    let pointers = |strings: &[CString]| -> Vec<*const c_char> {
        strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
    };
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    // SAFETY: both lists end with a null pointer, and their strings live until after the call.
    unsafe { libc::execve(arguments[0], arguments.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error()
}

/// Makes the loopback interface of a new network namespace work.
pub(super) fn loopback() -> io::Result<()> {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None)?;
    // SAFETY: a request is numbers, and zeroes are one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    set_name(&mut request, c"lo");
    request.ifr_ifru.ifru_flags = libc::IFF_UP as i16;
    // SAFETY: the kernel reads one request of that size.
    done(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request) }.into()).map(drop)
}

fn set_name(request: &mut libc::ifreq, name: &CStr) {
    for (to, from) in request.ifr_name.iter_mut().zip(name.to_bytes()) {
        *to = *from as c_char;
    }
}
