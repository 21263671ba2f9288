//! What tools may read and write: every way out of a workspace that a path can be, and what the refusal says.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tillerman::workspace::guarded::Guarded;
use tillerman::workspace::policy::{PathError, PathPolicy, Profile, Written};

use crate::patience::within_patience;

/// `ws` with a file and a link or two, beside `ws-evil` and `outside/secret`.
struct Ground {
    _dir: TempDir,
    root: PathBuf,
}

impl Ground {
    fn new() -> Ground {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["ws/src", "ws-evil", "outside", "ws/.git/hooks", "ws/.tasks/t_001", "ws/.tasks/t_002"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("ws/src/a.rs"), "inside").unwrap();
        fs::write(root.join("outside/secret"), "secret").unwrap();
        fs::write(root.join("ws-evil/secret"), "secret").unwrap();
        Ground { _dir: dir, root }
    }

    fn ws(&self) -> PathBuf {
        self.root.join("ws")
    }

    fn policy(&self, profile: Profile) -> PathPolicy {
        PathPolicy::new(profile, &self.ws()).unwrap()
    }
}

fn read(policy: &PathPolicy, path: &str) -> Result<String, PathError> {
    let mut text = String::new();
    policy.open(path)?.read_to_string(&mut text).unwrap();
    Ok(text)
}

fn verdict<T>(result: &Result<T, PathError>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(PathError::UnreadablePlace { .. } | PathError::UnwritablePlace { .. }) => "outside",
        Err(PathError::Protected { .. }) => "protected",
        Err(PathError::Hidden { .. } | PathError::Kept { .. } | PathError::Moved { .. }) => "hidden",
        Err(PathError::Missing { .. }) => "missing",
        Err(PathError::NotAFile { .. }) => "not a file",
        Err(PathError::Unusable { .. }) => "unusable",
        Err(PathError::Io { .. }) => "io",
    }
}

#[test]
fn f01_f02_f03_no_path_leads_out_of_the_workspace() {
    let ground = Ground::new();
    let ws = ground.ws();
    symlink("../outside/secret", ws.join("file-out")).unwrap();
    symlink(ground.root.join("outside"), ws.join("dir-out")).unwrap();
    symlink("file-out", ws.join("chain-out")).unwrap();
    symlink("loop-b", ws.join("loop-a")).unwrap();
    symlink("loop-a", ws.join("loop-b")).unwrap();
    symlink("src/a.rs", ws.join("file-in")).unwrap();
    symlink(ws.join("src"), ws.join("dir-in")).unwrap();
    let policy = ground.policy(Profile::Workspace);
    let absolute = |rel: &str| ground.root.join(rel).display().to_string();
    let table: &[(&str, &str, &str)] = &[
        ("src/a.rs", "ok", "ok"),
        ("./src/../src/a.rs", "ok", "ok"),
        (&absolute("ws/src/a.rs"), "ok", "ok"),
        ("file-in", "ok", "ok"),
        ("dir-in/a.rs", "ok", "ok"),
        ("../outside/secret", "outside", "outside"),
        ("src/../../outside/secret", "outside", "outside"),
        (&absolute("outside/secret"), "outside", "outside"),
        (&absolute("ws-evil/secret"), "outside", "outside"),
        (&absolute("outside/nothing"), "outside", "outside"),
        ("../ws-evil/secret", "outside", "outside"),
        ("file-out", "outside", "outside"),
        ("chain-out", "outside", "outside"),
        ("dir-out/secret", "outside", "outside"),
        ("dir-out/new", "outside", "outside"),
        ("loop-a", "io", "io"),
        ("/proc/self/cwd/src/a.rs", "hidden", "outside"),
        ("/proc/self/root/etc/passwd", "hidden", "outside"),
        ("/dev/fd/0", "hidden", "outside"),
        ("/etc/passwd", "outside", "outside"),
        ("src/none.rs", "missing", "ok"),
        ("src/", "not a file", "unusable"),
        ("src", "not a file", "not a file"),
        ("..", "outside", "io"),
        ("", "unusable", "unusable"),
        ("a\0b", "unusable", "unusable"),
        ("none/../a.rs", "missing", "io"),
    ];
    for (path, reads, writes) in table {
        assert_eq!((*path, verdict(&read(&policy, path))), (*path, *reads), "read");
        assert_eq!((*path, verdict(&policy.write(path, b"inside"))), (*path, *writes), "write");
    }
    assert_eq!(fs::read_to_string(ground.root.join("outside/secret")).unwrap(), "secret");
    assert_eq!(fs::read_dir(ground.root.join("outside")).unwrap().count(), 1);
    assert!(ws.join("file-in").is_symlink(), "a link stays a link (F24)");
}

