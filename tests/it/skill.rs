//! Skills: where they are found, which one counts, what is left out and why, what a model reads.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tempfile::TempDir;
use tillerman::message::{CallId, RawArgs};
use tillerman::skill::{Layer, Skills};
use tillerman::tool::{ToolContext, ToolError, ToolOutput};
use tillerman::workspace::Workspace;
use tokio_util::sync::CancellationToken;

struct Scene {
    _dir: TempDir,
    base: PathBuf,
    workspace: Workspace,
}

/// A workspace with these files; paths begin with `ws/` or `home/`.
fn scene(files: &[(&str, &str)]) -> Scene {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    fs::create_dir_all(base.join("ws")).unwrap();
    for (path, text) in files {
        let path = base.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let workspace = Workspace::open(&base.join("ws"), &base.join("home")).unwrap();
    Scene { _dir: dir, base, workspace }
}

impl Scene {
    fn skills(&self) -> Skills {
        Skills::discover(&self.workspace)
    }

    fn short(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.base.display()), "")
    }

    fn notices(&self) -> Vec<String> {
        self.skills().notices().iter().map(|notice| self.short(&notice.to_string())).collect()
    }

    /// Name, description and file of those that are not built in.
    fn own(&self) -> Vec<(String, String, String)> {
        let skills = self.skills();
        let own = skills.list().iter().filter(|skill| skill.layer != Layer::BuiltIn);
        own.map(|s| (s.name.clone(), s.description.clone(), self.short(&s.path.display().to_string()))).collect()
    }

    async fn load(&self, args: &str) -> Result<ToolOutput, ToolError> {
        let tool = self.skills().tool().unwrap();
        tool.call(RawArgs(args.to_owned()), &context()).await
    }
}

fn context() -> ToolContext {
    ToolContext {
        call: CallId("c".to_owned()),
        cancel: CancellationToken::new(),
        progress: Arc::new(|_| {}),
        artifacts: PathBuf::from("/nonexistent"),
        secrets: tillerman::secret::Secrets::default(),
    }
}

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nHow to {name}.\n")
}

fn owned(rows: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    rows.iter().map(|(a, b, c)| (a.to_string(), b.to_string(), c.to_string())).collect()
}

#[test]
fn two_skills_are_built_in() {
    let skills = scene(&[]).skills();
    let names: Vec<(&str, Layer)> = skills.list().iter().map(|skill| (skill.name.as_str(), skill.layer)).collect();
    assert_eq!(names, [("coding", Layer::BuiltIn), ("writing", Layer::BuiltIn)]);
    assert_eq!(skills.notices(), []);
}

#[test]
fn skills_of_all_layouts_are_found() {
    let scene = scene(&[
        ("ws/skills/single.md", &skill("single", "One file.")),
        ("ws/skills/unnamed.md", "---\ndescription: Named after its file.\n---\n"),
        ("ws/skills/README.md", &skill("readme", "No skill.")),
        ("ws/skills/folder/SKILL.md", &skill("folder", "A folder.")),
        ("ws/skills/folder/references/more.md", &skill("more", "Belongs to the folder.")),
        ("ws/skills/group/deep/Skill.md", "---\ndescription: Named after its folder.\n---\n"),
        ("ws/skills/group/loose.md", &skill("loose", "Neither at the top nor a SKILL.md.")),
        ("ws/skills/node_modules/x/SKILL.md", &skill("x", "Foreign.")),
        ("ws/.claude/skills/foreign/SKILL.md", &skill("foreign", "From another program.")),
        ("home/skills/mine/skill.md", &skill("mine", "For all workspaces.")),
    ]);
    let expected = [
        ("deep", "Named after its folder.", "ws/skills/group/deep/Skill.md"),
        ("folder", "A folder.", "ws/skills/folder/SKILL.md"),
        ("foreign", "From another program.", "ws/.claude/skills/foreign/SKILL.md"),
        ("mine", "For all workspaces.", "home/skills/mine/skill.md"),
        ("single", "One file.", "ws/skills/single.md"),
        ("unnamed", "Named after its file.", "ws/skills/unnamed.md"),
    ];
    assert_eq!(scene.own(), owned(&expected));
    assert_eq!(scene.notices(), [""; 0]);
}

