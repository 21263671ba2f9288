//! Every promise of the five source documents, by its id: the test that holds it, or the work that will bring it.

mod agents;
mod crew;
mod library;
mod process;
mod run;
mod s0;
mod s1;
mod s2;
mod s3;
mod s4;
mod scene;
mod tools;
mod wire;
mod words;
mod workers;

use std::path::Path;

use crate::house::source::{self, Source};

/// A promise and where it stands.
pub struct Promise {
    id: &'static str,
    state: State,
}

enum State {
    /// Held by this test, `room::file::name_of_the_test`.
    Tested(&'static str),
    /// Not held yet; what will bring it.
    Later(&'static str),
}

const fn tested(id: &'static str, test: &'static str) -> Promise {
    Promise { id, state: State::Tested(test) }
}

const fn later(id: &'static str, what: &'static str) -> Promise {
    Promise { id, state: State::Later(what) }
}

const SOURCES: [(&str, usize, &[Promise]); 5] = [
    ("S0", 65, s0::PROMISES),
    ("S1", 48, s1::PROMISES),
    ("S2", 83, s2::PROMISES),
    ("S3", 73, s3::PROMISES),
    ("S4", 39, s4::PROMISES),
];

fn promises() -> impl Iterator<Item = &'static Promise> {
    SOURCES.iter().flat_map(|(_, _, promises)| promises.iter())
}

/// The test's name if there is no such test in the sources.
fn missing(test: &str, sources: &[Source]) -> Option<String> {
    let (module, name) = test.rsplit_once("::")?;
    let file = |source: &&Source| module_of(&source.path) == module;
    let found = sources.iter().filter(file).any(|source| declares(&source.text, name));
    (!found).then(|| test.to_owned())
}

fn module_of(path: &Path) -> String {
    let path = path.with_extension("");
    let parts = path.iter().map(|part| part.to_string_lossy()).filter(|part| part != "mod");
    parts.collect::<Vec<_>>().join("::")
}

/// A function of this name with a `test` attribute in the lines right above it.
fn declares(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let head = format!("fn {name}(");
    lines.iter().enumerate().any(|(at, line)| {
        let is_head = line.strip_prefix("async ").unwrap_or(line).starts_with(&head);
        let above = lines[..at].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"));
        is_head && above.into_iter().any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
    })
}

#[test]
fn every_promise_is_listed_once_and_in_order() {
    for (source, count, promises) in SOURCES {
        let expected: Vec<String> = (1..=count).map(|number| format!("{source}-{number:02}")).collect();
        let listed: Vec<&str> = promises.iter().map(|promise| promise.id).collect();
        assert_eq!(listed, expected);
    }
}

#[test]
fn every_promise_that_is_called_tested_has_its_test() {
    let sources = source::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it"), "rs");
    let missing = promises().filter_map(|promise| match promise.state {
        State::Tested(test) => missing(test, &sources).map(|test| format!("{}: no test {test}", promise.id)),
        State::Later(_) => None,
    });
    let missing: Vec<String> = missing.collect();
    assert!(missing.is_empty(), "\n{}\n", missing.join("\n"));
}

#[test]
fn every_promise_that_is_not_held_says_what_will_bring_it() {
    let silent = promises().filter(|promise| matches!(promise.state, State::Later(what) if what.len() < 4));
    assert_eq!(silent.map(|promise| promise.id).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_test_that_does_not_exist_is_found() {
    let text =
        "#[test]\nfn real() {}\nfn helper() {}\n\n#[tokio::test(start_paused = true)]\n// why\nasync fn slow() {}\n";
    let sources = [Source::new("room/file.rs", text), Source::new("room/mod.rs", "#[test]\nfn top() {}")];
    let held = ["room::file::real", "room::file::slow", "room::top"];
    assert_eq!(held.map(|test| missing(test, &sources)), [None, None, None]);
    let broken = ["room::file::helper", "room::file::rea", "room::real", "room::file::gone"];
    assert_eq!(broken.map(|test| missing(test, &sources)), broken.map(|test| Some(test.to_owned())));
}
