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

    /// Journals of workers that it has open now.
    pub fn journals(process: u32) -> usize {
        open(process).filter(|path| path.contains("/workers/t_")).count()
    }

    /// Sockets that it has open now.
    pub fn sockets(process: u32) -> usize {
        open(process).filter(|path| path.starts_with("socket:")).count()
    }

    /// Processes that it has started and that are there now.
    pub fn children(process: u32) -> usize {
        let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        let children = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
        children.map(|list| list.split_whitespace().count()).sum()
    }
}

fn open(process: u32) -> impl Iterator<Item = String> {
    let files = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    files.filter_map(|file| Some(fs::read_link(file.path()).ok()?.to_string_lossy().into_owned()))
}
