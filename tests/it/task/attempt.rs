//! Several attempts at one task: what becomes of the files of those before, also when the program ends in between.

use std::fs;
use std::time::Duration;

use jiff::Timestamp;
use tillerman::task::{TaskDir, TaskReport, TaskStatus};

use super::{brief, names, report};

fn interrupted(dir: &TaskDir) -> TaskReport {
    TaskReport { status: TaskStatus::Interrupted, answer: "The program ended.".to_owned(), ..report(dir) }
}

#[test]
fn files_without_a_number_are_of_the_first_attempt() {
    let home = tempfile::tempdir().unwrap();
    let dir = TaskDir::create(home.path(), &brief()).unwrap();
    dir.finish(&interrupted(&dir)).unwrap();
    for file in ["task.md", "result.md"] {
        let text = fs::read_to_string(dir.path().join(file)).unwrap();
        assert!(!text.contains("attempt"), "{text}");
    }
    assert_eq!((dir.task().unwrap().attempt, dir.result().unwrap().unwrap().attempt), (1, 1));
}

#[test]
fn another_attempt_keeps_what_the_last_one_came_to() {
    let home = tempfile::tempdir().unwrap();
    let dir = TaskDir::create(home.path(), &brief()).unwrap();
    dir.finish(&interrupted(&dir)).unwrap();
    dir.begin_attempt(2, "other").unwrap();
    let task = dir.task().unwrap();
    assert_eq!((task.status, task.attempt, task.brief.session.as_deref()), (TaskStatus::Queued, 2, Some("other")));
    assert_eq!(task.brief.body, brief().body);
    assert_eq!((dir.result().unwrap(), dir.earlier(2)), (None, vec![interrupted(&dir)]));

    let second = TaskReport { attempt: 2, ..report(&dir) };
    dir.finish(&second).unwrap();
    assert_eq!(dir.result().unwrap(), Some(second.clone()));
    dir.begin_attempt(3, "other").unwrap();
    assert_eq!(dir.earlier(3), [interrupted(&dir), second]);
    let visible: Vec<String> = names(dir.path()).into_iter().filter(|name| !name.starts_with('.')).collect();
    assert_eq!(visible, ["result-1.md", "result-2.md", "task.md"]);
}

#[test]
fn an_attempt_that_was_begun_by_half_is_begun_by_the_next_look() {
    let home = tempfile::tempdir().unwrap();
    let dir = TaskDir::create(home.path(), &brief()).unwrap();
    dir.finish(&interrupted(&dir)).unwrap();
    let result = fs::read(dir.result_path()).unwrap();
    dir.begin_attempt(2, "other").unwrap();
    // The program ended before the last step.
    fs::remove_file(dir.path().join("result-1.md")).unwrap();
    fs::write(dir.result_path(), result).unwrap();
    dir.keep_earlier(2).unwrap();
    assert_eq!((dir.result().unwrap(), dir.earlier(2)), (None, vec![interrupted(&dir)]));
    dir.keep_earlier(2).unwrap();
    assert_eq!(dir.earlier(2).len(), 1, "nothing is left to be moved");
}

#[test]
fn marks_are_those_of_one_attempt() {
    let home = tempfile::tempdir().unwrap();
    let dir = TaskDir::create(home.path(), &brief()).unwrap();
    assert!(!dir.is_settled() && !dir.is_relayed(1) && !dir.is_aborted(1));
    dir.mark_aborted(1).unwrap();
    dir.mark_relayed(1).unwrap();
    dir.mark_relayed(1).unwrap();
    assert!(dir.is_settled() && dir.is_aborted(1));
    dir.begin_attempt(2, "other").unwrap();
    assert!(!dir.is_settled() && dir.is_relayed(1) && !dir.is_relayed(2) && !dir.is_aborted(2));
}

#[test]
fn c18_a_clock_that_was_set_back_makes_no_task_shorter_than_it_was() {
    let home = tempfile::tempdir().unwrap();
    let dir = TaskDir::create(home.path(), &brief()).unwrap();
    let started: Timestamp = "2026-11-20T14:03:00Z".parse().unwrap();
    for jump in [Duration::from_secs(86_400), Duration::ZERO] {
        let report = TaskReport { started: Some(started), ended: started - jump, ..report(&dir) };
        dir.finish(&report).unwrap();
        assert_eq!(dir.result().unwrap().unwrap().took, report.took);
        // An early version did not write down how long it took.
        let text = fs::read_to_string(dir.result_path()).unwrap();
        fs::write(dir.result_path(), text.replace("took_ms: 65000\n", "")).unwrap();
        assert_eq!(dir.result().unwrap().unwrap().took, Duration::ZERO);
    }
}
