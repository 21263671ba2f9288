//! How much of their output tools show a model, and how long a command may take: the values of the setting `output`.

use std::time::Duration;

use crate::tool::{Keep, OutputPolicy};

/// What fits together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Of commands.
    pub commands: OutputPolicy,
    /// Of files, listings and searches.
    pub files: OutputPolicy,
    /// Until a command is at its deadline, where nobody says otherwise.
    pub time: Duration,
}

impl Preset {
    /// The last 2,000 lines of commands and the first of files, 50 KB, 120 s.
    pub const S0: Preset = Preset { commands: OutputPolicy::TAIL, files: OutputPolicy::HEAD, time: secs(120) };
    /// The first 5,000 bytes of commands and 10,000 of files, 30 s.
    pub const S2: Preset = Preset { commands: first(5_000), files: first(10_000), time: secs(30) };
    /// Beginning and end of commands, 2,000 lines and 50 KB together; files as usual; 30 s.
    pub const S3: Preset = Preset {
        commands: OutputPolicy { keep: Keep::HeadTail, ..OutputPolicy::TAIL },
        files: OutputPolicy::HEAD,
        time: secs(30),
    };
    /// The words for them.
    pub const WORDS: [(&str, Preset); 4] =
        [("default", Preset::S0), ("s0", Preset::S0), ("s2", Preset::S2), ("s3", Preset::S3)];
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Counted in bytes alone.
const fn first(bytes: usize) -> OutputPolicy {
    OutputPolicy { keep: Keep::Head, lines: usize::MAX, bytes }
}
