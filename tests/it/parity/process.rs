//! Promises that a person reaches on the command line, tried with the real program against a scripted model server.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::{Captured, Response, Server, says};

/// A workspace and a home of its own.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Place {
        let folder = TempDir::new().unwrap();
        std::fs::create_dir_all(folder.path().join("ws")).unwrap();
        Place { folder }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("ws")
    }

    /// The program with these words, in the workspace, with nothing of this machine's environment but its path.
    fn tillerman(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tillerman"));
        command.args(words).current_dir(self.root()).stdin(Stdio::null()).env_clear();
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path))).env("HOME", self.folder.path());
        command.env("TILLERMAN_HOME", self.folder.path().join("home")).env("ANTHROPIC_API_KEY", "sk-test-0123456789");
        // What listens on this machine is no part of a test.
        command.env("TILLERMAN_OFFLINE", "1");
        command
    }

    fn run(&self, server: &Server, words: &[&str]) -> Output {
        let url = server.base_url();
        let all = [&["--trust", "-m", "anthropic/claude-sonnet-5-5", "--base-url", &url], words].concat();
        let output = self.tillerman(&all).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    /// All files below the state folder of the workspace, paths from there.
    fn state(&self) -> Vec<PathBuf> {
        let folders: Vec<_> = std::fs::read_dir(self.folder.path().join("home/workspaces")).unwrap().collect();
        let root = folders.into_iter().next().unwrap().unwrap().path();
        files(&root)
    }
}

