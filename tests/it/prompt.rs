//! The system prompts: who sees what (S3-57), in which order (S2-27), how much of it (S2-28), and that it stays the same.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tillerman::prompt::{self, MOST, Prompt, Sources, Task};
use tillerman::role::Roles;
use tillerman::skill::Skills;
use tillerman::workspace::{Workspace, defaults};

struct Scene {
    _dir: TempDir,
    base: PathBuf,
    workspace: Workspace,
}

/// A workspace with these files.
fn scene(files: &[(&str, &str)]) -> Scene {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    fs::create_dir_all(base.join("ws")).unwrap();
    for (path, text) in files {
        let path = base.join("ws").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let workspace = Workspace::open(&base.join("ws"), &base.join("home")).unwrap();
    Scene { _dir: dir, base, workspace }
}

impl Scene {
    fn main(&self) -> Prompt {
        self.build(None, None).0
    }

    fn worker(&self, role: Option<&str>, task: &str) -> Prompt {
        self.build(role, Some(task)).1
    }

    fn build(&self, role: Option<&str>, task: Option<&str>) -> (Prompt, Prompt) {
        let (skills, roles) = (Skills::discover(&self.workspace), Roles::discover(&self.workspace));
        let dir = self.base.join("ws/.tasks/t_001");
        let sources = Sources {
            workspace: &self.workspace,
            skills: &skills,
            roles: &roles,
            role: role.and_then(|name| roles.find(name)),
            task: task.map(|text| Task { dir: &dir, text }),
        };
        (prompt::main(&sources), prompt::worker(&sources))
    }

    fn short(&self, text: &str) -> String {
        text.replace(&self.base.display().to_string(), "")
    }

    fn notices(&self) -> Vec<String> {
        self.main().notices.iter().map(|notice| self.short(notice)).collect()
    }
}

fn names(prompt: &Prompt) -> Vec<&str> {
    prompt.parts.iter().map(|part| part.name).collect()
}

/// Files whose text is a word that nothing else holds.
const FILES: [(&str, &str); 9] = [
    ("SOUL.md", "soul-word"),
    ("IDENTITY.md", "identity-word"),
    ("USER.md", "user-word"),
    ("AGENTS.md", "agents-word"),
    ("memory/memory.md", "---\nname: memory\nhidden: memory-front\n---\nmemory-word"),
    ("skills/s.md", "---\ndescription: skill-front-word\n---\nskill-body-word"),
    ("agents/a.md", "---\ndescription: role-front-word\n---\nrole-body-word\n{{task}}"),
    ("config.md", "---\nname: config-word\n---\nconfig-body-word"),
    (".tasks/t_002/task.md", "other-task-word"),
];

#[test]
fn each_file_is_seen_by_those_it_is_for() {
    let scene = scene(&FILES);
    let seers =
        [scene.main().text, scene.worker(None, "own-task-word").text, scene.worker(Some("a"), "own-task-word").text];
    let table = [
        ("soul-word", [true, false, false]),
        ("identity-word", [true, false, false]),
        ("user-word", [true, false, false]),
        ("memory-word", [true, false, false]),
        ("agents-word", [true, true, true]),
        ("skill-front-word", [true, true, true]),
        ("skill-body-word", [false, false, false]),
        ("role-front-word", [true, false, false]),
        ("role-body-word", [false, false, true]),
        ("own-task-word", [false, true, true]),
        ("other-task-word", [false, false, false]),
        ("config-body-word", [false, false, false]),
        ("memory-front", [false, false, false]),
    ];
    for (word, expected) in table {
        assert_eq!(seers.each_ref().map(|text| text.contains(word)), expected, "{word}");
    }
    assert_eq!(seers[2].matches("own-task-word").count(), 1, "a role that names its task is told it once");
}

#[test]
fn the_parts_come_in_one_order_to_the_byte() {
    let scene = scene(&FILES);
    let main = scene.main();
    let base = defaults::text("prompts/main.md").unwrap();
    let skills = Skills::discover(&scene.workspace).catalogue().unwrap();
    let roles = Roles::discover(&scene.workspace).catalogue().unwrap();
    let expected = format!(
        "{}\n\n# Workspace\nRoot: {}. Relative paths start here.\n\n# Skills\n{}\n\n# Agents\n{}\n\n# Soul\nsoul-word\n\n\
         # Identity\nidentity-word\n\n# User\nuser-word\n\n# Project instructions\nagents-word\n\n# Memory\nmemory-word\n",
        base.trim(),
        scene.base.join("ws").display(),
        skills.trim(),
        roles.trim(),
    );
    assert_eq!(main.text, expected);
    assert_eq!(
        names(&main),
        ["", "Workspace", "Skills", "Agents", "Soul", "Identity", "User", "Project instructions", "Memory"]
    );
    let worker = scene.worker(Some("a"), "Count.");
    assert_eq!(names(&worker), ["", "Workspace", "Skills", "Project instructions", "Your role"]);
    assert!(worker.text.ends_with("# Your role\nrole-body-word\nCount.\n"), "{}", worker.text);
    let plain = scene.worker(None, "Count.");
    assert_eq!(names(&plain), ["", "Workspace", "Skills", "Project instructions", "Your task"]);
    assert!(plain.text.contains("/.tasks/t_001\n"), "{}", plain.text);
}

#[test]
fn the_same_files_give_the_same_bytes() {
    let scene = scene(&FILES);
    assert_eq!(scene.main(), scene.main());
    assert_eq!(scene.worker(None, "x"), scene.worker(None, "x"));
}

#[test]
fn an_empty_folder_leaves_only_what_is_built_in_and_that_is_short() {
    let scene = scene(&[]);
    let main = scene.main();
    assert_eq!(names(&main), ["", "Workspace", "Skills", "Agents"]);
    // Four characters a token, roughly: together with the tools a request must stay below 2,000.
    assert!(main.text.len() < 3600, "{} bytes", main.text.len());
    let worker = scene.worker(None, "Count the lines.");
    assert_eq!(names(&worker), ["", "Workspace", "Skills", "Your task"]);
    assert!(worker.text.len() < 3000, "{} bytes", worker.text.len());
}

#[test]
fn a_part_is_cut_visibly_at_its_cap() {
    let long = "ä".repeat(MOST + 1);
    let scene = scene(&[("SOUL.md", &long), ("USER.md", &long[..2 * MOST])]);
    let main = scene.main();
    let sizes: Vec<_> = main.parts.iter().filter(|p| p.path.is_some()).map(|p| (p.name, p.chars, p.cut)).collect();
    assert_eq!(sizes[1..], [("Soul", MOST, true), ("User", MOST, false)]);
    let soul = scene.base.join("ws/SOUL.md");
    let mark = format!("ä\n[cut after 20000 characters; the rest is in {}]\n\n# User\n", soul.display());
    assert_eq!((main.text.matches('ä').count(), main.text.contains(&mark)), (2 * MOST, true));
}

#[test]
fn a_workspace_replaces_the_base_prompts_and_may_write_its_instructions_elsewhere() {
    let scene = scene(&[("prompts/main.md", "---\nname: x\n---\nOwn main.\n"), ("CLAUDE.md", "claude-word")]);
    assert!(scene.main().text.starts_with("Own main.\n\n# Workspace\n"));
    assert!(scene.main().text.ends_with("# Project instructions\nclaude-word\n"));
    assert!(scene.worker(None, "x").text.starts_with("You are a worker"));
    fs::write(scene.base.join("ws/AGENTS.md"), "agents-word").unwrap();
    assert!(!scene.main().text.contains("claude-word"));
}

#[test]
fn includes_are_followed_inside_the_workspace_only() {
    let agents = "Top\n@docs/style.md\n@alice and @docs/style.md inside a line\n```\n@docs/style.md\n```\n@/root.md\n\
                  @../secret.md\n@missing.md\n@link.md\n@alice\n  @docs\nEnd";
    let scene = scene(&[
        ("AGENTS.md", agents),
        ("docs/style.md", "---\nname: x\n---\nStyle\n@more.md"),
        ("docs/more.md", "More\n@style.md\n@../AGENTS.md"),
        ("root.md", "Root\n"),
    ]);
    fs::write(scene.base.join("secret.md"), "canary").unwrap();
    symlink(scene.base.join("secret.md"), scene.base.join("ws/link.md")).unwrap();
    let text = scene.main().text;
    let (_, instructions) = text.split_once("# Project instructions\n").unwrap();
    let expected = "Top\nStyle\nMore\n[style.md is not included: it would include itself]\n\
                    [../AGENTS.md is not included: it would include itself]\n@alice and @docs/style.md inside a line\n\
                    ```\n@docs/style.md\n```\nRoot\n[../secret.md is not included: it lies outside of the workspace]\n\
                    [missing.md is not included: there is no such file]\n\
                    [link.md is not included: it lies outside of the workspace]\n@alice\n  @docs\nEnd\n";
    assert_eq!(instructions, expected);
}

#[test]
fn includes_end_at_a_depth_and_a_number() {
    let mut files: Vec<(String, String)> =
        (0..9).map(|n| (format!("d{n}.md"), format!("depth {n}\n@d{}.md", n + 1))).collect();
    files.push(("AGENTS.md".into(), format!("@d0.md\n{}", "@leaf.md\n".repeat(60))));
    files.push(("leaf.md".into(), "leaf".into()));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let text = scene(&files).main().text;
    assert_eq!((text.contains("depth 4"), text.contains("depth 5")), (true, false));
    assert_eq!((text.matches("\nleaf").count(), text.matches("too many includes").count()), (45, 16));
}

#[test]
fn files_that_lead_out_or_are_no_text_are_named_and_hurt_nothing() {
    let scene = scene(&[("USER.md", "---\na: b: c\n---\nuser-word")]);
    fs::write(scene.base.join("secret"), "canary").unwrap();
    symlink(scene.base.join("secret"), scene.base.join("ws/AGENTS.md")).unwrap();
    fs::write(scene.base.join("ws/SOUL.md"), b"caf\xe9").unwrap();
    fs::create_dir(scene.base.join("ws/IDENTITY.md")).unwrap();
    let text = scene.main().text;
    assert!(text.contains("caf\u{fffd}") && text.contains("user-word") && !text.contains("canary"), "{text}");
    let expected = [
        "/ws/SOUL.md is not UTF-8 text; save it as UTF-8",
        "/ws/USER.md: the frontmatter of the text is wrong at line 2, column 5: mapping values are not allowed in this context",
        "/ws/AGENTS.md left out: it lies outside of the workspace",
    ];
    assert_eq!(scene.notices(), expected);
}

#[test]
fn the_example_workspace_is_whole_and_without_a_mistake() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("workspace.example");
    let home = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(&root, home.path()).unwrap();
    let (skills, roles) = (Skills::discover(&workspace), Roles::discover(&workspace));
    let sources = Sources { workspace: &workspace, skills: &skills, roles: &roles, role: None, task: None };
    let main = prompt::main(&sources);
    assert_eq!([skills.notices(), roles.notices()].concat(), []);
    assert_eq!(main.notices, [""; 0]);
    assert_eq!(
        names(&main),
        ["", "Workspace", "Skills", "Agents", "Soul", "Identity", "User", "Project instructions", "Memory"]
    );
    assert!(skills.find("fix-a-test").is_some() && roles.find("bookkeeper").is_some());
    let config = tillerman::config::load(workspace, &Default::default(), &|_| None).unwrap();
    assert_eq!(config.warnings, [""; 0]);

    let copy = tempfile::tempdir().unwrap();
    for name in ["cart.txt", "money.sh", "test.sh"] {
        fs::copy(root.join("shop").join(name), copy.path().join(name)).unwrap();
    }
    let test = || {
        let ran = std::process::Command::new("sh").arg(copy.path().join("test.sh")).output().unwrap();
        let said = String::from_utf8(ran.stdout).unwrap();
        (ran.status.success(), said.lines().last().unwrap_or_default().to_owned())
    };
    assert_eq!(test(), (false, "6 passed, 1 failed".to_owned()));
    let money = copy.path().join("money.sh");
    let fixed = fs::read_to_string(&money).unwrap().replace("$(($1 - $2))", "$(($2 - $1))");
    fs::write(&money, fixed).unwrap();
    assert_eq!(test(), (true, "7 passed, 0 failed".to_owned()));
}
