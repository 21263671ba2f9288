//! `tillerman demo`, through the real binary: what it says is what is on the disk afterwards.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use assert_cmd::Command;
use tempfile::TempDir;

/// Plays the demo below a folder, with no home and no key in sight.
fn play(parent: &Path) -> Output {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_tillerman"));
    demo.arg("demo").env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("TMPDIR", parent);
    demo.timeout(Duration::from_secs(100)).output().unwrap()
}

/// The one folder that a demo leaves behind.
fn folder(parent: &Path) -> PathBuf {
    let mut entries = std::fs::read_dir(parent).unwrap().map(|entry| entry.unwrap().path());
    let folder = entries.next().unwrap();
    assert_eq!(entries.next(), None);
    folder
}

fn read(path: PathBuf) -> String {
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_demo_plays_with_two_workers_and_a_steer_and_leaves_what_it_says() {
    let parent = TempDir::new().unwrap();
    let output = play(parent.path());
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""), "{told}");

    let story = [
        "The replies come from a script: no language model, no key, no network.",
        "> Please fix the failing test, and write me a report about the cart.",
        "● On it: t_00",
        "shell sh shop/test.sh → 6 passed, 1 failed · exit code 1",
        "edit_file shop/money.sh → Edited shop/money.sh",
        "shell sh shop/test.sh → 7 passed, 0 failed",
        "mend the till · .tasks/",
        "before: 6 passed, 1 failed; after: 7 passed, 0 failed.",
        "Also write what goes back to a customer who pays with a 50.00 note.",
        "↳ steer #1 seen at turn ",
        "write_file report.md → Created report.md",
        "report on the cart · .tasks/",
        "is done. report.md is written",
        "Everything it wrote, in ",
    ];
    let mut rest = told.as_str();
    for line in story {
        let Some((_, after)) = rest.split_once(line) else { panic!("no {line:?} in the rest of:\n{told}") };
        rest = after;
    }

    let folder = folder(parent.path());
    let listed: Vec<PathBuf> = rest.lines().filter_map(|line| line.strip_prefix("  ")).map(PathBuf::from).collect();
    let files: Vec<&PathBuf> = listed.iter().filter(|path| folder.join(path).is_file()).collect();
    for file in ["task.md", "progress.md", "result.md", "t_001.jsonl", "t_002.jsonl", "report.md"] {
        assert!(files.iter().any(|path| path.ends_with(file)), "{file} is not among {files:?}");
    }
    assert!(files.iter().any(|path| path.to_string_lossy().contains("/traces/")), "{files:?}");
    assert!(rest.contains("workspace/shop/money.sh (changed)"), "{rest}");

    let workspace = folder.join("workspace");
    let report = "# The cart\n\n- Total: 3447 cents\n- Change for a 50.00 note: 1553 cents\n\n\
        Counted with shop/money.sh, tests green.\n";
    assert_eq!(read(workspace.join("report.md")), report);
    for task in ["t_001", "t_002"] {
        let result = read(workspace.join(".tasks").join(task).join("result.md"));
        assert!(result.contains("status: done"), "{result}");
    }
    let tests = Command::new("sh").arg(workspace.join("shop/test.sh")).output().unwrap();
    assert_eq!(tests.status.code(), Some(0), "{tests:?}");
}

#[test]
fn a_demo_without_a_place_for_its_folder_says_so() {
    let parent = TempDir::new().unwrap();
    let missing = parent.path().join("none");
    let output = play(&missing);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let expected = format!("tillerman: cannot make a folder for the demo in {}: ", missing.display());
    assert!(said.starts_with(&expected), "{said}");
}
