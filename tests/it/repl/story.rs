//! A person at the prompt, with workers in the background.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::pty::Terminal;

/// A step that lasts until the test makes the file `go`.
pub(super) const WAIT: &str = "sh wait";

pub(super) struct Place {
    workspace: TempDir,
    home: TempDir,
}

impl Place {
    pub(super) fn new() -> Place {
        let place = Place { workspace: tempfile::tempdir().unwrap(), home: tempfile::tempdir().unwrap() };
        fs::write(place.path().join("wait"), "until [ -e go ]; do sleep 0.01; done").unwrap();
        place
    }

    pub(super) fn path(&self) -> &Path {
        self.workspace.path()
    }

    pub(super) fn start(&self, args: &[&str]) -> Terminal {
        let terminal = Terminal::start(self.path(), self.home.path(), args);
        terminal.wait_for_prompt(" > ");
        terminal
    }

    pub(super) fn go(&self) {
        fs::write(self.path().join("go"), "").unwrap();
    }

    fn result(&self, task: &str) -> String {
        fs::read_to_string(self.path().join(".tasks").join(task).join("result.md")).unwrap()
    }
}

#[test]
fn the_first_line_says_who_answers_and_why() {
    let place = Place::new();
    let terminal = place.start(&[]);
    let first = terminal.contents();
    assert!(first.starts_with("tillerman 0."), "{first}");
    assert!(first.contains("pilot: no language model"), "{first}");
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn the_prompt_answers_while_a_worker_runs_and_a_steer_reaches_it() {
    let place = Place::new();
    let terminal = place.start(&[]);
    terminal.say(&format!("dispatch count: {WAIT}; echo counted"));
    terminal.wait_for("▶ t_001 count");
    terminal.say("2 * (3 + 4)");
    terminal.wait_for("14");
    terminal.say("@t_001 also run `echo steered by hand`");
    terminal.wait_for("↳ steer #");
    terminal.say("/tasks");
    terminal.wait_for("t_001 running");
    place.go();
    terminal.wait_for("✓ t_001 done");
    let result = place.result("t_001");
    assert!(result.contains("counted") && result.contains("steered by hand"), "{result}");
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn news_leave_the_half_typed_line_as_it_is() {
    let place = Place::new();
    let terminal = place.start(&[]);
    terminal.say(&format!("dispatch wait: {WAIT}"));
    terminal.wait_for("▶ t_001 wait");
    terminal.wait_for_prompt(" > ");
    terminal.type_keys("半行字 half");
    terminal.wait_for("半行字 half");
    place.go();
    terminal.wait_for("✓ t_001 done");
    terminal.wait_for("result.md");
    let typed = || terminal.cursor_line();
    terminal.wait_until("the line below the news", |_| typed() == (" > 半行字 half".to_owned(), 14));
    terminal.type_keys(" a line\u{1b}[D\u{1b}[D\u{1b}[DX");
    terminal.wait_until("the line edited", |_| typed() == (" > 半行字 half a lXine".to_owned(), 19));
    terminal.type_keys("\u{3}");
    terminal.wait_for_prompt(" > ");
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn news_come_above_a_line_of_several_rows() {
    let place = Place::new();
    let terminal = place.start(&[]);
    terminal.say(&format!("dispatch wait: {WAIT}"));
    terminal.wait_for("▶ t_001 wait");
    terminal.wait_for_prompt(" > ");
    let row = "字".repeat(38);
    terminal.type_keys(&row);
    terminal.type_keys(&row);
    terminal.wait_until("two rows", |_| {
        terminal.cursor_line() == (format!("   {row}"), 79) || terminal.cursor_line().1 == 3
    });
    place.go();
    terminal.wait_for("Done: the one step");
    terminal.wait_for_prompt_free();
    let screen = terminal.contents();
    let rows: Vec<&str> = screen.lines().collect();
    let news = rows.iter().position(|line| line.contains("✓ t_001 done")).unwrap();
    let typed = rows.iter().position(|line| *line == format!(" > {row}")).unwrap();
    assert!(news < typed && rows[typed + 1] == format!("   {row}"), "{screen}");
    assert_eq!(screen.matches('字').count(), 76, "drawn once\n{screen}");
    terminal.type_keys("\u{3}");
    terminal.wait_for_prompt(" > ");
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn a_steer_that_nobody_has_read_is_taken_back_into_the_line() {
    let place = Place::new();
    let terminal = place.start(&[]);
    terminal.say(&format!("run `{WAIT}`"));
    terminal.wait_for_prompt(" ↳ ");
    terminal.say("only the first file");
    terminal.wait_for("not read yet");
    terminal.wait_for("→ main: only the first file");
    terminal.type_keys("\u{1b}[1;3A");
    terminal.wait_until("the words in the line", |_| terminal.cursor_line().0 == " ↳ only the first file");
    terminal.wait_until("nothing pending", |screen| !screen.contains("not read yet"));
    terminal.type_keys("\u{3}");
    terminal.wait_for_prompt(" ↳ ");
    terminal.type_keys("\u{1b}[1;3A");
    terminal.wait_for("nothing to take back");
    place.go();
    terminal.wait_for_prompt(" > ");
    assert!(!terminal.contents().contains("seen at turn"), "{}", terminal.contents());
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn a_signal_ends_the_prompt_also_while_news_wait() {
    let place = Place::new();
    let terminal = place.start(&[]);
    terminal.say(&format!("dispatch wait: {WAIT}"));
    terminal.wait_for("▶ t_001 wait");
    terminal.wait_for_prompt(" > ");
    terminal.type_keys(&"字".repeat(35));
    terminal.wait_for("字字");
    place.go();
    let relayed = place.path().join(".tasks/t_001/.relayed");
    terminal.wait_until("the agent has answered to the result", |_| relayed.exists());
    terminal.terminate();
    terminal.wait_for("✓ t_001 done");
    assert_eq!(terminal.wait_for_end(), 143);
}

#[test]
fn a_worker_is_aborted_and_quitting_names_what_it_interrupts() {
    let place = Place::new();
    let terminal = place.start(&[]);
    terminal.say("dispatch one: sleep 300");
    terminal.wait_for("▶ t_001 one");
    terminal.say("/abort t_001");
    terminal.wait_for("■ t_001 aborted");
    assert!(place.result("t_001").contains("aborted"));
    terminal.say("/steer t_001 too late");
    terminal.wait_for("t_001 has already ended");
    terminal.say("dispatch two: sleep 300");
    terminal.wait_for("▶ t_002 two");
    terminal.say("/quit");
    terminal.wait_for("■ interrupted: t_002");
    assert_eq!(terminal.wait_for_end(), 0);
    assert!(place.result("t_002").contains("interrupted"));
}

#[test]
fn a_watched_worker_is_seen_at_work() {
    let place = Place::new();
    let terminal = place.start(&[]);
    terminal.say(&format!("dispatch seen: {WAIT}; echo in sight"));
    terminal.wait_for("▶ t_001 seen");
    terminal.say("/attach t_001");
    terminal.wait_for("watching");
    place.go();
    terminal.wait_for("t_001 │ │ in sight");
    terminal.wait_for("✓ t_001 done");
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn escape_stops_the_run_and_control_c_twice_leaves() {
    let place = Place::new();
    let terminal = place.start(&[]);
    terminal.say("run `sleep 300`");
    terminal.wait_for_prompt(" ↳ ");
    terminal.type_keys("\u{1b}");
    terminal.wait_for("■ stopped");
    terminal.say("/abort");
    terminal.wait_for("nothing to stop");
    terminal.type_keys("gone");
    terminal.wait_until("the line", |_| terminal.cursor_line().0 == " > gone");
    terminal.type_keys("\u{3}");
    terminal.wait_for_prompt(" > ");
    terminal.type_keys("\u{3}");
    terminal.wait_for("Ctrl-C again leaves");
    // A machine that stood still for longer than the second press may come after the first asks for one more pair.
    terminal.press_until_the_end("\u{3}");
}

#[test]
fn a_conversation_goes_on_where_it_ended() {
    let place = Place::new();
    let terminal = place.start(&[]);
    terminal.say("3 * 37");
    terminal.wait_for("111");
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.wait_for_end(), 0);
    let terminal = place.start(&["-c"]);
    let shown = terminal.contents();
    assert!(shown.contains(" > 3 * 37") && shown.contains("111"), "{shown}");
    terminal.type_keys("\u{1b}[A");
    terminal.wait_until("the line of before", |_| terminal.cursor_line().0 == " > 3 * 37");
    terminal.type_keys("\u{3}");
    terminal.wait_for_prompt(" > ");
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn commands_and_slips_are_answered_at_the_prompt() {
    let place = Place::new();
    let terminal = place.start(&[]);
    terminal.say("/help steer");
    terminal.wait_for("reads it before its next step");
    terminal.say("/staus");
    terminal.wait_for("did you mean /status?");
    terminal.say("/status");
    terminal.wait_for("workers  0 running");
    terminal.say("!printf 'a\\033[2Jb\\n'");
    terminal.wait_for("ab");
    terminal.wait_for("✓ ");
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn a_conversation_that_is_gone_on_with_is_called_by_its_title() {
    let place = Place::new();
    let script = place.home.path().join("names.json");
    fs::write(&script, r#"{"fixtures":[{"match":{},"response":{"content":"\"Steering a boat.\""}}]}"#).unwrap();
    let settings = format!("title_model: scripted/{}\n", script.display());
    fs::write(place.home.path().join("config.yaml"), settings).unwrap();
    let terminal = place.start(&[]);
    terminal.say("hello");
    terminal.wait_for("● ");
    let journals = || walkdir::WalkDir::new(place.home.path().join("workspaces")).into_iter().flatten();
    let is_named = || {
        let files = journals().filter(|entry| entry.path().extension().is_some_and(|end| end == "jsonl"));
        files.into_iter().any(|file| fs::read_to_string(file.path()).unwrap().contains(r#""title":"Steering a boat""#))
    };
    crate::cli::wait_until("the title is in the journal", is_named);
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.wait_for_end(), 0);

    let terminal = place.start(&["-c"]);
    terminal.wait_for("going on with: Steering a boat");
    terminal.say("/status");
    terminal.wait_for(" · Steering a boat");
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn c16_a_second_prompt_looks_on_and_gives_its_orders_to_the_first() {
    let place = Place::new();
    let first = place.start(&[]);
    first.say(&format!("dispatch count: {WAIT}; echo counted"));
    first.wait_for("▶ t_001 count");
    let second = place.start(&[]);
    let head = second.contents();
    assert!(head.contains("looking on: another tillerman") && head.contains("dispatch count"), "{head}");
    second.say("/tasks");
    second.wait_for("▶ t_001 running");
    second.say("@t_001 also run `echo from the second`");
    second.wait_for("↳ steer #1 for t_001");
    second.say("3 * 37");
    second.wait_for("111");
    first.wait_for("111");
    place.go();
    first.wait_for("✓ t_001 done");
    second.wait_for("✓ t_001 done");
    first.type_keys("\u{4}");
    assert_eq!(first.wait_for_end(), 0);
    second.wait_for("has ended");
    second.type_keys("\u{4}");
    assert_eq!(second.wait_for_end(), 0);
    assert!(place.result("t_001").contains("from the second"));
}

/// Opened before anything was said, a second prompt is there from the first word on.
#[test]
fn a_second_prompt_goes_along_with_the_conversation_that_begins_after_it() {
    let place = Place::new();
    let first = place.start(&[]);
    let second = place.start(&[]);
    first.say("3 * 37");
    first.wait_for("111");
    second.wait_for(" > 3 * 37");
    second.wait_for("111");
    second.say("7 * 41");
    first.wait_for("287");
    second.wait_for("287");
    for terminal in [first, second] {
        terminal.type_keys("\u{4}");
        assert_eq!(terminal.wait_for_end(), 0);
    }
}
