//! A model that wants to be asked again later: the wait is counted down, disturbs nobody, and ends when it is told to.

use std::time::{Duration, Instant};

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

#[test]
fn the_prompt_counts_a_wait_down_beside_what_is_typed() {
    let place = Place::new(4);
    let terminal = place.start(&[]);
    terminal.wait_for_prompt(" > ");
    terminal.say("hello");
    terminal.wait_for("⟳ attempt 2 in 4.");
    terminal.type_keys("half a line");
    terminal.wait_for("⟳ 3s");
    terminal.wait_for("⟳ 2s");
    assert_eq!(terminal.contents().matches("⟳").count(), 2, "{}", terminal.contents());
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
fn escape_ends_a_wait_at_once() {
    let place = Place::new(50);
    let terminal = place.start(&[]);
    terminal.wait_for_prompt(" > ");
    terminal.say("hello");
    terminal.wait_for("⟳ 48s");
    let began = Instant::now();
    terminal.type_keys("\u{1b}");
    terminal.wait_for("■ stopped");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    terminal.wait_until("no countdown", |screen| screen.matches("⟳").count() == 1);
    assert_eq!(place.server.requests().len(), 1);
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn run_counts_a_wait_down_in_place() {
    let place = Place::new(4);
    let terminal = place.start(&["run", "hello"]);
    terminal.wait_for("⟳ attempt 2 in 4s · anthropic: 529 from 127.0.0.1: overloaded");
    terminal.wait_for("⟳ attempt 2 in 2s · anthropic");
    assert_eq!(terminal.contents().matches("⟳").count(), 1, "{}", terminal.contents());
    terminal.wait_for("here I am");
    let shown = terminal.contents();
    assert_eq!(shown.matches("⟳").count(), 1, "{shown}");
    assert!(shown.contains("⟳ attempt 2 · anthropic: 529"), "{shown}");
    assert_eq!(terminal.wait_for_end(), 0);
}

/// A44: the same for a signal.
#[test]
fn control_c_ends_a_run_that_waits() {
    let place = Place::new(50);
    let terminal = place.start(&["run", "hello"]);
    terminal.wait_for("⟳ attempt 2 in 48s");
    let began = Instant::now();
    terminal.type_keys("\u{3}");
    assert_eq!(terminal.wait_for_end(), 130);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}
