//! What tools keep, and who owns it: commands in the background, lists of what is to do.

use serde_json::json;
use tillerman::task::Brief;
use tillerman::tools::Enabled;

use super::{Ask, Boat, boat_with, calls, eventually, played, read, says};
use crate::story::processes;

/// Every agent makes its call and answers what came of it.
async fn boat_that(tool: &'static str, args: serde_json::Value) -> Boat {
    let model = played("keeps", move |ask: Ask| {
        let args = args.clone();
        async move {
            match ask.outputs().first() {
                Some(output) => says(output.clone()),
                None => calls([(tool, args)]),
            }
        }
    });
    boat_with(model, |config| config.tools = Enabled::read(&["default", "jobs", "notes", "todo"]).unwrap()).await
}

fn task() -> Brief {
    Brief { body: "Do it.".into(), ..Brief::default() }
}

/// How many commands nap for a time that no other test, nor another run of this one, takes.
async fn until_nap(nap: &str, expected: usize) {
    let napping = || processes(nap).iter().filter(|line| line.starts_with("sleep")).count() == expected;
    eventually("the wrong number of jobs runs", napping).await;
}

#[tokio::test]
async fn p06_p07_a_job_outlives_the_turn_and_ends_with_the_program() {
    let nap = format!("sleep 305.{}", std::process::id());
    let mut boat = boat_that("jobs", json!({ "command": &nap })).await;
    assert_eq!(boat.answer("go").await, "started as job 1");
    until_nap(&nap, 1).await;
    let rows = boat.runtime.jobs(&boat.session);
    assert_eq!(rows.iter().map(|row| (row.id, row.ended.clone())).collect::<Vec<_>>(), [(1, None)]);
    assert_eq!(boat.answer("again").await, "started as job 2");
    until_nap(&nap, 2).await;
    let killed = boat.runtime.kill_job(&boat.session, 1).await.unwrap();
    assert_eq!(killed.ended.as_deref(), Some("stopped"));
    until_nap(&nap, 1).await;
    assert_eq!(boat.runtime.kill_job(&boat.session, 9).await, None);
    boat.runtime.shutdown().await;
    until_nap(&nap, 0).await;
}

#[tokio::test]
async fn p07_the_jobs_of_a_worker_end_with_its_task() {
    let nap = format!("sleep 306.{}", std::process::id());
    let command = format!("touch \"$PWD/.tasks/t_001/began\"; {nap}");
    let mut boat = boat_that("jobs", json!({ "command": command })).await;
    boat.runtime.dispatch(&boat.session, task()).await.unwrap();
    assert_eq!(boat.task_ended(1).await.answer, "started as job 1");
    until_nap(&nap, 0).await;
    assert_eq!(boat.runtime.jobs(&boat.session), []);
}

#[tokio::test]
async fn s4_24_each_conversation_and_each_task_has_a_list_of_its_own() {
    let boat = &mut boat_that("todo", json!({ "items": ["one"] })).await;
    assert_eq!(boat.answer("go").await, "0 of 1 done\n1. [ ] one");
    boat.runtime.dispatch(&boat.session, task()).await.unwrap();
    assert_eq!(boat.task_ended(1).await.answer, "0 of 1 done\n1. [ ] one");
    let list = "# To do\n\n- [ ] one\n";
    assert_eq!(read(&boat.ground.root().join(".tasks/t_001/todo.md")), list);
    let kept = boat.runtime.config().workspace.todo(boat.session.as_str());
    assert!(read(&kept).starts_with(list), "the report made it say one more");
}

#[tokio::test]
async fn s1_22_c_12_a_main_agent_notes_and_reads_back_by_category() {
    let model = played("notes", |ask: Ask| async move {
        match ask.outputs().first() {
            Some(output) => says(output.clone()),
            None => calls([("note", serde_json::from_str(&ask.last()).unwrap())]),
        }
    });
    let mut boat = boat_with(model, |config| config.tools = Enabled::read(&["default", "notes"]).unwrap()).await;
    let foreign = json!([
        {"timestamp": "2025-03-01T10:00:00", "category": "style", "content": "tabs\nonly"},
        {"timestamp": "2025-03-02T10:00:00", "content": "no category"},
    ]);
    std::fs::write(boat.ground.root().join(".agent_memory.json"), foreign.to_string()).unwrap();
    let all = "- 2025-03-01 [style] tabs only\n- 2025-03-02 no category";
    assert_eq!(boat.answer("{}").await, all);
    assert_eq!(boat.answer(r#"{"content": "four\nspaces", "category": "Style"}"#).await, "noted in memory/notes.md");
    let today = jiff::Zoned::now().strftime("%Y-%m-%d").to_string();
    let kept = read(&boat.ground.root().join("memory/notes.md"));
    assert!(kept == format!("{all}\n- {today} [Style] four spaces\n") || !kept.contains(&today), "{kept}");
    let style = boat.answer(r#"{"category": "style"}"#).await;
    assert!(
        style.starts_with("- 2025-03-01 [style] tabs only\n- ") && style.ends_with(" [Style] four spaces"),
        "{style}"
    );
    assert_eq!(boat.answer(r#"{"category": "none"}"#).await, "nothing is noted as none");
    assert_eq!(boat.answer(r#"{"text": " "}"#).await, "text is empty; say what to remember");
}
