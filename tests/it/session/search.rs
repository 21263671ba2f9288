//! Words found in all sessions.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use tillerman::session::store::{Found, Search};
use tillerman::session::{Place, Record, Session, Store};

use super::{add, note, recorded, result, says, started};

fn stocked(dir: &Path) -> Store {
    let store = Store::new(dir);
    recorded(dir);
    let mut session = Session::create_named(&dir.join("workers/t_001.jsonl")).unwrap();
    add(&mut session, Record::user("count the Käse"));
    let mut session = Session::create_named(&dir.join("old.jsonl")).unwrap();
    add(&mut session, Record::user("the \"quoted\" word\tand a new\nline"));
    drop(session);
    store.archive("old").unwrap();
    store
}

fn find(store: &Store, search: Search) -> Vec<Found> {
    let mut found = Vec::new();
    let passed_over = store.search(&search, &mut |one| {
        found.push(one);
        ControlFlow::Continue(())
    });
    assert!(passed_over.unwrap().is_empty());
    found
}

/// Who said it, where and what, of all hits.
fn seen(store: &Store, words: &str) -> Vec<String> {
    let search = Search { archived: true, workers: true, each: 9, ..Search::of(words).unwrap() };
    let hits = find(store, search).into_iter().flat_map(|found| {
        let place = if found.worker { "worker" } else { found.place.name() };
        found.hits.into_iter().map(move |hit| format!("{place} m{} {}: {}", hit.seq, hit.said_by, hit.excerpt))
    });
    hits.collect()
}

#[test]
fn all_words_must_be_in_an_entry_whatever_their_case() {
    let dir = tempfile::tempdir().unwrap();
    let store = stocked(dir.path());
    assert_eq!(seen(&store, "GRÜSSE"), [""; 0], "case is folded character by character");
    assert_eq!(seen(&store, "GRÜßE"), ["current m1 user: grüße"]);
    assert_eq!(seen(&store, "OUT b"), ["current m5 tool: out b"]);
    assert_eq!(seen(&store, "greet"), ["current m8 title: Greetings"]);
    assert_eq!(seen(&store, "echo look"), ["current m2 assistant: look echo {} echo {}"]);
    assert_eq!(seen(&store, "look hurry"), [""; 0], "in two entries");
    assert_eq!(seen(&store, "hurry"), ["current m7 user: hurry"]);
    assert_eq!(seen(&store, "käse"), ["worker m1 user: count the Käse"]);
    assert_eq!(seen(&store, "\"quoted\" line"), ["archive m1 user: the \"quoted\" word and a new line"]);
    assert_eq!(seen(&store, "tool_started"), [""; 0], "what is no text is not searched");
    assert!(Search::of("  ").is_none() && Search::of(&"a ".repeat(17)).is_none());
}

#[test]
fn archive_and_workers_are_searched_when_they_are_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let store = stocked(dir.path());
    assert_eq!(find(&store, Search::of("käse").unwrap()), []);
    assert_eq!(find(&store, Search::of("quoted").unwrap()), []);
    let found = find(&store, Search { archived: true, ..Search::of("quoted").unwrap() });
    assert_eq!(
        found.iter().map(|found| (found.session.id.as_str(), found.place)).collect::<Vec<_>>(),
        [("old", Place::Archive)]
    );
    store.delete("old").unwrap();
    assert_eq!(find(&store, Search { archived: true, ..Search::of("quoted").unwrap() }), [], "not in the trash");
}

#[test]
fn of_many_hits_the_newest_are_told_and_the_others_counted() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::create_named(&dir.path().join("long.jsonl")).unwrap();
    for turn in 0..10 {
        add(&mut session, Record::user(format!("needle {turn}")));
        add(&mut session, says("", &["a"]));
        add(&mut session, started("a"));
        add(&mut session, result("a"));
        add(&mut session, note(turn, "hay"));
    }
    let found = find(&Store::new(dir.path()), Search { each: 2, ..Search::of("needle").unwrap() });
    let hits: Vec<&str> = found[0].hits.iter().map(|hit| hit.excerpt.as_str()).collect();
    assert_eq!((hits, found[0].more), (vec!["needle 8", "needle 9"], 8));
    assert_eq!(session.entries(), 51, "a session is searched while it is open");
}

#[test]
fn an_excerpt_shows_the_place_and_damage_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::create_named(&dir.path().join("long.jsonl")).unwrap();
    add(&mut session, Record::user(format!("{} needle {}", "ä ".repeat(300), "ö ".repeat(300))));
    add(&mut session, Record::user("needle damaged"));
    let path = session.path().unwrap();
    let text = fs::read_to_string(path).unwrap().replace("damaged", "dämaged");
    fs::write(path, text + "{\"v\":1 needle").unwrap();
    let store = Store::new(dir.path());
    let found = find(&store, Search::of("needle").unwrap());
    let [hit] = found[0].hits.as_slice() else { panic!("{found:?}") };
    assert!(hit.excerpt.starts_with("…ä ä") && hit.excerpt.ends_with("ö…"), "{}", hit.excerpt);
    assert!(hit.excerpt.contains(" needle ") && hit.excerpt.chars().count() < 170, "{}", hit.excerpt);
}
