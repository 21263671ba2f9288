//! What stands between commands and the rest of the machine.

use std::sync::Arc;

/// Walls around the commands of one run. Shared by all of them.
#[derive(Debug)]
pub struct Walls;

impl Walls {
    /// No walls: a command may do whatever this program may.
    pub fn open() -> Arc<Walls> {
        Arc::new(Walls)
    }
}
