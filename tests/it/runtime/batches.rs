//! Tables of tasks: taken whole or refused whole, whatever stands in the way of one row, and whenever the program dies.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tillerman::config::{Config, Durability};
use tillerman::runtime::{ControlError, News, Runtime, Source, Table};
use tillerman::task::{Brief, Making, TaskDir, TaskId, TaskStatus};
use tokio::sync::Semaphore;

use super::order::gated;
use super::restart::echo;
use super::{Ask, Boat, Ground, boat, boat_with, calls, played, says};

fn template(body: &str) -> Brief {
    Brief { body: body.to_owned(), ..Brief::default() }
}

fn count(rows: u32) -> Table {
    Table::Text((1..=rows).map(|row| format!("{{\"n\": {row}}}\n")).collect())
}

/// Nobody is let through the gate.
async fn closed(change: impl FnOnce(&mut Config)) -> Boat {
    boat_with(gated(&Arc::new(Semaphore::new(0))), change).await
}

impl Boat {
    async fn batch(&self, template: &Brief, table: Table) -> Result<String, ControlError> {
        self.runtime.batch(&self.session, template, table).await.map(|made| made.to_string())
    }

    /// What lies below `.tasks/`, but for what keeps it out of version control.
    fn below(&self) -> Vec<String> {
        names(self.ground.root().join(".tasks"))
    }
}

fn names(folder: PathBuf) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.retain(|name| name != ".gitignore");
    names.sort();
    names
}

#[tokio::test]
async fn a_file_of_a_thousand_rows_is_taken_and_no_row_more() {
    let mut boat = closed(|config| config.durability = Durability::Off).await;
    let file = boat.ground.root().join("rows.csv");
    let rows = |last: u32| format!("n\n{}", (1..=last).map(|row| format!("{row}\n")).collect::<String>());
    fs::write(&file, rows(1_001)).unwrap();
    let refused = boat.batch(&template("Count to {{n}}."), Table::File(file.clone())).await.unwrap_err();
    assert_eq!(refused.to_string(), "the table has over 1000 rows; cut it into several");
    fs::write(&file, rows(1_000)).unwrap();
    let made = boat.batch(&template("Count to {{n}}."), Table::File(file)).await;
    assert_eq!(made.unwrap(), "1000 tasks are dispatched: t_001 to t_1000");
    let rows = boat.runtime.tasks().await;
    let mut told = Vec::new();
    while let Ok(envelope) = boat.feed.try_recv() {
        if let (Source::Task(id), News::TaskQueued { ahead, .. }) = (envelope.source, envelope.news) {
            told.push((id.0, ahead));
        }
    }
    assert_eq!(told, [(1_000, 999)], "the last tells how many stand before it");
    let last = rows.last().unwrap();
    assert_eq!((rows.len(), last.title.as_str(), last.status), (1_000, "Count to 1000.", TaskStatus::Queued));
}

#[tokio::test]
async fn more_rows_than_may_wait_are_refused_whole_with_the_bound() {
    let boat = closed(|config| (config.crew.running, config.crew.queued) = (1, 2)).await;
    let refused = boat.batch(&template("Count to {{n}}."), count(4)).await.unwrap_err();
    let words = "the table has 4 rows, and 3 more tasks may wait now (setting `queue`: 2); wait for some to end, cut the \
        table, or raise `queue`";
    assert_eq!(refused.to_string(), words);
    assert_eq!(boat.below(), [""; 0]);
    assert_eq!(
        boat.batch(&template("Count to {{n}}."), count(3)).await.unwrap(),
        "3 tasks are dispatched: t_001 to t_003"
    );
    assert_eq!(boat.below(), ["t_001", "t_002", "t_003"], "and nothing else");
}

#[tokio::test]
async fn a_row_whose_budget_is_not_there_refuses_all_rows_and_what_was_set_aside_is_free_again() {
    let boat = closed(|config| config.fleet = "10k tokens".parse().unwrap()).await;
    let template = Brief { budget: "4k tokens".parse().unwrap(), ..template("Count to {{n}}.") };
    let refused = boat.batch(&template, count(3)).await.unwrap_err();
    assert!(matches!(&refused, ControlError::Row { row: 3, .. }), "{refused}");
    let words = refused.to_string();
    assert!(words.starts_with("row 3: ") && words.ends_with("; no task is dispatched"), "{words}");
    assert_eq!((boat.runtime.tasks().await, boat.below()), (Vec::new(), Vec::new()));
    assert_eq!(boat.batch(&template, count(2)).await.unwrap(), "2 tasks are dispatched: t_001 to t_002");
}

#[tokio::test]
async fn what_holds_for_one_task_holds_for_each_row_before_any_is_dispatched() {
    let boat = closed(|_| {}).await;
    let table = || Table::Text("n,m\n1,a\n2,\n".to_owned());
    for (template, words) in [
        (template("{{m}}"), "row 2 leaves the task empty; say what is to be done"),
        (template("{{o}}"), "the template asks for {{o}}, and the columns are n, m"),
        (
            Brief { after: vec![TaskId(7)], ..template("{{n}}") },
            "after names t_007, and there is no such task; dispatch that one first",
        ),
        (
            Brief { touches: vec!["../x".to_owned()], ..template("{{n}}") },
            "touches names ../x; name paths below the workspace, relative to it",
        ),
    ] {
        assert_eq!(boat.batch(&template, table()).await.unwrap_err().to_string(), words);
    }
    assert_eq!(boat.below(), [""; 0]);
}

