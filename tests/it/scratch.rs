//! The folder for temporary files: whose it is, and when it goes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use tillerman::workspace::scratch::{Scratch, sweep};

use crate::cli::Place;

#[test]
fn a_scratch_folder_is_its_users_alone_and_goes_with_its_owner() {
    let below = tempfile::tempdir().unwrap();
    let scratch = Scratch::below(below.path()).unwrap();
    let path = scratch.path().to_owned();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    fs::write(path.join("note"), "x").unwrap();
    assert_eq!((sweep(below.path()), path.is_dir()), (0, true), "its program is alive");
    drop(scratch);
    assert!(!path.exists());
}

#[test]
fn the_folder_of_a_dead_program_is_swept_and_no_other() {
    let below = tempfile::tempdir().unwrap();
    let scratch = Scratch::below(below.path()).unwrap();
    let name = scratch.path().file_name().unwrap().to_str().unwrap().to_owned();
    let ours = format!("-{}-", std::process::id());
    // Beyond what the system gives as a number of a process.
    let dead = below.path().join(name.replace(&ours, "-4999999-"));
    let elsewhere = below.path().join("tillerman-1-4999999-abc");
    let strange = below.path().join("tillerman-notes");
    for folder in [&dead, &elsewhere, &strange] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("file"), "x").unwrap();
    }
    assert_eq!(sweep(below.path()), 1);
    assert_eq!(
        [dead.exists(), elsewhere.exists(), strange.exists(), scratch.path().exists()],
        [false, true, true, true]
    );
}

#[test]
fn commands_have_a_folder_of_their_own_for_temporary_files_that_is_gone_afterwards() {
    let place = Place::new();
    let done = place.tillerman(&["run", "run mktemp"]);
    let line = done.stdout.lines().find_map(|line| line.split_whitespace().find(|word| word.contains("/tillerman-")));
    let made = PathBuf::from(line.unwrap_or_else(|| panic!("{done:?}")).trim_matches('`'));
    assert!(!made.exists() && !made.parent().unwrap().exists(), "{made:?} is left");
}