#[test]
fn a_profile_says_where_writing_is_allowed() {
    let ground = Ground::new();
    fs::create_dir(ground.ws().join("knowledge")).unwrap();
    symlink("../src", ground.ws().join("knowledge/src")).unwrap();
    let task = ground.policy(Profile::Task).with_write(Path::new(".tasks/t_001")).with_write(Path::new("src/a.rs"));
    let all = ground.policy(Profile::Task).with_write(Path::new("."));
    let whole = ground.policy(Profile::WorkspaceWrite);
    let worker = whole.narrowed().with_write(Path::new(".tasks/t_001")).with_write(Path::new("src/a.rs"));
    let table: &[(&str, [&str; 9])] = &[
        // path, then: full, free, workspace-write, its worker, read-only, workspace, curated, task, task that may write
        // the whole workspace
        ("src/new.rs", ["ok", "ok", "ok", "outside", "outside", "ok", "outside", "outside", "ok"]),
        ("src/a.rs", ["ok", "ok", "ok", "ok", "outside", "ok", "outside", "ok", "ok"]),
        ("memory/MEMORY.md", ["ok", "ok", "ok", "outside", "outside", "ok", "ok", "outside", "ok"]),
        (
            "skills/s/SKILL.md",
            ["ok", "protected", "protected", "outside", "outside", "ok", "ok", "outside", "protected"],
        ),
        ("knowledge/src/via-link.rs", ["ok", "ok", "ok", "outside", "outside", "ok", "outside", "outside", "ok"]),
        (
            "config.md",
            ["ok", "protected", "protected", "outside", "outside", "protected", "outside", "outside", "protected"],
        ),
        (".env", ["ok", "protected", "protected", "outside", "outside", "ok", "outside", "outside", "protected"]),
        (
            ".tasks/t_001/notes.md",
            ["ok", "protected", "protected", "ok", "outside", "ok", "outside", "ok", "protected"],
        ),
        (
            ".tasks/t_002/notes.md",
            ["ok", "protected", "protected", "outside", "outside", "ok", "outside", "outside", "protected"],
        ),
        (".git/HEAD", ["ok", "ok", "ok", "outside", "outside", "ok", "outside", "outside", "ok"]),
        (
            ".git/hooks/pre-commit",
            ["ok", "protected", "protected", "outside", "outside", "protected", "outside", "outside", "protected"],
        ),
        (
            ".GIT/config",
            ["ok", "protected", "protected", "outside", "outside", "protected", "outside", "outside", "protected"],
        ),
        (
            "vendor/lib/.git/modules/x/config",
            ["ok", "protected", "protected", "outside", "outside", "protected", "outside", "outside", "protected"],
        ),
        ("../outside/new", ["ok", "ok", "outside", "outside", "outside", "outside", "outside", "outside", "outside"]),
    ];
    for (path, expected) in table {
        let full = verdict(&ground.policy(Profile::Full).write(path, b"x"));
        fs::remove_file(ground.ws().join(path)).unwrap();
        let [free, read_only, workspace, curated] =
            [Profile::Free, Profile::ReadOnly, Profile::Workspace, Profile::Curated].map(|it| ground.policy(it));
        let rest = [&free, &whole, &worker, &read_only, &workspace, &curated, &task, &all]
            .map(|policy| verdict(&policy.write(path, b"x")));
        assert_eq!((*path, full, &rest[..]), (*path, expected[0], &expected[1..]));
    }
}

