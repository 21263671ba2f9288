//! Promises about background workers: their files, their rights, who hears them, and how they are stopped.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tillerman::event::AgentEvent;
use tillerman::markdown;
use tillerman::message::Role;
use tillerman::runtime::{News, Source};
use tillerman::task::{Brief, TaskId, TaskStatus};
use tokio::sync::Semaphore;

use crate::runtime::{Ask, boat, calls, dispatch, eventually, played, read, says};
use crate::story::processes;

fn brief(body: &str) -> Brief {
    Brief { body: body.into(), ..Brief::default() }
}

fn shell(command: &str) -> (&'static str, Value) {
    ("shell", json!({"command": command}))
}

/// Steps that end and steps that still come are told apart: progress.md grows with each, result.md is there at the end.
#[tokio::test]
async fn s3_31_s3_36_a_worker_has_a_directory_that_grows_with_each_step() {
    let gate = Arc::new(Semaphore::new(0));
    let held = gate.clone();
    let mut boat = boat(played("steps", move |ask: Ask| {
        let held = held.clone();
        async move {
            match (ask.is_worker(), ask.messages.len()) {
                (true, 1) => calls([shell("echo one")]),
                (true, _) => {
                    held.acquire().await.unwrap().forget();
                    says("five functions")
                }
                (false, 1) => calls([dispatch("Look for functions.")]),
                (false, _) => says("on it"),
            }
        }
    }))
    .await;
    assert_eq!(boat.answer("look").await, "on it");
    let dir = boat.task(1).path().to_owned();
    eventually("the first step is not told", || dir.join("progress.md").exists()).await;
    eventually("the first step is not told", || read(&dir.join("progress.md")).contains(" shell echo one (")).await;
    assert!(!dir.join("result.md").exists(), "it still works");
    let front = |file: &str| markdown::load::<BTreeMap<String, Value>>(&dir.join(file)).unwrap();
    assert_eq!(front("task.md").front["status"], "running");
    gate.add_permits(1);
    boat.task_ended(1).await;
    boat.idle().await;
    let task = front("task.md");
    assert_eq!((&task.front["id"], &task.front["status"]), (&json!("t_001"), &json!("done")));
    assert_eq!(task.body.trim(), "Look for functions.");
    let result = front("result.md");
    assert_eq!((&result.front["status"], &result.front["turns"]), (&json!("done"), &json!(2)));
    assert_eq!(result.body.trim(), "five functions");
    let progress = read(&dir.join("progress.md"));
    let is_timed = |line: &str| {
        line.as_bytes()[2] == b':' && line.as_bytes()[5] == b' ' && line.starts_with(|c: char| c.is_ascii_digit())
    };
    assert!(progress.lines().count() >= 2 && progress.lines().all(is_timed), "{progress}");
}

#[tokio::test]
async fn s3_37_what_a_worker_says_reaches_a_person_through_the_main_agent_only() {
    let model = played("quiet", |ask: Ask| async move {
        match ask.is_worker() {
            true if ask.messages.len() == 1 => calls([(
                "ask",
                json!({"question": "Which?", "options": ["a", "b"], "default": "b", "deadline": "10m"}),
            )]),
            true => says("the worker's own words"),
            false => says("thank you"),
        }
    });
    let mut boat = boat(model).await;
    boat.runtime.dispatch(&boat.session, brief("Say something.")).await.unwrap();
    let question = boat.until(|envelope| match &envelope.news {
        News::Asked(question) => Some((envelope.source.clone(), question.task)),
        _ => None,
    });
    assert_eq!(question.await, (Source::Task(TaskId(1)), TaskId(1)), "its question is shown as its own");
    // It is asked before it rests; an answer at once is as good.
    boat.runtime.answer(TaskId(1), None, "a".to_owned()).await.unwrap();
    boat.task_ended(1).await;
    let mut spoken = Vec::new();
    let runtime = boat.runtime.clone();
    runtime.idle().await;
    while let Ok(envelope) = boat.feed.try_recv() {
        if let (Source::Main { .. }, News::Agent(AgentEvent::Replied { message, .. })) =
            (envelope.source, envelope.news)
        {
            spoken.push(message.text());
        }
    }
    assert_eq!(spoken, ["thank you"]);
    let said = boat.runtime.transcript(&boat.session).await.unwrap();
    let quoted = said.iter().filter(|message| message.text().contains("the worker's own words"));
    let roles: Vec<(Role, bool)> =
        quoted.map(|message| (message.role, message.text().contains("\n> the worker's own words"))).collect();
    assert_eq!(roles, [(Role::User, true)], "once, as a report, quoted");
}

