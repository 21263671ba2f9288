//! The system calls that no command needs, refused by a filter in the kernel. Which files it may touch is not here.

use libc::{BPF_ABS, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter};

use super::super::Tier;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;
#[cfg(target_arch = "riscv64")]
const ARCHITECTURE: u32 = 0xC000_00F3;

/// Where the kernel puts what is asked for: number, architecture, and the low half of each argument.
const NUMBER: u32 = 0;
const MACHINE: u32 = 4;
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
/// As on a kernel that does not have it, so that the older call is tried.
const UNKNOWN: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
const END: u32 = libc::SECCOMP_RET_KILL_PROCESS;

/// Numbers of a second, narrower interface of the same processor begin here.
const NARROW: u32 = 0x4000_0000;
/// All kinds of namespaces.
const NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32
    | 0x80;
/// The first protocol of netlink: addresses and routes.
const ROUTES: u32 = 0;

/// Refused whatever they are asked.
#[rustfmt::skip]
const NEVER: &[libc::c_long] = &[
    libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot, libc::SYS_open_tree, libc::SYS_move_mount,
    libc::SYS_fsopen, libc::SYS_fsconfig, libc::SYS_fsmount, libc::SYS_fspick, libc::SYS_mount_setattr,
    libc::SYS_setns, libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_kcmp,
    libc::SYS_pidfd_getfd, libc::SYS_process_madvise, libc::SYS_bpf, libc::SYS_perf_event_open, libc::SYS_keyctl,
    libc::SYS_add_key, libc::SYS_request_key, libc::SYS_userfaultfd, libc::SYS_kexec_load, libc::SYS_kexec_file_load,
    libc::SYS_init_module, libc::SYS_finit_module, libc::SYS_delete_module, libc::SYS_open_by_handle_at, libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter, libc::SYS_io_uring_register, libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_reboot,
    libc::SYS_syslog, libc::SYS_acct, libc::SYS_quotactl, libc::SYS_settimeofday, libc::SYS_clock_settime,
    libc::SYS_sethostname, libc::SYS_setdomainname, libc::SYS_fanotify_init, libc::SYS_vhangup,
];

/// The filter for commands within walls of this kind.
pub(super) fn program(tier: Tier, network: bool) -> Vec<sock_filter> {
    let mut to = vec![
        load(MACHINE),
        jump(BPF_JEQ, ARCHITECTURE, 1, 0),
        answer(END),
        load(NUMBER),
        jump(BPF_JGE, NARROW, 0, 1),
        answer(UNKNOWN),
    ];
    to.extend(calls(libc::SYS_clone3, vec![answer(UNKNOWN)]));
    for number in NEVER {
        to.extend(calls(*number, vec![answer(REFUSE)]));
    }
    for number in [libc::SYS_clone, libc::SYS_unshare] {
        to.extend(calls(
            number,
            vec![load(argument(0)), jump(BPF_JSET, NAMESPACES, 0, 1), answer(REFUSE), answer(ALLOW)],
        ));
    }
    to.extend(calls(libc::SYS_ioctl, unless_any(argument(1), &[libc::TIOCSTI as u32, libc::TIOCLINUX as u32])));
    // What it is, and what it is by default.
    to.extend(calls(libc::SYS_personality, only(argument(0), &[0, u32::MAX])));
    // Limits and ranks of others: a command changes its own.
    to.extend(calls(libc::SYS_prlimit64, only(argument(0), &[0])));
    let mut own_rank = vec![load(argument(0)), jump(BPF_JEQ, libc::PRIO_USER, 0, 1), answer(REFUSE)];
    own_rank.extend(only(argument(1), &[0]));
    to.extend(calls(libc::SYS_setpriority, own_rank));
    if !network {
        to.extend(calls(libc::SYS_socket, sockets(tier)));
    }
    to.push(answer(ALLOW));
    to
}

/// Without a network: what stays on this machine. Where the network is a namespace of its own, all that is in it does.
fn sockets(tier: Tier) -> Vec<sock_filter> {
    let local: &[u32] = &[libc::AF_UNIX as u32];
    let own: &[u32] = &[libc::AF_UNIX as u32, libc::AF_INET as u32, libc::AF_INET6 as u32];
    if tier != Tier::Full {
        return only(argument(0), local);
    }
    let mut to = vec![load(argument(0)), jump(BPF_JEQ, libc::AF_NETLINK as u32, 0, 3)];
    to.extend([load(argument(2)), jump(BPF_JEQ, ROUTES, 0, 1), answer(ALLOW)]);
    // With another protocol of netlink the family is compared once more, and refused.
    to.extend(only(argument(0), own));
    to
}

/// What is done for one system call.
fn calls(number: libc::c_long, then: Vec<sock_filter>) -> Vec<sock_filter> {
    let mut to = vec![jump(BPF_JEQ, number as u32, 0, then.len() as u8)];
    to.extend(then);
    to
}

fn only(argument: u32, values: &[u32]) -> Vec<sock_filter> {
    among(argument, values, ALLOW, REFUSE)
}

fn unless_any(argument: u32, values: &[u32]) -> Vec<sock_filter> {
    among(argument, values, REFUSE, ALLOW)
}

fn among(argument: u32, values: &[u32], met: u32, unmet: u32) -> Vec<sock_filter> {
    let mut to = vec![load(argument)];
    for value in values {
        to.extend([jump(BPF_JEQ, *value, 0, 1), answer(met)]);
    }
    to.push(answer(unmet));
    to
}

fn load(offset: u32) -> sock_filter {
    sock_filter { code: (BPF_LD | BPF_W | BPF_ABS) as u16, jt: 0, jf: 0, k: offset }
}

fn jump(how: u32, value: u32, met: u8, unmet: u8) -> sock_filter {
    sock_filter { code: (BPF_JMP | how | BPF_K) as u16, jt: met, jf: unmet, k: value }
}

fn answer(value: u32) -> sock_filter {
    sock_filter { code: (BPF_RET | BPF_K) as u16, jt: 0, jf: 0, k: value }
}
