//! The worker board at a real terminal: opened, two workers steered, answered and ended from it, and back.

use super::story::{Place, WAIT};

const LEFT: &str = "\x1b[D";

#[test]
fn workers_are_watched_steered_answered_and_ended_from_the_board() {
    let place = Place::new();
    let terminal = place.start(&[]);
    terminal.say(&format!("dispatch count: {WAIT}; echo counted"));
    terminal.wait_for("▶ t_001 count");
    terminal.say("dispatch login: ask: JWT or cookie? [jwt*, cookie]; echo chosen");
    terminal.wait_for("? t_002 JWT or cookie?");
    terminal.wait_for_prompt(" > ");

    terminal.type_keys(LEFT);
    terminal.wait_until("the board with the question", |screen| {
        screen.starts_with("workers ") && screen.contains("? q_001 JWT or cookie?") && screen.contains("  2 cookie")
    });
    terminal.type_keys("A2\r");
    terminal.wait_for("q_001 of t_002: cookie");
    terminal.wait_until("the end of it in its log", |screen| screen.contains("✓ t_002 done"));
    terminal.type_keys("o");
    terminal.wait_for("result of t_002");

    terminal.type_keys("1");
    terminal.wait_until("the first worker", |screen| screen.contains("│ ▶ t_001 worker · running"));
    terminal.type_keys("s日本");
    terminal.wait_for("steer t_001 › 日本");
    terminal.type_keys("\u{15}also run `echo by hand`\r");
    terminal.wait_for("steer #1 for t_001 waits to be seen");
    terminal.type_keys("a");
    terminal.wait_for("end t_001?");
    terminal.type_keys("n");
    place.go();
    terminal.wait_until("the steered step", |screen| screen.contains("✓ t_001 done") && screen.contains("by hand"));
    terminal.type_keys("q");
    terminal.wait_for_prompt(" > ");
    terminal.wait_until("what passed meanwhile", |screen| !screen.starts_with("workers ") && screen.contains("t_001"));
    terminal.type_keys("what is 2 + 3");
    terminal.wait_for("what is 2 + 3");
    terminal.type_keys("\u{15}\u{4}");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn a_worker_is_ended_from_the_board_and_without_workers_it_says_so() {
    let place = Place::new();
    let terminal = place.start(&[]);
    terminal.type_keys(LEFT);
    terminal.wait_for("no workers yet");
    terminal.type_keys("\x1b");
    terminal.wait_for_prompt(" > ");
    terminal.say(&format!("dispatch count: {WAIT}"));
    terminal.wait_for("▶ t_001 count");
    terminal.wait_for_prompt(" > ");
    terminal.type_keys(LEFT);
    terminal.wait_for("│ ▶ t_001");
    terminal.type_keys("a");
    terminal.wait_for("end t_001?");
    terminal.type_keys("y");
    terminal.wait_for("■ t_001 aborted");
    // A signal leaves from the board, too.
    terminal.terminate();
    assert_eq!(terminal.wait_for_end(), 143);
}
