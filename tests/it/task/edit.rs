//! Two writers of one task.md.

use std::thread;

use tillerman::message::Budget;
use tillerman::task::{Brief, TaskDir, TaskError, TaskStatus};

const EACH: u32 = 40;

#[test]
fn a_budget_and_a_status_that_change_in_the_same_moment_are_both_there() {
    let dir = tempfile::tempdir().unwrap();
    let brief = Brief { body: "Count.".to_owned(), budget: "100 turns".parse().unwrap(), ..Brief::default() };
    let task = TaskDir::create(dir.path(), &brief).unwrap().undurable();
    let raise = || {
        for _ in 0..EACH {
            let raised = |turns: Option<u32>| Budget { turns: turns.map(|turns| turns + 1), ..Budget::default() };
            task.change_budget(|now| Ok::<_, TaskError>(raised(now.brief.budget.turns))).unwrap();
        }
    };
    let turn_over = || {
        for attempt in 2..EACH {
            task.set_status(TaskStatus::Running).unwrap();
            task.set_status(TaskStatus::Partial).unwrap();
            task.begin_attempt(attempt, "s1").unwrap();
        }
    };
    thread::scope(|scope| {
        scope.spawn(raise);
        scope.spawn(raise);
        scope.spawn(turn_over);
    });
    let now = task.task().unwrap();
    assert_eq!((now.brief.budget.turns, now.attempt, now.status), (Some(100 + 2 * EACH), EACH - 1, TaskStatus::Queued));
    assert_eq!(now.brief.body, "Count.");
}

#[test]
fn a_change_that_is_refused_leaves_the_file_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let task = TaskDir::create(dir.path(), &Brief { body: "Count.".to_owned(), ..Brief::default() }).unwrap();
    let before = std::fs::read(task.path().join("task.md")).unwrap();
    let refused = task.change_budget(|_| Err::<Budget, _>(TaskError::NoSuchTask(task.id())));
    assert!(matches!(refused, Err(TaskError::NoSuchTask(_))));
    assert_eq!(std::fs::read(task.path().join("task.md")).unwrap(), before);
}
