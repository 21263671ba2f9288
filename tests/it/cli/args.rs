//! The command line as it is typed.

use clap::Parser;
use clap::error::ErrorKind;
use tillerman::args::{Args, Command, Run, Tasks};

fn read(line: &[&str]) -> Result<Args, clap::Error> {
    Args::try_parse_from(std::iter::once("tillerman").chain(line.iter().copied()))
}

#[test]
fn common_options_stand_before_or_after_the_command() {
    for line in [&["-w", "d", "-m", "a/b", "run", "hi"], &["run", "hi", "-w", "d", "-m", "a/b"]] {
        let args = read(line).unwrap();
        assert_eq!(args.common.workspace.as_deref(), Some(std::path::Path::new("d")));
        assert_eq!(args.common.model.as_deref(), Some("a/b"));
        assert_eq!(args.command, Some(Command::Run(Run { prompt: vec!["hi".into()], ..Run::default() })));
    }
}

#[test]
fn no_command_is_the_prompt_and_tasks_alone_is_the_list() {
    assert_eq!(read(&[]).unwrap().command, None);
    assert!(read(&["-c"]).unwrap().common.resume);
    assert_eq!(read(&["tasks"]).unwrap().command, Some(Command::Tasks { command: None, json: false }));
    let tail = Command::Tasks { command: Some(Tasks::Tail { id: "t_001".into() }), json: true };
    assert_eq!(read(&["tasks", "tail", "t_001", "--json"]).unwrap().command, Some(tail));
}

#[test]
fn words_without_quotes_are_one_prompt() {
    let command = read(&["run", "--wait", "fix", "the", "tests", "-"]).unwrap().command;
    let prompt = ["fix", "the", "tests", "-"].map(String::from).to_vec();
    assert_eq!(command, Some(Command::Run(Run { prompt, wait: true, ..Run::default() })));
}

#[test]
fn a_slip_names_the_nearest_and_contradictions_are_refused() {
    let slip = read(&["run", "--jsn", "x"]).unwrap_err();
    assert_eq!(slip.kind(), ErrorKind::UnknownArgument);
    assert!(slip.to_string().contains("--json"), "{slip}");
    let slip = read(&["task"]).unwrap_err();
    assert!(slip.to_string().contains("tasks"), "{slip}");
    assert_eq!(read(&["-c", "--session", "x"]).unwrap_err().kind(), ErrorKind::ArgumentConflict);
}

#[test]
fn names_of_other_programs_mean_the_same() {
    let run = |words: &[&str]| match read(&[&["run"], words].concat()).unwrap().command {
        Some(Command::Run(run)) => run,
        other => panic!("{other:?}"),
    };
    assert_eq!(run(&["--max-cost", "0.5", "x"]), run(&["--max-budget-usd", "0.5", "x"]));
    assert_eq!(run(&["--output-schema", "s", "x"]), run(&["--json-schema", "s", "x"]));
    assert_eq!(run(&["--output-last-message", "f", "x"]), run(&["-o", "f", "x"]));
    // What stands behind it is the prompt.
    assert_eq!(run(&["--json", "x"]), run(&["--json=tillerman", "x"]));
}
