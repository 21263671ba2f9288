//! Where things live, the lock and the atomic write. (The path policy has its own tests.)

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tillerman::workspace::{self, Workspace, WorkspaceError, write_atomic};

fn temp() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap();
    (dir, path)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_workspace_knows_its_folders_and_makes_its_state_private() {
    let (_dir, base) = temp();
    let (root, home) = (base.join("my project"), base.join("home"));
    fs::create_dir(&root).unwrap();
    let workspace = Workspace::open(&root, &home).unwrap();

    let state = workspace.state().to_path_buf();
    let name = state.file_name().unwrap().to_str().unwrap();
    assert_eq!((workspace.root(), workspace.home()), (root.as_path(), home.as_path()));
    assert_eq!(state.parent().unwrap(), home.join("workspaces"));
    assert_eq!((&name[..11], name.len()), ("my_project-", 19));
    assert_eq!(workspace.tasks(), root.join(".tasks"));
    assert_eq!(workspace.sessions(), state.join("sessions"));
    assert_eq!(workspace.worker_sessions(), state.join("sessions/workers"));
    assert_eq!(workspace.traces(), state.join("traces"));
    assert_eq!(workspace.logs(), state.join("logs"));
    assert_eq!(workspace.artifacts("01J"), state.join("artifacts/01J"));
    for folder in [home, state, workspace.sessions(), workspace.traces(), workspace.logs()] {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
    }
    assert_eq!(names(&root), [""; 0], "opening writes nothing into the user's folder");
}

#[test]
fn a_workspace_is_the_same_by_any_path_and_another_by_any_name() {
    let (_dir, base) = temp();
    let home = base.join("home");
    fs::create_dir_all(base.join("a/same")).unwrap();
    fs::create_dir_all(base.join("b/same")).unwrap();
    symlink(base.join("a/same"), base.join("link")).unwrap();
    let open = |path: &str| Workspace::open(&base.join(path), &home).unwrap();
    assert_eq!(open("a/same"), open("link"));
    assert_eq!(open("a/same"), open("a/../a/same"));
    assert_ne!(open("a/same").state(), open("b/same").state());
}

#[test]
fn a_folder_that_cannot_be_used_is_refused_with_what_to_do() {
    let (_dir, base) = temp();
    fs::write(base.join("file"), "").unwrap();
    let home = base.join("home");
    let refused = |root: &Path, home: &Path| Workspace::open(root, home).unwrap_err().to_string();
    let file = base.join("file");
    let missing = base.join("missing");
    assert_eq!(
        refused(&missing, &home),
        format!(
            "cannot open the workspace {}: No such file or directory (os error 2); name an existing folder with -w",
            missing.display()
        )
    );
    assert_eq!(
        refused(&file, &home),
        format!("the workspace {} is not a folder; name a folder with -w", file.display())
    );
    let read_only = refused(Path::new("/proc/self"), &home);
    assert!(read_only.starts_with("the workspace /proc/self is not writable: "), "{read_only}");
    assert!(
        read_only.ends_with("; change its permissions, work in another folder with -w, or only look with --ephemeral"),
        "{read_only}"
    );
    assert_eq!(
        refused(&base, &file),
        format!(
            "cannot keep state in {}: File exists (os error 17); make it writable, set TILLERMAN_HOME to another folder, or keep \
             nothing with --ephemeral",
            file.display()
        )
    );
}

