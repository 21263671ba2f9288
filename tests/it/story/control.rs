//! Words and aborts that come while a model talks or a command runs.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{Stage, WIRES, Wire, is_main, leave, processes, time_until, turns};
use crate::repl::pty::Terminal;
use crate::server::{Captured, Response, Says, says};

/// What a machine under load may take on top of what is promised.
const MARGIN: Duration = Duration::from_millis(450);

/// A main agent that dispatches one task for each line and says so.
fn dispatcher(request: &Captured) -> Says {
    let line = request.last_user();
    match line.strip_prefix("dispatch ") {
        Some(task) => says().call(&format!("d{}", turns(request)), "dispatch", json!({"title": task, "task": task})),
        None if line.starts_with("[Worker") => says().text("I heard of it."),
        None => says().text("On it."),
    }
}

fn stage(wire: Wire, mut worker: impl FnMut(&Captured) -> Response + Send + 'static) -> Stage {
    Stage::new(wire, move |request| if is_main(request) { dispatcher(request).into() } else { worker(request) })
}

fn dispatch(stage: &Stage, terminal: &Terminal) {
    terminal.say("dispatch count");
    terminal.wait_for("● On it.");
    terminal.wait_for_prompt(" > ");
    stage.server.wait_until("the worker's model is asked", |_| !stage.requests(false).is_empty());
}

#[test]
fn a_steer_during_the_last_model_call_of_a_worker_is_answered() {
    for wire in WIRES {
        let place = crate::cli::Place::new();
        let go = place.path().join("go");
        let held = go.clone();
        let last = wire.stream(&says().text("Counted 3."));
        let stage = Stage::at(wire, place, move |request| match (is_main(request), turns(request)) {
            (true, _) => dispatcher(request).into(),
            (false, 0) => Response::stream().hold(&held).send(&last),
            (false, _) => says().text(format!("Also doubled: {}", request.last_user().contains("double it"))).into(),
        });
        let terminal = stage.prompt();
        dispatch(&stage, &terminal);
        terminal.say("@t_001 double it");
        terminal.wait_for("↳ steer #1");
        std::fs::write(go, "").unwrap();
        terminal.wait_for("✓ t_001 done");
        terminal.wait_for("● I heard of it.");
        leave(terminal);
        let result = stage.read(".tasks/t_001/result.md");
        assert!(result.contains("Also doubled: true"), "{wire:?}: {result}");
    }
}

#[test]
fn an_abort_while_a_workers_model_talks_closes_its_connection_at_once() {
    for wire in WIRES {
        let stage = stage(wire, move |_| wire.begun(&says().text("a long story ".repeat(40))));
        let terminal = stage.prompt();
        dispatch(&stage, &terminal);
        let open = stage.server.open();
        terminal.say("/abort t_001");
        let took = time_until("its connection is closed", || stage.server.open() < open);
        assert!(took < Duration::from_millis(50) + MARGIN, "{wire:?}: {took:?}");
        terminal.wait_for("■ t_001 aborted");
        terminal.wait_for("● I heard of it.");
        leave(terminal);
        assert!(stage.read(".tasks/t_001/result.md").contains("status: aborted"));
    }
}

#[test]
fn escape_while_the_main_agents_model_talks_closes_its_connection_at_once() {
    for wire in WIRES {
        let stage = Stage::new(wire, move |_| wire.begun(&says().text("a long story\n".repeat(40))));
        let terminal = stage.prompt();
        terminal.say("tell me a story");
        terminal.wait_for("a long story");
        assert_eq!(stage.server.open(), 1);
        terminal.type_keys("\u{1b}");
        let took = time_until("its connection is closed", || stage.server.open() == 0);
        // A terminal sends an escape key and the first byte of others alike, so the editor waits a moment.
        assert!(took < Duration::from_millis(100) + MARGIN, "{wire:?}: {took:?}");
        terminal.wait_for("■ stopped");
        leave(terminal);
    }
}

#[test]
fn an_aborted_worker_leaves_no_process_of_its_command_behind() {
    let command = "sleep 300.0123 & setsid sleep 300.0123 & sh -c 'trap \"\" TERM INT; sleep 300.0123; true'";
    let stage = stage(Wire::Anthropic, move |_| says().call("s1", "shell", json!({"command": command})).into());
    let terminal = stage.prompt();
    dispatch(&stage, &terminal);
    let sleeping = || processes("sleep 300.0123").iter().filter(|line| line.starts_with("sleep")).count();
    crate::cli::wait_until("all three sleep", || sleeping() == 3);
    terminal.type_keys("/abort t_001");
    terminal.wait_for("> /abort t_001");
    let began = Instant::now();
    terminal.type_keys("\r");
    crate::cli::wait_until("none is left", || processes("sleep 300.0123").is_empty());
    let took = began.elapsed();
    assert!(took < Duration::from_millis(250) + MARGIN, "{took:?}");
    terminal.wait_for("■ t_001 aborted");
    terminal.wait_for("● I heard of it.");
    leave(terminal);
    let result = stage.read(".tasks/t_001/result.md");
    assert!(result.contains("status: aborted"), "{result}");
}