#[tokio::test]
async fn s3_38_a_worker_runs_what_a_skill_brings() {
    let model = played("skilled", |ask: Ask| async move {
        let output = ask.outputs().join("\n");
        match (ask.is_worker(), ask.messages.len()) {
            (true, 1) => calls([("load_skill", json!({"name": "counting"}))]),
            (true, 3) => {
                assert!(output.contains("Files beside it: scripts/count.sh."), "{output}");
                calls([shell("printf 'a\\nb\\n' | sh skills/counting/scripts/count.sh")])
            }
            (true, _) => says(output),
            (false, _) => says("thanks"),
        }
    });
    let mut boat = boat(model).await;
    let skill = boat.ground.root().join("skills/counting");
    std::fs::create_dir_all(skill.join("scripts")).unwrap();
    std::fs::write(skill.join("SKILL.md"), "---\nname: counting\ndescription: how to count\n---\nRun it.\n").unwrap();
    std::fs::write(skill.join("scripts/count.sh"), "echo \"$(wc -l) lines\"\n").unwrap();
    boat.runtime.dispatch(&boat.session, brief("Count.")).await.unwrap();
    let answer = boat.task_ended(1).await.answer;
    assert!(answer.contains("2 lines"), "{answer}");
}

/// A command for a time that no other test, nor another run of this one, sleeps for.
fn nap() -> String {
    format!("sleep 3600.{}", std::process::id())
}

/// C-9: an abort does not wait for a tool, leaves none of its processes, and asks no model any more.
#[tokio::test]
async fn s3_40_c9_an_abort_while_a_tool_runs_ends_its_processes_and_the_task() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let mut boat = boat(played("slow", move |ask: Ask| {
        let counted = counted.clone();
        async move {
            if !ask.is_worker() {
                return says("thanks");
            }
            counted.fetch_add(1, Ordering::SeqCst);
            calls([shell(&format!("{} & wait", nap()))])
        }
    }))
    .await;
    boat.runtime.dispatch(&boat.session, brief("Sleep.")).await.unwrap();
    let asleep = || processes(&nap()).iter().filter(|line| line.starts_with("sleep")).count();
    eventually("the command never begins", || asleep() == 1).await;
    boat.runtime.abort(TaskId(1)).await.unwrap();
    assert_eq!(boat.task_ended(1).await.status, TaskStatus::Aborted);
    eventually("its process goes on", || asleep() == 0).await;
    boat.idle().await;
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[test]
fn s3_55_the_example_workspace_has_a_file_of_each_kind() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("workspace.example");
    for path in ["config.md", "AGENTS.md", "SOUL.md", "USER.md", "memory/memory.md", "skills", "agents"] {
        assert!(root.join(path).exists(), "{path}");
    }
    let topics = std::fs::read_dir(root.join("memory")).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name != "memory.md" && Path::new(&name).extension().is_some_and(|ending| ending == "md")
    });
    assert!(topics.count() > 0, "memory/TOPIC.md");
    let new = tempfile::tempdir().unwrap();
    tillerman::config::init(new.path()).unwrap();
    assert!(new.path().join(".tasks").is_dir());
}

#[tokio::test]
async fn s3_58_a_main_agent_writes_in_the_workspace_and_a_worker_in_its_own_directory() {
    let write = |path: &str| ("write_file", json!({"path": path, "content": "x"}));
    let model = played("writes", move |ask: Ask| async move {
        match (ask.is_worker(), ask.messages.len()) {
            (true, 1) => calls([write("src/worker.rs"), write(".tasks/t_001/notes.md")]),
            (false, 1) => calls([write("src/main.rs"), write("notes/deep/a.md"), dispatch("Write.")]),
            _ => says("done"),
        }
    });
    let mut boat = boat(model).await;
    boat.answer("write").await;
    boat.idle().await;
    let root = boat.ground.root();
    let there = ["src/main.rs", "notes/deep/a.md", "src/worker.rs", ".tasks/t_001/notes.md"]
        .map(|path| root.join(path).exists());
    assert_eq!(there, [true, true, false, true]);
}
