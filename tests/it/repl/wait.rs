//! A model that wants to be asked again later: the wait is counted down, disturbs nobody, and ends when it is told to.

use tempfile::TempDir;

use super::pty::Terminal;
use crate::server::{Response, Server, says};

const BODY: &str = r#"{"type":"error","error":{"type":"overloaded_error","message":"overloaded"}}"#;

fn busy(seconds: u32) -> Response {
    Response::with(529, &[("retry-after", &seconds.to_string()), ("content-type", "application/json")], BODY)
}

struct Place {
    workspace: TempDir,
    home: TempDir,
    server: Server,
}

impl Place {
    /// A server that is overloaded once.
    fn new(seconds: u32) -> Place {
        let server = Server::list([busy(seconds), says().text("here I am").into()]);
        Place { workspace: tempfile::tempdir().unwrap(), home: tempfile::tempdir().unwrap(), server }
    }

    fn start(&self, more: &[&str]) -> Terminal {
        let url = self.server.base_url();
        let args = ["--trust", "-m", "anthropic/claude-sonnet-5-5", "--base-url", &url];
        let args: Vec<&str> = args.into_iter().chain(more.iter().copied()).collect();
        Terminal::start(self.workspace.path(), self.home.path(), &args)
    }
}

/// The seconds that a row of the screen says are left, after these words.
fn left(screen: &str, words: &str) -> Option<u32> {
    let mut rows = screen.lines().filter_map(|row| row.split_once(words)?.1.split_once('s')?.0.parse().ok());
    rows.next_back()
}

/// Waits until fewer seconds are left than were, with so many signs of a wait on the screen. Which of the seconds are
/// shown depends on the machine.
fn wait_for_less(terminal: &Terminal, words: &str, signs: usize) {
    let first = std::cell::Cell::new(None);
    terminal.wait_until("a countdown", |screen| {
        let (before, now) = (first.get(), left(screen, words));
        first.set(before.or(now));
        screen.matches('⟳').count() == signs && now.zip(before).is_some_and(|(now, before)| now < before)
    });
}

#[test]
fn the_prompt_counts_a_wait_down_beside_what_is_typed() {
    let place = Place::new(15);
    let terminal = place.start(&[]);
    terminal.wait_for_prompt(" > ");
    terminal.say("hello");
    terminal.wait_for("⟳ attempt 2 in ");
    terminal.type_keys("half a line");
    terminal.wait_for("half a line");
    wait_for_less(&terminal, "⟳ ", 2);
    terminal.wait_for("● here I am");
    terminal.wait_until("no countdown", |screen| screen.matches("⟳").count() == 1);
    terminal.wait_until("the line as it was", |_| terminal.cursor_line() == (" > half a line".to_owned(), 14));
    terminal.type_keys("\u{3}");
    terminal.wait_for_prompt(" > ");
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.wait_for_end(), 0);
}

/// A44: an abort is heard during a wait.
#[test]
fn escape_ends_a_wait() {
    let place = Place::new(50);
    let terminal = place.start(&[]);
    terminal.wait_for_prompt(" > ");
    terminal.say("hello");
    wait_for_less(&terminal, "⟳ ", 2);
    terminal.type_keys("\u{1b}");
    terminal.wait_for("■ stopped");
    terminal.wait_until("no countdown", |screen| screen.matches("⟳").count() == 1);
    assert_eq!(place.server.requests().len(), 1);
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn run_counts_a_wait_down_in_place() {
    let place = Place::new(15);
    let terminal = place.start(&["run", "hello"]);
    terminal.wait_for("s · anthropic: 529 from 127.0.0.1: overloaded");
    wait_for_less(&terminal, "⟳ attempt 2 in ", 1);
    terminal.wait_for("here I am");
    terminal.wait_until("the line of the wait as what has been", |screen| {
        screen.matches('⟳').count() == 1 && screen.contains("⟳ attempt 2 · anthropic: 529")
    });
    assert_eq!(terminal.wait_for_end(), 0);
}

/// A44: the same for a signal.
#[test]
fn control_c_ends_a_run_that_waits() {
    let place = Place::new(50);
    let terminal = place.start(&["run", "hello"]);
    wait_for_less(&terminal, "⟳ attempt 2 in ", 1);
    terminal.type_keys("\u{3}");
    assert_eq!(terminal.wait_for_end(), 130);
    assert_eq!(place.server.requests().len(), 1);
}
