//! What a process holds, as the kernel counts it.

use std::fs;

/// The most that was seen of each.
#[derive(Debug, Default, Clone, Copy)]
pub struct Held {
    /// Bytes of memory at the worst moment of its life.
    pub memory: u64,
    pub files: usize,
    pub threads: usize,
}

impl Held {
    /// Takes what it holds now, where that is more.
    pub fn look(&mut self, process: u32) {
        let entries = |folder: &str| fs::read_dir(format!("/proc/{process}/{folder}")).map_or(0, Iterator::count);
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or_default();
        self.memory = self.memory.max(kib << 10);
        self.files = self.files.max(entries("fd"));
        self.threads = self.threads.max(entries("task"));
    }
}
