//! What a main agent and a worker are made of: prompt, tools, rights, role, and files that change between two runs.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tillerman::message::Message;
use tillerman::model::Model;
use tillerman::task::{Brief, TaskId, TaskStatus};
use tokio::sync::Semaphore;

use super::{Ask, boat, boat_with, calls, played, says};

/// What the models of a test were shown: first message, system prompt, tools.
type Shown = Arc<Mutex<Vec<(String, String, Vec<String>)>>>;

fn shows(shown: &Shown, name: &str) -> Arc<dyn Model> {
    let shown = shown.clone();
    played(name, move |ask: Ask| {
        shown.lock().unwrap().push((ask.first(), ask.system.clone(), ask.tools.clone()));
        async { says("ok") }
    })
}

fn put(root: &Path, path: &str, text: &str) {
    fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
    fs::write(root.join(path), text).unwrap();
}

#[tokio::test]
async fn main_agent_and_worker_get_the_prompts_and_tools_that_are_theirs() {
    let shown = Shown::default();
    let mut boat = boat(shows(&shown, "shown")).await;
    for (path, words) in [("SOUL.md", "calm soul"), ("USER.md", "user Ada"), ("AGENTS.md", "house rules")] {
        put(&boat.ground.root(), path, words);
    }
    put(&boat.ground.root(), "memory/memory.md", "remembered thing");
    boat.answer("hello").await;
    let brief = Brief { title: "count".to_owned(), body: "Count all lines.".to_owned(), ..Brief::default() };
    boat.runtime.dispatch(&boat.session, brief).await.unwrap();
    boat.idle().await;
    let shown = shown.lock().unwrap().clone();
    let main = shown.iter().find(|(first, ..)| first == "hello").unwrap();
    let worker = shown.iter().find(|(first, ..)| first.starts_with("Task t_")).unwrap();
    assert_eq!(worker.0, "Task t_001: count\n\nCount all lines.");
    for words in ["calm soul", "user Ada", "remembered thing"] {
        assert!(main.1.contains(words) && !worker.1.contains(words), "{words} is the main agent's alone");
    }
    assert!(main.1.contains("house rules") && worker.1.contains("house rules"));
    assert!(worker.1.contains(".tasks/t_001") && !worker.1.contains("Count all lines."), "the brief is said once");
    let files = ["edit_file", "grep", "list", "load", "load_skill", "read_file", "scan", "shell", "write_file"];
    let mut own = [files.as_slice(), &["history_read", "history_search"]].concat();
    own.sort_unstable();
    let mut workers = [own.as_slice(), &["ask"]].concat();
    workers.sort_unstable();
    assert_eq!(worker.2, workers);
    let mut all = [own.as_slice(), &["abort", "answer", "call_agent", "dispatch", "resume", "steer", "tasks"]].concat();
    all.sort_unstable();
    assert_eq!(main.2, all);
}

#[tokio::test]
async fn files_that_change_count_from_the_next_run_on() {
    let shown = Shown::default();
    let mut boat = boat(shows(&shown, "live")).await;
    for words in ["first soul", "second soul"] {
        put(&boat.ground.root(), "SOUL.md", words);
        boat.answer("hello").await;
        assert!(shown.lock().unwrap().last().unwrap().1.contains(words));
    }
}

#[tokio::test]
async fn a_role_brings_its_model_tools_and_instructions() {
    let (shown, other) = (Shown::default(), Shown::default());
    let model = shows(&other, "careful");
    let mut boat = boat_with(shows(&shown, "plain"), |config| config.models = config.models.clone().with(model)).await;
    let role = "---\nname: counter\ndescription: counts\nmodel: played/careful\ntools: [read_file, grep]\n---\nCount well: {{task}}\n";
    put(&boat.ground.root(), "agents/counter.md", role);
    let brief = Brief { body: "Count all lines.".to_owned(), agent: Some("counter".to_owned()), ..Brief::default() };
    boat.runtime.dispatch(&boat.session, brief).await.unwrap();
    assert_eq!(boat.task_ended(1).await.status, TaskStatus::Done);
    let asked = other.lock().unwrap().clone();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].1.contains("Count well: Count all lines."), "{}", asked[0].1);
    assert_eq!(asked[0].2, ["grep", "read_file"]);
    boat.idle().await;
    let named = Brief { model: Some("played/plain".to_owned()), ..boat.task(1).task().unwrap().brief };
    boat.runtime.dispatch(&boat.session, named).await.unwrap();
    boat.task_ended(2).await;
    assert_eq!(other.lock().unwrap().len(), 1, "the brief's model goes before the role's");
}