#[test]
fn a_workspace_skill_replaces_those_of_the_same_name_and_says_so() {
    let scene = scene(&[
        ("home/skills/coding.md", &skill("coding", "From home.")),
        ("ws/skills/coding/SKILL.md", &skill("coding", "From the workspace.")),
        ("ws/.agents/skills/coding.md", &skill("coding", "Comes too late.")),
    ]);
    assert_eq!(scene.own(), owned(&[("coding", "From the workspace.", "ws/skills/coding/SKILL.md")]));
    let expected = [
        "home/skills/coding.md: this skill replaces the built-in one, coding",
        "ws/skills/coding/SKILL.md: this skill replaces the one in the home folder, coding",
        "ws/.agents/skills/coding.md: skill left out: ws/skills/coding/SKILL.md has the same name, coding",
    ];
    assert_eq!(scene.notices(), expected);
}

#[test]
fn bad_skills_are_left_out_with_file_line_and_column_and_the_lenient_ones_load() {
    let scene = scene(&[
        ("ws/skills/broken.md", "---\nname: broken\ndescription: [x\n---\n"),
        ("ws/skills/colon.md", "---\nname: colon\ndescription: Use when: always: yes\n---\nbody\n"),
        ("ws/skills/empty.md", "---\nname: empty\ndescription: \" \"\n---\n"),
        ("ws/skills/loud.md", &skill("Loud Name", "Loads all the same.")),
        ("ws/skills/none.md", "no frontmatter"),
    ]);
    let expected = [
        ("Loud Name", "Loads all the same.", "ws/skills/loud.md"),
        ("colon", "Use when: always: yes", "ws/skills/colon.md"),
    ];
    assert_eq!(scene.own(), owned(&expected));
    let expected = [
        "skill left out: the frontmatter of ws/skills/broken.md is wrong at line 4, column 1: did not find expected ',' or ']', \
         while parsing a flow sequence at line 3 column 14",
        "ws/skills/colon.md: a value holds a colon and should be in quotes",
        "ws/skills/empty.md: skill left out: its frontmatter has no description",
        "ws/skills/loud.md: the name \"Loud Name\" should be lower-case letters, digits and single hyphens",
        "ws/skills/none.md: skill left out: its frontmatter has no description",
    ];
    assert_eq!(scene.notices(), expected);
}

#[test]
fn links_are_followed_inside_the_workspace_and_never_in_circles() {
    let scene = scene(&[
        ("ws/tools/linked/SKILL.md", &skill("linked", "By a link.")),
        ("outside/SKILL.md", &skill("outside", "Not ours.")),
        ("ws/skills/a.md", &skill("a", "Plain.")),
    ]);
    let link = |target: &str, name: &str| symlink(scene.base.join(target), scene.base.join(name)).unwrap();
    link("ws/tools/linked", "ws/skills/linked");
    link("ws/skills", "ws/skills/loop");
    link("outside", "ws/skills/outside");
    let expected = [("a", "Plain.", "ws/skills/a.md"), ("linked", "By a link.", "ws/skills/linked/SKILL.md")];
    assert_eq!(scene.own(), owned(&expected));
    assert_eq!(scene.notices(), ["ws/skills/outside: skills left out: a link that leads out of the workspace"]);
}

#[test]
fn the_catalogue_has_a_line_for_each_skill_that_a_model_may_load() {
    let long = format!("Long. {}", "word ".repeat(200));
    let scene = scene(&[
        ("ws/skills/a.md", "---\ndescription: |\n  Two\n  lines.\n---\n"),
        ("ws/skills/b.md", &skill("b", &long)),
        ("ws/skills/c.md", "---\ndescription: For people.\ndisable-model-invocation: true\n---\nBy hand.\n"),
    ]);
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let skills = scene.skills().only(&names(&["a", "b", "c", "nothing"]));
    let head = "Guides. When one fits what you are about to do, read it with `load_skill` first.";
    let cut: String = long.chars().take(400).collect();
    assert_eq!(skills.catalogue(), Some(format!("{head}\n- a: Two lines.\n- b: {cut}…\n")));
    assert_eq!(
        skills.tool().unwrap().spec().schema,
        json!({
            "type": "object",
            "properties": {"name": {"type": "string", "enum": ["a", "b"]}},
            "required": ["name"],
        })
        .into()
    );
    assert!(skills.text("c").unwrap().ends_with("\n\nBy hand.\n"), "a person may still call for it");
    let snapshot = fs::read_to_string(scene.workspace.state().join("SKILLS_SNAPSHOT.md")).unwrap();
    assert_eq!(Some(snapshot), scene.skills().catalogue());
}

