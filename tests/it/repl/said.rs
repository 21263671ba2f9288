//! What a line says besides its words: templates, skills, mentions, what the person's own commands have shown.

use std::fs;

use crate::cli::{Done, Place};
use crate::server::{Response, Server, says};

/// The program with a model that answers everything; what it was told last, and what the terminal got.
fn told(place: &Place, args: &[&str], typed: &str) -> (Vec<String>, Done) {
    let server = Server::answer(|_| Response::Says(says().text("Noted.")));
    let url = server.base_url();
    let args: Vec<&str> = args.iter().copied().chain(["-m", "anthropic/x", "--base-url", &url]).collect();
    let done = place.tillerman_with(&args, &[("ANTHROPIC_API_KEY", "sk-test-1")], typed);
    (server.requests().iter().map(|request| request.last_user()).collect(), done)
}

fn written(files: &[(&str, &str)]) -> Place {
    let place = Place::new();
    for (path, text) in files {
        let path = place.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    place
}

#[test]
fn what_an_own_command_showed_goes_with_the_next_line_and_only_with_that() {
    let (told, done) = told(&Place::new(), &[], "!echo seen\n!!echo secret\nfirst\nsecond\n");
    let first = "first\n\nI ran `echo seen` here, exit code 0:\n```\nseen\n```";
    assert_eq!(told, [first, "second"], "{}", done.stderr);
    assert!(done.stdout.contains("secret"), "{}", done.stdout);
}

#[test]
fn a_template_is_said_with_what_stands_behind_its_name_at_the_prompt_and_headless() {
    let text = "---\ndescription: look at a change\nmodel: x\n---\nReview $1, mind: ${@:2}.";
    let place = written(&[("commands/review.md", text)]);
    let wanted = "Review src/a.rs, mind: names and tests.";
    let (at_prompt, _) = told(&place, &[], "/review src/a.rs names and tests\n");
    assert_eq!(at_prompt, [wanted]);
    let (headless, done) = told(&place, &["run", "/review src/a.rs names and tests"], "");
    assert_eq!((headless, done.stdout.as_str()), (vec![wanted.to_owned()], "Noted.\n"));
    assert!(done.stderr.contains("commands/review.md: model has no effect here"), "{}", done.stderr);
}

#[test]
fn a_name_that_is_none_is_refused_with_the_nearest_and_nothing_is_said() {
    let place = written(&[("commands/review.md", "Review.")]);
    let (none, done) = told(&place, &[], "/reveiw it\n/help review\n");
    assert_eq!(none, [""; 0]);
    assert!(done.stderr.contains("no command /reveiw, did you mean /review?"), "{}", done.stderr);
    assert!(done.stdout.contains("/review TEXT\n  Review."), "{}", done.stdout);
    let (none, done) = told(&place, &["run", "/reveiw it"], "");
    assert_eq!((none.len(), done.code), (0, Some(2)));
    assert!(done.stderr.contains("there is no template or skill /reveiw"), "{}", done.stderr);
}

#[test]
fn a_skill_is_loaded_by_its_name() {
    let skill = "---\nname: weigh\ndescription: weigh things\n---\nUse the scales.";
    let (told, _) = told(&written(&[("skills/weigh.md", skill)]), &["run", "/weigh the fish"], "");
    assert!(told[0].starts_with("/weigh the fish\n\n") && told[0].contains("Use the scales."), "{told:?}");
}

#[test]
fn a_command_of_a_template_runs_only_where_the_folder_is_trusted() {
    let place = written(&[("commands/now.md", "It is !`echo $1; touch ran`.")]);
    let (none, done) = told(&place, &["run", "/now high"], "");
    assert_eq!((none.len(), done.code), (0, Some(2)));
    let why = "/now would run `echo 'high'; touch ran`, and this folder is not trusted";
    assert!(done.stderr.contains(why) && !place.path().join("ran").exists(), "{}", done.stderr);
    let (told, done) = told(&place, &["run", "/now high; echo no", "--trust"], "");
    assert!(told[0].starts_with("It is high"), "{told:?} {}", done.stderr);
    assert!(place.path().join("ran").exists());
}

#[test]
fn a_mentioned_file_stands_behind_the_words_unless_it_is_hidden_or_large() {
    let large = "x".repeat(200_000);
    let place = written(&[("src/a.rs", "fn a() {}\n"), ("my notes.md", "Buy tea."), ("large", &large)]);
    let key = place.home.path().join(".ssh/key");
    fs::create_dir(key.parent().unwrap()).unwrap();
    fs::write(&key, "secret").unwrap();
    let line = format!("compare @src/a.rs, @\"my notes.md\" @{} @large and @nobody", key.display());
    let (told, done) = told(&place, &["run", &line], "");
    let file = |path: &str, text: &str| format!("\n\n<file path=\"{path}\">\n{text}\n</file>");
    assert_eq!(told, [line.clone() + &file("src/a.rs", "fn a() {}") + &file("my notes.md", "Buy tea.")]);
    for said in ["added src/a.rs, 1 lines", "/.ssh/key is not added: ", "@large is large"] {
        assert!(done.stderr.contains(said), "{said}: {}", done.stderr);
    }
}

#[test]
fn the_path_of_a_picture_shows_it() {
    let place = Place::new();
    let picture = place.home.path().join("a shot.png");
    fs::write(&picture, crate::tools::pictures::png(3, 2, 60)).unwrap();
    let line = format!("what is {}\n", picture.display().to_string().replace(' ', "\\ "));
    let server = Server::answer(|_| Response::Says(says().text("A boat.")));
    let url = server.base_url();
    let args = ["-m", "anthropic/claude-sonnet-5-5", "--base-url", &url];
    let done = place.tillerman_with(&args, &[("ANTHROPIC_API_KEY", "sk-test-1")], &line);
    assert!(done.stderr.contains("added the image") && done.stderr.contains("3 × 2"), "{}", done.stderr);
    assert!(server.requests()[0].contains("image/png"), "{}", server.requests()[0].body);
}

#[test]
fn notes_exports_and_what_is_looked_at() {
    let place = written(&[("AGENTS.md", "Use tabs."), ("commands/review.md", "Review.")]);
    let typed = "/note tests run with make\nhello\n/export talk.html\n/memory\n/skills\n/tools\n/permissions\n/agents\n/keys\n/model\n/context\n/init\n";
    let (_, done) = told(&place, &[], typed);
    assert_eq!(fs::read_to_string(place.path().join("memory/memory.md")).unwrap(), "- tests run with make\n");
    assert!(fs::read_to_string(place.path().join("talk.html")).unwrap().contains("hello"), "{}", done.stderr);
    for shown in ["AGENTS.md", "/review", "shell", "else  ", "reviewer", "Alt+Enter", "anthropic/x", "Kept for a reply"]
    {
        assert!(done.stdout.contains(shown), "{shown}: {}{}", done.stdout, done.stderr);
    }
    assert!(place.path().join("config.md").exists(), "{}", done.stderr);
}
