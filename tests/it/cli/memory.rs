//! `tillerman notes`: what agents noted, written out for another program and read again.

use std::fs;

use serde_json::{Value, json};

use super::Place;

const LINES: &str = "- 2025-03-01 [style] tabs\n\n- 2025-03-02 no category, [brackets] though\nby hand\n";

#[test]
fn c_12_notes_are_exported_as_another_program_has_them_and_read_from_there() {
    let place = Place::new();
    let all = json!([
        {"timestamp": "2025-03-01", "category": "style", "content": "tabs"},
        {"timestamp": "2025-03-02", "category": "", "content": "no category, [brackets] though"},
        {"timestamp": "", "category": "", "content": "by hand"},
    ]);
    let exported = |args: &[&str]| {
        let done = place.tillerman(&[&["notes", "export"], args].concat());
        (done.code, serde_json::from_str::<Value>(&done.stdout).unwrap_or_default(), done.stderr)
    };
    for (agent, kept, other) in [
        (&[][..], "memory/notes.md", ".agent_memory.json"),
        (&["--agent", "coder"], "memory/agents/coder.md", ".agent_memory_coder.json"),
    ] {
        let kept = place.path().join(kept);
        fs::create_dir_all(kept.parent().unwrap()).unwrap();
        fs::write(&kept, LINES).unwrap();
        assert_eq!(exported(agent), (Some(0), all.clone(), String::new()));
        let into = [agent, &["-o", other]].concat();
        assert_eq!(exported(&into).0, Some(0));
        let file = fs::read_to_string(place.path().join(other)).unwrap();
        // What is there is not written over.
        fs::write(&kept, "- new\n").unwrap();
        let (code, _, said) = exported(&into);
        assert!(code == Some(1) && said.contains(&format!("cannot write {other}: File exists")), "{said}");
        assert_eq!(fs::read_to_string(place.path().join(other)).unwrap(), file);
        // Where there are no lines, the other program's file is what an agent knows.
        fs::remove_file(&kept).unwrap();
        assert_eq!(exported(agent), (Some(0), all.clone(), String::new()));
    }
}

#[test]
fn notes_that_are_not_there_are_named() {
    let place = Place::new();
    fs::create_dir_all(place.path().join("memory/agents/broken.md")).unwrap();
    let said = |args: &[&str]| {
        let done = place.tillerman(&[&["notes", "export"], args].concat());
        (done.code, done.stderr)
    };
    let nothing = "tillerman: nothing is noted in memory/notes.md; --agent takes broken\n".to_owned();
    assert_eq!(said(&[]), (Some(1), nothing));
    let (code, why) = said(&["--agent", "broken"]);
    assert!(code == Some(1) && why.contains("the notes in memory/agents/broken.md cannot be read: "), "{why}");
    for name in ["../../notes", ".", ""] {
        assert_eq!(said(&["--agent", name]), (Some(2), format!("tillerman: {name:?} is no name of an agent\n")));
    }
}
