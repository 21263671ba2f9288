//! `--ephemeral`: it works where nothing can be kept, and keeps nothing where it could.

use std::path::Path;

use super::Place;

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// C11: without a home that can be written, a start fails with what to do, or keeps nothing.
#[test]
fn c11_a_home_that_cannot_be_written_is_named_with_the_way_to_do_without() {
    let place = Place::new();
    let temp = tempfile::tempdir().unwrap();
    let env = [("TILLERMAN_HOME", "/proc/nothing"), ("TMPDIR", temp.path().to_str().unwrap())];
    let refused = place.tillerman_with(&["run", "17 * 4"], &env, "");
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    assert!(refused.stderr.contains("cannot keep state in /proc/nothing"), "{}", refused.stderr);
    assert!(refused.stderr.contains("or keep nothing with --ephemeral"), "{}", refused.stderr);

    let done = place.tillerman_with(&["run", "--ephemeral", "17 * 4"], &env, "");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stdout.contains("68"), "{}", done.stdout);
    assert_eq!((files(temp.path()), files(place.path())), (vec![], vec![]));

    // Also a workspace may be one that is only looked at.
    let done = place.tillerman_with(&["run", "--ephemeral", "-w", "/proc/self", "17 * 4"], &env, "");
    assert!(done.code == Some(0) && done.stdout.contains("68"), "{done:?}");
}

#[test]
fn nothing_of_a_conversation_is_kept_and_its_tasks_stay() {
    let place = Place::new();
    let temp = tempfile::tempdir().unwrap();
    let env = [("TMPDIR", temp.path().to_str().unwrap())];
    let done = place.tillerman_with(&["--ephemeral", "run", "--wait", "dispatch one: echo secret word"], &env, "");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(files(temp.path()), [""; 0]);
    let grep = std::process::Command::new("grep").arg("-r").arg("secret word").arg(place.home.path()).output().unwrap();
    assert_eq!(String::from_utf8(grep.stdout).unwrap(), "");
    assert_eq!(place.tillerman(&["sessions"]).stdout, "no sessions yet\n");
    assert!(place.tillerman(&["tasks"]).stdout.contains("✓ t_001 done"));

    let next = place.tillerman(&["run", "--wait", "dispatch two: echo hi"]);
    assert!(next.code == Some(0) && place.path().join(".tasks/t_002/result.md").exists(), "{}", next.stderr);
    let both = place.tillerman(&["--ephemeral", "-c", "run", "x"]);
    assert_eq!(both.code, Some(2), "{}", both.stderr);
}
