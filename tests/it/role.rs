//! Named agents: where they are found, how foreign files are read, what is said about mistakes.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use tillerman::message::Approval;
use tillerman::role::{Known, Role, Roles, Scope};
use tillerman::workspace::Workspace;
use tillerman::workspace::defaults::Layer;

const BUILT_IN: [&str; 4] = ["coder", "researcher", "reviewer", "tester"];

/// The roles of a workspace with these files, and their folder.
fn roles(files: &[(&str, &str)]) -> (TempDir, PathBuf, Roles) {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    fs::create_dir_all(base.join("ws")).unwrap();
    for (path, text) in files {
        let path = base.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let workspace = Workspace::open(&base.join("ws"), &base.join("home")).unwrap();
    let roles = Roles::discover(&workspace);
    (dir, base, roles)
}

fn notices(files: &[(&str, &str)]) -> Vec<String> {
    let (_dir, base, roles) = roles(files);
    roles.notices().iter().map(|notice| notice.to_string().replace(&format!("{}/", base.display()), "")).collect()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

#[test]
fn researcher_and_reviewer_are_built_in_and_in_the_catalogue() {
    let (_dir, _, roles) = roles(&[]);
    let names: Vec<(&str, Layer)> = roles.list().iter().map(|role| (role.name.as_str(), role.layer)).collect();
    assert_eq!(names, BUILT_IN.map(|name| (name, Layer::BuiltIn)));
    assert_eq!(roles.notices(), []);
    let catalogue = roles.catalogue().unwrap();
    let lines: Vec<&str> = catalogue.lines().collect();
    let begins = |(line, name): (&&str, &str)| line.starts_with(&format!("- {name}: "));
    assert!(lines.len() == 5 && lines[1..].iter().zip(BUILT_IN).all(begins), "{catalogue}");
    assert!(!roles.find("reviewer").unwrap().allows("write_file"), "a reviewer changes nothing");
}

#[test]
fn every_field_reaches_its_place() {
    let text = "---\nname: prober\ndescription: Runs\n  tests.\nmodel: openai/gpt-x\neffort: high\ntools: [shell, read_file]\n\
                skills: coding, writing\nmax_steps: 12\napproval: ask\nbackground: true\nlimits: {usd: 0.50, turns: 9}\n---\n\nTest this: {{task}}\n\nAgain: {{task}}\n";
    let (_dir, base, roles) = roles(&[("ws/agents/t.md", text)]);
    let expected = Role {
        name: "prober".to_owned(),
        description: "Runs tests.".to_owned(),
        model: Some("openai/gpt-x".to_owned()),
        effort: Some("high".to_owned()),
        tools: Some(words(&["shell", "read_file"])),
        without: Vec::new(),
        skills: Some(words(&["coding", "writing"])),
        max_turns: Some(12),
        budget: "$0.50 9 turns".parse().unwrap(),
        approval: Some(Approval::Ask),
        background: true,
        body: "Test this: {{task}}\n\nAgain: {{task}}".to_owned(),
        layer: Layer::Workspace,
        path: base.join("ws/agents/t.md"),
    };
    let found = roles.find("prober").unwrap();
    assert_eq!(found, &expected);
    assert_eq!(found.instructions(" the {{task}}\n"), "Test this: the {{task}}\n\nAgain: the {{task}}");
    assert_eq!(roles.notices(), []);
}

#[test]
fn files_of_other_programs_mean_what_they_meant() {
    let text = "---\nname: foreign\ndescription: From elsewhere.\ntools: Read, Bash(git:*, ls), Agent(x), MyTool\n\
                disallowedTools: [Write, Edit]\nmodel: inherit\nmaxTurns: 7\ncolor: blue\n---\nDo it.\n";
    let (_dir, _, roles) = roles(&[("ws/.claude/agents/foreign.md", text)]);
    let role = roles.find("foreign").unwrap();
    assert_eq!(role.tools, Some(words(&["read_file", "shell", "dispatch", "MyTool"])));
    assert_eq!(
        (role.without.clone(), role.model.clone(), role.max_turns),
        (words(&["write_file", "edit_file"]), None, Some(7))
    );
    assert_eq!(roles.notices(), []);
    assert!(role.allows("shell") && !role.allows("grep") && !role.allows("write_file"));
}

#[test]
fn tools_that_are_not_listed_are_all_or_none() {
    let file = |tools: &str| format!("---\ndescription: x\n{tools}\n---\n");
    let (_dir, _, roles) = roles(&[
        ("ws/agents/all.md", &file("")),
        ("ws/agents/star.md", &file("tools: \"*\"")),
        ("ws/agents/none.md", &file("tools: []")),
        ("ws/agents/without.md", &file("disallowedTools: Bash")),
    ]);
    let allows = |name: &str| ["shell", "grep"].map(|tool| roles.find(name).unwrap().allows(tool));
    assert_eq!(
        ["all", "star", "none", "without"].map(allows),
        [[true, true], [true, true], [false, false], [false, true]]
    );
}

#[test]
fn a_later_place_replaces_a_role_of_the_same_name() {
    let file = |from: &str| format!("---\nname: reviewer\ndescription: {from}\n---\n");
    let files = [
        ("home/agents/reviewer.md", file("home")),
        ("ws/.claude/agents/reviewer.md", file("claude")),
        ("ws/agents/reviewer.md", file("own")),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let (_dir, _, found) = roles(&files);
    assert_eq!(found.find("reviewer").unwrap().description, "own");
    assert_eq!(notices(&files), ["home/agents/reviewer.md: this role replaces the built-in one, reviewer"]);
}

#[test]
fn mistakes_are_named_with_file_and_line_and_cost_only_themselves() {
    let files = [
        ("ws/agents/a.md", "---\ndescription: x\nmax_turns: 0\nfoo: 1\nhooks: {}\nmodel: sonnet\n---\n"),
        ("ws/agents/b.md", "---\nname: b\n---\n"),
        ("ws/agents/c.md", "---\nname: c: d\n---\n"),
        ("ws/agents/d.md", "---\ndescription: x\nmodel: scripted/evil.json\nbackground: perhaps\n---\n"),
        ("ws/agents/e.md", "---\ndescription: x\nname: ../e\n---\n"),
        ("ws/agents/f.md", "---\ndescription: x\ntools: {shell: true}\n---\n"),
        ("ws/agents/g.md", "---\ndescription: x\nname: a\n---\n"),
        ("ws/agents/h.md", "---\ndescription: x\nbudget: lots\n---\n"),
        ("ws/agents/i.md", "---\ndescription: x\napproval: never\n---\n"),
        ("ws/agents/README.md", "About this folder."),
    ];
    let (_dir, _, found) = roles(&files);
    let names: Vec<&str> = found.list().iter().map(|role| role.name.as_str()).collect();
    assert_eq!(names, ["a", "coder", "d", "researcher", "reviewer", "tester"]);
    assert_eq!((&found.find("d").unwrap().model, found.find("a").unwrap().max_turns), (&None, None));
    let expected = [
        "role left out: the frontmatter of ws/agents/c.md is wrong at line 2, column 8: mapping values are not allowed in this context",
        "ws/agents/a.md line 6: model sonnet is no PROVIDER/MODEL; it gets the model that workers have",
        "ws/agents/a.md line 3: max_turns is ignored: it must be a whole number from 1",
        "ws/agents/a.md line 4: unknown field `foo`; known are name, description, model, effort, tools, disallowedTools, skills, \
         maxTurns, budget, approval, background",
        "ws/agents/a.md line 5: the field `hooks` has no effect here",
        "ws/agents/b.md: role left out: its frontmatter has no description",
        "ws/agents/d.md line 3: a role cannot have a scripted model; it gets the one that workers have",
        "ws/agents/d.md line 4: background is ignored: it must be true or false",
        "ws/agents/e.md: role left out: the name \"../e\" is no name; write one like code-reviewer",
        "ws/agents/f.md: role left out: tools must be names, like [shell, read_file]",
        "ws/agents/g.md: role left out: ws/agents/a.md has the same name, a",
        "ws/agents/h.md: role left out: budget: `lots` is no budget; write it like $0.50, 400k tokens, 20m or 40 turns",
        "ws/agents/i.md: role left out: approval must be ask or deny",
    ];
    let expected = expected.map(|line| line.replace("gets the one", "gets the model"));
    assert_eq!(notices(&files), expected);
}

#[test]
fn names_of_what_does_not_exist_are_told_with_their_line() {
    let files = [
        (
            "ws/agents/a.md",
            "---\ndescription: x\nmodel: nowhere/m\neffort: off\ntools:\n  - Read\n  - NoSuch(a, b)\ndisallowedTools: Bash, Gone\n\
             skills: [coding, sailing]\n---\nNoSuch\n",
        ),
        ("ws/agents/all.md", "---\ndescription: x\ntools: all\n---\n"),
    ];
    let (_dir, base, _) = roles(&files);
    let workspace = Workspace::open(&base.join("ws"), &base.join("home")).unwrap();
    let (tools, skills) = (words(&["read_file", "shell"]), words(&["coding"]));
    let model = |name: &str| Some(format!("there is no {name}"));
    let effort = |model: Option<&str>, effort: &str| Some(format!("{effort} of {model:?}"));
    let known = Some(Known { tools: &tools, skills: &skills, model: &model, effort: &effort });
    let found = Roles::within(&workspace, Scope { known, ..Scope::default() });
    let own = |notice: &str| notice.strip_prefix(&format!("{}/", base.display())).map(str::to_owned);
    let told: Vec<String> = found.notices().iter().filter_map(|notice| own(&notice.to_string())).collect();
    let expected = [
        "ws/agents/a.md line 4: effort has no effect: off of Some(\"nowhere/m\")",
        "ws/agents/a.md line 7: there is no tool NoSuch(a, b); there are read_file, shell",
        "ws/agents/a.md line 8: there is no tool Gone; there are read_file, shell",
        "ws/agents/a.md line 9: there is no skill sailing; there are coding",
        "ws/agents/a.md line 3: there is no nowhere/m; tasks for a are refused until then",
    ];
    assert_eq!(told, expected);
}

#[test]
fn s1_32_a_folder_of_ones_own_goes_first_and_the_workspace_can_be_left_out() {
    let file = |from: &str| format!("---\ndescription: {from}\n---\n");
    let (workspaces, teams) = (file("workspace"), file("team"));
    let (_dir, base, _) =
        roles(&[("ws/agents/a.md", &workspaces), ("ws/agents/b.md", &workspaces), ("team/b.md", &teams)]);
    let workspace = Workspace::open(&base.join("ws"), &base.join("home")).unwrap();
    let own = |scope: Scope| {
        let found = Roles::within(&workspace, scope);
        let own = found.list().iter().filter(|role| role.layer != Layer::BuiltIn);
        own.map(|role| format!("{} of {}", role.name, role.description)).collect::<Vec<_>>()
    };
    let team = base.join("team");
    assert_eq!(own(Scope { folder: Some(&team), ..Scope::default() }), ["a of workspace", "b of team"]);
    let only = Scope { folder: Some(&team), built_in: true, ..Scope::default() };
    assert_eq!(own(only), ["b of team"]);
    let foreign = base.join("claude");
    fs::create_dir(&foreign).unwrap();
    ["a", "c"].iter().for_each(|name| fs::write(foreign.join(format!("{name}.md")), file("another program")).unwrap());
    let with = Scope { foreign: Some(&foreign), ..Scope::default() };
    assert_eq!(own(with), ["a of workspace", "b of workspace", "c of another program"]);
    assert_eq!(own(Scope { built_in: true, ..Scope::default() }), [""; 0]);
    let gone = base.join("gone");
    let found = Roles::within(&workspace, Scope { folder: Some(&gone), ..Scope::default() });
    let told: Vec<String> = found.notices().iter().map(ToString::to_string).collect();
    assert_eq!(told, [format!("{}: agents_folder is no folder; make it, or name another", gone.display())]);
}