/// C11.
#[test]
fn a_workspace_that_keeps_nothing_needs_no_home_and_respects_who_works_there() {
    let (_dir, base) = temp();
    let scratch = |name: &str| {
        let path = base.join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let one = Workspace::ephemeral(Path::new("/proc/self"), Path::new("/proc/nothing"), &scratch("one")).unwrap();
    assert!(one.is_ephemeral() && one.sessions() == base.join("one/sessions"));
    one.lock().unwrap();

    let (root, home) = (scratch("root"), base.join("home"));
    let other = Workspace::ephemeral(&root, &home, &scratch("two")).unwrap();
    let kept = Workspace::open(&root, &home).unwrap();
    let held = kept.lock().unwrap();
    assert!(matches!(other.lock(), Err(WorkspaceError::Locked { .. })));
    drop(held);
    let held = other.lock().unwrap();
    assert!(matches!(kept.lock(), Err(WorkspaceError::Locked { .. })));
    drop(held);
    assert!(!kept.is_ephemeral());
}

#[test]
fn sessions_may_be_kept_elsewhere() {
    let (_dir, base) = temp();
    let workspace = Workspace::open(&base, &base.join("home")).unwrap();
    let state = workspace.state().to_path_buf();
    let workspace = workspace.with_sessions(&base.join("kept")).unwrap();
    assert_eq!((workspace.sessions(), workspace.worker_sessions()), (base.join("kept"), base.join("kept/workers")));
    assert_eq!((mode(&base.join("kept/workers")), workspace.state()), (0o700, state.as_path()));
    fs::write(base.join("file"), "").unwrap();
    workspace.with_sessions(&base.join("file")).unwrap_err();
}

#[test]
fn the_home_comes_from_the_variable_or_the_home_directory() {
    let home = |pairs: &[(&str, &str)]| {
        let pairs: Vec<(String, OsString)> = pairs.iter().map(|(k, v)| (k.to_string(), v.into())).collect();
        workspace::home_from(&|name| pairs.iter().find(|(k, _)| k == name).map(|(_, v)| v.clone())).unwrap()
    };
    assert_eq!(home(&[("TILLERMAN_HOME", "/x/y"), ("HOME", "/h")]), Path::new("/x/y"));
    assert_eq!(home(&[("TILLERMAN_HOME", ""), ("HOME", "/h")]), Path::new("/h/.tillerman"));
    assert_eq!(home(&[("TILLERMAN_HOME", "rel")]), std::env::current_dir().unwrap().join("rel"));
}

#[test]
fn one_process_works_in_a_workspace_and_the_next_is_told_which() {
    let (_dir, base) = temp();
    let workspace = Workspace::open(&base, &base.join("home")).unwrap();
    let held = workspace.lock().unwrap();
    let error = workspace.lock().unwrap_err();
    let WorkspaceError::Locked { root, owner } = &error else { panic!("{error}") };
    assert_eq!(root, &base);
    assert_eq!(owner.pid, Some(std::process::id()));
    assert!(owner.to_string().starts_with(&format!("process {} since 20", std::process::id())), "{owner}");
    assert_eq!(mode(&workspace.state().join("lock")), 0o600);
    drop(held);
    workspace.lock().unwrap();
}

#[test]
fn a_lock_that_is_dropped_is_over_also_while_a_child_has_its_file() {
    let (_dir, base) = temp();
    let workspace = Workspace::open(&base, &base.join("home")).unwrap();
    let held = workspace.lock().unwrap();
    // As a child has all files that are open, until it becomes another program.
    let path = workspace.state().join("lock");
    let mut open = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let ours = open.find(|entry| fs::read_link(entry.path()).is_ok_and(|to| to == path)).unwrap();
    let us = rustix::process::pidfd_open(rustix::process::getpid(), rustix::process::PidfdFlags::empty()).unwrap();
    let number = ours.file_name().to_str().unwrap().parse().unwrap();
    let _child = rustix::process::pidfd_getfd(us, number, rustix::process::PidfdGetfdFlags::empty()).unwrap();
    drop(held);
    workspace.lock().unwrap();
}

#[test]
fn c17_a_lock_file_left_behind_bars_nobody() {
    let (_dir, base) = temp();
    let workspace = Workspace::open(&base, &base.join("home")).unwrap();
    for stale in [&b"process 1 since 2020-01-01 00:00:00 UTC, with a longer line than ours\n"[..], b"\xff\xfe", b""] {
        fs::write(workspace.state().join("lock"), stale).unwrap();
        let held = workspace.lock().unwrap();
        assert_eq!(held.was_left(), stale.starts_with(b"process"));
        let text = fs::read_to_string(workspace.state().join("lock")).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.starts_with(&format!("process {} ", std::process::id())), "{text}");
        drop(held);
    }
}

