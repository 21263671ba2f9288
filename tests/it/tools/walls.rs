//! Tools and commands side by side: whatever way a path is reached, the verdict is the same (S23).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use tempfile::TempDir;
use tillerman::message::{CallId, RawArgs};
use tillerman::sandbox::{WallSettings, Walls};
use tillerman::tool::{ToolContext, Toolbox};
use tillerman::tools::{self, ToolSettings};
use tillerman::workspace::guarded::Guarded;
use tillerman::workspace::policy::{PathPolicy, Profile};
use tokio_util::sync::CancellationToken;

/// What is in every file before it is tried.
const OLD: &str = "old words\n";
const NEW: &str = "new words\n";

/// A person's home with a workspace in it, and tools within it.
struct Ground {
    _dir: TempDir,
    root: PathBuf,
    tools: Toolbox,
    cx: ToolContext,
}

/// Whose tools they are.
#[derive(Debug, Clone, Copy)]
enum Agent {
    Main(Profile),
    /// In the usual profile, with a task directory and `src` to write.
    Worker,
}

impl Ground {
    fn new(agent: Agent) -> Ground {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for file in FILES {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, OLD).unwrap();
        }
        for (link, to) in LINKS {
            symlink(to.replace("ROOT", root.to_str().unwrap()), root.join(link)).unwrap();
        }
        let home = root.join("home");
        let guarded = Guarded::of(&home.join(".tillerman"), &|name| (name == "HOME").then(|| home.clone().into()));
        let base = root.join("home/ws");
        let policy = match agent {
            Agent::Main(profile) => PathPolicy::new(profile, &base).unwrap().guarding(&guarded),
            Agent::Worker => {
                let policy = PathPolicy::new(Profile::WorkspaceWrite, &base).unwrap().guarding(&guarded);
                policy.narrowed().with_write(Path::new(".tasks/t_001")).with_write(Path::new("src"))
            }
        };
        let mut settings = ToolSettings::new(Arc::new(policy));
        settings.shell.walls = Walls::around(WallSettings::new(settings.policy.bounds()));
        let cx = ToolContext {
            call: CallId("call_1".into()),
            cancel: CancellationToken::new(),
            progress: Arc::new(drop),
            artifacts: root.join("artifacts"),
            secrets: tillerman::secret::Secrets::default(),
        };
        Ground { tools: Toolbox::new(tools::made(&settings, |_| true)).unwrap(), _dir: dir, root, cx }
    }

    async fn call(&self, tool: &str, args: serde_json::Value) -> Option<String> {
        let called = self.tools.find(tool).unwrap().call(RawArgs(args.to_string()), &self.cx).await;
        called.ok().map(|output| output.text)
    }

    /// Whether each hand could: read, write, edit with a file tool; read, write with a command.
    async fn verdicts(&self, path: &str) -> [bool; 5] {
        let path = path.replace("ROOT", self.root.to_str().unwrap());
        let quoted = format!("'{}'", path.replace('\'', r"'\''"));
        let real = self.root.join("home/ws").join(&path);
        let there = fs::metadata(&real).is_ok();
        let is_old = |text: Option<String>| text.is_some_and(|text| text.contains(OLD.trim_end()));
        let read = is_old(self.call("read_file", json!({"path": path})).await);
        let edited =
            self.call("edit_file", json!({"path": path, "old_text": "old", "new_text": "new"})).await.is_some();
        self.restore(&real, there);
        let written = self.call("write_file", json!({"path": path, "content": NEW})).await.is_some();
        self.restore(&real, there);
        let shown = is_old(self.call("shell", json!({"command": format!("cat -- {quoted}")})).await);
        let command = format!("mkdir -p \"$(dirname -- {quoted})\" && echo new words > {quoted} && echo done-so");
        let put = self.call("shell", json!({"command": command})).await.is_some_and(|text| text.contains("done-so"));
        let put = put && fs::read_to_string(&real).is_ok_and(|text| text == NEW);
        self.restore(&real, there);
        [read, written, edited, shown, put]
    }

    /// In place: a new file would be another one than the walls know.
    fn restore(&self, real: &Path, there: bool) {
        if there && fs::read_to_string(real).is_ok_and(|text| text != OLD) && real.starts_with(&self.root) {
            fs::write(real, OLD).unwrap();
        } else if !there && real.is_file() {
            fs::remove_file(real).unwrap();
        }
    }
}

