//! Commands that a dead program left behind: found by the mark that they carry, which names the program, and ended.
//! Knows processes of this user and this machine's view of them only.

use std::fs;
use std::sync::LazyLock;

use rustix::process::{Pid, Signal, kill_process};

use super::environment::MARK;

/// Looks at all processes; one that is started by another just then is found by the next.
const ROUNDS: usize = 3;
/// Between the parts of a name.
const PART: char = '.';

/// How this program is named in the marks of its commands: where its number holds, the number, when it was started.
static OURS: LazyLock<String> = LazyLock::new(|| {
    let pid = std::process::id();
    format!("{}{PART}{pid}{PART}{}", place().unwrap_or_default(), started(pid).unwrap_or_default())
});

/// A name for a command of this program that no other command has.
pub(super) fn name() -> String {
    format!("{}{PART}{}", *OURS, ulid::Ulid::generate())
}

/// Ends every command whose program is dead, and answers how many processes that were. Waits for the system.
///
/// A program is dead when its number is free or another's, which the time of its start tells. Nothing is known of
/// programs whose numbers belong to another place (a container), so their commands are left alone.
pub fn sweep() -> usize {
    let Some(place) = place() else { return 0 };
    let mut ended = 0;
    for _ in 0..ROUNDS {
        let left: Vec<u32> = numbers().filter(|pid| is_left(*pid, &place)).collect();
        if left.is_empty() {
            break;
        }
        ended += left.iter().filter(|pid| end(**pid)).count();
    }
    ended
}

fn end(pid: u32) -> bool {
    Pid::from_raw(pid.cast_signed()).is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
}

/// Whether any of the commands that a process belongs to has lost its program.
fn is_left(pid: u32, place: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    let mut variables = environment.split(|byte| *byte == 0);
    let mark = variables.find_map(|variable| variable.strip_prefix(MARK.as_bytes())?.strip_prefix(b"="));
    let mark = mark.and_then(|mark| std::str::from_utf8(mark).ok()).unwrap_or_default();
    mark.split('/').any(|name| is_orphan(name, place))
}

fn is_orphan(name: &str, place: &str) -> bool {
    let mut parts = name.split(PART);
    let (Some(there), Some(pid), Some(start), Some(_)) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let Ok(pid) = pid.parse::<u32>() else { return false };
    there == place && started(pid).is_none_or(|started| started.to_string() != start)
}

/// The namespace in which numbers of processes hold.
fn place() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    let digits: String = link.to_str()?.chars().filter(char::is_ascii_digit).collect();
    (!digits.is_empty()).then_some(digits)
}

/// When a living process was started, in ticks since the machine was; `None` when there is none.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let after = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let text = String::from_utf8_lossy(&stat[after..]);
    let mut fields = text.split_whitespace();
    let state = fields.next()?;
    // The twenty-second field of the line, after the three that were read.
    let started = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(started)
}

fn numbers() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
