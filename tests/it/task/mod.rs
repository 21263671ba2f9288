//! Tasks as files: numbers, task.md, result.md and what a hand may do to them. Progress lines are in `progress`.

mod attempt;
mod edit;
mod progress;
mod rows;

use std::fs;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;
use tillerman::message::{Spent, Usage, Usd};
use tillerman::task::{self, Brief, TaskDir, TaskError, TaskId, TaskReport, TaskStatus};

fn brief() -> Brief {
    Brief {
        budget: "$0.50 400k tokens 90s".parse().unwrap(),
        after: vec![TaskId(1), TaskId(7)],
        priority: tillerman::task::Priority::High,
        approval: Some(tillerman::message::Approval::Ask),
        title: "count: lines \"and\" words".to_owned(),
        body: "Count them.\n\n---\nnot frontmatter\n".to_owned(),
        agent: Some("researcher".to_owned()),
        model: Some("scripted/a".to_owned()),
        touches: vec!["src/".to_owned(), "README.md".to_owned()],
        max_turns: Some(7),
        session: Some("01J".to_owned()),
        depth: 1,
        parent: None,
    }
}

fn report(dir: &TaskDir) -> TaskReport {
    let started: Timestamp = "2026-11-20T14:03:00Z".parse().unwrap();
    TaskReport {
        id: dir.id(),
        title: "count".to_owned(),
        attempt: 1,
        status: TaskStatus::Done,
        answer: "42 lines\n---\nstatus: failed".to_owned(),
        turns: 3,
        usage: Usage { input: 10, output: 5, cache_read: 100, ..Usage::default() },
        spent: Spent { known: Usd(12_345_678), unknown: 1 },
        started: Some(started),
        ended: started + Duration::from_secs(65),
        took: Duration::from_secs(65),
        dir: dir.path().to_owned(),
        verified: vec!["cargo test: exit 0".to_owned()],
        files: vec!["src/main.rs".to_owned()],
        changed: vec!["Cargo.lock".to_owned()],
        assumptions: vec!["q_001 JWT or cookie? jwt".to_owned()],
        total: Spent { known: Usd(12_345_678), unknown: 1 },
    }
}

fn names(root: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn ids_are_written_with_three_digits_and_grow_beyond() {
    let shown: Vec<String> = [1, 42, 999, 1000, 123_456].map(|number| TaskId(number).to_string()).to_vec();
    assert_eq!(shown, ["t_001", "t_042", "t_999", "t_1000", "t_123456"]);
    assert_eq!("t_7".parse(), Ok(TaskId(7)), "a person need not count zeros");
    for wrong in ["", "t_", "t_0", "7", "T_001", "t_-1", "t_+1", "t_1x", "t_99999999999", "t_001/..", "../t_001"] {
        let error = wrong.parse::<TaskId>().unwrap_err().to_string();
        assert_eq!(error, format!("`{wrong}` is no task id; write it like t_001"));
    }
}

proptest! {
    #[test]
    fn every_id_reads_back(number in 1u32..) {
        prop_assert_eq!(TaskId(number).to_string().parse(), Ok(TaskId(number)));
    }
}

#[test]
fn a_task_reads_back_as_it_was_dispatched() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join(".tasks");
    let dir = TaskDir::create(&root, &brief()).unwrap();
    assert_eq!((dir.id(), dir.path()), (TaskId(1), root.join("t_001").as_path()));
    let task = dir.task().unwrap();
    assert_eq!((task.status, &task.brief, &task.dir), (TaskStatus::Queued, &brief(), &dir));
    assert_eq!(fs::read_to_string(root.join(".gitignore")).unwrap(), "*\n");
    assert_eq!(TaskDir::open(&root, TaskId(1)).unwrap(), dir);
    assert!(matches!(TaskDir::open(&root, TaskId(2)), Err(TaskError::NoSuchTask(TaskId(2)))));
}

#[test]
fn numbers_are_never_given_twice_and_gaps_do_no_harm() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path();
    for name in ["t_002", "t_007", "t_0009", "t_x", "notes"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    fs::write(root.join("t_500"), "a file").unwrap();
    assert_eq!(task::highest(root).unwrap(), 7);
    assert_eq!(TaskDir::claim(root, 7).unwrap().id(), TaskId(8));
    assert_eq!(TaskDir::claim(root, 1).unwrap().id(), TaskId(3), "what is taken is passed over");
    assert_eq!(TaskDir::claim(root, 499).unwrap().id(), TaskId(501), "also by a file");
    assert_eq!(task::highest(&root.join("absent")).unwrap(), 0);
}

