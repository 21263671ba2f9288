//! Signals while a worker's command runs: what is left alive, what the files say.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::processes;
use crate::cli::{Place, wait_until};

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
fn a_signal_ends_the_workers_command_with_all_its_children_and_says_interrupted() {
    for (signal, code, nap) in [(Signal::INT, 130, "300.021"), (Signal::TERM, 143, "300.022")] {
        let place = Place::new();
        let mut child = at_work(&place, nap);
        let began = Instant::now();
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        wait_until("nothing is left", || sleepers(nap) == 0);
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
        let result = std::fs::read_to_string(place.path().join(".tasks/t_001/result.md")).unwrap();
        assert!(result.contains("status: interrupted"), "{result}");
    }
}