fn files(root: &Path) -> Vec<PathBuf> {
    let walk = walkdir::WalkDir::new(root).sort_by_file_name().into_iter().map(Result::unwrap);
    walk.filter(|entry| entry.file_type().is_file()).map(|entry| entry.into_path()).collect()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn s0_07_s0_09_s1_45_one_prompt_one_answer_on_stdout() {
    let server = Server::list([says().text("42")]);
    let output = Place::new().run(&server, &["run", "what", "is", "six", "times", "seven?"]);
    assert_eq!(stdout(&output), "42\n");
    assert_eq!(server.requests()[0].last_user(), "what is six times seven?");
}

#[test]
fn s0_08_a_later_run_resumes_the_conversation() {
    let server = Server::list([says().text("noted"), says().text("blue")]);
    let place = Place::new();
    place.run(&server, &["run", "my colour is blue"]);
    assert_eq!(stdout(&place.run(&server, &["-c", "run", "what is my colour?"])), "blue\n");
    let second = &server.requests()[1];
    assert!(second.contains("my colour is blue") && second.contains("noted"), "{}", second.body["messages"]);
}

#[test]
fn s0_08_sessions_are_kept_and_resumed_in_the_folder_that_is_named() {
    let server = Server::list([says().text("noted"), says().text("blue")]);
    let place = Place::new();
    let folder = place.folder.path().join("kept");
    let kept = ["--session-dir", folder.to_str().unwrap(), "run"];
    place.run(&server, &[&kept[..], &["my colour is blue"]].concat());
    assert_eq!(files(&folder).len(), 1, "{:?}", files(&folder));
    assert_eq!(stdout(&place.run(&server, &[&kept[..], &["what is my colour?"]].concat())), "blue\n");
    assert!(server.requests()[1].contains("my colour is blue"));
}

#[test]
fn s1_18_s1_19_the_workspace_is_the_one_that_is_named() {
    let server = Server::list([says().call("c1", "shell", json!({"command": "pwd"})), says().text("done")]);
    let place = Place::new();
    let other = place.folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    place.run(&server, &["-w", other.to_str().unwrap(), "run", "where?"]);
    let other = other.canonicalize().unwrap().display().to_string();
    assert!(server.requests()[0].system().contains(&other), "the system prompt names the workspace");
    assert!(server.requests()[1].results()[0].1.contains(&other), "commands run there");
}

/// The main agent dispatches one worker; both answer.
fn dispatching(request: &Captured) -> Response {
    let is_main = request.contains(r#""name":"dispatch""#);
    match (is_main, request.results().first(), request.last_user().contains("Worker completed t_001")) {
        (true, None, false) => says().call("c1", "dispatch", json!({"title": "look", "task": "run true"})).into(),
        (true, _, false) => says().text("on it").into(),
        (true, _, true) => says().text("it is done").into(),
        (false, None, _) => says().call("w1", "shell", json!({"command": "echo from-the-worker"})).into(),
        (false, Some(_), _) => says().text("all fine").into(),
    }
}

#[test]
fn s3_50_to_s3_52_s3_61_sessions_traces_and_logs_are_files_of_their_own() {
    let server = Server::answer(dispatching);
    let place = Place::new();
    let output = place.run(&server, &["run", "--wait", "please look"]);
    assert!(stdout(&output).contains("on it"), "{}", stdout(&output));
    let files = place.state();
    let one = |part: &str| -> String {
        let found: Vec<_> = files.iter().filter(|path| path.to_str().unwrap().contains(part)).collect();
        assert_eq!(found.len(), 1, "{part} among {files:?}");
        std::fs::read_to_string(found[0]).unwrap()
    };
    let worker = one("sessions/workers/t_001");
    assert!(worker.contains("echo from-the-worker") && worker.contains("all fine"), "{worker}");
    let trace = one("traces/");
    let events: Vec<Value> = trace.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let runs = events.iter().filter(|event| event["event"] == "run_start").map(|event| event["agent"].clone());
    assert_eq!(runs.collect::<Vec<_>>(), ["main", "t_001", "main"], "the worker's run is in the trace of its session");
    let worker_run = events.iter().find(|event| event["agent"] == "t_001").unwrap();
    let call = events.iter().find(|event| event["event"] == "tool_start" && event["tool"] == "dispatch").unwrap();
    assert_eq!(worker_run["link"], json!({"trace": worker_run["trace_id"], "call": call["call"]}));
    assert!(one("agent_run_t_001_").contains("TOOL CALL, shell"));
    let main = files.iter().find(|path| path.parent().unwrap().ends_with("sessions")).unwrap();
    let main = std::fs::read_to_string(main).unwrap();
    assert!(main.contains("please look") && main.contains("on it") && main.contains("it is done"), "{main}");
}

/// Whether it is kept in the workspace or where another program keeps its own (W17, U17).
#[test]
fn u17_an_agent_thinks_as_hard_as_its_file_says() {
    for folder in ["ws/agents", ".claude/agents"] {
        let server = Server::answer(|request: &Captured| {
            let is_main = request.contains(r#""name":"dispatch""#);
            match is_main && request.results().is_empty() && request.last_user() == "please think" {
                true => says().call("c1", "dispatch", json!({"task": "think", "agent": "thinker"})).into(),
                false => says().text("thought").into(),
            }
        });
        let place = Place::new();
        let folder = place.folder.path().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let file = "---\nname: thinker\ndescription: d\neffort: high\n---\nThink.\n";
        std::fs::write(folder.join("thinker.md"), file).unwrap();
        place.run(&server, &["run", "--wait", "please think"]);
        let efforts: Vec<Value> =
            server.requests().iter().map(|asked| asked.body["output_config"]["effort"].clone()).collect();
        assert!(efforts.contains(&json!("high")) && efforts[0].is_null(), "{efforts:?}");
        assert_eq!(efforts.iter().filter(|effort| !effort.is_null()).count(), 1, "only its own call: {efforts:?}");
    }
}

#[test]
fn s2_01_everything_that_is_kept_is_text() {
    let server = Server::answer(dispatching);
    let place = Place::new();
    place.run(&server, &["run", "--wait", "please look"]);
    let all = files(place.folder.path());
    assert!(all.len() > 6, "{all:?}");
    for path in all {
        let known = ["md", "jsonl", "log", "yaml"].iter().any(|ending| path.extension().is_some_and(|e| e == *ending));
        let known = known || ["lock", ".gitignore", ".relayed"].iter().any(|name| path.file_name().unwrap() == *name);
        assert!(known && std::fs::read_to_string(&path).is_ok(), "{} is not a text file", path.display());
    }
}

#[test]
fn s0_04_a_killed_run_loses_nothing_that_was_said() {
    let stalled = Response::stream().send("event: ping\ndata: {\"type\":\"ping\"}\n\n").stall();
    let call = says().call("c1", "shell", json!({"command": "echo so-far"}));
    let server = Server::list([call.into(), stalled, says().text("I remember").into()]);
    let place = Place::new();
    let url = server.base_url();
    let words = ["--trust", "-m", "anthropic/claude-sonnet-5-5", "--base-url", &url, "run", "remember this"];
    let mut child = place.tillerman(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    server.wait_until("the second request is held open", |server| server.requests().len() == 2);
    child.kill().unwrap();
    child.wait().unwrap();
    let output = place.run(&server, &["-c", "run", "what did I say?"]);
    assert_eq!(stdout(&output), "I remember\n");
    let last = server.requests().pop().unwrap();
    assert!(last.contains("remember this") && last.contains("so-far"), "{}", last.body["messages"]);
}

#[test]
fn s4_36_doctor_checks_the_set_up_and_says_what_to_do() {
    let place = Place::new();
    let output = place.tillerman(&["doctor"]).env_remove("ANTHROPIC_API_KEY").output().unwrap();
    let text = stdout(&output);
    assert!(text.contains("ANTHROPIC_API_KEY") && text.contains("pilot"), "{text}");
    assert!(!text.contains("sk-test"), "no key is shown");
}

#[test]
fn s4_38_what_the_program_logs_about_itself_is_set_by_a_variable() {
    let place = Place::new();
    let log = |level: &str| {
        let server = Server::list([says().text("hi")]);
        let url = server.base_url();
        let words = ["--trust", "-m", "anthropic/claude-sonnet-5-5", "--base-url", &url, "run", "hello"];
        assert!(place.tillerman(&words).env("TILLERMAN_LOG", level).output().unwrap().status.success());
        let path = place.state().into_iter().find(|path| path.ends_with("tillerman.log"));
        path.map(|path| std::fs::read_to_string(path).unwrap().len()).unwrap_or_default()
    };
    let quiet = log("off");
    assert_eq!(quiet, 0);
    assert!(log("trace") > 0);
}