#[test]
fn c17_a_lock_that_a_dead_owner_s_child_still_has_is_waited_for() {
    let (_dir, base) = temp();
    let workspace = Workspace::open(&base, &base.join("home")).unwrap();
    let path = workspace.state().join("lock");
    // No process has a number as high as that.
    fs::write(&path, "process 4194305 since 2026-01-01 00:00:00 UTC\n").unwrap();
    let held = fs::File::open(&path).unwrap();
    held.try_lock().unwrap();
    let lets_go = std::thread::spawn(move || {
        std::thread::park_timeout(std::time::Duration::from_millis(50));
        drop(held);
    });
    assert!(workspace.lock().unwrap().was_left());
    lets_go.join().unwrap();
}

#[test]
fn an_atomic_write_replaces_the_whole_file_and_leaves_nothing_beside_it() {
    let (_dir, base) = temp();
    let path = base.join("task.md");
    write_atomic(&path, b"a much longer first text").unwrap();
    assert_eq!(mode(&path), 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    write_atomic(&path, b"second").unwrap();
    assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"second".to_vec(), 0o644));
    assert_eq!(names(&base), ["task.md"]);
}

#[test]
fn an_atomic_write_that_fails_leaves_the_old_state() {
    let (_dir, base) = temp();
    fs::create_dir(base.join("folder")).unwrap();
    write_atomic(&base.join("folder"), b"x").unwrap_err();
    write_atomic(&base.join("missing/file"), b"x").unwrap_err();
    assert_eq!(names(&base), ["folder"]);
}

#[test]
fn a_reader_never_sees_half_of_an_atomic_write() {
    let (_dir, base) = temp();
    let path = base.join("status.md");
    let (old, new) = (vec![b'a'; 100_000], vec![b'b'; 100_000]);
    write_atomic(&path, &old).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for bytes in [&new, &old].repeat(10) {
                write_atomic(&path, bytes).unwrap();
            }
        });
        while !writer.is_finished() {
            let seen = fs::read(&path).unwrap();
            assert!(seen == old || seen == new, "{} bytes, mixed", seen.len());
        }
    });
}

#[test]
fn the_branch_is_read_without_git() {
    let (_dir, base) = temp();
    assert_eq!(workspace::git::branch(&base), None);
    let (inner, git) = (base.join("src/deep"), base.join(".git"));
    fs::create_dir_all(&inner).unwrap();
    fs::create_dir(&git).unwrap();
    assert_eq!(workspace::git::branch(&inner), None, "there is no HEAD");
    let head = |text: &str| {
        fs::write(git.join("HEAD"), text).unwrap();
        workspace::git::branch(&inner)
    };
    assert_eq!(head("ref: refs/heads/feature/ünicode\n").as_deref(), Some("feature/ünicode"));
    assert_eq!(head("0123456789abcdef0123456789abcdef01234567\n").as_deref(), Some("0123456"));
    assert_eq!(head("ref: refs/heads/\u{1b}[31mred\n").as_deref(), Some("[31mred"), "no escape gets through");
    for nonsense in ["", "\n", "zzz", "no hash at all"] {
        assert_eq!(head(nonsense), None, "{nonsense:?}");
    }
    let tree = base.join("tree");
    fs::create_dir(&tree).unwrap();
    fs::create_dir_all(git.join("worktrees/tree")).unwrap();
    fs::write(tree.join(".git"), format!("gitdir: {}\n", git.join("worktrees/tree").display())).unwrap();
    fs::write(git.join("worktrees/tree/HEAD"), "ref: refs/heads/aside\n").unwrap();
    assert_eq!(workspace::git::branch(&tree).as_deref(), Some("aside"));
}
