//! What a typed line means.

use tillerman::repl::command::{COMMANDS, Input, Misread, named, read};
use tillerman::repl::deed::Deed;
use tillerman::repl::inquiry::Inquiry;
use tillerman::repl::roam::Roam;
use tillerman::task::TaskId;

fn steer(text: &str) -> Input {
    Input::Steer(TaskId(1), text.to_owned())
}

#[test]
fn every_form_of_a_line_is_understood() {
    let cases = [
        ("   ", Input::Nothing),
        ("fix the parser", Input::Say("fix the parser".into())),
        ("  two\nlines ", Input::Say("two\nlines".into())),
        ("/usr/bin is full", Input::Say("/usr/bin is full".into())),
        ("@src/main.rs what is this", Input::Say("@src/main.rs what is this".into())),
        ("@t_001 also run `ls`", steer("also run `ls`")),
        ("@t_001: also run", steer("also run")),
        ("/steer t_001 stop there", steer("stop there")),
        ("/steer 1 stop there", steer("stop there")),
        ("/follow-up then the docs", Input::FollowUp("then the docs".into())),
        ("/follow-up t_001 then the docs", Input::FollowUpTask(TaskId(1), "then the docs".into())),
        ("/abort", Input::Abort(None)),
        ("/abort t_012", Input::Abort(Some(TaskId(12)))),
        ("/tasks", Input::Tasks),
        ("/board", Input::Board),
        ("/task t_002", Input::Task(TaskId(2))),
        ("/attach @t_002", Input::Attach(TaskId(2))),
        ("/detach", Input::Detach),
        ("/status", Input::Status),
        ("/help", Input::Help(None)),
        ("/jobs", Input::Jobs(None)),
        ("/jobs kill 2", Input::Jobs(Some(2))),
        ("/help abort", Input::Help(named("/abort"))),
        ("/quit", Input::Quit),
        ("!git status", Input::Shell { text: "git status".into(), private: false }),
        ("!! git status", Input::Shell { text: "git status".into(), private: true }),
        ("/resume 3", Input::Resume(TaskId(3))),
        ("/resume", Input::Roam(Roam::Sessions)),
        ("/resume 20261121-1010", Input::Roam(Roam::Open("20261121-1010".into()))),
        ("/clear", Input::Roam(Roam::New)),
        ("/rewind", Input::Roam(Roam::Branch(None))),
        ("/usage", Input::Cost),
        ("/diff t_001", Input::Inquire(Inquiry::Diff(Some(TaskId(1))))),
        ("/model", Input::Inquire(Inquiry::Models)),
        ("/model pilot/pilot", Input::Deed(Deed::Model("pilot/pilot".into()))),
        ("/note tabs, not spaces", Input::Deed(Deed::Note("tabs, not spaces".into()))),
        ("/export", Input::Deed(Deed::Export(None))),
        ("/exit", Input::Quit),
    ];
    for (line, meaning) in cases {
        assert_eq!(read(line), Ok(meaning), "{line:?}");
    }
}

#[test]
fn an_answer_names_its_task_and_perhaps_its_question() {
    let answer = |question, words: &str| Ok(Input::Answer(TaskId(4), question, words.to_owned()));
    assert_eq!(read("/answer t_004 2"), answer(None, "2"));
    assert_eq!(read("/answer 4 q_002 the second one"), answer(Some(2), "the second one"));
    for line in ["/answer", "/answer t_004", "/answer t_004 q_001"] {
        assert_eq!(read(line), Err(Misread::Usage("/answer t_001 2".to_owned())), "{line}");
    }
}

#[test]
fn an_unknown_command_names_the_nearest() {
    let unknown =
        |name: &str, near: Option<&str>| Err(Misread::Unknown { name: name.into(), near: near.map(str::to_owned) });
    assert_eq!(read("/taks"), unknown("/taks", Some("/task")));
    assert_eq!(read("/abrot t_001"), unknown("/abrot", Some("/abort")));
    assert_eq!(read("/xyzzy"), unknown("/xyzzy", None));
    assert_eq!(read("/help stear"), unknown("/stear", Some("/steer")));
    let said = read("/taks").map_err(|error| error.to_string());
    assert_eq!(said, Err("no command /taks, did you mean /task?; /help lists all".to_owned()));
}

#[test]
fn a_command_without_what_it_needs_says_how_to_write_it() {
    let usage = |text: &str| Err(Misread::Usage(text.to_owned()));
    assert_eq!(read("/steer t_001"), usage("/steer t_001 TEXT"));
    assert_eq!(read("@t_001"), usage("@t_001 TEXT"));
    assert_eq!(read("/task"), usage("/task t_001"));
    assert_eq!(read("/follow-up"), usage("/follow-up [t_001] TEXT"));
    assert_eq!(read("!"), usage("!COMMAND, for example !git status; !!COMMAND keeps it from the agent"));
    assert_eq!(read("/steer the worker"), Err(Misread::NoTask("the".into())));
    assert_eq!(read("/task t_000"), Err(Misread::NoTask("t_000".into())));
}

#[test]
fn every_command_has_an_example_that_is_understood_and_means_that_command() {
    for entry in COMMANDS.iter() {
        let name = entry.example.split(' ').next().unwrap();
        assert!(name == entry.name && read(entry.example).is_ok(), "{entry:?}");
        assert!(!entry.help.is_empty() && !entry.group.is_empty(), "{entry:?}");
    }
}

#[test]
fn every_other_name_means_the_same_and_belongs_to_one_command() {
    let mut names: Vec<&str> = COMMANDS.iter().map(|entry| entry.name).collect();
    for entry in COMMANDS.iter() {
        for also in &entry.also {
            let line = entry.example.replacen(entry.name, also, 1);
            assert_eq!(read(&line), read(entry.example), "{line}");
        }
        names.extend(&entry.also);
    }
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "a name is taken twice");
}
