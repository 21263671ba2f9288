//! What `init` writes, and that it never overwrites.

use std::fs;

use tillerman::config::{self, Wrote};

use super::Scene;

const FILES: [&str; 5] = ["AGENTS.md", "config.md", "memory/memory.md", "skills/changelog.md", ".tasks/.gitignore"];

fn wrote(new: [bool; 5]) -> Vec<Wrote> {
    FILES.iter().zip(new).map(|(path, new)| Wrote { path: path.into(), new }).collect()
}

#[test]
fn init_makes_a_workspace_and_keeps_what_is_there() {
    let scene = Scene::new();
    let ws = scene.dir.path().join("ws");
    fs::write(ws.join("AGENTS.md"), "mine").unwrap();
    assert_eq!(config::init(&ws).unwrap(), wrote([false, true, true, true, true]));
    assert_eq!(fs::read_to_string(ws.join("AGENTS.md")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(ws.join(".tasks/.gitignore")).unwrap(), "*\n");

    fs::write(ws.join("config.md"), "---\nworkers: 3\n---\n").unwrap();
    assert_eq!(config::init(&ws).unwrap(), wrote([false; 5]));
    assert_eq!(fs::read_to_string(ws.join("config.md")).unwrap(), "---\nworkers: 3\n---\n");
}

#[test]
fn the_config_that_init_writes_changes_nothing_and_its_lines_are_right_when_uncommented() {
    let scene = Scene::new();
    let path = scene.dir.path().join("ws/config.md");
    let before = scene.config();
    config::init(path.parent().unwrap()).unwrap();
    let after = scene.config();
    assert_eq!((after.origins, after.warnings), (before.origins, Vec::new()));

    let text = fs::read_to_string(&path).unwrap().replace("# base_url", "## base_url");
    fs::write(&path, text.replace("\n# Settings", "\n## Settings").replace("\n# ", "\n")).unwrap();
    let scene = scene.trusted();
    let config = scene.config();
    assert_eq!(config.choice.id.to_string(), "anthropic/claude-sonnet-5-5");
    assert_eq!((config.warnings, config.main.context_window), (Vec::new(), 200_000));
}

#[test]
fn init_says_which_file_it_cannot_write() {
    let scene = Scene::new();
    let ws = scene.dir.path().join("ws");
    fs::write(ws.join("memory"), "a file").unwrap();
    let error = config::init(&ws).unwrap_err().to_string();
    assert_eq!(error, format!("cannot use {}: File exists (os error 17)", ws.join("memory/memory.md").display()));
}
