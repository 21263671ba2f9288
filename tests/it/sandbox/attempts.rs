//! What a program within walls tries against the rest of the machine, row by row. Run by the tests beside it, within.
#![allow(unsafe_code, reason = "it asks the kernel what no safe function would ask")]

use std::ffi::{CString, c_long};
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::{Path, PathBuf};

/// What is where, from the environment.
pub struct Target {
    /// May be written; has `.git/hooks`, `.git/config` and `config.md`, which may not, and must not get `mcp.json`.
    inside: PathBuf,
    /// Belongs to the same user and may not be written; has `file`, and a socket `socket`.
    outside: PathBuf,
    /// May not be read.
    secret: PathBuf,
    /// A process outside that belongs to the same user.
    pid: i32,
    /// Where it listens.
    port: u16,
    /// Its name without a path.
    name: String,
}

type Attempt = fn(&Target) -> bool;

#[rustfmt::skip]
const ATTEMPTS: &[(&str, &str, Attempt)] = &[
    ("F01", "a path with ..", |at| writes(&at.inside.join("../outside/x"))),
    ("F01", "an absolute path", |at| writes(&at.outside.join("x"))),
    ("F02", "a neighbour with a longer name", |at| writes(&PathBuf::from(format!("{}-evil/x", at.inside.display())))),
    ("F03", "a link to a folder outside", |at| linked(at, &at.outside).is_some_and(|link| writes(&link.join("x")))),
    ("F03", "a link to a file outside", |at| linked(at, &at.outside.join("file")).is_some_and(|link| appends(&link))),
    ("F04", "a link swapped while it is written", swapped),
    ("F06", "a second name for a file outside", |at| fs::hard_link(at.outside.join("file"), at.inside.join("twin")).is_ok()),
    ("F07", "/proc/self/root", |at| writes(&beneath("/proc/self/root", &at.outside.join("x")))),
    ("F07", "/proc/1/root", |at| writes(&beneath("/proc/1/root", &at.outside.join("x")))),
    ("F07", "/proc of a process outside", |at| writes(&beneath(&format!("/proc/{}/root", at.pid), &at.outside.join("x")))),
    ("F18", "a hook of git", |at| writes(&at.inside.join(".git/hooks/pre-commit"))),
    ("F18", "the settings of git", |at| appends(&at.inside.join(".git/config"))),
    ("F18", "the folder around them moved away", |at| moves(&at.inside.join(".git"))),
    ("F19", "our own settings", |at| appends(&at.inside.join("config.md"))),
    ("F19", "our own settings replaced", |at| moves(&at.inside.join("config.md"))),
    ("F20", "settings that were not there", |at| writes(&at.inside.join("mcp.json"))),
    ("F20", "what stands for them moved away", |at| fs::remove_dir(at.inside.join("mcp.json")).is_ok()),
    ("F21", "the start of every shell", |at| appends(&at.outside.join(".bashrc"))),
    ("F22", "the mode of a file outside", |at| fs::set_permissions(at.outside.join("file"), fs::Permissions::from_mode(0o600)).is_ok()),
    ("F22", "the time of a file outside", |at| touched(&at.outside.join("file"))),
    ("F23", "the folder itself moved away", |at| fs::rename(&at.inside, at.inside.with_extension("gone")).is_ok()),
    ("S04", "a temporary file", |_| writes(Path::new("/tmp/.tillerman-zoo"))),
    ("S04", "a file at the root", |_| writes(Path::new("/.tillerman-zoo"))),
    ("S04", "a device made anew", |at| calls(libc::SYS_mknod, &[path(&at.inside.join("disk")), 0o060600, 0x0800])),
    ("S05", "the tree made writable again", |_| calls(libc::SYS_mount, &[0, c"/".as_ptr() as c_long, 0, (libc::MS_REMOUNT | libc::MS_BIND) as c_long, 0])),
    ("S05", "the tree made writable in the new way", |_| attribute()),
    ("S06", "what the kernel runs when a program dies", |_| opens("/proc/sys/kernel/core_pattern")),
    ("S06", "the keys of the console", |_| opens("/proc/sysrq-trigger")),
    ("S07", "a new namespace of users", |_| calls(libc::SYS_unshare, &[libc::CLONE_NEWUSER.into()])),
    ("S07", "a namespace of somebody else", |at| joins(at)),
    ("S07", "a process in new namespaces", |_| forks(libc::CLONE_NEWUSER)),
    ("S08", "ptrace", |at| calls(libc::SYS_ptrace, &[0x4206, at.pid.into(), 0, 0])),
    ("S08", "memory of a process outside", |at| opens_to_read(&format!("/proc/{}/mem", at.pid))),
    ("S08", "variables of a process outside", |at| reads(&format!("/proc/{}/environ", at.pid))),
    ("S08", "memory read by number", |at| calls(libc::SYS_process_vm_readv, &[at.pid.into(), 0, 0, 0, 0, 0])),
    ("S08", "variables of the first process", |_| std::process::id() != 1 && reads("/proc/1/environ")),
    ("S09", "a signal to a process outside", |at| calls(libc::SYS_kill, &[at.pid.into(), libc::SIGCONT.into()])),
    ("S09", "a lower rank for it", |at| calls(libc::SYS_setpriority, &[0, at.pid.into(), 10])),
    ("S09", "other limits for it", |at| calls(libc::SYS_prlimit64, &[at.pid.into(), libc::RLIMIT_CORE as c_long, (&raw const LIMIT) as c_long, 0])),
    ("S10", "TCP to this machine", |at| TcpStream::connect(("127.0.0.1", at.port)).is_ok()),
    ("S10", "UDP to another machine", |_| UdpSocket::bind("0.0.0.0:0").is_ok_and(|socket| socket.send_to(b"x", "192.0.2.1:9").is_ok())),
    ("S10", "a raw socket", |_| socket(libc::AF_INET, libc::SOCK_RAW, 1)),
    ("S10", "packets", |_| socket(libc::AF_PACKET, libc::SOCK_RAW, 0)),
    ("S10", "audit by netlink", |_| socket(libc::AF_NETLINK, libc::SOCK_RAW, 9)),
    ("S10", "the host of this machine", |_| socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0)),
    ("S11", "a socket with a path outside", |at| UnixStream::connect(at.outside.join("socket")).is_ok()),
    ("S12", "a socket without a path", |at| SocketAddr::from_abstract_name(&at.name).is_ok_and(|to| UnixStream::connect_addr(&to).is_ok())),
    ("S12", "files that were open outside", |_| inherited()),
    ("S13", "io_uring", |_| calls(libc::SYS_io_uring_setup, &[1, 0])),
    ("S13", "bpf", |_| calls(libc::SYS_bpf, &[0, 0, 0])),
    ("S13", "perf", |_| calls(libc::SYS_perf_event_open, &[0, 0, -1, -1, 0])),
    ("S13", "keys of the kernel", |_| calls(libc::SYS_keyctl, &[0, -3, 0])),
    ("S13", "userfaultfd", |_| calls(libc::SYS_userfaultfd, &[0])),
    ("S13", "another kernel", |_| calls(libc::SYS_kexec_load, &[0, 0, 0, 0])),
    ("S13", "a module", |_| calls(libc::SYS_init_module, &[0, 0, 0])),
    ("S13", "a file by its handle", |_| calls(libc::SYS_open_by_handle_at, &[-100, 0, 0])),
    ("S14", "a group of resources", |_| makes(Path::new("/sys/fs/cgroup/tillerman-zoo"))),
    ("S14", "the order in which memory is won back", |_| appends(Path::new("/proc/self/oom_score_adj"))),
    ("S14", "a limit raised", |_| calls(libc::SYS_prlimit64, &[0, libc::RLIMIT_FSIZE as c_long, (&raw const LIMIT) as c_long, 0])),
    ("S15", "the terminal", |_| opens("/dev/tty")),
    ("S15", "keys typed into a terminal", |_| calls(libc::SYS_ioctl, &[0, libc::TIOCSTI as c_long, c"x".as_ptr() as c_long])),
    ("S22", "a secret", |at| fs::read(&at.secret).is_ok_and(|text| !text.is_empty())),
    ("S22", "a secret by another way", |at| fs::read(beneath("/proc/self/root", &at.secret)).is_ok_and(|text| !text.is_empty())),
];

