//! Rules from files and the command line, `tillerman permissions`, and a run that meets them.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::cli::{Place, wait_until};
use crate::server::{Server, says};
use crate::story::is_main;

fn place() -> Place {
    let place = Place::new();
    let home =
        "permissions:\n  allow:\n    - shell(git:*)\n  ask:\n    - Bash(git push:*)\n  deny: ['Read(./secret/**)']\n";
    fs::write(place.home.path().join("config.yaml"), home).unwrap();
    place
}

#[test]
fn explain_names_verdict_rule_file_and_line() {
    let place = place();
    let file = place.home.path().canonicalize().unwrap().join("config.yaml");
    let asked = place.tillerman(&["permissions", "explain", "shell(git push)"]);
    assert_eq!(asked.stdout, format!("ask: ask Bash(git push:*) ({} line 5)\n", file.display()));
    assert_eq!(asked.code, Some(7));
    let allowed = place.tillerman(&["permissions", "explain", "Bash(git status)"]);
    assert_eq!(
        (allowed.stdout, allowed.code),
        (format!("allow: allow shell(git:*) ({} line 3)\n", file.display()), Some(0))
    );
    let denied = place.tillerman(&["permissions", "explain", "Read(secret/key)", "--json"]);
    let denied: Value = serde_json::from_str(&denied.stdout).unwrap();
    assert_eq!(denied["verdict"], "deny");
    assert_eq!(denied["rule"]["rule"], "Read(./secret/**)");
    let none = place.tillerman(&["permissions", "explain", "shell(make)", "--deny", "shell(make:*)"]);
    assert_eq!(none.stdout, "deny: deny shell(make:*) (--deny)\n");
    let wider = place.tillerman(&["permissions", "explain", "escalate", "--allow", "escalate"]);
    assert_eq!((wider.code, wider.stdout.as_str()), (Some(7), "ask: a person is asked each time\n"));
    let wrong = place.tillerman(&["permissions", "explain", "nosuch(x)"]);
    assert_eq!(
        (wrong.code, wrong.stderr.as_str()),
        (Some(2), "tillerman: there is no tool nosuch; tillerman tool list shows those that there are\n")
    );
}

#[test]
fn t01_an_untrusted_workspace_can_only_make_rules_stricter() {
    let place = place();
    let own = "---\npermissions:\n  allow: [Bash]\n  deny: ['Bash(curl:*)']\n  additionalDirectories: [/]\n---\n";
    fs::write(place.path().join("config.md"), own).unwrap();
    let listed = place.tillerman(&["permissions", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let rules: Vec<&str> =
        listed["rules"].as_array().unwrap().iter().map(|rule| rule["rule"].as_str().unwrap()).collect();
    assert_eq!(rules, ["Read(./secret/**)", "Bash(curl:*)", "Bash(git push:*)", "shell(git:*)"]);
    let trusted = place.tillerman(&["permissions", "list", "--json", "--trust"]);
    assert!(trusted.stdout.contains(r#""rule":"Bash""#), "{}", trusted.stdout);
}

#[test]
fn a_rule_that_cannot_be_read_stops_the_program_and_a_dead_one_is_told_by_the_doctor() {
    let place = place();
    let wrong = place.tillerman(&["permissions", "--deny", "Bash(rm"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    assert!(
        wrong.stderr.contains("permissions in --deny: Bash(rm is no rule: its parenthesis is not closed"),
        "{}",
        wrong.stderr
    );
    let doctor = place.tillerman(&["doctor", "--deny", "Nosuch"]);
    assert!(doctor.stdout.contains("deny Nosuch (--deny) never counts: there is no tool Nosuch"), "{}", doctor.stdout);
}

#[test]
fn s21_a_run_without_a_person_is_told_why_a_call_was_not_done() {
    let command = |text: &str| says().call("c1", "shell", json!({ "command": text }));
    let server = Server::list([command("touch made"), command("git push"), says().text("As you wish.")]);
    let place = place();
    let args = ["run", "go", "--deny", "shell(touch:*)", "-m", "anthropic/x", "--base-url", &server.base_url()];
    let done = place.tillerman_with(&args, &[("ANTHROPIC_API_KEY", "sk-test-1")], "");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(!place.path().join("made").exists());
    let told: Vec<String> =
        server.requests().iter().flat_map(|request| request.results()).map(|(_, text)| text).collect();
    assert!(told[0].contains("denied (deny shell(touch:*) (--deny))"), "{told:?}");
    assert!(told[1].contains("a person must allow it (ask Bash(git push:*)"), "{told:?}");
}

/// S19: what a workspace says does not open what the command line closed, also when a person trusts it.
#[test]
fn s19_a_workspace_does_not_loosen_what_the_command_line_said() {
    let place = Place::new();
    fs::write(place.path().join("config.md"), "---\nnetwork: on\nprofile: free\n---\n").unwrap();
    let doctor = place.tillerman(&["doctor", "--trust", "--sandbox", "read-only"]);
    assert!(doctor.stdout.contains("ignored: --sandbox says how far commands reach"), "{}", doctor.stdout);
    let full = Place::new();
    fs::write(full.path().join("config.md"), "---\nprofile: full\n---\n").unwrap();
    let refused = full.tillerman(&["doctor", "--trust"]);
    assert!(refused.stdout.contains("profile is full"), "{}", refused.stdout);
}

/// A headless run with a worker that may ask, and a person at another terminal.
#[test]
fn s20_s21_a_call_of_a_worker_waits_for_a_person_at_another_terminal() {
    let server = Server::answer(|request| match (is_main(request), request.turns()) {
        (true, 0) => says().call("d1", "dispatch", json!({ "task": "Push." })).into(),
        (true, _) => says().text("Heard.").into(),
        (false, 0 | 1) => {
            says().call("c1", "shell", json!({ "command": "echo pushed | tee -a .tasks/t_001/log" })).into()
        }
        (false, _) => says().text("It is out.").into(),
    });
    let place = Place::new();
    let url = server.base_url();
    let args = ["run", "--wait", "push", "-m", "anthropic/x", "--base-url", &url, "--ask", "shell(echo:*)"];
    let mut run = place.command(&args);
    run.env("ANTHROPIC_API_KEY", "sk-test-1").env("TILLERMAN_WORKER_APPROVAL", "ask");
    let run = run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("it asks", || place.path().join(".tasks/t_001/questions/q_001.md").exists());
    let log = place.path().join(".tasks/t_001/log");
    assert!(!log.exists());
    // The crew knows of it a moment after its file is there.
    let mut said = String::new();
    wait_until("it is answered", || {
        let answered = place.tillerman(&["tasks", "answer", "t_001", "allow"]);
        said = answered.stdout;
        answered.code == Some(0)
    });
    assert!(said.starts_with("q_001 of t_001: allow"), "{said}");
    let done = run.wait_with_output().unwrap();
    let told = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(0), "{told}");
    assert!(told.contains("May it do this once (ask shell(echo:*) (--ask))? shell"), "{told}");
    assert_eq!(fs::read_to_string(log).unwrap(), "pushed\n");
}
