//! A person at the prompt who is asked about calls: what is shown, what may be said, and what is done then.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{Stage, Wire, leave};
use crate::cli::Place;
use crate::repl::pty::Terminal;
use crate::server::says;

/// A model that makes these calls, one for each line that is typed, and says "done N" after each.
fn stage(settings: &str, calls: Vec<(&'static str, Value)>) -> Stage {
    let place = Place::new();
    fs::write(place.home.path().join("config.yaml"), settings).unwrap();
    Stage::at(Wire::Anthropic, place, move |request| {
        let (line, is_told) = (request.turns() / 2, request.turns() % 2 == 1);
        let (tool, args) = calls[line].clone();
        if is_told { says().text(format!("done {}", line + 1)) } else { says().call(&format!("c{line}"), tool, args) }
            .into()
    })
}

/// Says a line and waits for the question about its call, however it is folded.
fn ask(terminal: &Terminal, number: usize, words: &[&str]) {
    terminal.say(&format!("line {number}"));
    terminal.wait_until(&format!("question {number}: {words:?}"), |screen| {
        let screen = folded(screen);
        words.iter().all(|word| screen.contains(&folded(word)))
    });
    terminal.read();
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Says a word to the call that is shown, or a line.
fn answer(terminal: &Terminal, word: &str, number: usize) {
    terminal.say(word);
    terminal.wait_for(&format!("● done {number}"));
    terminal.wait_for_prompt(" > ");
}

fn outputs(stage: &Stage) -> Vec<String> {
    let requests = stage.server.requests();
    let ends = requests.iter().filter(|request| request.turns() % 2 == 1);
    ends.filter_map(|request| request.results().pop()).map(|(_, text)| text).collect()
}

#[test]
fn s20_one_call_is_done_outside_the_walls_after_a_yes_and_none_after_a_no() {
    let outside = tempfile::tempdir().unwrap();
    let (one, two) = (outside.path().join("one"), outside.path().join("two"));
    let shell = |file: &Path| {
        let command = format!("echo x > {}", file.display());
        ("escalate", json!({"why": "it goes there", "tool": "shell", "args": { "command": command }}))
    };
    let file = json!({"path": two, "content": "by hand\n"});
    let write = ("escalate", json!({"why": "so", "tool": "write_file", "args": file}));
    let plain = ("shell", json!({"command": format!("echo y > {}", one.display())}));
    let stage = stage("", vec![shell(&one), shell(&one), plain, shell(&two), write]);
    let terminal = stage.prompt();
    let words = ["may it, outside the walls? shell", "it says: it goes there", "/approve 1 or /deny 1"];
    ask(&terminal, 1, &words);
    answer(&terminal, "n", 1);
    assert!(!one.exists());
    ask(&terminal, 2, &["/approve 2 or /deny 2"]);
    assert!(!one.exists());
    answer(&terminal, "y", 2);
    assert_eq!(fs::read_to_string(&one).unwrap(), "x\n");
    // The next call is within the walls again.
    answer(&terminal, "line 3", 3);
    assert_eq!(fs::read_to_string(&one).unwrap(), "x\n");
    ask(&terminal, 4, &["/approve 3 or /deny 3"]);
    assert!(!two.exists(), "other arguments are asked anew");
    answer(&terminal, "/deny not there", 4);
    assert!(!two.exists());
    ask(&terminal, 5, &["write_file", "/approve 4 or /deny 4"]);
    answer(&terminal, "/approve", 5);
    assert_eq!(fs::read_to_string(&two).unwrap(), "by hand\n");
    leave(terminal);
    let told = outputs(&stage);
    assert!(told[0].contains("denied (by the person)"), "{told:?}");
    assert!(told[2].contains("escalate asks the person for more"), "{told:?}");
    assert!(told[3].contains("denied (by the person: not there)"), "{told:?}");
}

#[test]
fn s20_a_rule_that_says_ask_is_answered_at_the_prompt() {
    let echo = |text: &str| ("shell", json!({"command": format!("echo {text} >> said")}));
    let calls = vec![echo("one"), echo("one"), echo("one"), echo("two"), echo("two")];
    let stage = stage("permissions: {ask: [Bash]}\n", calls);
    let said = || fs::read_to_string(stage.place.path().join("said")).unwrap_or_default();
    let terminal = stage.prompt();
    ask(&terminal, 1, &["may it? shell", "ask Bash", "/approve 1 or /deny 1"]);
    assert_eq!(said(), "");
    answer(&terminal, "/approve 1", 1);
    assert_eq!(said(), "one\n");
    ask(&terminal, 2, &["/approve 2 or /deny 2"]);
    answer(&terminal, "/approve always", 2);
    answer(&terminal, "line 3", 3);
    assert_eq!(said(), "one\none\none\n", "the same call is not asked again");
    ask(&terminal, 4, &["/approve 3 or /deny 3"]);
    terminal.say("/approve 9");
    terminal.wait_for("no call 9 waits for your word");
    answer(&terminal, "/deny 3 never two", 4);
    ask(&terminal, 5, &["/approve 4 or /deny 4"]);
    terminal.type_keys("\u{1b}");
    terminal.wait_for("■ stopped");
    leave(terminal);
    assert_eq!(said(), "one\none\none\n");
    let told = outputs(&stage);
    assert!(told[3].contains("denied (by the person: never two)"), "{told:?}");
}