/// Rows that touch only what was made for them.
const HARMLESS: [&str; 13] =
    ["F01", "F02", "F03", "F04", "F06", "F18", "F20", "F22", "S09", "S10", "S11", "S12", "S22"];

static LIMIT: libc::rlimit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };

/// Tries everything and says what was allowed.
///
/// What may harm a machine that has no walls is left out on demand.
pub fn all(env: impl Fn(&str) -> String, harmless: bool) -> Vec<String> {
    let target = Target {
        inside: env("ZOO_INSIDE").into(),
        outside: env("ZOO_OUTSIDE").into(),
        secret: env("ZOO_SECRET").into(),
        pid: env("ZOO_PID").parse().unwrap(),
        port: env("ZOO_PORT").parse().unwrap(),
        name: env("ZOO_NAME"),
    };
    let verdict = |allowed| if allowed { "ALLOWED" } else { "DENIED" };
    let tried = ATTEMPTS.iter().filter(|(id, ..)| !harmless || HARMLESS.contains(id));
    tried.map(|(id, what, attempt)| format!("{id} {}: {what}", verdict(attempt(&target)))).collect()
}

/// A file made anew.
fn writes(path: &Path) -> bool {
    File::create(path).and_then(|mut file| file.write_all(b"x")).is_ok()
}

