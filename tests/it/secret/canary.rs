//! A real program with a canary for a key: it is looked for in everything that it leaves, says and sends (T14-T18).

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use walkdir::WalkDir;

use super::CANARY;
use crate::cli::{Done, Place};
use crate::server::{Captured, Response, Server, says};

/// A shape, not a known value.
const TOKEN: &str = "ghp_a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6q7r8";

/// The program with an open umask, so that every mode is its own doing.
fn run(place: &Place, server: &Server, args: &[&str]) -> Done {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_tillerman")]);
    command.args(args).args(["-m", "anthropic/x", "--base-url", &server.base_url()]);
    command.current_dir(place.path()).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", place.home.path()).env("TILLERMAN_HOME", place.home.path()).env("TERM", "dumb");
    command.env("ANTHROPIC_API_KEY", CANARY).env("TILLERMAN_LOG", "debug");
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Done { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Files below a folder that hold one of the forms, but for the one that was planted.
fn holding(folder: &Path) -> Vec<String> {
    let forms = [CANARY.to_owned(), STANDARD.encode(CANARY), "cnry%2B7f%2F3a9%3Dd51e0b".to_owned(), TOKEN.to_owned()];
    let files = WalkDir::new(folder).into_iter().map(Result::unwrap).filter(|entry| entry.file_type().is_file());
    let holds = |path: &Path| {
        let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        forms.iter().any(|form| text.contains(form.as_str()))
    };
    let found = files.filter(|entry| !entry.path().ends_with("planted.txt") && holds(entry.path()));
    found.map(|entry| entry.path().display().to_string()).collect()
}

fn plant(place: &Place) {
    let text = format!("{CANARY}\n{}\ncnry%2B7f%2F3a9%3Dd51e0b\ntoken: {TOKEN}\n", STANDARD.encode(CANARY));
    std::fs::write(place.path().join("planted.txt"), text).unwrap();
}

/// A main agent that looks at everything and says it, and a worker that does the same.
fn curious(asked: &Captured) -> Response {
    let worker = asked.system().contains("t_001");
    let split = "printf 'cnry+7f/'; sleep 0.3; echo '3a9=d51e0b'; env; cat planted.txt";
    let reply = match (asked.turns(), worker) {
        (0, _) => says()
            .text("I look.")
            .call("c1", "shell", json!({ "command": split }))
            .call("c2", "read_file", json!({"path": "planted.txt"}))
            .call("c3", "shell", json!({"command": "for i in $(seq 900); do cat planted.txt; done"}))
            .call("c4", "grep", json!({"pattern": "cnry"})),
        (1, false) => says().call("c5", "dispatch", json!({"title": "look", "task": format!("Look for {CANARY}")})),
        (2, false) => {
            says().call("c6", "write_file", json!({"path": "found.md", "content": format!("it is {CANARY}")}))
        }
        _ => says().thinking(&format!("it is {CANARY}"), "proof").text(format!("It is {CANARY}, I think.")),
    };
    reply.into()
}

#[test]
fn t14_t15_t16_t18_a_canary_is_in_no_file_stream_or_environment() {
    let (place, server) = (Place::new(), Server::answer(curious));
    plant(&place);
    let prompt = format!("my key is {CANARY}, what do you see?");
    let done = run(&place, &server, &["run", "--json", "--wait", "--record", "story.json", &prompt]);
    assert_eq!(done.code, Some(0), "{}\n{}", done.stdout, done.stderr);
    let plain = run(&place, &server, &["run", "-c", "and again?"]);
    assert_eq!(plain.code, Some(0), "{}", plain.stderr);

    for said in [&done.stdout, &done.stderr, &plain.stdout, &plain.stderr] {
        assert!(!said.contains(CANARY) && !said.contains(TOKEN), "{said}");
        assert!(!said.contains(&STANDARD.encode(CANARY)), "{said}");
    }
    assert!(done.stdout.contains("[secret ANTHROPIC_API_KEY]"), "it is said that something was hidden");
    for request in server.requests() {
        assert!(!request.contains(CANARY) && !request.contains(TOKEN), "{}", request.body);
    }
    assert_eq!(holding(place.path()), [""; 0], "in the workspace");
    assert_eq!(holding(place.home.path()), [""; 0], "in the home");
    open_to_nobody(place.home.path());
}

/// What the program owns is its user's alone.
fn open_to_nobody(home: &Path) {
    let all = WalkDir::new(home).min_depth(1).into_iter().map(Result::unwrap);
    let open = all.filter(|entry| !entry.file_type().is_symlink()).filter_map(|entry| {
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        (mode & 0o077 != 0).then(|| format!("{mode:o} {}", entry.path().display()))
    });
    assert_eq!(open.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn t17_the_error_of_a_server_that_repeats_a_key_is_told_without_it() {
    let body = json!({"error": {"message": format!("bad request with {CANARY} and {TOKEN}"), "type": "invalid"}});
    let server = Server::answer(move |_| Response::status(400, &body.to_string()));
    let place = Place::new();
    let done = run(&place, &server, &["run", "--json", "hello"]);
    assert_ne!(done.code, Some(0));
    let said = format!("{}{}", done.stdout, done.stderr);
    assert!(said.contains("bad request with"), "{said}");
    assert!(!said.contains(CANARY) && !said.contains(TOKEN), "{said}");
    assert_eq!(holding(place.path()).len() + holding(place.home.path()).len(), 0);
}

/// T19: other processes of the same user cannot read the environment of the program.
#[cfg(target_os = "linux")]
#[test]
fn t19_the_environment_of_the_program_is_closed_to_its_user() {
    use std::os::unix::fs::{MetadataExt, chown};
    use std::os::unix::process::CommandExt;
    use std::process::Stdio;

    let place = Place::new();
    let is_root = rustix::process::getuid().is_root();
    let user = if is_root { 65_534 } else { rustix::process::getuid().as_raw() };
    let mut command = place.command(&["run", "-"]);
    command.env("ANTHROPIC_API_KEY", CANARY).stdin(Stdio::piped()).stdout(Stdio::null());
    if is_root {
        for folder in [place.path(), place.home.path()] {
            chown(folder, Some(user), None).unwrap();
        }
        command.uid(user);
    }
    let mut child = command.spawn().unwrap();
    let environ = format!("/proc/{}/environ", child.id());
    crate::cli::wait_until("it is closed", || std::fs::metadata(&environ).is_ok_and(|found| found.uid() == 0));
    let mut other = Command::new("cat");
    other.arg(&environ).env_clear().env("PATH", "/usr/bin:/bin");
    if is_root {
        other.uid(user);
    }
    let read = other.output().unwrap();
    assert!(!read.status.success() && read.stdout.is_empty(), "it reads {}", String::from_utf8_lossy(&read.stdout));
    child.kill().unwrap();
    child.wait().unwrap();
}
