//! What a command's trouble has to do with the walls around it, in a line for a model: programs only say what the system
//! refused, not why, nor what would do instead.

use crate::sandbox::Walls;
use crate::workspace::policy::PathPolicy;

/// Words of programs whose writing was refused.
const WRITING: [&str; 4] = ["Read-only file system", "Permission denied", "EROFS", "EACCES"];
/// Words of programs that could not reach anybody.
#[rustfmt::skip]
const REACHING: [&str; 8] = [
    "Could not resolve host", "Temporary failure in name resolution", "Network is unreachable", "getaddrinfo",
    "Name or service not known", "failed to lookup address", "ENETUNREACH", "EAI_AGAIN",
];

/// The line for a command that failed with this output, if it may have failed at the walls.
pub(super) fn hint(output: &str, policy: &PathPolicy, walls: &Walls) -> Option<String> {
    if walls.are_open() {
        return None;
    }
    let says = |words: &[&str]| words.iter().any(|word| output.contains(word));
    if says(&WRITING) {
        return Some(format!("[commands may write in {} only]", policy.writable()));
    }
    (!walls.let_out() && says(&REACHING))
        .then(|| "[commands have no network; a person can allow it with --network]".to_owned())
}