fn appends(path: &Path) -> bool {
    OpenOptions::new().append(true).open(path).and_then(|mut file| file.write_all(b"0\n")).is_ok()
}

/// Without writing: what it would do is not wanted.
fn opens(path: &str) -> bool {
    OpenOptions::new().write(true).custom_flags(libc::O_NOCTTY).open(path).is_ok()
}

fn opens_to_read(path: &str) -> bool {
    File::open(path).is_ok()
}

fn reads(path: &str) -> bool {
    File::open(path).and_then(|mut file| file.read(&mut [0])).is_ok_and(|read| read > 0)
}

fn moves(path: &Path) -> bool {
    let away = path.with_extension("away");
    let moved = fs::rename(path, &away).is_ok();
    if moved {
        fs::rename(away, path).unwrap();
    }
    moved
}

fn makes(path: &Path) -> bool {
    let made = fs::create_dir(path).is_ok();
    let _ = fs::remove_dir(path);
    made
}

fn linked(at: &Target, to: &Path) -> Option<PathBuf> {
    let link = at.inside.join("link");
    let _ = fs::remove_file(&link);
    symlink(to, &link).ok().map(|()| link)
}

/// A file and a link of the same name take turns while another thread writes to it.
fn swapped(at: &Target) -> bool {
    let (name, other, link) = (at.inside.join("swap"), at.inside.join("swap.file"), at.inside.join("swap.link"));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (0..2000).for_each(|_| drop(fs::write(&name, "x"))));
        while !writer.is_finished() {
            let _ = fs::write(&other, "").and_then(|()| fs::rename(&other, &name));
            let _ = symlink(at.outside.join("race"), &link).and_then(|()| fs::rename(&link, &name));
        }
    });
    at.outside.join("race").exists()
}

fn beneath(root: &str, path: &Path) -> PathBuf {
    Path::new(root).join(path.strip_prefix("/").unwrap())
}

fn path(path: &Path) -> c_long {
    CString::new(path.as_os_str().as_bytes()).unwrap().into_raw() as c_long
}

fn touched(path: &Path) -> bool {
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: the path lives until after the call; no times mean now.
    unsafe { libc::utimensat(libc::AT_FDCWD, path.as_ptr(), std::ptr::null(), 0) == 0 }
}

/// Whether a call is answered otherwise than by a refusal.
fn calls(number: c_long, arguments: &[c_long]) -> bool {
    let mut all = [0; 6];
    all[..arguments.len()].copy_from_slice(arguments);
    let [a, b, c, d, e, f] = all;
    // SAFETY: each row of the table has arguments with which the call changes no memory of this process.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    let refusals = [libc::EPERM, libc::EACCES, libc::ENOSYS, libc::ESRCH, libc::EROFS];
    result >= 0 || !refusals.contains(&std::io::Error::last_os_error().raw_os_error().unwrap())
}

fn attribute() -> bool {
    let clear: [u64; 4] = [0, 1, 0, 0];
    calls(libc::SYS_mount_setattr, &[-100, c"/".as_ptr() as c_long, 0, (&raw const clear) as c_long, 32])
}

fn joins(at: &Target) -> bool {
    use std::os::fd::AsRawFd as _;
    let of = |kind: &str| File::open(format!("/proc/{}/ns/{kind}", at.pid));
    ["user", "mnt", "net"]
        .iter()
        .any(|kind| of(kind).is_ok_and(|file| calls(libc::SYS_setns, &[file.as_raw_fd().into(), 0])))
}

fn forks(flags: i32) -> bool {
    // SAFETY: the copy ends at once and touches nothing.
    unsafe {
        let pid = libc::syscall(libc::SYS_clone, c_long::from(flags | libc::SIGCHLD), 0, 0, 0, 0);
        if pid == 0 {
            libc::_exit(0);
        }
        pid > 0
    }
}

fn socket(family: i32, kind: i32, protocol: i32) -> bool {
    // SAFETY: numbers only.
    unsafe { libc::socket(family, kind, protocol) >= 0 }
}

/// Whether there is a file beside the first three that was not opened here.
fn inherited() -> bool {
    let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let links = open.filter_map(|entry| {
        Some((entry.file_name().to_str()?.parse::<i32>().ok()?, fs::read_link(entry.path()).ok()?))
    });
    let own = |to: &Path| {
        to.starts_with("/proc")
            || to.to_string_lossy().starts_with("anon_inode")
            || to.to_string_lossy().starts_with("pipe")
    };
    links.into_iter().any(|(number, to)| number > 2 && !own(&to))
}
