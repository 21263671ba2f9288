//! Going back, across and over at the prompt.

use tillerman::repl::command::{Input, Misread, read};
use tillerman::repl::roam::Roam;

use super::pty::Terminal;

#[test]
fn every_way_about_is_understood() {
    let some = |text: &str| Some(text.to_owned());
    let cases = [
        ("/sessions", Roam::Sessions),
        ("/sessions search two  words", Roam::Search("two  words".into())),
        ("/open 2026", Roam::Open("2026".into())),
        ("/session 2026", Roam::Open("2026".into())),
        ("/new", Roam::New),
        ("/tree", Roam::Tree(None)),
        ("/tree m37", Roam::Tree(some("m37"))),
        ("/branches", Roam::Branches),
        ("/switch", Roam::Branches),
        ("/switch m37", Roam::Switch("m37".into())),
        ("/branch", Roam::Branch(None)),
        ("/branch m37", Roam::Branch(some("m37"))),
        ("/fork", Roam::Fork(None)),
        ("/fork m37", Roam::Fork(some("m37"))),
        ("/rename About boats", Roam::Rename("About boats".into())),
        ("/archive", Roam::Archive),
    ];
    for (line, meaning) in cases {
        assert_eq!(read(line), Ok(Input::Roam(meaning)), "{line}");
    }
    let usage = |text: &str| Err(Misread::Usage(text.to_owned()));
    assert_eq!(read("/rename"), usage("/rename TITLE"));
    assert_eq!(read("/sessions search"), usage("/sessions [search WORDS]"));
    assert_eq!(read("/sessions all"), usage("/sessions [search WORDS]"));
}

fn prompt() -> (Terminal, [tempfile::TempDir; 2]) {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let terminal = Terminal::start(folders[0].path(), folders[1].path(), &[]);
    terminal.wait_for_prompt(" > ");
    (terminal, folders)
}

fn ask(terminal: &Terminal, line: &str, answer: &str) {
    terminal.say(line);
    terminal.wait_for(answer);
    terminal.wait_for_prompt(" > ");
}

fn leave(terminal: Terminal) {
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn a_line_is_said_anew_and_the_old_answer_is_found_again() {
    let (terminal, _folders) = prompt();
    ask(&terminal, "3 * 37", "111");
    ask(&terminal, "7 * 41", "287");
    ask(&terminal, "/branch", "like /branch m2");
    assert!(terminal.contents().contains("  m2  7 * 41"), "{}", terminal.contents());
    ask(&terminal, "/branch m2", "on from m2");
    ask(&terminal, "7 * 43", "301");
    ask(&terminal, "/tree", "> 7 * 43");
    ask(&terminal, "/branches", "/switch and a name");
    assert!(terminal.contents().contains("parts at m2"), "{}", terminal.contents());
    ask(&terminal, "/switch m4", "on from m5");
    ask(&terminal, "/branch m99", "✗");
    ask(&terminal, "/rename 数 and boats", "called: 数 and boats");
    ask(&terminal, "/status", "· 数 and boats");
    leave(terminal);
}

#[test]
fn conversations_are_gone_over_to_and_come_back_from() {
    let (terminal, _folders) = prompt();
    ask(&terminal, "3 * 37", "111");
    ask(&terminal, "/rename first", "called: first");
    ask(&terminal, "/fork", "forked; /open 20");
    ask(&terminal, "/rename second", "called: second");
    ask(&terminal, "5 * 41", "205");
    ask(&terminal, "/sessions", "● 20");
    let shown = terminal.contents();
    let row = |title: &str| shown.lines().rfind(|line| line.contains(&format!("  {title}  "))).unwrap().to_owned();
    assert!(row("second").starts_with("● ") && row("first").starts_with("  20"), "{shown}");
    let id = row("first").split_whitespace().next().unwrap().to_owned();
    ask(&terminal, "/sessions search 205", "second");
    ask(&terminal, &format!("/open {id}"), "· first");
    ask(&terminal, "/archive", "archived; ");
    ask(&terminal, "/sessions", "● 20");
    assert!(
        !terminal.contents().lines().rev().take(6).any(|line| line.contains("  first  ")),
        "{}",
        terminal.contents()
    );
    leave(terminal);
}