#[test]
fn f19_f20_what_is_protected_is_refused_even_when_absent() {
    let ground = Ground::new();
    let policy = ground.policy(Profile::Free).with_protected(&ground.root.join("home/.tillerman"));
    let path = ground.root.join("home/.tillerman/config.yaml");
    assert_eq!(verdict(&policy.write(path.to_str().unwrap(), b"x")), "protected");
    assert!(!ground.root.join("home").exists());
}

/// A person's home with a key and a link to it, beside a workspace.
fn guarded(ground: &Ground) -> Guarded {
    let home = ground.root.join("person");
    fs::create_dir_all(home.join(".ssh")).unwrap();
    fs::write(home.join(".ssh/id_ed25519"), "key").unwrap();
    fs::write(home.join("notes.txt"), "notes").unwrap();
    symlink(home.join(".ssh/id_ed25519"), ground.ws().join("key-link")).unwrap();
    let env = |name: &str| (name == "HOME").then(|| home.clone().into_os_string());
    Guarded::of(&home.join(".tillerman"), &env)
}

#[test]
fn f07_s22_keys_and_the_kernels_own_files_are_hidden_and_all_else_can_be_read() {
    let ground = Ground::new();
    let policy = ground.policy(Profile::WorkspaceWrite).guarding(&guarded(&ground));
    let table: &[(&str, &str)] = &[
        ("src/a.rs", "ok"),
        ("../outside/secret", "ok"),
        ("../person/notes.txt", "ok"),
        ("/etc/passwd", "ok"),
        ("/etc/shadow", "hidden"),
        ("../person/./.ssh/../.ssh/id_ed25519", "hidden"),
        ("../person/.aws/credentials", "hidden"),
        ("key-link", "hidden"),
        ("/proc/self/environ", "hidden"),
        ("/proc/self/root/etc/passwd", "hidden"),
        ("/dev/fd/0", "hidden"),
        ("/dev/zero", "hidden"),
    ];
    for (path, expected) in table {
        assert_eq!((*path, verdict(&read(&policy, path))), (*path, *expected));
    }
    assert_eq!(verdict(&policy.resolve("../person/.ssh")), "hidden");
    let narrow = policy.with_profile(Profile::Workspace).with_read(&ground.root.join("person"));
    assert_eq!(verdict(&read(&narrow, "../person/notes.txt")), "ok");
    assert_eq!(verdict(&read(&narrow, "key-link")), "hidden");
    assert_eq!(read(&policy.with_profile(Profile::Full), "key-link").unwrap(), "key");
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let in_memory = PathPolicy::new(Profile::WorkspaceWrite, memory.path()).unwrap();
    assert_eq!((verdict(&in_memory.write("a", b"x")), verdict(&read(&in_memory, "a"))), ("ok", "ok"));
    assert_eq!(verdict(&read(&in_memory, "/dev/zero")), "hidden");
    let at_home = PathPolicy::new(Profile::WorkspaceWrite, &ground.root.join("person/.ssh")).unwrap();
    assert_eq!(read(&at_home.guarding(&guarded_again(&ground)), "id_ed25519").unwrap(), "key");
}

fn guarded_again(ground: &Ground) -> Guarded {
    fs::remove_file(ground.ws().join("key-link")).unwrap();
    guarded(ground)
}

#[test]
fn f19_f21_what_starts_by_itself_and_what_the_runtime_owns_stays_as_it_is() {
    let ground = Ground::new();
    let guarded = guarded(&ground);
    let free = ground.policy(Profile::Free).guarding(&guarded);
    let home = PathPolicy::new(Profile::WorkspaceWrite, &ground.root.join("person")).unwrap().guarding(&guarded);
    for name in [".bashrc", ".profile", ".zshenv", ".gitconfig", ".config/autostart/x.desktop", ".tillerman/trust.yaml"]
    {
        assert_eq!((name, verdict(&home.write(name, b"x"))), (name, "protected"));
        assert_eq!((name, verdict(&free.write(&format!("../person/{name}"), b"x"))), (name, "protected"));
    }
    for name in [".ssh/authorized_keys", ".netrc"] {
        assert_eq!((name, verdict(&home.write(name, b"x"))), (name, "hidden"));
    }
    assert_eq!(verdict(&free.write("/etc/cron.d/x", b"x")), "protected");
    assert_eq!(verdict(&home.write("notes.txt", b"x")), "ok");
}

