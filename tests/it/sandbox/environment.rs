//! Which variables a command gets.

use std::ffi::OsString;

use tillerman::sandbox::Environment;

use super::{Ground, text};

fn check(given: &[(&str, &str)], names: &[&str]) {
    let given = given.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let environment = Environment::of(given);
    let got: Vec<&str> = environment.variables().map(|(name, _)| name.to_str().unwrap()).collect();
    assert_eq!(got, names);
}

#[test]
fn keys_and_passwords_do_not_pass() {
    let given = [
        ("PATH", "/bin"),
        ("ANTHROPIC_API_KEY", "sk-1"),
        ("GITHUB_TOKEN", "t"),
        ("AWS_SECRET_ACCESS_KEY", "s"),
        ("SSH_AUTH_SOCK", "/tmp/agent"),
        ("BASH_ENV", "/tmp/evil"),
        ("LC_ALL", "C"),
        ("HTTPS_PROXY", "http://user:password@proxy:8080"),
        ("HTTP_PROXY", "http://proxy:8080"),
        ("TERM", "xterm"),
    ];
    let added = ["AGENT", "TERM", "PAGER", "GIT_PAGER", "GIT_EDITOR", "GIT_TERMINAL_PROMPT"];
    check(&given, &[&["PATH", "LC_ALL", "HTTP_PROXY"], added.as_slice()].concat());
}

#[tokio::test]
async fn a_command_knows_that_an_agent_runs_it() {
    let finished = Ground::new().run("echo $AGENT $TERM $ZOO_NOT ${TILLERMAN_COMMAND:+marked}").await;
    assert_eq!(text(&finished), "tillerman dumb marked\n");
}