#[tokio::test]
async fn a_folder_in_the_way_of_one_row_refuses_all_and_is_left_alone() {
    let boat = closed(|_| {}).await;
    boat.batch(&template("Count to {{n}}."), count(1)).await.unwrap();
    let in_the_way = boat.ground.root().join(".tasks/t_003");
    fs::create_dir(&in_the_way).unwrap();
    let refused = boat.batch(&template("Count to {{n}}."), count(3)).await.unwrap_err().to_string();
    assert!(refused.starts_with("no task is dispatched: ") && refused.contains("t_003"), "{refused}");
    assert_eq!(boat.below(), ["t_001", "t_003"]);
    assert_eq!(boat.runtime.tasks().await.len(), 1);
    let made = boat.batch(&template("Count to {{n}}."), count(2)).await.unwrap();
    assert_eq!(made, "2 tasks are dispatched: t_005 to t_006", "no number is used twice");
}

#[tokio::test]
async fn a_batch_that_a_kill_cut_short_is_gone_at_the_next_start() {
    let ground = Ground::new();
    let tasks = ground.workspace().tasks();
    let planned: Vec<TaskDir> = (1..=4).map(|id| TaskDir::planned(&tasks, TaskId(id))).collect();
    let making = Making::begin(&tasks, planned.clone()).unwrap();
    planned[0].describe(&template("One."), TaskStatus::Queued).unwrap();
    planned[1].describe(&template("Two."), TaskStatus::Queued).unwrap();
    fs::write(planned[1].path().join("mine.txt"), "of a person").unwrap();
    // As a kill does: nothing is cleaned up.
    std::mem::forget(making);

    let runtime = Runtime::start(ground.config(echo())).await.unwrap();
    let rows = runtime.tasks().await;
    let left: Vec<_> = rows.iter().map(|row| (row.id.0, row.status)).collect();
    assert_eq!(left, [(2, TaskStatus::Interrupted)], "but for what somebody has put something into");
    assert_eq!(names(tasks), ["t_002"]);
}

#[tokio::test]
async fn a_batch_that_was_acknowledged_is_there_after_a_kill() {
    let boat = closed(|config| config.crew.running = 1).await;
    boat.batch(&template("Count to {{n}}."), count(5)).await.unwrap();
    let Boat { ground, runtime, .. } = boat;
    // Nothing is closed in order: the crew is killed with its last handle.
    drop(runtime);
    let lock = || ground.workspace().lock().is_ok();
    super::eventually("the workspace is not free", lock).await;
    let runtime = Runtime::start(ground.config(echo())).await.unwrap();
    let ends: Vec<_> = runtime.tasks().await.iter().map(|row| (row.id.0, row.status)).collect();
    assert_eq!(ends, [1, 2, 3, 4, 5].map(|id| (id, TaskStatus::Interrupted)));
}

#[tokio::test]
async fn r08_the_rows_of_a_table_are_bound_by_the_turn_unless_a_person_has_spoken() {
    let rows: String = (0..65).map(|row| format!("{{\"f\": {row}}}\n")).collect();
    let model = played("rows", move |ask: Ask| {
        let table = calls([("dispatch", json!({"task": "Read {{f}}.", "rows": rows}))]);
        async move {
            match ask.last() {
                _ if ask.is_worker() => says("done"),
                text if text == "one" => calls([super::dispatch("Work.")]),
                text if text == "all" || text.starts_with("[Worker completed t_001]") => table,
                _ if ask.outputs().is_empty() => says("heard"),
                _ => says(ask.outputs().join("\n")),
            }
        }
    });
    let mut boat = boat(model).await;
    boat.answer("one").await;
    boat.idle().await;
    let told = boat.runtime.transcript(&boat.session).await.unwrap();
    assert_eq!(told.last().unwrap().text(), "one turn dispatches at most 64 tasks; dispatch the rest later");
    assert_eq!(boat.answer("all").await, "65 tasks are dispatched: t_002 to t_066. You will be told when each ends.");
    boat.idle().await;
}

/// The first words of a runbook's step are its title, without the box to tick.
#[tokio::test]
async fn a_task_without_a_title_is_called_by_the_first_line_that_says_something() {
    let boat = boat(played("titles", |_| async { says("done") })).await;
    for (number, body, title) in [
        (1, "\n## Count *all* lines\nNow.", "Count *all* lines"),
        (2, "- [ ] wc -l a\n- [ ] rm a", "wc -l a"),
        (3, "---", "untitled"),
    ] {
        boat.runtime.dispatch(&boat.session, Brief { body: body.to_owned(), ..Brief::default() }).await.unwrap();
        assert_eq!(boat.task(number).task().unwrap().brief.title, title);
    }
    boat.idle().await;
}

/// A file of that name may come with any folder.
#[tokio::test]
async fn a_mark_that_spans_more_than_a_table_is_none() {
    let ground = Ground::new();
    let tasks = ground.workspace().tasks();
    fs::create_dir_all(tasks.join("t_001")).unwrap();
    fs::write(tasks.join(".batch-1-4294967295"), "").unwrap();
    let runtime = Runtime::start(ground.config(echo())).await.unwrap();
    assert!(tasks.join("t_001").exists() && tasks.join(".batch-1-4294967295").exists());
    runtime.shutdown().await;
}
