//! What a command's trouble has to do with the walls around it, in a line for a model: programs only say what the system
//! refused, not why, nor what would do instead.

use crate::sandbox::Walls;
use crate::workspace::policy::{PathPolicy, Profile};

/// Words of programs whose writing was refused.
const WRITING: [&str; 4] = ["Read-only file system", "Permission denied", "EROFS", "EACCES"];
/// Words of programs that could not reach anybody.
#[rustfmt::skip]
const REACHING: [&str; 8] = [
    "Could not resolve host", "Temporary failure in name resolution", "Network is unreachable", "getaddrinfo",
    "Name or service not known", "failed to lookup address", "ENETUNREACH", "EAI_AGAIN",
];

/// The line for a command that failed with this output, if it may have failed at the walls. `asks`: the agent can ask a
/// person for more.
pub(super) fn hint(output: &str, policy: &PathPolicy, walls: &Walls, asks: bool) -> Option<String> {
    if walls.are_open() || policy.profile() == Profile::Full {
        return None;
    }
    let says = |words: &[&str]| words.iter().any(|word| output.contains(word));
    if says(&WRITING) {
        let more = if asks { "; escalate asks the person for more" } else { "" };
        return Some(format!("[commands may write in {} only{more}]", policy.writable()));
    }
    let how = if asks { "escalate asks the person for it" } else { "a person can allow it with --network" };
    (!walls.let_out() && says(&REACHING)).then(|| format!("[commands have no network; {how}]"))
}
