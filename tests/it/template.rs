//! Prompt templates: where they are found, and where what was typed goes.

use std::fs;

use tempfile::TempDir;
use tillerman::template::{Part, Templates};
use tillerman::workspace::Workspace;

struct Scene {
    dir: TempDir,
    workspace: Workspace,
}

/// A workspace with these files; paths begin with `ws/` or `home/`.
fn scene(files: &[(&str, &str)]) -> Scene {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("ws")).unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let workspace = Workspace::open(&dir.path().join("ws"), &dir.path().join("home")).unwrap();
    Scene { dir, workspace }
}

fn filled(body: &str, args: &str) -> Vec<Part> {
    let scene = scene(&[("ws/commands/x.md", body)]);
    Templates::discover(&scene.workspace).find("x").unwrap().filled(args).unwrap()
}

/// What is said, with commands in angles.
fn text(body: &str, args: &str) -> String {
    let part = |part: Part| match part {
        Part::Text(text) => text,
        Part::Command(command) => format!("<{command}>"),
    };
    filled(body, args).into_iter().map(part).collect()
}

#[test]
fn what_was_typed_goes_to_its_places() {
    let cases = [
        ("Fix $ARGUMENTS.", "the  \"old parser\"", "Fix the  \"old parser\"."),
        ("Fix $@", "a b", "Fix a b"),
        ("$1 before $2, not $3.", "one \"two words\"", "one before two words, not ."),
        ("${@:2} and ${@:1:1}; ${@:9}", "a b c", "b c and a; "),
        ("No place", "at all", "No place\n\nat all"),
        ("No place", "", "No place"),
        ("It costs $10, $1.50, $ 3 and ${HOME}", "", "It costs $10, $1.50, $ 3 and ${HOME}"),
        ("Say $1", "$2 !`ls` x", "Say $2"),
        ("It's $1", "don't", "It's don't"),
    ];
    for (body, args, wanted) in cases {
        assert_eq!(text(body, args), wanted, "{body:?} {args:?}");
    }
}

#[test]
fn a_command_stands_apart_and_what_was_typed_is_quoted_in_it() {
    assert_eq!(text("Look: !`git show $1`.", "'; rm -rf ~ #'"), "Look: <git show '; rm -rf ~ #'>.");
    assert_eq!(text("!`git log $ARGUMENTS` and !`date`", "a 'b c' d'e"), r"<git log 'a' 'b c' 'd'\''e'> and <date>");
    assert_eq!(text("Wow!`ls` and !`` and !`open", ""), "Wow!`ls` and !`` and !`open");
}

#[test]
fn templates_are_found_in_their_places_and_the_workspace_goes_first() {
    let scene = scene(&[
        ("home/commands/review.md", "Mine"),
        ("home/commands/mine.md", "Mine too"),
        ("ws/.claude/commands/review.md", "Theirs"),
        (
            "ws/commands/review.md",
            "---\ndescription: look  at it\nargument-hint: [file] [n]\nallowed-tools: Bash\n---\nOurs",
        ),
        ("ws/commands/git/sum.md", "# Sum up\nall"),
        ("ws/prompts/main.md", "a system prompt"),
        ("ws/commands/README.md", "for people"),
        ("ws/commands/two words.md", "cannot be typed"),
        ("ws/commands/.hidden/x.md", "hidden"),
    ]);
    let found = Templates::discover(&scene.workspace);
    let shown: Vec<(&str, &str, &str)> = found
        .list()
        .iter()
        .map(|template| (template.name.as_str(), template.description.as_str(), template.hint.as_str()))
        .collect();
    assert_eq!(shown, [("git:sum", "Sum up", ""), ("mine", "Mine too", ""), ("review", "look at it", "[file] [n]")]);
    let review = found.find("review").unwrap();
    assert_eq!(
        (review.idle.clone(), review.filled("").unwrap()),
        (vec!["allowed-tools".to_owned()], vec![Part::Text("Ours".to_owned())])
    );
    let notices: Vec<String> = found.notices().iter().map(ToString::to_string).collect();
    assert_eq!(notices.len(), 1);
    assert!(
        notices[0].ends_with("two words.md: template left out: its name cannot be typed as one word"),
        "{notices:?}"
    );
}

#[test]
fn a_folder_that_leads_out_of_the_workspace_is_left_out_and_a_changed_file_counts_at_once() {
    let scene = scene(&[("other/x.md", "X"), ("ws/prompts/y.md", "Y")]);
    std::os::unix::fs::symlink(scene.dir.path().join("other"), scene.dir.path().join("ws/commands")).unwrap();
    let found = Templates::discover(&scene.workspace);
    assert_eq!(found.list().len(), 1);
    assert!(found.notices()[0].to_string().contains("a link that leads elsewhere"));
    fs::write(scene.dir.path().join("ws/prompts/y.md"), "Z").unwrap();
    assert_eq!(found.find("y").unwrap().filled("").unwrap(), [Part::Text("Z".to_owned())]);
}