#[test]
fn what_may_be_granted_is_what_may_be_written() {
    let ground = Ground::new();
    symlink(&ground.root, ground.ws().join("way-out")).unwrap();
    let policy = ground.policy(Profile::WorkspaceWrite).guarding(&guarded(&ground));
    let table = [
        (".", "ok"),
        ("src/new/folder", "ok"),
        ("..", "outside"),
        ("way-out/outside", "outside"),
        ("way-out", "outside"),
        ("skills/evil", "protected"),
        ("config.md", "protected"),
        (".git/hooks/pre-commit", "protected"),
        ("key-link", "hidden"),
        ("a\0b", "unusable"),
    ];
    for (path, expected) in table {
        assert_eq!((path, verdict(&policy.may_write(path))), (path, expected));
    }
}

#[test]
fn bounds_are_the_rights_as_data() {
    let ground = Ground::new();
    fs::create_dir_all(ground.ws().join("vendor/lib/.git")).unwrap();
    let person = ground.root.join("person");
    let policy = ground.policy(Profile::WorkspaceWrite).guarding(&guarded(&ground));
    let ws = ground.ws();
    let bounds = policy.narrowed().with_write(Path::new(".tasks/t_001")).with_write(Path::new(".")).bounds();
    assert_eq!((&bounds.base, &bounds.read, &bounds.write), (&ws, &None, &vec![ws.join(".tasks/t_001"), ws.clone()]));
    let below = [".env", ".git/config", ".git/hooks", ".tasks", "agents", "config.md", "mcp.json", "skills"];
    let vendor = ["vendor/lib/.git/config", "vendor/lib/.git/hooks"];
    let expected: Vec<PathBuf> = below.iter().chain(&vendor).map(|name| ws.join(name)).collect();
    assert_eq!(bounds.protected, expected);
    assert!(bounds.hidden.contains(&person.join(".ssh")), "{:?}", bounds.hidden);
    let read = policy.with_profile(Profile::Workspace).bounds().read;
    assert_eq!(read, Some(vec![ws.clone(), ws]));
}

#[test]
fn the_refusal_names_the_path_and_what_is_allowed() {
    let ground = Ground::new();
    let ws = ground.ws().display().to_string();
    let task = ground.policy(Profile::Task).with_write(Path::new(".tasks/t_001"));
    let write = |path: &str| task.write(path, b"x").unwrap_err().to_string();
    assert_eq!(write("src/a.rs"), format!("src/a.rs may not be written: writing is allowed in {ws}/.tasks/t_001"));
    let outside = read(&ground.policy(Profile::Workspace), "/etc/passwd").unwrap_err().to_string();
    assert_eq!(outside, format!("/etc/passwd may not be read: it lies outside of {ws}"));
    let missing = read(&task, "nope.rs").unwrap_err().to_string();
    assert_eq!(missing, "nope.rs does not exist; use list to see what is there");
}

#[test]
fn f06_f24_writing_keeps_mode_and_leaves_other_hard_links_alone() {
    let ground = Ground::new();
    let (ours, theirs) = (ground.ws().join("run.sh"), ground.root.join("outside/secret"));
    fs::hard_link(&theirs, &ours).unwrap();
    fs::set_permissions(&ours, fs::Permissions::from_mode(0o750)).unwrap();
    let written = ground.policy(Profile::Workspace).write("run.sh", b"new").unwrap();
    assert_eq!(written, Written { created: false, path: ours.clone() });
    assert_eq!(fs::metadata(&ours).unwrap().mode() & 0o777, 0o750);
    assert_eq!(
        (fs::read_to_string(&ours).unwrap(), fs::read_to_string(&theirs).unwrap()),
        ("new".into(), "secret".into())
    );
    assert_eq!(fs::read_dir(ground.ws()).unwrap().count(), 4, "no temporary file is left");
}