const FILES: &[&str] = &[
    "home/ws/src/a.rs",
    "home/ws/src/deep/er/b.rs",
    "home/ws/README.md",
    "home/ws/memory/MEMORY.md",
    "home/ws/config.md",
    "home/ws/skills/s/SKILL.md",
    "home/ws/agents/a.md",
    "home/ws/.git/config",
    "home/ws/.git/HEAD",
    "home/ws/.git/hooks/pre-commit",
    "home/ws/.git/modules/m/HEAD",
    "home/ws/.git/modules/m/config",
    "home/ws/vendor/lib/.git/config",
    "home/ws/vendor/lib/.git/hooks/post-merge",
    "home/ws/vendor/lib/lib.c",
    "home/ws/.tasks/t_001/notes.md",
    "home/ws/.tasks/t_002/notes.md",
    "home/ws/-dash",
    "home/ws/with space",
    "home/ws/line\nbreak",
    "home/ws/quote'd",
    "home/ws-evil/secret",
    "home/other/file",
    "home/.ssh/id_ed25519",
    "home/.aws/credentials",
    "home/.netrc",
    "home/.npmrc",
    "home/.config/gh/hosts.yml",
    "home/.cargo/credentials.toml",
    "home/.bashrc",
    "home/.gitconfig",
    "home/.tillerman/trust.yaml",
    "home/.tillerman/workspaces/ws/sessions/1.jsonl",
    "outside/secret",
];

const LINKS: &[(&str, &str)] = &[
    ("home/ws/link-in", "src/a.rs"),
    ("home/ws/link-out", "../other/file"),
    ("home/ws/link-key", "ROOT/home/.ssh/id_ed25519"),
    ("home/ws/folder-out", "ROOT/outside"),
    ("home/ws/chain", "link-out"),
    ("home/ws/loop", "loop"),
    ("home/ws/to-config", "config.md"),
    ("home/ws/to-hooks", ".git/hooks"),
];

