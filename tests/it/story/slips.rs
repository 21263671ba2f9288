//! Names that do not exist: providers, sessions, tasks. Each is told with what does exist.

use super::{KEY, Stage, Wire, leave};
use crate::cli::Place;
use crate::repl::pty::Terminal;
use crate::server::says;

#[test]
fn a_provider_that_does_not_exist_is_told_with_the_nearest() {
    let place = Place::new();
    for (name, nearest) in [("antrhopic/x", "anthropic"), ("opnai/gpt", "openai"), ("olama/qwen", "ollama")] {
        let done = place.tillerman(&["run", "hi", "-m", name]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(3), ""), "{}", done.stderr);
        assert!(done.stderr.contains(&format!("did you mean {nearest}?")), "{}", done.stderr);
    }
}

#[test]
fn a_missing_key_is_told_before_anything_is_written_or_sent() {
    let place = Place::new();
    for (model, variable) in [("openai/gpt-test", "OPENAI_API_KEY"), ("gemini", "GEMINI_API_KEY")] {
        for args in [&["run", "hi", "-m", model][..], &["-m", model]] {
            let done = place.tillerman(args);
            assert_eq!((done.code, done.stdout.as_str()), (Some(3), ""), "{args:?}: {}", done.stderr);
            assert!(done.stderr.contains(variable), "{}", done.stderr);
        }
    }
    assert!(!place.path().join(".tasks").exists());
}

#[test]
fn a_key_with_a_newline_is_named_by_its_variable_and_not_shown() {
    let key = format!("{KEY}\nX-Evil: 1");
    let done = Place::new().tillerman_with(&["run", "hi", "-m", "openai/x"], &[("OPENAI_API_KEY", &key)], "");
    assert_eq!(done.code, Some(3), "{}", done.stderr);
    assert!(done.stderr.contains("OPENAI_API_KEY") && !done.stderr.contains(KEY), "{}", done.stderr);
}

#[test]
fn a_session_that_does_not_exist_is_named_and_the_latest_of_none_too() {
    let place = Place::new();
    for args in [&["run", "hi", "--session", "01NOSUCH"][..], &["--session", "01NOSUCH"]] {
        let done = place.tillerman(args);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{args:?}: {}", done.stderr);
        assert!(done.stderr.contains("01NOSUCH"), "{}", done.stderr);
    }
    let done = place.tillerman(&["run", "hi", "--session", "../../etc/passwd"]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
}

#[test]
fn a_task_that_does_not_exist_or_has_ended_is_told_apart() {
    let place = Place::new();
    let done = place.tillerman(&["run", "--wait", "dispatch count: echo 4"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    for (id, code) in [("t_009", 1), ("nine", 2)] {
        for command in ["show", "tail"] {
            let done = place.tillerman(&["tasks", command, id]);
            assert_eq!((done.code, done.stdout.as_str()), (Some(code), ""), "{}", done.stderr);
            assert!(done.stderr.contains(id), "{}", done.stderr);
        }
    }
    let terminal = Terminal::start(place.path(), place.home.path(), &[]);
    terminal.wait_for_prompt(" > ");
    terminal.say("/steer t_001 too late");
    terminal.wait_for("✗ task t_001 has already ended");
    terminal.wait_for_prompt(" > ");
    terminal.say("/abort t_009");
    terminal.wait_for("no task t_009");
    terminal.wait_for_prompt(" > ");
    terminal.say("/steer nine lives");
    terminal.wait_for("no task id");
    leave(terminal);
}

#[test]
fn an_agent_or_model_that_a_dispatch_names_and_nobody_knows_is_refused_with_the_list() {
    let stage = Stage::new(Wire::OpenAi, |request| {
        let wrong = serde_json::json!({"task": "count", "agent": "resaercher"});
        let strange = serde_json::json!({"task": "count", "model": "opnai/gpt"});
        match request.turns() {
            0 => says().call("d1", "dispatch", wrong).call("d2", "dispatch", strange).into(),
            _ => says().text("No.").into(),
        }
    });
    let done = stage.run(&["--wait", "count"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "No.\n"), "{}", done.stderr);
    let results = stage.server.requests()[1].results();
    assert!(results[0].1.contains("researcher"), "{results:?}");
    assert!(results[1].1.contains("did you mean openai?"), "{results:?}");
    assert!(!stage.place.path().join(".tasks/t_001").exists());
}