#[test]
fn two_dozen_threads_claim_two_dozen_numbers() {
    let home = tempfile::tempdir().unwrap();
    let claim = || TaskDir::claim(home.path(), 0).unwrap().id().0;
    let mut numbers: Vec<u32> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..24).map(|_| scope.spawn(claim)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=24).collect::<Vec<u32>>());
}

#[test]
fn a_result_reads_back_and_settles_the_status() {
    let home = tempfile::tempdir().unwrap();
    let dir = TaskDir::create(home.path(), &brief()).unwrap();
    assert_eq!(dir.result().unwrap(), None);
    dir.finish(&report(&dir)).unwrap();
    assert_eq!(dir.result().unwrap(), Some(report(&dir)));
    assert_eq!(dir.task().unwrap().status, TaskStatus::Done);
    assert_eq!(dir.task().unwrap().brief, brief(), "nothing else in task.md has changed");
    let text = fs::read_to_string(dir.result_path()).unwrap();
    assert!(text.contains("\ncost: 0.012345678\ncost_unknown_calls: 1\n"), "{text}");
    assert!(text.contains("\ntokens: 115\n") && text.contains("\nturns: 3\n"), "{text}");
    assert!(text.ends_with(&format!("{}\n", report(&dir).answer)), "a text file ends with its last line: {text}");
    assert_eq!(names(dir.path()), ["result.md", "task.md"], "no temporary file is left");
}

#[test]
fn a_result_that_the_worker_wrote_itself_is_kept_beside_ours() {
    let home = tempfile::tempdir().unwrap();
    let dir = TaskDir::create(home.path(), &brief()).unwrap();
    fs::write(dir.result_path(), "# My findings\n").unwrap();
    dir.finish(&report(&dir)).unwrap();
    assert_eq!(dir.result().unwrap(), Some(report(&dir)));
    assert_eq!(fs::read_to_string(dir.path().join("result.by-worker.md")).unwrap(), "# My findings\n");
}

#[test]
fn a_status_change_keeps_what_a_hand_added() {
    let home = tempfile::tempdir().unwrap();
    let dir = TaskDir::create(home.path(), &brief()).unwrap();
    let path = dir.path().join("task.md");
    let text = fs::read_to_string(&path).unwrap().replacen("---\n", "---\ncolour: red\n", 1);
    fs::write(&path, text).unwrap();
    dir.set_status(TaskStatus::Running).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("colour: red\n") && text.contains("status: running\n"), "{text}");
    assert_eq!(dir.task().unwrap().brief, brief());
}

#[test]
fn a_broken_task_is_named_with_its_line_and_skipped_in_the_list() {
    let home = tempfile::tempdir().unwrap();
    let good = TaskDir::create(home.path(), &brief()).unwrap();
    for text in ["---\nid: t_002\ntitle: [\n---\nx", "---\nid: t_002\nstatus: perhaps\n---\n", "no frontmatter", ""] {
        let bad = TaskDir::claim(home.path(), 1).unwrap();
        fs::write(bad.path().join("task.md"), text).unwrap();
        let error = bad.task().unwrap_err().to_string();
        assert!(error.contains("task.md"), "{error}");
        assert!(!text.starts_with("---") || error.contains("line"), "{error}");
        bad.finish(&report(&bad)).unwrap();
        assert_eq!(fs::read_to_string(bad.path().join("task.md")).unwrap(), text, "a person's text is not overwritten");
    }
    TaskDir::claim(home.path(), 1).unwrap();
    let listing = task::list(home.path()).unwrap();
    assert_eq!(listing.tasks, [good.task().unwrap()]);
    assert_eq!(listing.skipped.len(), 5, "the empty directory too");
}

#[test]
fn a_link_in_place_of_the_tasks_directory_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let root = home.path().join(".tasks");
    std::os::unix::fs::symlink(elsewhere.path(), &root).unwrap();
    let error = TaskDir::create(&root, &brief()).unwrap_err();
    assert!(matches!(error, TaskError::NotADirectory(_)), "{error}");
    assert!(names(elsewhere.path()).is_empty());
}
