//! What the word being typed may become: commands, workers, files, and what stands behind a command.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use tillerman::repl::complete::{Candidate, Completer, MOST, Offer};
use tillerman::task::TaskStatus;
use tokio::time::timeout;

use crate::patience::PATIENCE;
use crate::terminal::crew::row;

fn known() -> Completer {
    let completer = Completer::new("/nowhere/at/all".into());
    completer.set_tasks(&[
        row(1, TaskStatus::Done, "Old"),
        row(2, TaskStatus::Running, "Parser"),
        row(3, TaskStatus::Parked, "Login"),
    ]);
    let offer = |name: &str, help: &str| Offer { name: name.to_owned(), help: help.to_owned() };
    completer.set_words(vec![offer("/review", "look at a change")]);
    completer.set_models(vec![offer("pilot/pilot", ""), offer("anthropic/claude-sonnet-5-5", "1M")]);
    completer
}

/// What would stand there, and what the menu shows, for a text with the cursor at its end.
fn typed(completer: &Completer, text: &str) -> Vec<String> {
    completer
        .candidates(text, text.len())
        .into_iter()
        .map(|found| text[..found.from].to_owned() + &found.insert)
        .collect()
}

async fn walked(root: &Path) -> Completer {
    let completer = Completer::new(root.to_owned());
    assert_eq!(completer.candidates("@", 1), [], "nothing is known yet, and nobody waits for the disk");
    timeout(PATIENCE, completer.changed()).await.unwrap();
    completer
}

#[test]
fn a_slash_offers_commands_and_words_with_what_they_do() {
    let completer = known();
    let found = completer.candidates("/rev", 4);
    let review = Candidate {
        insert: "/review ".to_owned(),
        shown: "/review".to_owned(),
        help: "look at a change".to_owned(),
        from: 0,
    };
    assert_eq!(found.first(), Some(&review));
    assert_eq!(typed(&completer, "/stat"), ["/status"], "one that takes nothing ends without a space");
    assert_eq!(typed(&completer, "/tas")[..2], ["/tasks", "/task "]);
    assert!(typed(&completer, "/brnchs").contains(&"/branches".to_owned()), "letters may be left out");
    assert_eq!(typed(&completer, "/status"), [""; 0], "there is nothing to add");
    for none in ["say /sta", "/usr/bi", "", "hello", "see foo@bar"] {
        assert_eq!(typed(&completer, none), [""; 0], "{none:?}");
    }
}

#[test]
fn what_stands_behind_a_command_is_offered() {
    let completer = known();
    assert_eq!(typed(&completer, "/steer "), ["/steer t_003 ", "/steer t_002 ", "/steer t_001 "]);
    assert_eq!(typed(&completer, "/steer @2"), ["/steer t_002 "]);
    assert_eq!(typed(&completer, "/help revi"), ["/help review "]);
    assert_eq!(typed(&completer, "/steer t_002 t"), [""; 0], "only the first word is an id");
    let help: Vec<String> = completer.candidates("/task ", 6).into_iter().map(|found| found.help).collect();
    assert_eq!(help, ["asks · Login", "runs · Parser", "done · Old"]);
}

#[test]
fn an_at_sign_at_the_start_offers_the_workers_that_can_hear() {
    let completer = known();
    assert_eq!(typed(&completer, "@"), ["@t_003 ", "@t_002 "]);
    assert_eq!(typed(&completer, "tell @"), [""; 0]);
    assert_eq!(completer.candidates("@t_002 x", 3).len(), 2, "only what stands before the cursor counts");
}

#[tokio::test]
async fn an_at_sign_offers_files_and_folders_that_git_does_not_ignore() {
    let dir = TempDir::new().unwrap();
    let write = |path: &str| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    };
    for path in ["src/main.rs", "src/deep/main_agent.rs", "docs/my notes.md", "target/main.o", ".git/main", "数据.md"]
    {
        write(path);
    }
    fs::write(dir.path().join(".gitignore"), "target\n").unwrap();
    let completer = walked(dir.path()).await;
    assert_eq!(typed(&completer, "look at @main"), ["look at @src/main.rs ", "look at @src/deep/main_agent.rs "]);
    assert_eq!(typed(&completer, "@src/"), ["@src/", "@src/deep/", "@src/main.rs ", "@src/deep/main_agent.rs "]);
    assert_eq!(typed(&completer, "@smain")[0], "@src/main.rs ");
    assert_eq!(typed(&completer, "@notes"), ["@\"docs/my notes.md\" "], "a blank wants quotes");
    assert_eq!(typed(&completer, "see @\"my no"), ["see @\"docs/my notes.md\" "]);
    assert_eq!(typed(&completer, "@数"), ["@数据.md "]);
    assert_eq!(typed(&completer, "/batch main"), ["/batch src/main.rs ", "/batch src/deep/main_agent.rs "]);
}

#[tokio::test]
async fn of_many_files_the_best_are_offered() {
    let dir = TempDir::new().unwrap();
    for at in 0..200 {
        fs::write(dir.path().join(format!("part_{at:03}.txt")), "").unwrap();
    }
    fs::create_dir(dir.path().join("deep")).unwrap();
    fs::write(dir.path().join("deep/part.rs"), "").unwrap();
    let completer = walked(dir.path()).await;
    assert_eq!(typed(&completer, "@part").len(), MOST);
    assert_eq!(typed(&completer, "@part.rs")[0], "@deep/part.rs ");
    assert_eq!(typed(&completer, "@199"), ["@part_199.txt "]);
}
