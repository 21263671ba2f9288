//! Signals while a worker's command runs: what is left alive, what the files say.

use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::processes;
use crate::cli::{Place, is_alive, wait_until};
use crate::repl::pty::Terminal;

/// A program with a worker whose command has children, one of them in a session of its own.
fn at_work(place: &Place, nap: &str) -> Child {
    let line = format!("dispatch nap: setsid sleep {nap} & sleep {nap} & sleep {nap}; echo slept");
    let mut command = place.command(&["run", "--json", "--wait", &line]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("all three sleep", || sleepers(nap) == 3);
    child
}

fn sleepers(nap: &str) -> usize {
    processes(&format!("sleep {nap}")).iter().filter(|line| line.starts_with("sleep")).count()
}

#[test]
fn c29_a_signal_ends_the_workers_command_with_all_its_children_and_says_interrupted() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        // A number that no other test, nor another run of this one, sleeps for.
        let nap = &format!("300.{code}{}", std::process::id());
        let place = Place::new();
        let mut child = at_work(&place, nap);
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        wait_until("nothing is left", || sleepers(nap) == 0);
        let result = std::fs::read_to_string(place.path().join(".tasks/t_001/result.md")).unwrap();
        assert!(result.contains("status: interrupted"), "{result}");
    }
}

#[test]
fn c28_what_a_killed_program_left_running_is_ended_by_the_next_one() {
    let nap = &format!("301.{}", std::process::id());
    let place = Place::new();
    let mut child = at_work(&place, nap);
    child.kill().unwrap();
    child.wait().unwrap();
    let next = place.tillerman(&["run", "hello"]);
    assert_eq!(next.code, Some(0), "{next:?}");
    wait_until("nothing is left", || sleepers(nap) == 0);
}

#[test]
fn an_interrupt_at_a_terminal_is_a_control_c_and_the_second_leaves() {
    let place = Place::new();
    let terminal = Terminal::start(place.path(), place.home.path(), &[]);
    terminal.wait_for_prompt(" > ");
    let pid = Pid::from_raw(i32::try_from(terminal.pid()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    terminal.wait_for("Ctrl-C again leaves");
    terminal.wait_for_prompt(" > ");
    // Two within a second leave; on a machine that is too busy for that, a person goes on pressing.
    wait_until("it has left", || {
        // It may end in between.
        let _ = kill_process(pid, Signal::INT);
        std::thread::park_timeout(Duration::from_millis(100));
        !is_alive(terminal.pid())
    });
    assert_eq!(terminal.wait_for_end(), 0);
}