#[test]
fn a_read_only_file_is_refused_with_the_way_out() {
    let ground = Ground::new();
    let path = ground.ws().join("src/a.rs");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let error = ground.policy(Profile::Workspace).write("src/a.rs", b"x").unwrap_err().to_string();
    assert_eq!(error, "src/a.rs: it is read-only; chmod u+w it first if it really must change");
}

#[test]
fn f12_f13_pipes_and_devices_are_refused_at_once() {
    let ground = Ground::new();
    let pipe = ground.ws().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    // Whoever opened it would wait for the other end for ever.
    within_patience("a pipe or a device", move || {
        let policy = ground.policy(Profile::Workspace);
        assert_eq!(read(&policy, "pipe").unwrap_err().to_string(), "pipe is a pipe, not a regular file");
        assert_eq!(verdict(&policy.write("pipe", b"x")), "not a file");
        let zero = read(&ground.policy(Profile::Full), "/dev/zero").unwrap_err().to_string();
        assert_eq!(zero, "/dev/zero is a device, not a regular file");
    });
}

#[test]
fn f10_a_name_that_is_too_long_is_an_error_and_the_longest_is_not() {
    let ground = Ground::new();
    let policy = ground.policy(Profile::Workspace);
    assert_eq!(verdict(&policy.write(&"n".repeat(255), b"x")), "ok");
    assert_eq!(verdict(&policy.write(&"n".repeat(256), b"x")), "io");
    assert_eq!(verdict(&policy.write(&"deep/".repeat(1000), b"x")), "unusable");
    assert_eq!(verdict(&read(&policy, &"d/".repeat(3000))), "io");
}

#[test]
fn f23_a_workspace_that_vanished_is_an_error_and_is_not_made_again() {
    let ground = Ground::new();
    let policy = ground.policy(Profile::Workspace);
    fs::remove_dir_all(ground.ws()).unwrap();
    assert_eq!(verdict(&read(&policy, "src/a.rs")), "missing");
    assert!(policy.write("src/new.rs", b"x").is_err());
    assert!(!ground.ws().exists());
}

#[test]
fn f04_f05_a_folder_swapped_for_a_link_lets_nothing_through() {
    let ground = Ground::new();
    let (ws, done) = (ground.ws(), AtomicBool::new(false));
    fs::create_dir(ws.join("door")).unwrap();
    fs::write(ws.join("door/secret"), "inside").unwrap();
    symlink(ground.root.join("outside"), ws.join("trap")).unwrap();
    let policy = ground.policy(Profile::Workspace);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let (door, trap) = (ws.join("door"), ws.join("trap"));
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(rustix::fs::CWD, &door, rustix::fs::CWD, &trap, flags).unwrap();
            }
        });
        let until = Instant::now() + Duration::from_millis(300);
        while Instant::now() < until {
            assert_ne!(read(&policy, "door/secret").unwrap_or_default(), "secret");
            let _ = policy.write("door/secret", b"inside");
            let _ = policy.write("door/new", b"inside");
        }
        done.store(true, Ordering::Relaxed);
    });
    let outside: Vec<_> = fs::read_dir(ground.root.join("outside")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(outside, ["secret"]);
    assert_eq!(fs::read_to_string(ground.root.join("outside/secret")).unwrap(), "secret");
}

#[test]
fn two_spellings_of_a_path_have_one_normal_form() {
    let ground = Ground::new();
    let policy = ground.policy(Profile::Workspace);
    let expected = ground.ws().join("src/a.rs");
    for spelling in ["src/a.rs", "./src//a.rs", "src/../src/a.rs", expected.to_str().unwrap()] {
        assert_eq!(policy.normal(spelling), expected);
    }
}