/// A worker that tries to write each path once and then says what it was told.
fn writes(paths: [&'static str; 5]) -> Arc<dyn Model> {
    played("writes", move |ask: Ask| async move {
        if !ask.is_worker() {
            return says("thanks");
        }
        if ask.messages.len() == 1 {
            return calls(paths.map(|path| ("write_file", json!({"path": path, "content": "x"}))));
        }
        let refused = |message: &Arc<Message>| message.results().map(|result| !result.is_error).collect::<Vec<_>>();
        says(format!("{:?}", ask.messages.iter().flat_map(refused).collect::<Vec<bool>>()))
    })
}

#[tokio::test]
async fn a_worker_writes_in_its_own_directory_and_where_its_brief_says() {
    let paths = [".tasks/t_001/notes.md", "src/a.rs", "README.md", ".tasks/t_002/notes.md", "../outside"];
    let mut boat = boat(writes(paths)).await;
    let brief = Brief { body: "Write.".to_owned(), touches: vec!["src".to_owned()], ..Brief::default() };
    boat.runtime.dispatch(&boat.session, brief).await.unwrap();
    assert_eq!(boat.task_ended(1).await.answer, "[true, true, false, false, false]");
    let root = boat.ground.root();
    let written = paths.map(|path| root.join(path).exists());
    assert_eq!(written, [true, true, false, false, false]);
}

/// What a task may write is read from its task.md when it goes on after a rest.
#[tokio::test]
async fn a_worker_cannot_change_what_it_was_asked() {
    let own = ".tasks/t_001/task.md";
    let model = played("widens", move |ask: Ask| async move {
        if !ask.is_worker() {
            return says("thanks");
        }
        let forged = "---\nid: t_001\ntitle: x\ntouches: [src]\n---\nx\n";
        let shell =
            format!("echo forged >{own}; cp {own} {own}.new; echo forged >>{own}.new; mv {own}.new {own}; rm {own}");
        match ask.messages.len() {
            1 => calls([("write_file", json!({"path": own, "content": forged})), ("shell", json!({"command": shell}))]),
            _ => {
                says(format!("{:?}", ask.messages.iter().flat_map(|said| said.results().map(|it| it.is_error)).next()))
            }
        }
    });
    let mut boat = boat(model).await;
    let brief = Brief { title: "count".to_owned(), body: "Count lines.".to_owned(), ..Brief::default() };
    boat.runtime.dispatch(&boat.session, brief.clone()).await.unwrap();
    assert_eq!(boat.task_ended(1).await.answer, "Some(true)");
    let task = boat.task(1).task().unwrap();
    assert_eq!((task.brief.title, task.brief.body.trim(), task.brief.touches), (brief.title, "Count lines.", vec![]));
    assert_eq!(task.status, TaskStatus::Done, "the program can");
}

#[tokio::test]
async fn a_brief_that_a_hand_changed_while_it_waited_is_the_one_that_counts() {
    let (shown, gate) = (Shown::default(), Arc::new(Semaphore::new(0)));
    let (seen, held) = (shown.clone(), gate.clone());
    let model = played("waits", move |ask: Ask| {
        seen.lock().unwrap().push((ask.first(), ask.system.clone(), ask.tools.clone()));
        let held = held.clone();
        async move {
            if ask.is_worker() {
                held.acquire().await.unwrap().forget();
            }
            says("ok")
        }
    });
    let mut boat = boat_with(model, |config| config.crew.running = 1).await;
    for _ in 0..3 {
        let brief = Brief { title: "count".to_owned(), body: "Count lines.".to_owned(), ..Brief::default() };
        boat.runtime.dispatch(&boat.session, brief).await.unwrap();
    }
    let changed = boat.task(2).path().join("task.md");
    fs::write(&changed, fs::read_to_string(&changed).unwrap().replace("Count lines.", "Count words.")).unwrap();
    fs::write(boat.task(3).path().join("task.md"), "---\nid: t_003\ntitle: [\n---\n").unwrap();
    gate.add_permits(3);
    let asked = boat.asked(3).await.text;
    assert!(asked.contains("t_003/task.md") && asked.contains("line"), "{asked}");
    boat.runtime.answer(TaskId(3), None, "give up".to_owned()).await.unwrap();
    assert_eq!(boat.task_ended(3).await.status, TaskStatus::Failed);
    let firsts: Vec<String> = shown.lock().unwrap().iter().map(|(first, ..)| first.clone()).collect();
    assert!(firsts.contains(&"Task t_002: count\n\nCount words.".to_owned()), "{firsts:?}");
}
