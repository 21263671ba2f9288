//! `tillerman config`: every setting, its value, and where that comes from.

use std::fs;

use serde_json::{Value, json};

use super::Place;

fn told(place: &Place, args: &[&str], env: &[(&str, &str)]) -> Value {
    let done = place.tillerman_with(args, env, "");
    assert_eq!(done.code, Some(0), "{done:?}");
    serde_json::from_str(&done.stdout).unwrap()
}

fn of<'a>(said: &'a Value, key: &str) -> &'a Value {
    said["settings"].as_array().unwrap().iter().find(|setting| setting["key"] == key).unwrap()
}

#[test]
fn each_setting_has_its_value_and_where_it_comes_from() {
    let place = Place::new();
    fs::write(place.home.path().join("config.yaml"), "# mine\nworkers: 3\nqueue: 5\n").unwrap();
    fs::write(place.path().join("config.md"), "---\nname: x\nqueue: 7\nmax_tokens: 2000\n---\n").unwrap();
    fs::write(place.path().join(".env"), "\nTILLERMAN_DEPTH=2\n").unwrap();
    let args = ["--trust", "--network", "-m", "pilot", "config", "show", "--json"];
    let said = told(&place, &args, &[("TILLERMAN_MAX_TOKENS", "3000")]);
    let path = |name: &str| place.path().canonicalize().unwrap().join(name).display().to_string();
    let home = place.home.path().canonicalize().unwrap().join("config.yaml").display().to_string();
    for (key, value, from, place, line) in [
        ("workers", json!("3"), "file", json!(home), json!(2)),
        ("queue", json!("7"), "file", json!(path("config.md")), json!(3)),
        ("depth", json!("2"), "file", json!(path(".env")), json!(2)),
        ("max_tokens", json!("3000"), "variable", json!("TILLERMAN_MAX_TOKENS"), Value::Null),
        ("model", json!("pilot"), "flag", json!("--model"), Value::Null),
        ("durability", json!("turn"), "default", Value::Null, Value::Null),
        ("context_window", json!("100000000"), "model", Value::Null, Value::Null),
        ("temperature", Value::Null, "unset", Value::Null, Value::Null),
    ] {
        let expected = json!({"key": key, "value": value, "from": from, "where": place, "line": line});
        assert_eq!(*of(&said, key), expected);
    }
    let done = place.tillerman_with(&args[..6], &[], "");
    let line = |key: &str| done.stdout.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    assert_eq!(line("queue ").split_whitespace().collect::<Vec<_>>(), ["queue", "7"]);
    let done = place.tillerman(&["--trust", "config", "show", "--origin"]);
    let line = |key: &str| done.stdout.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    assert_eq!(line("queue ").split_whitespace().collect::<Vec<_>>(), ["queue", "7", "config.md:3"]);
    assert!(line("durability ").ends_with("default") && line("temperature ").ends_with("not set"), "{done:?}");
}

#[test]
fn a_setting_that_nobody_knows_is_told_with_the_nearest_and_one_that_is_wrong_with_its_line() {
    let place = Place::new();
    fs::write(place.path().join("config.md"), "---\nmax_tunrs: 3\nbase_url: https://strange.example/v1\n---\n")
        .unwrap();
    let done = place.tillerman(&["config"]);
    assert_eq!(done.code, Some(0));
    assert!(done.stderr.contains("did you mean `max_turns`?"), "{done:?}");
    assert!(done.stderr.contains("not trusted yet") && done.stdout.contains("not trusted"), "{done:?}");
    assert_eq!(*of(&told(&place, &["config", "--json"], &[]), "base_url")["from"].as_str().unwrap(), *"unset");
    fs::write(place.path().join("config.md"), "---\nqueue: many\n---\n").unwrap();
    let done = place.tillerman(&["config", "--trust"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""));
    assert!(done.stderr.contains("queue is many in ") && done.stderr.contains("line 2; it must be"), "{done:?}");
}

#[test]
fn an_address_is_shown_without_the_name_and_word_in_it() {
    let place = Place::new();
    let url = ("TILLERMAN_BASE_URL", "https://me:hunter2@127.0.0.1:1/v1");
    let done = place.tillerman_with(&["-m", "ollama/x", "config", "show", "--origin"], &[url], "");
    assert!(!done.stdout.contains("hunter2") && !done.stderr.contains("hunter2"), "{done:?}");
}
