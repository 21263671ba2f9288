//! Ordinary work within walls: what people do all day must not notice them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command as Program;

use tillerman::sandbox::{self, Command, End, Environment, Finished, Tier, Walls};
use tillerman::workspace::policy::Bounds;

use super::{Ground, settings, text};
use crate::battery::skipped;

/// Kinds of walls with something in them.
const WALLED: [Tier; 2] = [Tier::Full, Tier::Landlock];

fn is_there(program: &str) -> bool {
    let there = Program::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        skipped(&format!("there is no {program}"));
    }
    there
}

/// Runs a command that must end well, with its scratch folder inside, and answers what it said.
async fn does(ground: &Ground, tier: Tier, line: &str) -> String {
    fs::create_dir_all(ground.path("scratch")).unwrap();
    let mut command = ground.command(line);
    command.environment = command.environment.with("TMPDIR", ground.path("scratch").to_str().unwrap());
    let finished = sandbox::run(&command, &ground.limits, &ground.cancel, &mut |_| {}).await.unwrap();
    assert_eq!((tier, finished.end), (tier, End::Exited(0)), "{line}\n{}", text(&finished));
    text(&finished)
}

#[tokio::test]
async fn s16_devices_pipes_and_scratch_files_work() {
    for tier in WALLED {
        let ground = Ground::within(tier);
        let line = "echo x > /dev/null && head -c 4 /dev/urandom | wc -c && f=$(mktemp) && echo y | tee $f >/dev/stderr \
                    && cat $f && ls /proc/self/fd >/dev/null && diff <(echo a) <(echo a) && echo $((1 + 1))";
        assert_eq!(does(&ground, tier, line).await, "4\ny\ny\n2\n");
    }
}

#[tokio::test]
async fn s16_a_server_and_its_client_find_each_other_within_namespaces() {
    let ground = Ground::within(Tier::Full);
    let line = "exec 2>&1; bash -c 'exec 3<>/dev/tcp/127.0.0.1/9' ; echo tried";
    // Nobody listens there, which is another answer than that there is no network.
    assert!(does(&ground, Tier::Full, line).await.contains("refused"), "the loopback interface is up");
}

#[tokio::test]
async fn s16_cargo_builds_a_crate() {
    if !is_there("cargo") {
        return;
    }
    for tier in WALLED {
        let ground = Ground::within(tier);
        fs::create_dir_all(ground.path("src")).unwrap();
        fs::write(ground.path("Cargo.toml"), "[package]\nname = \"tiny\"\nedition = \"2021\"\n").unwrap();
        fs::write(ground.path("src/main.rs"), "fn main() { println!(\"built\") }").unwrap();
        let said = does(&ground, tier, "CARGO_TARGET_DIR=target cargo run -q --offline 2>&1").await;
        assert!(said.ends_with("built\n"), "{tier}: {said}");
    }
}

#[tokio::test]
async fn s16_git_commits_in_a_worktree() {
    if !is_there("git") {
        return;
    }
    for tier in WALLED {
        let ground = Ground::within(tier);
        let line = "export GIT_CONFIG_GLOBAL=/dev/null; git init -q main && cd main && git -c user.name=a -c user.email=b \
                    commit -q --allow-empty -m one && git worktree add -q ../tree 2>/dev/null && cd ../tree && echo x > f && \
                    git add f && git -c user.name=a -c user.email=b commit -q -m two && git log --format=%s";
        assert_eq!(does(&ground, tier, line).await, "two\none\n");
    }
}

#[tokio::test]
async fn s16_python_and_node_run() {
    for tier in WALLED {
        let ground = Ground::within(tier);
        if is_there("python3") {
            let line = "python3 -c 'import tempfile, subprocess; print(subprocess.check_output([\"echo\", \"hi\"]).decode().strip()); \
                        tempfile.NamedTemporaryFile()'";
            assert_eq!(does(&ground, tier, line).await, "hi\n");
        }
        if is_there("npm") {
            let test = r#"{"name":"tiny","version":"1.0.0","scripts":{"test":"node -e 'console.log(6*7)'"}}"#;
            fs::write(ground.path("package.json"), test).unwrap();
            let said =
                does(&ground, tier, "npm_config_cache=$TMPDIR npm_config_update_notifier=false npm test 2>&1").await;
            assert!(said.contains("42"), "{tier}: {said}");
        }
    }
}

#[tokio::test]
async fn p04_a_fork_loop_meets_a_limit_and_leaves_nothing() {
    let ground = Ground::within(Tier::Full);
    let finished = ground.run("for i in $(seq 4000); do sleep 300 & done 2>/dev/null; echo over").await;
    // The shell gives up when it cannot start another, after trying for a while.
    let most = 812 + 64 * std::thread::available_parallelism().unwrap().get();
    assert!(finished.left <= most && finished.left > 100, "{} of {most}", finished.left);
    ground.until_dead().await;
    assert_eq!(text(&ground.run("echo others go on").await), "others go on\n");
}

#[tokio::test]
async fn p12_a_file_without_end_meets_a_limit() {
    for tier in Tier::ALL {
        let mut ground = Ground::within(tier);
        ground.limits.file = 1024 * 1024;
        assert_eq!((tier, ground.run("exec yes > file").await.end), (tier, End::Signalled(25)));
        assert_eq!(fs::metadata(ground.path("file")).unwrap().len(), 1024 * 1024);
    }
}

