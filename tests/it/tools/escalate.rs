//! One call with wider rights: what a person sees of it, what a yes opens, and what none opens (S20).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use serde_json::{Value, json};
use tempfile::TempDir;
use tillerman::message::{CallId, RawArgs};
use tillerman::sandbox::{WallSettings, Walls};
use tillerman::tool::{ToolContext, Toolbox};
use tillerman::tools::gate::{Answer, Asker, Ground as Floor, Keeper, Request, Rule, Rules, Verdict};
use tillerman::tools::{self, ToolSettings};
use tillerman::workspace::guarded::Guarded;
use tillerman::workspace::policy::{PathPolicy, Profile};
use tokio_util::sync::CancellationToken;

/// A workspace, a folder beside it, and a person who says always the same.
struct Ground {
    _dir: TempDir,
    root: PathBuf,
    tools: Toolbox,
    keeper: Keeper,
    asked: Arc<Mutex<Vec<Request>>>,
}

impl Ground {
    fn new(answer: Answer) -> Ground {
        Ground::with(&[], move |_| answer.clone())
    }

    /// The person does something with the folder before they answer.
    fn with(rules: &[(Verdict, &str)], answer: impl Fn(&Path) -> Answer + Send + Sync + 'static) -> Ground {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["ws/src", "outside", "other", "home/.tillerman"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        symlink(root.join("outside"), root.join("ws/way")).unwrap();
        let home = root.join("home");
        let guarded = Guarded::of(&home.join(".tillerman"), &|name| (name == "HOME").then(|| home.clone().into()));
        let policy = PathPolicy::new(Profile::WorkspaceWrite, &root.join("ws")).unwrap().guarding(&guarded);
        let mut settings = ToolSettings::new(Arc::new(policy));
        settings.shell.walls = Walls::around(WallSettings::new(settings.policy.bounds()));
        settings.shell.asks = true;
        let floor = Floor { root: root.join("ws"), home: None };
        let read = |(verdict, text): &(Verdict, &str)| Rule::read(text, *verdict, "here".into(), &floor).unwrap();
        let rules = Rules::new(rules.iter().map(read).collect(), Verdict::Allow, floor.clone());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (told, place) = (Arc::clone(&asked), root.clone());
        let asker: Asker = Arc::new(move |request| {
            told.lock().unwrap().push(request);
            let answer = answer(&place);
            async { answer }.boxed()
        });
        let (base, around) = (root.join("ws"), "workspace-write".to_owned());
        let keeper = Keeper { rules: Arc::new(rules), base, around, asker: Some(asker) };
        settings.escalation = Some(keeper.clone());
        let tools = Toolbox::new(tools::made(&settings, |_| true)).unwrap();
        Ground { _dir: dir, root, tools, keeper, asked }
    }

    async fn call(&self, tool: &str, args: Value) -> Result<String, String> {
        let cx = ToolContext {
            call: CallId("call_1".into()),
            cancel: CancellationToken::new(),
            progress: Arc::new(drop),
            artifacts: self.root.join("artifacts"),
            secrets: tillerman::secret::Secrets::default(),
        };
        let tool = self.keeper.before(self.tools.find(tool).unwrap().clone());
        let called = tool.call(RawArgs(args.to_string()), &cx).await;
        called.map(|output| output.text).map_err(|error| error.to_string().replace(self.text(), "ROOT"))
    }

    async fn escalate(&self, tool: &str, args: Value) -> Result<String, String> {
        self.call("escalate", json!({ "why": "it is needed", "tool": tool, "args": args })).await
    }

    fn text(&self) -> &str {
        self.root.to_str().unwrap()
    }

    /// What the person was shown, by now.
    fn shown(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|asked| format!("{} {}", asked.tool, asked.shown.replace(self.text(), "ROOT"))).collect()
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }
}

