//! `tillerman tool`, through the real program: what there is, and one tool without an agent.

use std::fs;

use serde_json::{Value, json};

use super::Place;
use crate::repl::pty::Terminal;
use crate::server::{Response, Server};

#[test]
fn s4_37_the_tools_are_listed_with_their_groups_and_what_is_on() {
    let place = Place::new();
    let told = place.tillerman(&["tool", "list"]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    let has = |line: &str| assert!(told.stdout.lines().any(|found| found.starts_with(line)), "{line}\n{}", told.stdout);
    has("core · usually on");
    has("  ✓ shell             Runs a bash command");
    has("  ✓ dispatch          within a conversation");
    has("web · usually off");
    has("  · fetch_url         Reads a web page");
    let env = [("TILLERMAN_TOOLS", "shell, web")];
    let told = place.tillerman_with(&["tool", "list", "--json"], &env, "");
    let said: Value = serde_json::from_str(&told.stdout).unwrap();
    let state = |name: &str| {
        let rows = said["tools"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap()["state"].clone()
    };
    assert_eq!(["shell", "fetch_url", "grep"].map(state), [json!("on"), json!("on"), json!("barred")]);
}

#[test]
fn s4_37_a_tool_is_described() {
    let place = Place::new();
    let told = place.tillerman(&["tool", "show", "Bash"]);
    assert!(
        told.stdout.starts_with("shell · group core, on, may change things\nRuns a bash command"),
        "{}",
        told.stdout
    );
    assert!(told.stdout.contains("\nalso called bash, exec, execute_command, run_shell_command, sh, terminal\n{\n"));
    let said: Value = serde_json::from_str(&place.tillerman(&["tool", "show", "calculator", "--json"]).stdout).unwrap();
    assert_eq!((&said["state"], &said["schema"]["required"]), (&json!("off"), &json!(["expression"])));
    let strange = place.tillerman(&["tool", "show", "nosuch"]);
    assert_eq!(strange.code, Some(2));
    let why = "tillerman: there is no tool nosuch; tillerman tool list shows those that there are\n";
    assert_eq!((strange.stdout.as_str(), strange.stderr.as_str()), ("", why));
    let bound = place.tillerman(&["tool", "call", "dispatch"]);
    assert_eq!(bound.code, Some(2));
    assert!(bound.stderr.contains("dispatch works only within a conversation"), "{}", bound.stderr);
}

#[test]
fn s4_37_a_tool_runs_without_an_agent_and_within_its_rights() {
    let place = Place::new();
    let call = |name: &str, args: &str| place.tillerman(&["tool", "call", name, args]);
    let sum = call("calculator", r#"{"expression": "6 * 7"}"#);
    assert_eq!((sum.code, sum.stdout.as_str(), sum.stderr.as_str()), (Some(0), "42\n", ""));
    let wrote = call("write_file", r#"{"path": "note.md", "content": "hello"}"#);
    assert_eq!(wrote.code, Some(0), "{}", wrote.stderr);
    assert_eq!(fs::read_to_string(place.path().join("note.md")).unwrap(), "hello");
    assert_eq!(call("list", "").code, Some(0), "no arguments are none");
    let ran = call("shell", r#"{"command": "cat note.md; exit 3"}"#);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), "hello\nexit code 3\n"));
    let refused = call("write_file", r#"{"path": "/etc/evil", "content": "x"}"#);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(7), ""));
    assert!(refused.stderr.starts_with("tillerman: /etc/evil may not be written"), "{}", refused.stderr);
    let wrong = call("calculator", "{}");
    assert!(wrong.code == Some(1) && wrong.stderr.contains("expression is missing"), "{}", wrong.stderr);
    let args = ["tool", "call", "calculator", "-", "--json"];
    let told = place.tillerman_with(&args, &[], r#"{"expression": "1/0"}"#);
    let said: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!((told.code, &said["is_error"], &said["tool"]), (Some(1), &json!(true), &json!("calculator")));
    assert_eq!(said["output"], "division by zero, at character 2");
}

/// Rules hold for it as for an agent; a script is no person who could be asked.
#[test]
fn s21_a_tool_by_hand_is_held_to_the_rules() {
    let place = Place::new();
    let rules = ["--ask", "shell(touch:*)", "--deny", "shell(mkdir:*)"];
    let args = |command: &str| json!({ "command": command }).to_string();
    let call = |command: &str, more: &[&str]| {
        let args = args(command);
        let words = ["tool", "call", "shell", &args].into_iter().chain(more.iter().copied()).chain(rules);
        place.tillerman(&words.collect::<Vec<_>>())
    };
    let denied = call("mkdir made", &[]);
    let why = "tillerman: shell was not done: denied (deny shell(mkdir:*) (--deny)); do not try it in another way\n";
    assert_eq!((denied.code, denied.stderr.as_str()), (Some(7), why));
    let asked = call("touch made", &["--json"]);
    let said: Value = serde_json::from_str(&asked.stdout).unwrap();
    assert_eq!((asked.code, &said["is_error"]), (Some(7), &json!(true)));
    assert!(said["output"].as_str().unwrap().contains("a person must allow it"), "{said}");
    assert!(!place.path().join("made").exists());
    assert_eq!(call("echo done", &[]).stdout, "done\n");
    let terminal = Terminal::start(
        place.path(),
        place.home.path(),
        &["tool", "call", "shell", &args("touch made; echo touched"), "--ask", "shell(touch:*)"],
    );
    terminal.wait_for("touched");
    assert_eq!(terminal.wait_for_end(), 0);
    assert!(place.path().join("made").exists());
}

#[test]
fn n10_a_proxy_of_the_environment_is_not_asked() {
    let place = Place::new();
    let (site, proxy) = (
        Server::answer(|_| Response::with(200, &[("content-type", "text/plain")], "straight")),
        Server::answer(|_| Response::with(200, &[("content-type", "text/plain")], "by proxy")),
    );
    let (url, proxy_url) = (site.base_url(), proxy.base_url());
    let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"];
    let mut env: Vec<(&str, &str)> = names.map(|name| (name, proxy_url.as_str())).into();
    env.push(("TILLERMAN_FETCH_HOSTS", "127.0.0.1"));
    let args = json!({ "url": url }).to_string();
    let told = place.tillerman_with(&["tool", "call", "fetch_url", &args], &env, "");
    assert!(told.stdout.contains("\nstraight\n"), "{} {}", told.stdout, told.stderr);
    assert_eq!(proxy.requests().len(), 0);
    let shut = place.tillerman(&["tool", "call", "fetch_url", &args]);
    assert!(shut.code == Some(1) && shut.stderr.contains("not on the public internet"), "{}", shut.stderr);
}
