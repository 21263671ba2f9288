//! A provider that is down, another that stands in: what a person sees of it, and what a script gets.

use serde_json::json;

use super::{KEY, files_with, is_main};
use crate::cli::{Done, Place};
use crate::server::{Response, Server, says};

/// `tillerman run -m anthropic/claude-test` with two providers at these addresses, of which the second stands in.
fn run(place: &Place, first: &str, second: &str, args: &[&str]) -> Done {
    let env = [
        ("ANTHROPIC_API_KEY", KEY),
        ("ANTHROPIC_BASE_URL", first),
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_BASE_URL", second),
        ("TILLERMAN_FALLBACK", "openai/gpt-test"),
    ];
    let all: Vec<&str> = ["run", "-m", "anthropic/claude-test"].iter().chain(args).copied().collect();
    place.tillerman_with(&all, &env, "")
}

/// A port that is given to nobody, so that no other test listens there.
const NOWHERE: &str = "http://127.0.0.1:1";

/// Asks to be left alone for longer than anybody waits.
fn busy() -> Server {
    Server::answer(|_| Response::with(429, &[("retry-after", "3600")], r#"{"error":{"message":"too many requests"}}"#))
}

#[test]
fn a_provider_that_is_gone_is_stood_in_for_and_the_person_is_told() {
    let (place, alive) = (Place::new(), Server::list([says().text("Still here.")]));
    let done = run(&place, NOWHERE, &alive.base_url(), &["hi"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Still here.\n"), "{}", done.stderr);
    let told = done.stderr.lines().find(|line| line.contains("asking openai/gpt-test"));
    let told = told.unwrap_or_else(|| panic!("{}", done.stderr));
    assert!(told.contains("anthropic: cannot connect") && told.contains("after 5 attempts"), "{told}");
    let journals = files_with(place.home.path(), r#""model":"openai/gpt-test""#);
    assert!(journals.iter().any(|path| path.contains("sessions")), "the journal says who answered: {journals:?}");
}

#[test]
fn workers_know_of_the_outage_that_the_main_agent_found() {
    let alive = Server::answer(|request| match is_main(request) {
        false => says().text("Counted.").into(),
        true if request.last_user().contains("[Worker completed t_001]") => says().text("It is done.").into(),
        true if request.results().is_empty() => says().call("d1", "dispatch", json!({"task": "count"})).into(),
        true => says().text("On it.").into(),
    });
    let (place, busy) = (Place::new(), busy());
    let done = run(&place, &busy.base_url(), &alive.base_url(), &["--wait", "count"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "On it.\nIt is done.\n"), "{}", done.stderr);
    assert_eq!(busy.requests().len(), 1, "{}", done.stderr);
}

#[test]
fn when_nobody_answers_each_is_named_once_and_the_code_is_that_of_the_first_fault() {
    let (place, busy) = (Place::new(), busy());
    let refuses = Server::answer(|_| Response::status(401, r#"{"error":{"message":"no such key"}}"#));
    let done = run(&place, &busy.base_url(), &refuses.base_url(), &["hi"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(4), ""), "{}", done.stderr);
    let why = done.stderr.lines().find(|line| line.starts_with('✗')).unwrap();
    assert!(why.contains("anthropic: 429") && why.contains("; openai/gpt-test: 401"), "{why}");
    assert_eq!((busy.requests().len(), refuses.requests().len()), (1, 1));
    assert!(!done.stderr.contains(KEY), "{}", done.stderr);
}

#[test]
fn a_wrong_key_is_nothing_to_stand_in_for() {
    let refuses = Server::answer(|_| Response::status(401, r#"{"error":{"message":"no such key"}}"#));
    let alive = Server::list([says().text("never asked")]);
    let done = run(&Place::new(), &refuses.base_url(), &alive.base_url(), &["hi"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(3), ""), "{}", done.stderr);
    assert_eq!(alive.requests().len(), 0);
}
