//! Words and aborts that come while a model talks or a command runs.

use serde_json::json;

use super::{Stage, WIRES, Wire, is_main, leave, processes};
use crate::cli::wait_until;
use crate::repl::pty::Terminal;
use crate::server::{Captured, Response, Says, says};

/// A main agent that dispatches one task for each line and says so.
fn dispatcher(request: &Captured) -> Says {
    let line = request.last_user();
    match line.strip_prefix("dispatch ") {
        Some(task) => says().call(&format!("d{}", request.turns()), "dispatch", json!({"title": task, "task": task})),
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

/// Connections that the server has seen the end of. It ends none itself: a reply that is begun is never ended.
fn closed(stage: &Stage) -> usize {
    let open = stage.server.open();
    stage.server.accepted().saturating_sub(open)
}

#[test]
fn a_steer_during_the_last_model_call_of_a_worker_is_answered() {
    for wire in WIRES {
        let place = crate::cli::Place::new();
        let go = place.path().join("go");
        let held = go.clone();
        let last = wire.stream(&says().text("Counted 3."));
        let stage = Stage::at(wire, place, move |request| match (is_main(request), request.turns()) {
            (true, _) => dispatcher(request).into(),
            (false, 0) => wire.opened().hold(&held).send(&last),
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
fn an_abort_while_a_workers_model_talks_closes_its_connection() {
    for wire in WIRES {
        let stage = stage(wire, move |_| wire.begun(&says().text("a long story ".repeat(40))));
        let terminal = stage.prompt();
        dispatch(&stage, &terminal);
        let before = closed(&stage);
        terminal.say("/abort t_001");
        wait_until("a connection is closed", || closed(&stage) > before);
        terminal.wait_for("■ t_001 aborted");
        terminal.wait_for("● I heard of it.");
        leave(terminal);
        let result = stage.read(".tasks/t_001/result.md");
        assert!(result.contains("status: aborted") && result.contains("Aborted before it was done."), "{result}");
    }
}

#[test]
fn escape_while_the_main_agents_model_talks_closes_its_connection() {
    for wire in WIRES {
        let stage = Stage::new(wire, move |_| wire.begun(&says().text("a long story\n\n".repeat(40))));
        let terminal = stage.prompt();
        terminal.say("tell me a story");
        terminal.wait_for("a long story");
        terminal.type_keys("\u{1b}");
        wait_until("its connection is closed", || closed(&stage) > 0);
        terminal.wait_for("■ stopped");
        leave(terminal);
    }
}

#[test]
fn an_aborted_worker_leaves_no_process_of_its_command_behind() {
    // A number that no other test, nor another run of this one, sleeps for.
    let nap = format!("sleep 300.0{}", std::process::id());
    let stubborn = format!("sh -c 'trap \"\" TERM INT; {nap}; true'");
    let command = format!("{nap} & setsid {nap} & {stubborn}");
    let sleeping = || processes(&nap).iter().filter(|line| line.starts_with("sleep")).count();
    let args = json!({"command": command});
    let stage = stage(Wire::Anthropic, move |_| says().call("s1", "shell", args.clone()).into());
    let terminal = stage.prompt();
    dispatch(&stage, &terminal);
    wait_until("all three sleep", || sleeping() == 3);
    terminal.say("/abort t_001");
    wait_until("none is left", || processes(&nap).is_empty());
    terminal.wait_for("■ t_001 aborted");
    terminal.wait_for("● I heard of it.");
    leave(terminal);
    let result = stage.read(".tasks/t_001/result.md");
    assert!(result.contains("status: aborted") && result.contains("Aborted before it was done."), "{result}");
}
