//! What is kept takes a bounded part of the disk: old traces, logs and outputs go, sessions and results never do.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use tillerman::workspace::Workspace;
use tillerman::workspace::upkeep::{DiskUse, sweep, warning};

use crate::cli::Place;

const KB: u64 = 1024;

/// A file of so many kilobytes that was last written so many hours ago.
fn put(path: &Path, kilobytes: u64, hours: u64) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = File::create(path).unwrap();
    file.set_len(kilobytes * KB).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(hours * 3_600)).unwrap();
}

struct Ground {
    dir: tempfile::TempDir,
    workspace: Workspace,
}

fn ground() -> Ground {
    let dir = tempfile::tempdir().unwrap();
    let (root, home) = (dir.path().join("work"), dir.path().join("home"));
    fs::create_dir_all(&root).unwrap();
    let workspace = Workspace::open(&root, &home).unwrap();
    Ground { dir, workspace }
}

#[test]
fn r16_the_oldest_traces_logs_and_outputs_go_when_the_quota_is_reached() {
    let Ground { dir: _dir, workspace } = ground();
    let (traces, logs, tasks) = (workspace.traces(), workspace.logs(), workspace.tasks());
    put(&workspace.sessions().join("a.jsonl"), 200, 900);
    put(&tasks.join("t_001/result.md"), 100, 900);
    put(&traces.join("old.jsonl"), 300, 500);
    put(&tasks.join("t_001/artifacts/c1.txt"), 200, 400);
    put(&workspace.artifacts("a").join("c2.txt"), 100, 300);
    put(&logs.join("young.log"), 100, 200);
    put(&traces.join("fresh.jsonl"), 150, 0);
    let used = DiskUse::of(&workspace);
    assert_eq!((used.kept / KB, used.spare / KB), (200, 850), "a result counts for nothing");
    assert_eq!(sweep(&workspace, 2_000 * KB, SystemTime::now()).unwrap(), used, "there is room");
    assert!(traces.join("old.jsonl").exists() && warning(&workspace).is_none());

    let used = sweep(&workspace, 1_000 * KB, SystemTime::now()).unwrap();
    assert_eq!((used.kept / KB, used.spare / KB), (200, 550), "until three quarters are used");
    assert!(!traces.join("old.jsonl").exists() && tasks.join("t_001/artifacts/c1.txt").exists());

    let used = sweep(&workspace, 400 * KB, SystemTime::now()).unwrap();
    assert_eq!((used.kept / KB, used.spare / KB), (200, 150), "what is new stays, and what was said");
    assert!(tasks.join("t_001/result.md").exists() && traces.is_dir() && logs.is_dir());
    assert!(!tasks.join("t_001/artifacts").exists(), "no empty folder is left");
}

#[test]
fn r16_a_person_is_warned_at_nine_tenths_and_no_longer_than_that() {
    let Ground { dir: _dir, workspace } = ground();
    put(&workspace.sessions().join("a.jsonl"), 9 * 1024, 0);
    let now = SystemTime::now;
    sweep(&workspace, 10 << 20, now()).unwrap();
    let words = "what is kept of this workspace takes 9 MB of 10 MB (disk_quota), 9 MB of it sessions; delete some with \
                 `tillerman sessions delete`, or set disk_quota higher";
    assert_eq!(warning(&workspace).as_deref(), Some(words));
    sweep(&workspace, 11 << 20, now()).unwrap();
    assert_eq!(warning(&workspace), None);
    sweep(&workspace, 0, now()).unwrap();
    assert_eq!(warning(&workspace), None, "0 is no quota");
}

#[test]
fn r16_a_link_leads_the_sweep_nowhere() {
    let Ground { dir, workspace } = ground();
    let precious = dir.path().join("precious/artifacts/p.txt");
    put(&precious, 5_000, 900);
    fs::create_dir_all(workspace.tasks()).unwrap();
    std::os::unix::fs::symlink(dir.path().join("precious"), workspace.tasks().join("t_001")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("precious"), workspace.traces().join("link")).unwrap();
    let used = sweep(&workspace, KB, SystemTime::now()).unwrap();
    assert_eq!(used.total(), 0);
    assert!(precious.exists());
}

#[test]
fn r16_the_program_looks_after_it_and_says_so() {
    let place = Place::new();
    place.tillerman(&["run", "hello"]);
    let state = fs::read_dir(place.home.path().join("workspaces")).unwrap().next().unwrap().unwrap().path();
    put(&state.join("sessions/archive/large.jsonl"), 1_000, 0);
    put(&state.join("traces/old.jsonl"), 200, 900);
    let quota = [("TILLERMAN_DISK_QUOTA", "1")];
    // Nobody waits for the sweep, so it may take a few starts until one has lived long enough.
    let warned = (0..60).any(|_| {
        let done = place.tillerman_with(&["run", "hello"], &quota, "");
        done.stderr.contains("MB of 1 MB (disk_quota)")
    });
    assert!(warned && !state.join("traces/old.jsonl").exists());
    let doctor = place.tillerman_with(&["doctor"], &quota, "");
    assert!(doctor.stdout.contains("MB of 1 MB (disk_quota)"), "{doctor:?}");
}
