//! The processes of one command, wherever they went: found by group, by descent and by the mark in their environment,
//! and ended. A process that cleared its environment, left the group and lost its parents before anybody looked is
//! found by nobody.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

/// Times that the tree is walked and killed; a fork in flight is caught by the next.
const ROUNDS: usize = 3;
/// Process numbers looked at one by one; beyond, the whole list is cheaper.
const SPAN: i32 = 256;

/// How often a process that is becoming another program is looked at, once in a millisecond. Counted, because on a busy
/// machine time passes without it getting any.
const BECOMING: usize = 200;
/// The parent of the kernel's own threads, which have no environment.
const KERNEL: i32 = 2;

/// The processes of one command.
pub(super) struct Family {
    leader: Pid,
    id: String,
    /// Seen once, and when it was started: still ours when its parents are gone and its number is not another's.
    known: HashMap<i32, u64>,
}

/// One line of the process list.
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
    started: u64,
}

impl Family {
    /// The family of a shell that leads its own group; `id` is in its mark.
    pub(super) fn new(leader: Pid, id: String) -> Family {
        Family { leader, id, known: HashMap::new() }
    }

    /// Whether nobody can be left after the leader was waited for; cheap when the command started nothing else.
    pub(super) fn is_gone(&mut self) -> bool {
        if test_kill_process_group(self.leader).is_ok() {
            return self.members().is_empty();
        }
        let first = self.leader.as_raw_nonzero().get();
        match last_pid() {
            // Numbers are given in rising order: whatever was started since has one of these.
            Some(last) if (first..=first.saturating_add(SPAN)).contains(&last) => {
                !(first + 1..=last).any(|pid| self.is_marked(pid))
            }
            _ => self.members().is_empty(),
        }
    }

    /// Asks everybody to end.
    ///
    /// All are stopped before the first is asked, and go on only when the last has been: a shell whose command ended a
    /// moment before it would otherwise run the next one.
    pub(super) fn ask(&mut self) {
        let _ = kill_process_group(self.leader, Signal::STOP);
        let mut stopped = Vec::new();
        for _ in 0..ROUNDS {
            let found = self.members();
            send(&found, Signal::STOP);
            // Who was just starting another has a child that only the next look finds.
            let all = found.iter().all(|pid| stopped.contains(pid));
            stopped = found;
            if all {
                break;
            }
        }
        for signal in [Signal::TERM, Signal::CONT] {
            send(&stopped, signal);
        }
    }

    /// Ends everybody now: stop, so that nobody starts another or loses a parent, look again, kill.
    pub(super) fn kill(&mut self) {
        let _ = kill_process_group(self.leader, Signal::STOP);
        for _ in 0..ROUNDS {
            let found = self.members();
            send(&found, Signal::STOP);
            let all: Vec<Pid> = self.members().into_iter().chain(found).collect();
            send(&all, Signal::KILL);
            if all.is_empty() {
                break;
            }
        }
        let _ = kill_process_group(self.leader, Signal::KILL);
    }

    /// Everybody alive, the dead that nobody has waited for left out.
    pub(super) fn members(&mut self) -> Vec<Pid> {
        let leader = self.leader.as_raw_nonzero().get();
        let processes = processes();
        let mut family: HashSet<i32> = HashSet::from([leader]);
        for process in &processes {
            let led = process.group == leader || process.session == leader;
            if led || self.known.get(&process.pid) == Some(&process.started) || self.is_marked(process.pid) {
                family.insert(process.pid);
            }
        }
        // Children of children may stand anywhere in the list, so it is read until nothing is added.
        loop {
            let before = family.len();
            let born = processes.iter().filter(|process| family.contains(&process.parent));
            let born: Vec<i32> = born.map(|process| process.pid).collect();
            family.extend(born);
            if family.len() == before {
                break;
            }
        }
        let alive = processes.iter().filter(|process| family.contains(&process.pid));
        self.known = alive.map(|process| (process.pid, process.started)).collect();
        self.known.keys().filter_map(|pid| Pid::from_raw(*pid)).collect()
    }

    /// Whether the process carries the mark. One that is just becoming another program has no environment to be read for
    /// a moment, and would be missed by who looks once: it is looked at again until it has one.
    fn is_marked(&self, pid: i32) -> bool {
        for _ in 0..BECOMING {
            let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
            if !environment.is_empty() {
                return environment.windows(self.id.len()).any(|part| part == self.id.as_bytes());
            }
            if pid <= self.leader.as_raw_nonzero().get() || !is_becoming(pid) {
                return false;
            }
            // Also on drop, where nothing can be awaited.
            thread::park_timeout(Duration::from_millis(1));
        }
        false
    }
}

/// Neither arguments nor an environment: a process between two programs, which has no memory of its own yet. One that
/// was started without an environment has arguments.
fn is_becoming(pid: i32) -> bool {
    let has_arguments = fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty());
    !has_arguments && process(pid).is_some_and(|it| it.parent != KERNEL)
}

/// Who is gone already needs no signal.
fn send(to: &[Pid], signal: Signal) {
    for pid in to {
        let _ = kill_process(*pid, signal);
    }
}

/// The number that the system gave last.
fn last_pid() -> Option<i32> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next_back()?.parse().ok()
}

/// Everybody alive. Empty on systems without /proc, where the group is all that can be ended.
fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(process).collect()
}

fn process(pid: i32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may itself hold any byte, so the fields begin after the last one.
    let after = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let text = String::from_utf8_lossy(&stat[after..]);
    let mut fields = text.split_whitespace();
    let state = fields.next()?;
    let mut number = || fields.next()?.parse().ok();
    let (parent, group, session) = (number()?, number()?, number()?);
    // The twenty-second field of the line, after the six that were read.
    let started = fields.nth(15)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(Process { pid, parent, group, session, started })
}
