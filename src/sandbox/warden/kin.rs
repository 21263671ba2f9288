//! The processes of one command as the first of them sees them: counted, asked to end, ended. Who that first is, and when
//! that happens, is not here.

use std::collections::HashSet;
use std::fs;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};

use super::kernel;

/// Set in the flags of a process that is about to be gone.
const EXITING: u32 = 4;
/// Looks at all processes before those that were found are killed; one that is started meanwhile is found by the next.
const ROUNDS: usize = 8;

/// How far the first process of a command sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kin {
    /// It is the first of a namespace: all others in there are of the command.
    Namespace,
    /// Its descendants are, and those who lost their parents become its children.
    Descendants,
}

struct Process {
    pid: i32,
    parent: i32,
}

impl Kin {
    /// Everybody alive.
    pub(super) fn members(self) -> Vec<Pid> {
        let own = getpid().as_raw_nonzero().get();
        let all: Vec<Process> = processes().into_iter().filter(|process| process.pid != own).collect();
        let mut kin = HashSet::from([own]);
        if self == Kin::Descendants {
            // Children of children may stand anywhere in the list, so it is read until nothing is added.
            loop {
                let before = kin.len();
                let born: Vec<i32> = all.iter().filter(|it| kin.contains(&it.parent)).map(|it| it.pid).collect();
                kin.extend(born);
                if kin.len() == before {
                    break;
                }
            }
        }
        let of_us = all.iter().filter(|process| self == Kin::Namespace || kin.contains(&process.pid));
        of_us.filter_map(|process| Pid::from_raw(process.pid)).collect()
    }

    /// Asks everybody to end. All are stopped before the first is asked, and go on only when the last has been: a shell
    /// whose command ended a moment before it would otherwise run the next one.
    pub(super) fn ask(self) {
        if self == Kin::Namespace {
            return [Signal::STOP, Signal::TERM, Signal::CONT]
                .into_iter()
                .for_each(|it| kernel::signal_all(it.as_raw()));
        }
        let stopped = self.stop();
        for signal in [Signal::TERM, Signal::CONT] {
            stopped.iter().for_each(|pid| send(*pid, signal));
        }
    }

    /// Ends everybody and returns when nobody is left.
    pub(super) fn kill(self) {
        loop {
            match self {
                Kin::Namespace => kernel::signal_all(Signal::KILL.as_raw()),
                Kin::Descendants => self.stop().into_iter().for_each(|pid| send(pid, Signal::KILL)),
            }
            // Each one that ends may leave another to us.
            if wait(WaitOptions::empty()).is_err() {
                return;
            }
        }
    }

    fn stop(self) -> Vec<Pid> {
        let mut stopped = Vec::new();
        for _ in 0..ROUNDS {
            let found = self.members();
            found.iter().for_each(|pid| send(*pid, Signal::STOP));
            // Who was just starting another has a child that only the next look finds.
            let all = found.iter().all(|pid| stopped.contains(pid));
            stopped = found;
            if all {
                break;
            }
        }
        stopped
    }
}

/// Who is gone already needs no signal.
fn send(to: Pid, signal: Signal) {
    let _ = kill_process(to, signal);
}

fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| process(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// `None` of one that is dead or about to be.
fn process(pid: i32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let after = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let text = String::from_utf8_lossy(&stat[after..]);
    let mut fields = text.split_whitespace();
    let (state, parent) = (fields.next()?, fields.next()?.parse().ok()?);
    // The ninth field of the line, after the four that were read.
    let flags: u32 = fields.nth(4)?.parse().ok()?;
    (!matches!(state, "Z" | "X") && flags & EXITING == 0).then_some(Process { pid, parent })
}