/// Paths, and for each profile whether it can be read and written: workspace-write, a worker with `src`, read-only.
#[rustfmt::skip]
const PATHS: &[(&str, [&str; 3])] = &[
    ("src/a.rs", ["rw", "rw", "r-"]),
    ("./src/../src/a.rs", ["rw", "rw", "r-"]),
    ("ROOT/home/ws/src/a.rs", ["rw", "rw", "r-"]),
    ("src//a.rs", ["rw", "rw", "r-"]),
    ("src/deep/er/b.rs", ["rw", "rw", "r-"]),
    ("src/new.rs", ["-w", "-w", "--"]),
    ("src/new/folder/new.rs", ["-w", "-w", "--"]),
    ("README.md", ["rw", "r-", "r-"]),
    ("new.md", ["-w", "--", "--"]),
    ("memory/MEMORY.md", ["rw", "r-", "r-"]),
    ("memory/new.md", ["-w", "--", "--"]),
    ("-dash", ["rw", "r-", "r-"]),
    ("with space", ["rw", "r-", "r-"]),
    ("line\nbreak", ["rw", "r-", "r-"]),
    ("quote'd", ["rw", "r-", "r-"]),
    ("config.md", ["r-", "r-", "r-"]),
    ("to-config", ["r-", "r-", "r-"]),
    ("mcp.json", ["--", "--", "--"]),
    (".env", ["--", "--", "--"]),
    ("skills/s/SKILL.md", ["r-", "r-", "r-"]),
    ("skills/new/SKILL.md", ["--", "--", "--"]),
    ("agents/a.md", ["r-", "r-", "r-"]),
    ("agents/new.md", ["--", "--", "--"]),
    (".git/config", ["r-", "r-", "r-"]),
    (".git/HEAD", ["rw", "r-", "r-"]),
    (".git/new", ["-w", "--", "--"]),
    (".git/hooks/pre-commit", ["r-", "r-", "r-"]),
    (".git/hooks/post-commit", ["--", "--", "--"]),
    ("to-hooks/pre-commit", ["r-", "r-", "r-"]),
    (".git/modules/m/config", ["r-", "r-", "r-"]),
    (".git/modules/m/hooks/x", ["--", "--", "--"]),
    ("vendor/lib/.git/config", ["r-", "r-", "r-"]),
    ("vendor/lib/.git/hooks/post-merge", ["r-", "r-", "r-"]),
    ("vendor/lib/.git/hooks/new", ["--", "--", "--"]),
    ("vendor/lib/lib.c", ["rw", "r-", "r-"]),
    (".tasks/t_001/notes.md", ["r-", "rw", "r-"]),
    (".tasks/t_001/new.md", ["--", "-w", "--"]),
    (".tasks/t_002/notes.md", ["r-", "r-", "r-"]),
    (".tasks/t_002/new.md", ["--", "--", "--"]),
    ("src/../.tasks/t_002/new.md", ["--", "--", "--"]),
    ("link-in", ["rw", "rw", "r-"]),
    ("link-out", ["r-", "r-", "r-"]),
    ("chain", ["r-", "r-", "r-"]),
    ("loop", ["--", "--", "--"]),
    ("link-key", ["--", "--", "--"]),
    ("folder-out/secret", ["r-", "r-", "r-"]),
    ("folder-out/new", ["--", "--", "--"]),
    ("../ws-evil/secret", ["r-", "r-", "r-"]),
    ("../ws-evil/new", ["--", "--", "--"]),
    ("../other/file", ["r-", "r-", "r-"]),
    ("src/../../other/file", ["r-", "r-", "r-"]),
    ("../other/new", ["--", "--", "--"]),
    ("ROOT/outside/secret", ["r-", "r-", "r-"]),
    ("ROOT/outside/new", ["--", "--", "--"]),
    ("../.ssh/id_ed25519", ["--", "--", "--"]),
    ("../.ssh/authorized_keys", ["--", "--", "--"]),
    ("../.aws/credentials", ["--", "--", "--"]),
    ("../.netrc", ["--", "--", "--"]),
    ("../.npmrc", ["--", "--", "--"]),
    ("../.config/gh/hosts.yml", ["--", "--", "--"]),
    ("../.cargo/credentials.toml", ["--", "--", "--"]),
    ("../.bashrc", ["r-", "r-", "r-"]),
    ("../.zshrc", ["--", "--", "--"]),
    ("../.gitconfig", ["r-", "r-", "r-"]),
    ("../.tillerman/trust.yaml", ["r-", "r-", "r-"]),
    ("../.tillerman/workspaces/ws/sessions/1.jsonl", ["r-", "r-", "r-"]),
    ("../.tillerman/workspaces/ws/sessions/2.jsonl", ["--", "--", "--"]),
    ("/etc/new-by-a-test", ["--", "--", "--"]),
    ("/etc/shadow", ["--", "--", "--"]),
    ("/proc/self/environ", ["--", "--", "--"]),
];

#[tokio::test]
async fn s23_f16_f17_files_and_commands_have_one_verdict_for_each_path() {
    assert!(PATHS.len() >= 60, "{}", PATHS.len());
    let agents = [Agent::Main(Profile::WorkspaceWrite), Agent::Worker, Agent::Main(Profile::ReadOnly)];
    let mut wrong = Vec::new();
    for (column, agent) in agents.into_iter().enumerate() {
        let ground = Ground::new(agent);
        for (path, expected) in PATHS {
            let (reads, writes) = (expected[column].starts_with('r'), expected[column].ends_with('w'));
            let found = ground.verdicts(path).await;
            if found != [reads, writes, reads && writes, reads, writes] {
                wrong.push(format!("{agent:?} {path:?}: {} but {found:?}", expected[column]));
            }
        }
    }
    assert!(wrong.is_empty(), "[read, write, edit, cat, echo >]:\n{}", wrong.join("\n"));
}

#[tokio::test]
async fn f18_f19_a_protected_file_that_an_editor_replaces_stays_protected() {
    let ground = Ground::new(Agent::Main(Profile::WorkspaceWrite));
    let (config, other) = (ground.root.join("home/ws/config.md"), ground.root.join("outside/new"));
    let write = || ground.call("shell", json!({"command": "echo by a command > config.md"}));
    write().await;
    fs::write(&other, "by an editor\n").unwrap();
    fs::rename(&other, &config).unwrap();
    // The walls of the next command stand already; those of the one after it know of the new file.
    ground.call("shell", json!({"command": "true"})).await;
    ground.call("shell", json!({"command": "true"})).await;
    let refused = write().await.unwrap();
    assert!(refused.contains("Read-only file system") && refused.contains("[commands may write in"), "{refused}");
    assert_eq!(fs::read_to_string(&config).unwrap(), "by an editor\n");
}