#[tokio::test]
async fn s17_without_walls_nothing_runs_and_it_is_said() {
    let ground = Ground::new();
    let wanted = settings(Bounds { base: ground.path(""), ..Bounds::default() }, Tier::Full);
    let walls = Walls::around(sandbox::WallSettings { program: Some("/bin/false".into()), ..wanted });
    let command = Command { walls, ..ground.command("touch ran") };
    let run = sandbox::run(&command, &ground.limits, &ground.cancel, &mut |_| {}).await;
    let error = run.unwrap_err().to_string();
    assert!(error.starts_with("cannot build walls around commands: namespaces, Landlock"), "{error}");
    assert!(error.ends_with("; --sandbox full runs them without"), "{error}");
    assert!(!ground.path("ran").exists());
}

/// Runs within walls around `bounds`.
async fn within(bounds: &Bounds, tier: Tier, line: &str) -> Finished {
    let ground = Ground::new();
    let walls = Walls::around(settings(bounds.clone(), tier));
    let command = Command { walls, cwd: bounds.base.clone(), ..ground.command(line) };
    sandbox::run(&command, &ground.limits, &ground.cancel, &mut |_| {}).await.unwrap()
}

#[tokio::test]
async fn f16_f17_a_task_writes_its_folder_and_not_that_of_another() {
    for tier in WALLED {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for folder in ["ws/.tasks/t_001", "ws/.tasks/t_002"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        let bounds = Bounds {
            base: at("ws"),
            write: vec![at("ws/.tasks/t_001")],
            protected: vec![at("ws/.tasks")],
            ..Bounds::default()
        };
        let line = "touch .tasks/t_001/a; touch .tasks/t_002/b .tasks/c d; mv .tasks .away; ls -A . .tasks/*";
        let said = text(&within(&bounds, tier, &format!("({line}) 2>/dev/null")).await);
        assert_eq!(said, ".:\n.tasks\n\n.tasks/t_001:\na\n\n.tasks/t_002:\n", "{tier}");
    }
}

#[tokio::test]
async fn what_may_be_read_can_be_limited() {
    for tier in WALLED {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for (folder, file) in [("ws", "ws/a"), ("granted", "granted/b"), ("other", "other/c")] {
            fs::create_dir_all(at(folder)).unwrap();
            fs::write(at(file), file).unwrap();
        }
        let (base, read) = (at("ws"), Some(vec![at("ws"), at("granted")]));
        let bounds = Bounds { base, read, ..Bounds::default() };
        let said =
            text(&within(&bounds, tier, "cat a ../granted/b ../other/c 2>/dev/null; ls >/dev/null && echo .").await);
        assert_eq!(said, "ws/agranted/b.\n", "{tier}");
    }
}

#[tokio::test]
async fn f20_what_stands_for_an_absent_path_is_gone_when_the_walls_are() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let (base, notes) = (dir.path().to_owned(), at("notes"));
    let protected = vec![at("a/b/c"), at("mcp.json")];
    fs::create_dir(at("a")).unwrap();
    let bounds = Bounds { write: vec![base.clone()], base, protected, ..Bounds::default() };
    let wanted = || sandbox::WallSettings { notes: Some(notes.clone()), ..settings(bounds.clone(), Tier::Full) };
    let (first, second) = (Walls::around(wanted()), Walls::around(wanted()));
    first.build().unwrap();
    second.build().unwrap();
    drop(first);
    assert_eq!(fs::metadata(at("mcp.json")).unwrap().permissions().mode() & 0o777, 0o555);
    let ground = Ground::new();
    let command = Command {
        walls: second,
        cwd: bounds.base.clone(),
        ..ground.command("touch mcp.json/x a/b/x; mv a z; rmdir mcp.json")
    };
    sandbox::run(&command, &ground.limits, &ground.cancel, &mut |_| {}).await.unwrap();
    assert!(at("mcp.json").is_dir() && at("a/b").is_dir());
    drop(command);
    assert!(!at("mcp.json").exists() && !at("a/b").exists() && !notes.exists());
    // As a program that was killed would leave it.
    fs::create_dir(at("mcp.json")).unwrap();
    fs::write(&notes, [at("mcp.json").to_str().unwrap().as_bytes(), b"\0"].concat()).unwrap();
    let third = Walls::around(wanted());
    third.build().unwrap();
    drop(third);
    assert!(!at("mcp.json").exists() && !Path::new(&notes).exists());
}

#[tokio::test]
async fn t14_a_command_sees_no_variable_that_it_was_not_given() {
    for tier in Tier::ALL {
        let mut command = Ground::within(tier).command("env | sed 's/=.*//' | sort | tr '\\n' ' '");
        command.environment = Environment::of([("PATH".into(), "/usr/bin:/bin".into())]);
        let ground = Ground::new();
        command.cwd = ground.path("").canonicalize().unwrap();
        let finished = sandbox::run(&command, &ground.limits, &ground.cancel, &mut |_| {}).await.unwrap();
        let said = text(&finished);
        let names: Vec<&str> =
            said.split_whitespace().filter(|name| !["PWD", "SHLVL", "_", "OLDPWD"].contains(name)).collect();
        let given =
            ["AGENT", "GIT_EDITOR", "GIT_PAGER", "GIT_TERMINAL_PROMPT", "PAGER", "PATH", "TERM", "TILLERMAN_COMMAND"];
        assert_eq!(names, given, "{tier}");
    }
}