#[tokio::test]
async fn a_yes_opens_the_file_that_was_shown_and_no_other() {
    let ground = Ground::new(Answer::Yes);
    let done = ground.escalate("Write", json!({"contents": "one\n", "file_path": "way/../way/new.txt"})).await;
    assert_eq!(done.unwrap().replace(ground.text(), "ROOT"), "Created ROOT/outside/new.txt (1 lines, 4 bytes)");
    assert_eq!(ground.shown(), [r#"write_file {"path":"ROOT/outside/new.txt","content":"one\n"}"#]);
    let request = ground.asked.lock().unwrap()[0].clone();
    assert_eq!((request.why.as_str(), request.escalated), ("it is needed", true));
    let again = ground.call("write_file", json!({"path": "way/new.txt", "content": "two\n"})).await.unwrap_err();
    assert_eq!(again, "way/new.txt may not be written: writing is allowed in ROOT/ws");
    // What was read in the ordinary way is known to the edit.
    ground.call("read_file", json!({"path": "way/new.txt"})).await.unwrap();
    ground.escalate("edit_file", json!({"path": "way/new.txt", "old_text": "one", "new_text": "three"})).await.unwrap();
    assert_eq!(ground.read("outside/new.txt").unwrap(), "three\n");
    let needless = ground.escalate("write_file", json!({"path": "src/a", "content": ""})).await.unwrap_err();
    assert_eq!(needless, "write_file may do that without being asked; call it itself");
    assert_eq!(ground.shown().len(), 2);
}

#[tokio::test]
async fn a_no_opens_nothing_and_the_reason_is_told() {
    let ground = Ground::new(Answer::No("by the person: not there".to_owned()));
    let no = ground.escalate("write_file", json!({"path": "way/new.txt", "content": "x"})).await.unwrap_err();
    let why = "write_file was not done: wider rights were denied (by the person: not there); go on without, or say what is \
               missing";
    assert_eq!((no.as_str(), ground.read("outside/new.txt")), (why, None));
    ground.escalate("shell", json!({"command": "echo x > ../outside/new.txt"})).await.unwrap_err();
    assert_eq!((ground.shown().len(), ground.read("outside/new.txt")), (2, None));
}

#[tokio::test]
async fn f05_what_comes_to_lie_there_while_a_person_thinks_is_left_alone() {
    let by_link = |root: &Path| {
        symlink(root.join("other/new.txt"), root.join("outside/new.txt")).unwrap();
        Answer::Yes
    };
    let by_folder = |root: &Path| {
        fs::rename(root.join("outside"), root.join("moved")).unwrap();
        symlink(root.join("other"), root.join("outside")).unwrap();
        Answer::Yes
    };
    for ground in [Ground::with(&[], by_link), Ground::with(&[], by_folder)] {
        let refused = ground.escalate("write_file", json!({"path": "way/new.txt", "content": "x"})).await.unwrap_err();
        let moved = "ROOT/outside/new.txt was left as it is: it leads elsewhere than when a person was asked";
        let outside = "ROOT/outside/new.txt may not be written: writing is allowed in ROOT/outside/new.txt";
        assert!([moved, outside].contains(&refused.as_str()), "{refused}");
        for path in ["other/new.txt", "outside/new.txt", "moved/new.txt"] {
            assert_eq!(ground.read(path), None, "{path}");
        }
    }
}

#[tokio::test]
async fn what_the_program_goes_by_and_what_is_denied_is_not_even_asked() {
    let rules = [(Verdict::Deny, "Edit(//**/secret.txt)"), (Verdict::Deny, "Bash(rm:*)")];
    let ground = Ground::with(&rules, |_| Answer::Yes);
    symlink(ground.root.join("ws/config.md"), ground.root.join("outside/innocent")).unwrap();
    fs::write(ground.root.join("ws/config.md"), "own").unwrap();
    symlink(ground.root.join("nowhere"), ground.root.join("outside/dangling")).unwrap();
    let own = "is not for tools, whoever allows it: it is a setting or a record of the program itself";
    for (path, why) in [
        ("config.md", own),
        ("way/innocent", own),
        (".env", own),
        (".tasks/t_001/task.md", own),
        ("../home/.tillerman/trust.yaml", own),
        ("/proc/self/environ", "is not for tools: it is a part of the running system"),
        ("way", "is a folder, not a regular file"),
        ("way/dangling", "it is a link that leads nowhere"),
        ("way/secret.txt", "was not done: denied (deny Edit(//**/secret.txt) (here))"),
    ] {
        let refused = ground.escalate("write_file", json!({"path": path, "content": "x"})).await.unwrap_err();
        assert!(refused.contains(why), "{path}: {refused}");
    }
    let refused = ground.escalate("shell", json!({"command": "true; sudo rm x"})).await.unwrap_err();
    assert!(refused.contains("denied (deny Bash(rm:*) (here))"), "{refused}");
    assert_eq!(ground.shown(), [""; 0]);
    // Of the person's things it is for them to say.
    for path in ["../home/.bashrc", ".git/hooks/pre-commit", "skills/new.md", "../home/.netrc"] {
        ground.escalate("write_file", json!({"path": path, "content": "x"})).await.unwrap();
    }
    let key = ground.escalate("read_file", json!({"path": "../home/.netrc"})).await.unwrap();
    assert!(key.ends_with("1: x\n"), "{key}");
    let off = Ground::with(&[(Verdict::Deny, "escalate")], |_| Answer::Yes);
    let refused = off.escalate("shell", json!({"command": "true"})).await.unwrap_err();
    assert!(refused.contains("denied (deny escalate (here))") && off.shown().is_empty(), "{refused}");
}

#[tokio::test]
async fn a_command_is_run_without_walls_once_and_leaves_no_process() {
    let ground = Ground::new(Answer::Yes);
    let write = json!({"command": "echo x > ../outside/new.txt"});
    let refused = ground.call("shell", write.clone()).await.unwrap();
    let hint = format!("[commands may write in {}/ws only; escalate asks the person for more]", ground.text());
    assert!(refused.contains(&hint), "{refused}");
    let done = ground.escalate("Bash", json!({"cmd": "sleep 1000 & echo x > ../outside/new.txt"})).await.unwrap();
    assert_eq!(done, "(no output)\n1 background process was left and stopped");
    assert_eq!(ground.read("outside/new.txt").unwrap(), "x\n");
    assert_eq!(ground.shown(), [r#"shell {"command":"sleep 1000 & echo x > ../outside/new.txt"}"#]);
    fs::remove_file(ground.root.join("outside/new.txt")).unwrap();
    ground.call("shell", write).await.unwrap();
    assert_eq!(ground.read("outside/new.txt"), None);
    let failed = ground.escalate("shell", json!({"command": "echo Permission denied; false"})).await.unwrap();
    assert_eq!(failed, "Permission denied\nexit code 1");
    let long = ground.escalate("shell", json!({"command": format!("true {}", "x".repeat(2000))})).await.unwrap_err();
    assert!(long.starts_with("the command is longer than the 2000 characters"), "{long}");
}

#[tokio::test]
async fn s20_a_word_on_a_call_is_none_on_the_same_call_outside_the_walls() {
    let ground = Ground::with(&[(Verdict::Ask, "shell"), (Verdict::Allow, "escalate")], |_| Answer::Yes);
    ground.call("shell", json!({"command": "true"})).await.unwrap();
    ground.escalate("shell", json!({"command": "true"})).await.unwrap();
    ground.escalate("shell", json!({"command": "true"})).await.unwrap();
    let asked = ground.asked.lock().unwrap().clone();
    assert_eq!(asked[0].shown, asked[1].shown);
    assert_ne!(asked[0].key, asked[1].key);
    assert_eq!((asked[1].key, asked.len()), (asked[2].key, 3));
}

#[tokio::test]
async fn p16_what_cannot_be_asked_is_told_and_the_reason_hides_nothing() {
    let ground = Ground::new(Answer::Yes);
    let wrong = ground.escalate("grep", json!({"pattern": "x"})).await.unwrap_err();
    assert_eq!(wrong, "escalate cannot ask for grep; it can for edit_file, read_file, shell, write_file");
    let missing = ground.escalate("shell", json!({"script": 1, "else": 2})).await.unwrap_err();
    assert!(missing.starts_with("wrong arguments for shell: "), "{missing}");
    let silent = ground.call("escalate", json!({"why": " ", "tool": "shell", "args": {"command": "true"}})).await;
    assert_eq!(silent.unwrap_err(), "why is empty; tell the person what for");
    assert_eq!(ground.shown(), [""; 0]);
    let why = format!("\u{202e}good\x1b[2K\n{}", "x".repeat(400));
    ground.call("escalate", json!({"why": why, "tool": "shell", "args": {"command": "true"}})).await.unwrap();
    let shown = ground.asked.lock().unwrap()[0].why.clone();
    assert!(
        shown.starts_with("\\u{202e}good\\u{1b}[2K\\nxxx") && shown.ends_with("… and 110 more characters"),
        "{shown}"
    );
}
