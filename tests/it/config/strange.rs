//! What a strange workspace may do to whoever opens it (T04, T07, T08, T09, T22).

use std::fs;
use std::path::Path;

use tillerman::config;

use super::front;
use crate::cli::Place;

#[test]
fn t04_a_run_without_a_person_trusts_nothing() {
    let place = Place::new();
    fs::write(place.path().join("config.md"), "---\nworkers: 99\nbase_url: http://127.0.0.1:9/v1\n---\n").unwrap();
    fs::write(place.path().join(".env"), "OPENAI_API_KEY=sk-of-a-stranger\n").unwrap();
    let done = place.tillerman(&["run", "2 * 3"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("not trusted yet"), "{}", done.stderr);
    assert!(!place.home.path().join("trust.yaml").exists());
}

/// YAML that grows, that is deep, that is long.
fn bombs() -> [(&'static str, String); 3] {
    let mut laughs = "a: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (this, before) in ('b'..='z').zip('a'..='y') {
        let all = vec![format!("*{before}"); 10].join(", ");
        laughs.push_str(&format!("{this}: &{this} [{all}]\n"));
    }
    let deep = format!("a: {}{}\n", "[".repeat(20_000), "]".repeat(20_000));
    [("aliases", laughs), ("depth", deep), ("10 MB", format!("a: {}\n", "x".repeat(10 << 20)))]
}

#[test]
fn t07_no_frontmatter_takes_the_program_down() {
    for (what, yaml) in bombs() {
        let files = ["config.md", "skills/x/SKILL.md", "agents/x.md"];
        for (file, refusal) in files.into_iter().zip(["✗", "skill left out", "role left out"]) {
            let place = Place::new();
            let path = place.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, front(&yaml)).unwrap();
            let said = place.tillerman(&["doctor"]).stdout;
            assert!(said.contains(refusal), "{what} in {file}: {said}");
        }
        let place = Place::new();
        fs::write(place.home.path().join("config.yaml"), &yaml).unwrap();
        assert!(place.tillerman(&["doctor"]).stdout.contains("config.yaml"), "{what}");
    }
}

#[test]
fn t08_what_nobody_sees_is_told_with_file_and_line() {
    let text = "# Rules\nBe brief.\u{200b}\nfine \u{1f469}\u{200d}\u{1f4bb} \u{2714}\u{fe0f}\nturn \u{202e}around\n";
    let tags: String = "do it".chars().map(|c| char::from_u32(0xe0000 + u32::from(c)).unwrap()).collect();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("skills/x")).unwrap();
    fs::write(root.join("AGENTS.md"), text).unwrap();
    fs::write(root.join("config.md"), "\u{feff}---\nmodel: pilot\n---\n").unwrap();
    fs::write(root.join("skills/x/SKILL.md"), format!("---\nname: x\n---\n{tags}\n")).unwrap();
    let expected = [
        "AGENTS.md line 2 has a character that nobody sees (U+200B)",
        "AGENTS.md line 4 has a character that nobody sees (U+202E)",
        "skills/x/SKILL.md line 4 has a character that nobody sees (U+E0064)",
    ];
    assert_eq!(config::review(root), expected);

    let place = Place::new();
    fs::write(place.path().join("AGENTS.md"), text).unwrap();
    for words in [["init"], ["doctor"]] {
        let said = place.tillerman(&words).stdout;
        assert!(said.contains(expected[0]) && said.contains(expected[1]), "{said}");
    }
}

#[test]
fn t22_everything_that_is_built_in_comes_from_one_registry_and_is_pinned() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap();
    let packages: Vec<&str> = lock.split("[[package]]").skip(1).collect();
    let field = |package: &str, name: &str| {
        let line = package.lines().find(|line| line.starts_with(&format!("{name} = ")))?;
        Some(line.split_once(" = ")?.1.trim_matches('"').to_owned())
    };
    let mut sources = std::collections::BTreeSet::new();
    for package in packages {
        let name = field(package, "name").unwrap();
        let Some(source) = field(package, "source") else {
            assert_eq!(name, "tillerman", "a package from a folder");
            continue;
        };
        assert!(source.starts_with("registry+"), "{name} comes from {source}");
        assert!(field(package, "checksum").is_some_and(|sum| sum.len() == 64), "{name} has no checksum");
        sources.insert(source);
    }
    assert_eq!(sources.len(), 1, "{sources:?}");
    assert!(!root.join("build.rs").exists(), "a script that runs when the program is built");
}
