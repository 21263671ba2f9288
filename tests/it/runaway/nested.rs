//! A worker, or its main agent, that starts the program in its shell.

use crate::cli::Place;

/// The command that asks another tillerman something, in a workspace and a home of its own.
fn inner(place: &Place, prefix: &str) -> String {
    let other = place.path().join("other");
    std::fs::create_dir_all(&other).unwrap();
    let (program, home) = (env!("CARGO_BIN_EXE_tillerman"), place.home.path().join("inner"));
    let (other, home) = (other.display(), home.display());
    format!("env {prefix} TILLERMAN_OFFLINE=1 TILLERMAN_HOME={home} {program} -w {other} run hello")
}

#[test]
fn r10_a_tillerman_inside_a_command_of_another_is_refused() {
    let place = Place::new();
    let done = place.tillerman(&["--sandbox", "full", "run", &format!("run {}", inner(&place, ""))]);
    let told = format!("{}{}", done.stdout, done.stderr);
    assert!(told.contains("this runs inside a command of another tillerman"), "{told}");
    assert!(told.contains("exit code 7"), "{told}");
    let worker =
        place.tillerman(&["--sandbox", "full", "run", "--wait", &format!("dispatch nest: {}", inner(&place, ""))]);
    let result = std::fs::read_to_string(place.path().join(".tasks/t_001/result.md")).unwrap();
    assert!(result.contains("inside a command of another tillerman"), "{worker:?}\n{result}");
}

#[test]
fn r10_a_person_may_allow_it_and_it_is_counted() {
    let place = Place::new();
    let one = place.tillerman(&["--sandbox", "full", "run", &format!("run {}", inner(&place, "TILLERMAN_NESTING=1"))]);
    assert!(!one.stdout.contains("inside a command"), "{one:?}");
    let two = inner(&place, "TILLERMAN_COMMAND=/a/b TILLERMAN_NESTING=1");
    let two = place.tillerman(&["--sandbox", "full", "run", &format!("run {two}")]);
    let told = format!("{}{}", two.stdout, two.stderr);
    assert!(told.contains("inside a command"), "{told}");
    let looks = place.tillerman_with(&["tasks", "list"], &[("TILLERMAN_COMMAND", "/a/b")], "");
    assert_eq!(looks.code, Some(0), "who only looks is not refused: {looks:?}");
}