#[test]
fn skills_at_hand_are_in_the_catalogue_as_they_would_be_loaded_as_far_as_they_fit() {
    let long = format!("---\ndescription: Long.\n---\n{}", "word ".repeat(3_300));
    let scene = scene(&[("ws/skills/a.md", &skill("a", "Short.")), ("ws/skills/b.md", &long)]);
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let both = scene.skills().only(&names(&["a", "b"])).at_hand();
    let catalogue = both.catalogue().unwrap();
    assert!(catalogue.contains("\n- b: Long.\n") && !catalogue.contains("- a: "), "{catalogue}");
    assert!(catalogue.ends_with(&both.text("a").unwrap()), "{catalogue}");
    let one = scene.skills().only(&names(&["a"])).at_hand();
    assert_eq!(one.catalogue(), one.text("a").ok());
    assert!(one.tool().is_none(), "there is nothing left to load");
}

#[test]
fn without_skills_there_is_no_block_and_no_tool() {
    let none = scene(&[]).skills().only(&[]);
    assert_eq!((none.list().len(), none.catalogue()), (0, None));
    assert!(none.tool().is_none());
    assert_eq!(none.text("x").unwrap_err().to_string(), "there is no skill x; there are: none");
}

#[tokio::test]
async fn a_loaded_skill_is_its_text_its_folder_and_what_lies_beside_it() {
    let scene = scene(&[
        ("ws/skills/pdf/SKILL.md", &skill("pdf", "Pages.")),
        ("ws/skills/pdf/scripts/split.sh", ""),
        ("ws/skills/pdf/form.md", ""),
        ("ws/skills/pdf/.git/x", ""),
        ("ws/skills/single.md", &skill("single", "One file.")),
        ("ws/skills/neighbour.md", &skill("neighbour", "Not beside it.")),
    ]);
    let loaded = scene.load(r#"{"name": "pdf"}"#).await.unwrap();
    assert_eq!(
        scene.short(&loaded.text),
        "Skill pdf in ws/skills/pdf. Files beside it: form.md, scripts/split.sh.\n\nHow to pdf.\n"
    );
    assert_eq!(loaded.details, json!({"skill": "pdf", "path": scene.base.join("ws/skills/pdf/SKILL.md")}));
    let single = scene.load(r#"{"name": "single"}"#).await.unwrap();
    assert_eq!(scene.short(&single.text), "Skill single in ws/skills.\n\nHow to single.\n");
    let built_in = scene.load(r#"{"name": "coding"}"#).await.unwrap().text;
    assert!(built_in.starts_with("Skill coding, built in.\n\n# Changing code\n"), "{built_in}");

    let unknown = scene.load(r#"{"name": "pdfs"}"#).await.unwrap_err().to_string();
    assert!(unknown.contains("pdf") && unknown.contains("coding"), "{unknown}");
    assert!(scene.load("{}").await.is_err());
}

#[tokio::test]
async fn a_skill_is_read_when_it_is_loaded() {
    let scene = scene(&[("ws/skills/a.md", &skill("a", "Changes."))]);
    let tool = scene.skills().tool().unwrap();
    let context = context();
    let call = || tool.call(RawArgs(r#"{"name":"a"}"#.to_owned()), &context);
    let path = scene.base.join("ws/skills/a.md");
    fs::write(&path, format!("---\ndescription: x\n---\n{}", "é".repeat(50_000))).unwrap();
    let text = call().await.unwrap().text;
    let mark = format!("[cut after 40000 characters; the rest is in {}]\n", path.display());
    assert_eq!((text.matches('é').count(), text.ends_with(&mark)), (40_000, true));
    fs::remove_file(&path).unwrap();
    let gone = scene.short(&call().await.unwrap_err().to_string());
    assert_eq!(gone, "the skill a cannot be read: cannot read ws/skills/a.md: No such file or directory (os error 2)");
}
