//! A conversation that outgrows its model, through the real program: room is made once, and if that is not enough it is
//! said, with the code for it (A07, A42).

use serde_json::json;

use super::{Stage, WIRES, Wire};
use crate::server::{Captured, Response, says};

/// Asks for a long file, and then finds the conversation too long until it has been shortened, or for ever.
fn stage(wire: Wire, for_ever: bool) -> Stage {
    let stage = Stage::new(wire, move |request: &Captured| {
        let whole = request.contains("line 700 of a long file");
        match request.turns() {
            0 if !whole && !request.contains("transcript") && !request.contains("Previous") => {
                says().call("c1", "read_file", json!({"path": "long.txt"})).into()
            }
            _ if whole || for_ever => {
                let message = "prompt is too long: 213462 tokens > 200000 maximum";
                let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
                Response::status(400, &error.to_string())
            }
            _ => says().text("It is long.").into(),
        }
    });
    let lines: Vec<String> = (0..1000).map(|n| format!("line {n} of a long file")).collect();
    stage.write("long.txt", &lines.join("\n"));
    stage
}

/// A07, A42.
#[test]
fn an_overflow_is_answered_by_making_room_once() {
    for wire in WIRES {
        let stage = stage(wire, false);
        let done = stage.run(&["read long.txt"]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), "It is long.\n"), "{wire:?}: {}", done.stderr);
        assert!(done.stderr.contains("conversation shortened"), "{wire:?}: {}", done.stderr);
        assert_eq!(stage.server.requests().len(), 3, "{wire:?}: the call, the refusal, the answer");
    }
}

/// A07, A42.
#[test]
fn an_overflow_that_stays_ends_honestly_with_5() {
    for wire in WIRES {
        let stage = stage(wire, true);
        let done = stage.run(&["read long.txt"]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(5), ""), "{wire:?}: {}", done.stderr);
        assert!(
            done.stderr.contains("the model does not take the conversation of about "),
            "{wire:?}: {}",
            done.stderr
        );
        assert_eq!(stage.server.requests().len(), 3, "{wire:?}: the call, the refusal, the second one");
    }
}
